package txn

import (
	"context"
	"errors"
	"sync"

	"ibsm/mad"
)

// Engine receives from a Port and keeps what came until its owner takes it, so
// that a port is drained however long its owner thinks.
//
// Run starts the one goroutine, the receive loop; it owns the batch it receives
// into and ends when the port is closed. Everything else happens in the
// goroutines of the callers; Receive belongs to one of them.
type Engine struct {
	port  Port
	ready chan struct{} // holds a token when something came; closed after Run

	mu      sync.Mutex
	queue   []mad.Datagram // guarded by mu, as the following
	dropped uint64
	err     error // why Run ended
}

// MaxQueue is how many received datagrams an Engine keeps. Those beyond are
// dropped and counted, as a full socket buffer would.
const MaxQueue = 4096

// recvBatch is how many datagrams the receive loop asks for at a time.
const recvBatch = 64

// ErrEnded is the error of Receive after the context of Run has ended.
var ErrEnded = errors.New("txn: engine has ended")

// NewEngine returns an engine for the port, which Run will close. It receives
// nothing before Run.
func NewEngine(p Port) *Engine {
	return &Engine{port: p, ready: make(chan struct{}, 1)}
}

// Run receives until ctx is done, then closes the port and returns nil. It
// returns earlier, with the port's error, when the port fails. It is called once.
func (e *Engine) Run(ctx context.Context) error {
	var loop sync.WaitGroup
	failed := make(chan error, 1)
	loop.Go(func() { failed <- e.receiveLoop() })
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	e.port.Close()
	loop.Wait()
	e.mu.Lock()
	e.err = err
	if err == nil {
		e.err = ErrEnded
	}
	e.mu.Unlock()
	close(e.ready)
	return err
}

func (e *Engine) receiveLoop() error {
	batch := make([]mad.Datagram, recvBatch)
	for {
		n, err := e.port.Recv(batch)
		e.deliver(batch[:n])
		if err != nil {
			return err
		}
	}
}

func (e *Engine) deliver(ds []mad.Datagram) {
	if len(ds) == 0 {
		return
	}
	e.mu.Lock()
	take := min(len(ds), MaxQueue-len(e.queue))
	e.queue = append(e.queue, ds[:take]...)
	e.dropped += uint64(len(ds) - take)
	e.mu.Unlock()
	select {
	case e.ready <- struct{}{}:
	default:
	}
}

// Ready has a token when Receive has something to give, datagrams or an error.
func (e *Engine) Ready() <-chan struct{} { return e.ready }

// Receive takes everything that has come, without blocking. The caller owns the
// result; buf, usually the result of the call before, is the engine's from now on.
// Once Run has ended and all is taken, the error says why it did.
func (e *Engine) Receive(buf []mad.Datagram) ([]mad.Datagram, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	got := e.queue
	e.queue = buf[:0]
	if len(got) == 0 {
		return got, e.err
	}
	return got, nil
}

// Send sends through the port, in the caller's goroutine.
func (e *Engine) Send(ds []mad.Datagram) error {
	_, err := e.port.Send(ds)
	return err
}

// Dropped is how many datagrams found the queue full.
func (e *Engine) Dropped() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dropped
}
