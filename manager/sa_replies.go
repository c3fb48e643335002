package manager

import (
	"context"
	"sync"
	"time"

	"ibsm/mad"
)

// maxReplies bounds the answers that wait to be sent. Further ones are dropped: their
// clients ask again.
const maxReplies = 4096

// replies are the answers of the receive loop, which others send, a goroutine of their own
// if there is nobody else: who receives must not wait for a port that takes nothing, as what
// is at its other end may take nothing for as long as it is not rid of what it has.
type replies struct {
	wake chan struct{} // has room for one

	mu      sync.Mutex
	waiting []mad.Datagram
	came    []arrival // of the requests that they answer, in their order
}

// arrival is when requests came together.
type arrival struct {
	n  int
	at time.Duration
}

func newReplies() *replies { return &replies{wake: make(chan struct{}, 1)} }

// put takes answers to requests that came at a time, as far as there is room, and returns
// how many there was none for.
func (r *replies) put(ds []mad.Datagram, came time.Duration) (dropped int) {
	r.mu.Lock()
	n := min(len(ds), maxReplies-len(r.waiting))
	r.waiting = append(r.waiting, ds[:n]...)
	if n > 0 {
		r.came = append(r.came, arrival{n, came})
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return len(ds) - n
}

// take takes out all that wait. The caller owns the results; buf and came, usually the
// results of the call before, are theirs from now on.
func (r *replies) take(buf []mad.Datagram, came []arrival) ([]mad.Datagram, []arrival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, times := r.waiting, r.came
	r.waiting, r.came = buf[:0], came[:0]
	return all, times
}

// run has what is put sent until ctx is done or the port breaks, which the receive loop
// reports.
func (r *replies) run(ctx context.Context, send func() error) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		if send() != nil {
			return
		}
	}
}
