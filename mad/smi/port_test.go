package smi_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/mad"
	"ibsm/mad/smi"
	"ibsm/mad/txn"
	"ibsm/mad/txn/txntest"
)

// testPort answers each request at once, except those that lost names.
type testPort struct {
	lost   func(n int) bool
	mu     sync.Mutex // guards n
	n      int
	in     chan mad.Datagram
	closed chan struct{}
	once   sync.Once
}

func newTestPort(lost func(n int) bool) *testPort {
	return &testPort{lost: lost, in: make(chan mad.Datagram, 2*smi.MaxQueue), closed: make(chan struct{})}
}

func (p *testPort) Send(ds []mad.Datagram) (int, error) {
	for i := range ds {
		p.mu.Lock()
		n := p.n
		p.n++
		p.mu.Unlock()
		if !p.lost(n) {
			p.in <- answered(ds[i])
		}
	}
	return len(ds), nil
}

func (p *testPort) Recv(ds []mad.Datagram) (int, error) {
	select {
	case d, open := <-p.in:
		if !open {
			return 0, io.ErrUnexpectedEOF
		}
		ds[0] = d
		return 1, nil
	case <-p.closed:
		return 0, io.EOF
	}
}

func (p *testPort) TrySend(ds []mad.Datagram) (int, error) { return p.Send(ds) }

func (p *testPort) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// nodeInfo is a request to the node behind a port of ours.
func nodeInfo(port uint8) txn.Request {
	return txn.Request{Route: mad.MakeRoute(port), Method: mad.MethodGet, Attr: 0x11}
}

// answered is what an agent makes of such a request (IBA 13.4.5, 14.2.2).
func answered(d mad.Datagram) mad.Datagram {
	d.Packet.SetMethod(mad.MethodGetResp)
	d.Packet.SetReturning()
	return d
}

// run starts a Port; the function it returns stops it and gives Run's error.
func run(p mad.Port) (*smi.Port, func() error) {
	e := smi.New(p)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	return e, func() error {
		cancel()
		return <-ended
	}
}

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The third packet is lost.
		const total = 1000
		e, stop := run(newTestPort(func(n int) bool { return n == 2 }))
		requests := make([]txn.Request, total)
		for i := range requests {
			requests[i] = nodeInfo(uint8(i % 50))
			requests[i].Tag = uint64(total - i)
		}
		start := time.Now()
		outcomes, err := txntest.Do(t.Context(), e, txn.Config{}, requests)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range outcomes {
			want := 1
			if i == 2 {
				want = 2
			}
			if o.Result != txn.Replied || o.Tag != uint64(total-i) || o.Attempts != want {
				t.Fatalf("outcome %d: %+v", i, o)
			}
		}
		if d := time.Since(start); d != 200*time.Millisecond {
			t.Errorf("took %v: want one time-out", d)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if _, err := e.Receive(nil); err != smi.ErrEnded {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestDoEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPort(func(int) bool { return true })
		e, stop := run(p)
		outcomes, err := txntest.Do(t.Context(), e, txn.Config{}, []txn.Request{nodeInfo(1)})
		if err != nil || outcomes[0].Result != txn.TimedOut || outcomes[0].Attempts != 4 {
			t.Fatalf("silence: %+v %v", outcomes, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if outcomes, err = txntest.Do(ctx, e, txn.Config{}, []txn.Request{nodeInfo(1)}); !errors.Is(err,
			context.DeadlineExceeded) || outcomes[0].Result != 0 {
			t.Fatalf("context: %+v %v", outcomes, err)
		}
		time.AfterFunc(100*time.Millisecond, func() { close(p.in) })
		if _, err = txntest.Do(t.Context(), e, txn.Config{}, []txn.Request{nodeInfo(1)}); !errors.Is(err,
			io.ErrUnexpectedEOF) {
			t.Fatalf("broken port: %v", err)
		}
		if err := stop(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPort(nil)
		for range smi.MaxQueue + 10 {
			p.in <- mad.Datagram{}
		}
		e, stop := run(p)
		synctest.Wait()
		<-e.Ready()
		got, err := e.Receive(nil)
		if len(got) != smi.MaxQueue || err != nil || e.Dropped() != 10 {
			t.Errorf("%d received, %d dropped, %v", len(got), e.Dropped(), err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
