package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/rights"
)

// narrow is a listener whose connections hold little of what clients do not read.
type narrow struct{ net.Listener }

func (l narrow) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(2048)
	}
	return c, err
}

// TestStalledReaders: readers of changes that read nothing while thousands of changes happen are dropped and counted.
// Until then they hold no list of what they miss, and others get each change as soon as without them. One that comes
// back gets all it has missed in one change.
func TestStalledReaders(t *testing.T) {
	const readers = 8
	f := newFake(t, "fattree:k=8")
	page := New(Config{Source: f})
	control := ctl.New(ctl.Config{Source: f, More: page.Routes(), Patience: 500 * time.Millisecond})
	mux, guard := http.NewServeMux(), ctl.Guard{}
	for _, rt := range control.Routes() {
		mux.HandleFunc(rt.String(), guard.Handler(&rt))
	}
	s := httptest.NewUnstartedServer(control.Patient(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(rights.With(r.Context(), reader)))
	})))
	s.Listener = narrow{s.Listener}
	s.Start()
	t.Cleanup(s.Close)
	var m Map
	_, text, _ := get(t, s, "/v1/map")
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	heap := func() uint64 {
		var st runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&st)
		return st.HeapAlloc
	}
	good := follow(t, s, m.Version)
	before := heap()
	for range readers {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.(*net.TCPConn).SetReadBuffer(2048); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET /v1/changes?since=%s HTTP/1.1\r\nHost: x\r\n\r\n", m.Version)
	}
	changes, heard, longest, last := 0, 0, time.Duration(0), time.Now()
	for began := time.Now(); control.Stats().Cut.Load() < readers || changes < 3000; changes++ {
		if time.Since(began) > time.Minute {
			t.Fatalf("%d of %d readers are dropped after %d changes", control.Stats().Cut.Load(), readers, changes)
		}
		state := map[bool]string{true: ctl.Absent, false: "Active"}[changes%2 == 0]
		f.change(func() {
			for _, l := range f.links {
				if l.From.Type == "switch" && l.To.Type == "switch" {
					l.State = state
				}
			}
		})
		select {
		case c := <-good:
			if c == nil {
				t.Fatal("the stream of a reader that reads has ended")
			}
			heard, longest, last = heard+1, max(longest, time.Since(last)), time.Now()
		case <-time.After(time.Millisecond):
		}
	}
	if grown := int64(heap()) - int64(before); grown > 2<<20 {
		t.Errorf("%d stalled readers take %d bytes", readers, grown)
	}
	t.Logf("%d changes in all, %d that were read, at most %v apart", changes, heard, longest.Round(time.Millisecond))
	if heard < 5 || longest > 10*time.Second {
		t.Errorf("beside stalled readers another one had %d changes, up to %v apart", heard, longest)
	}
	for range 2 {
		if page.streams.Load() == 1 {
			break
		}
		next(t, good)
	}
	if n := page.streams.Load(); n != 1 {
		t.Errorf("%d streams are open, want that of the reader that reads", n)
	}
	f.change(func() {
		for _, l := range f.links {
			l.State = ctl.Absent
		}
	})
	for n := 0; n < len(m.Trunks); {
		ctx, leave := context.WithCancel(t.Context())
		n = 0
		for _, states := range next(t, followWith(ctx, t, s, m.Version)).Trunks {
			n += strings.Count(states, "d")
		}
		leave()
	}
}
