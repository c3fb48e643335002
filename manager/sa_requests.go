package manager

import (
	"context"
	"sync"
	"time"

	"ibsm/mad"
	"ibsm/sa"
)

// maxRequests bounds the requests that wait for a responder. Further ones are dropped:
// their clients ask again.
const maxRequests = 4096

// answerBatch is how many requests are answered before the replies are sent.
const answerBatch = 64

// requestQueue are the requests that a responder answers at once. The receive loop puts
// them there; one goroutine answers them and sends the replies, so that the receive loop
// does not wait for a port that takes nothing: what is at its other end may take nothing
// until it is rid of what it has.
type requestQueue struct {
	wake chan struct{} // has room for one

	mu       sync.Mutex
	waiting  []mad.Datagram
	arrivals []arrival // in the order of waiting
}

// arrival is when requests arrived together.
type arrival struct {
	n  int
	at time.Duration
}

func newRequestQueue() *requestQueue { return &requestQueue{wake: make(chan struct{}, 1)} }

// put takes requests that arrived at a time, as far as there is room, and returns how many
// there was none for.
func (q *requestQueue) put(ds []mad.Datagram, at time.Duration) (dropped int) {
	q.mu.Lock()
	n := min(len(ds), maxRequests-len(q.waiting))
	q.waiting = append(q.waiting, ds[:n]...)
	if n > 0 {
		q.arrivals = append(q.arrivals, arrival{n, at})
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return len(ds) - n
}

// take takes out all that wait. The caller owns the results; buf and arrivals, usually the
// results of the call before, are the queue's from now on.
func (q *requestQueue) take(buf []mad.Datagram, arrivals []arrival) ([]mad.Datagram, []arrival) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all, times := q.waiting, q.arrivals
	q.waiting, q.arrivals = buf[:0], arrivals[:0]
	return all, times
}

// answerRequests answers requests until ctx is done or the port breaks, which the receive
// loop reports.
func (p *saPort) answerRequests(ctx context.Context) {
	var (
		waiting  []mad.Datagram
		arrivals []arrival
		replies  = make([]mad.Datagram, answerBatch)
	)
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.requests.wake:
		}
		waiting, arrivals = p.requests.take(waiting, arrivals)
		from := waiting
		for _, a := range arrivals {
			for n := 0; a.n > 0; a.n -= n {
				n = min(a.n, answerBatch)
				if p.answer(from[:n], a.at, replies) != nil {
					return
				}
				from = from[n:]
			}
		}
	}
}

// answer answers up to answerBatch requests that arrived at a time.
func (p *saPort) answer(requests []mad.Datagram, at time.Duration, replies []mad.Datagram) error {
	responder, n := p.sa.responder.Load(), 0
	for i := range requests {
		if responder.Answer(&requests[i], &replies[n], &p.sa.stats) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	_, err := p.Send(replies[:n])
	p.sa.stats.Took(sa.AtOnce, time.Since(p.opened)-at, n)
	return err
}
