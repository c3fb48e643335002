package metrics

import (
	"context"
	"io"
	"net"
	"runtime"
	"runtime/metrics"
	"strings"
	"syscall"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/perf"
	"ibsm/view/viewtest"
)

// pipes is a listener of connections that a benchmark makes.
type pipes chan net.Conn

func (l pipes) Accept() (net.Conn, error) {
	c, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l pipes) Close() error   { return nil }
func (l pipes) Addr() net.Addr { return &net.UnixAddr{} }

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkScrape is a scrape at 11,664 hosts: processor time of the server and of a
// client that discards what it reads, and the bytes of the heap that are in use in the
// midst of it, as a collection finds them.
func BenchmarkScrape(b *testing.B) {
	v := viewtest.New(b, "fattree:k=36", 1)
	e := newExporter(v)
	all := totalsOf(v, nil)
	e.totals = func(_ context.Context, wanted func(mad.GUID) bool) *perf.Totals { // as a Machine copies them
		t := &perf.Totals{Ports: make([]perf.Counted, 0, len(all.Ports))}
		for i := range all.Ports {
			if wanted == nil || wanted(all.Ports[i].Node) {
				t.Ports = append(t.Ports, all.Ports[i])
			}
		}
		return t
	}
	server := ctl.New(ctl.Config{Metrics: e.Serve})
	l := make(pipes)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	go server.Serve(ctx, ctl.Listeners{Control: l})
	for _, bm := range []struct{ name, query, header string }{
		{"text", "", ""},
		{"text+gzip", "", "Accept-Encoding: gzip\r\n"},
		{"openmetrics", "", "Accept: " + accepted[2].accept + "\r\n"},
		{"openmetrics+gzip", "", "Accept: " + accepted[2].accept + "\r\nAccept-Encoding: gzip\r\n"},
		{"protobuf", "", "Accept: " + accepted[4].accept + "\r\n"},
		{"manager", "?collect[]=manager", ""},
		{"ports", "?collect[]=ports", ""},
		{"counters", "?collect[]=counters", ""},
		{"counters+protobuf", "?collect[]=counters", "Accept: " + accepted[4].accept + "\r\n"},
		{"counters of 1/10", "?collect[]=counters&share=1/10", ""},
	} {
		b.Run(bm.name, func(b *testing.B) {
			near, far := net.Pipe()
			defer near.Close()
			l <- far
			buf := make([]byte, 64<<10)
			once := func(midway func()) (sent int) {
				io.WriteString(near, "GET /metrics"+bm.query+" HTTP/1.1\r\nHost: x\r\n"+bm.header+"\r\n")
				for !strings.HasSuffix(string(buf[:5]), "0\r\n\r\n") {
					k, err := near.Read(buf[5:])
					if err != nil {
						b.Fatal(err)
					}
					sent += k
					copy(buf, buf[k:k+5])
					if midway != nil && sent > 100_000 {
						midway()
						midway = nil
					}
				}
				clear(buf[:5])
				return sent
			}
			before, during := inUse(), uint64(0)
			sent := once(func() { during = inUse() })
			start := cpu()
			b.ReportAllocs()
			for b.Loop() {
				once(nil)
			}
			b.ReportMetric(float64((cpu()-start).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(max(during, before)-before)/1e6, "in-use-MB")
			b.ReportMetric(float64(sent)/1e6, "sent-MB")
		})
	}
}

// inUse is how many bytes of the heap are in use.
func inUse() uint64 {
	runtime.GC()
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(heap)
	return heap[0].Value.Uint64()
}
