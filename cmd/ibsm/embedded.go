package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// embedded is a simulated fabric inside the process, in real time. It answers at
// once.
type embedded struct {
	spec  string
	at    net.End
	start time.Time
	mu    sync.Mutex // guards f, and what is attached to it
	f     *fabric.Fabric
}

func (e *embedded) String() string { return "embedded fabric " + e.spec }

func (e *embedded) open(context.Context) (smPort, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.f.Advance(time.Since(e.start))
	st, err := e.f.Attach(e.at)
	if err != nil {
		return nil, err
	}
	return &embeddedPort{e: e, st: st, wake: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

// embeddedPort is a port of the fabric.
type embeddedPort struct {
	e      *embedded
	st     *fabric.Station
	wake   chan struct{} // has a token when something was sent
	once   sync.Once
	closed chan struct{}
}

func (p *embeddedPort) GUID() mad.GUID { return p.e.f.PortGUID(p.e.at) }

var errClosed = errors.New("embedded fabric: the port is closed")

func (p *embeddedPort) SetIsSM(_ context.Context, is bool) error {
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	p.e.f.Advance(time.Since(p.e.start))
	p.st.SetIsSM(is)
	return nil
}

func (p *embeddedPort) Send(ds []mad.Datagram) (int, error) {
	p.e.mu.Lock()
	p.e.f.Advance(time.Since(p.e.start))
	p.st.Send(ds)
	p.e.f.Advance(time.Since(p.e.start))
	p.e.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return len(ds), nil
}

func (p *embeddedPort) Recv(ds []mad.Datagram) (int, error) {
	for {
		p.e.mu.Lock()
		p.e.f.Advance(time.Since(p.e.start))
		n := p.st.Recv(ds)
		next, any := p.e.f.Next()
		p.e.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		var due <-chan time.Time
		if any {
			due = time.After(next - time.Since(p.e.start))
		}
		select {
		case <-p.closed:
			return 0, errClosed
		case <-p.wake:
		case <-due:
		}
	}
}

func (p *embeddedPort) Close() error {
	p.once.Do(func() {
		p.e.mu.Lock()
		p.st.Detach()
		p.e.mu.Unlock()
		close(p.closed)
	})
	return nil
}
