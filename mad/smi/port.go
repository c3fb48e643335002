// Package smi owns QP0, the queue pair of subnet management: Port receives from a queue pair and keeps what came until
// the core takes it, so that it is drained however long the core computes. At ibsim one port carries QP1 as well.
package smi

import (
	"context"
	"errors"
	"sync"

	"ibsm/mad"
)

// Port owns a mad.Port, and has a queue of what came.
//
// Run starts the one goroutine, the receive loop; it owns the batch it receives
// into and ends when the port is closed. Everything else happens in the
// goroutines of the callers; Receive belongs to one of them.
type Port struct {
	port  mad.Port
	ready chan struct{} // holds a token when something came; closed after Run

	mu      sync.Mutex
	queue   []mad.Datagram // guarded by mu, as the following
	dropped uint64
	err     error // why Run ended
}

// MaxQueue is how many received datagrams a Port keeps. Those beyond are
// dropped and counted, as a full socket buffer would.
const MaxQueue = 4096

// recvBatch is how many datagrams the receive loop asks for at a time.
const recvBatch = 64

// ErrEnded is the error of Receive after the context of Run has ended.
var ErrEnded = errors.New("smi: the port is closed")

// New returns the owner of a queue pair, which Run will close. It receives
// nothing before Run.
func New(port mad.Port) *Port {
	return &Port{port: port, ready: make(chan struct{}, 1)}
}

// Run receives until ctx is done, then closes the port and returns nil. It
// returns earlier, with the port's error, when the port fails. It is called once.
func (p *Port) Run(ctx context.Context) error {
	var loop sync.WaitGroup
	failed := make(chan error, 1)
	loop.Go(func() { failed <- p.receiveLoop() })
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	p.port.Close()
	loop.Wait()
	p.mu.Lock()
	p.err = err
	if err == nil {
		p.err = ErrEnded
	}
	p.mu.Unlock()
	close(p.ready)
	return err
}

func (p *Port) receiveLoop() error {
	batch := make([]mad.Datagram, recvBatch)
	for {
		n, err := p.port.Recv(batch)
		p.deliver(batch[:n])
		if err != nil {
			return err
		}
	}
}

func (p *Port) deliver(ds []mad.Datagram) {
	if len(ds) == 0 {
		return
	}
	p.mu.Lock()
	take := min(len(ds), MaxQueue-len(p.queue))
	p.queue = append(p.queue, ds[:take]...)
	p.dropped += uint64(len(ds) - take)
	p.mu.Unlock()
	select {
	case p.ready <- struct{}{}:
	default:
	}
}

// Ready has a token when Receive has something to give, datagrams or an error.
func (p *Port) Ready() <-chan struct{} { return p.ready }

// Receive takes everything that has come, without blocking. The caller owns the
// result; buf, usually the result of the call before, is the Port's from now on.
// Once Run has ended and all is taken, the error says why it did.
func (p *Port) Receive(buf []mad.Datagram) ([]mad.Datagram, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := p.queue
	p.queue = buf[:0]
	if len(got) == 0 {
		return got, p.err
	}
	return got, nil
}

// Send sends through the port, in the caller's goroutine.
func (p *Port) Send(ds []mad.Datagram) error {
	_, err := p.port.Send(ds)
	return err
}

// Dropped is how many datagrams found the queue full.
func (p *Port) Dropped() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}
