package umad

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"ibsm/mad"
)

// BenchmarkWait is the CPU of a datagram there and back, both ends together, with a
// receive loop in a goroutine of its own: a Port's, which waits in Go's poller, and
// one that waits in read.
func BenchmarkWait(b *testing.B) {
	for _, batch := range []int{1, 8} {
		b.Run(fmt.Sprintf("poller/%d", batch), func(b *testing.B) {
			p, kernel := socketPort(b, 0)
			ds := make([]mad.Datagram, 64)
			exchange(b, batch, p, kernel, func() int {
				n, err := p.Recv(ds)
				if err != nil {
					return 0
				}
				return n
			})
		})
		b.Run(fmt.Sprintf("read/%d", batch), func(b *testing.B) {
			p, kernel := socketPort(b, 0)
			fd := -1
			p.raw.Control(func(f uintptr) { fd = int(f) })
			unix.SetNonblock(fd, false)
			exchange(b, batch, p, kernel, func() int {
				n := 0
				for err := error(unix.EINTR); err == unix.EINTR; {
					n, err = unix.Read(fd, p.in.frame.bytes())
				}
				return min(max(n, 0), 1)
			})
		})
	}
}

// exchange has batches of packets echoed by the other end.
func exchange(b *testing.B, batch int, p *Port, kernel int, recv func() int) {
	go func() {
		buf := make([]byte, frameSize)
		for n := 1; ; n++ {
			if got, err := unix.Read(kernel, buf); err == unix.EINTR {
				n--
				continue
			} else if err != nil || got == 0 {
				return
			}
			for i := 0; n%batch == 0 && i < batch; i++ {
				unix.Write(kernel, buf)
			}
		}
	}()
	got := make(chan int, batch)
	go func() {
		for n := recv(); n > 0; n = recv() {
			got <- n
		}
		close(got)
	}()
	ds := make([]mad.Datagram, batch)
	for i := range ds {
		ds[i].Packet.SetHeader(mad.ClassDirected, mad.MethodGet, 0x11, 0)
	}
	before := cpu(b)
	for b.Loop() {
		if _, err := p.Send(ds); err != nil {
			b.Fatal(err)
		}
		for left := batch; left > 0; {
			left -= <-got
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N*batch), "cpu-ns/datagram")
	unix.Shutdown(kernel, unix.SHUT_RDWR)
	for range got {
	}
}

// cpu is the time that this process has used, in ns.
func cpu(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
