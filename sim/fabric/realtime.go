package fabric

import (
	"context"
	"errors"
	"sync"
	"time"

	"ibsm/mad"
	"ibsm/topo/net"
)

// RealTime runs a Fabric inside a process on the process's clock. It answers at once. It is
// safe for concurrent use; the Fabric must not be used besides.
type RealTime struct {
	start time.Time
	mu    sync.Mutex // guards f, and what is attached to it
	f     *Fabric
}

// NewRealTime starts the clock of a Fabric.
func NewRealTime(f *Fabric) *RealTime { return &RealTime{start: time.Now(), f: f} }

// Open attaches to the port of an end.
func (r *RealTime) Open(at net.End) (*RealTimePort, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.f.Advance(time.Since(r.start))
	st, err := r.f.Attach(at)
	if err != nil {
		return nil, err
	}
	return &RealTimePort{r: r, guid: r.f.PortGUID(at), st: st, wake: make(chan struct{}, 1),
		closed: make(chan struct{})}, nil
}

// RealTimePort is an open port of a RealTime fabric, a mad.Port.
type RealTimePort struct {
	r      *RealTime
	guid   mad.GUID
	st     *Station
	wake   chan struct{} // has a token when something was sent
	once   sync.Once
	closed chan struct{}
}

// GUID is that of the port.
func (p *RealTimePort) GUID() mad.GUID { return p.guid }

var errClosed = errors.New("embedded fabric: the port is closed")

// SetIsSM sets or clears the capability IsSM.
func (p *RealTimePort) SetIsSM(_ context.Context, is bool) error {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	p.r.f.Advance(time.Since(p.r.start))
	p.st.SetIsSM(is)
	return nil
}

// Send sends packets, and returns how many.
func (p *RealTimePort) Send(ds []mad.Datagram) (int, error) {
	p.r.mu.Lock()
	p.r.f.Advance(time.Since(p.r.start))
	p.st.Send(ds)
	p.r.f.Advance(time.Since(p.r.start))
	p.r.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return len(ds), nil
}

// TrySend is Send, which does not wait.
func (p *RealTimePort) TrySend(ds []mad.Datagram) (int, error) { return p.Send(ds) }

// Recv waits for packets that have arrived. It ends with an error once the port is closed.
func (p *RealTimePort) Recv(ds []mad.Datagram) (int, error) {
	for {
		p.r.mu.Lock()
		p.r.f.Advance(time.Since(p.r.start))
		n := p.st.Recv(ds)
		next, any := p.r.f.Next()
		p.r.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		var due <-chan time.Time
		if any {
			due = time.After(next - time.Since(p.r.start))
		}
		select {
		case <-p.closed:
			return 0, errClosed
		case <-p.wake:
		case <-due:
		}
	}
}

// Close detaches.
func (p *RealTimePort) Close() error {
	p.once.Do(func() {
		p.r.mu.Lock()
		p.st.Detach()
		p.r.mu.Unlock()
		close(p.closed)
	})
	return nil
}
