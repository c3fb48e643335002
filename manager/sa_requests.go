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
		answered []arrival // n counts those of the batch that have a reply
	)
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.requests.wake:
		}
		waiting, arrivals = p.requests.take(waiting, arrivals)
		for rest, from := waiting, arrivals; len(rest) > 0; {
			n := min(len(rest), answerBatch)
			var sent []mad.Datagram
			sent, from, answered = p.answer(rest[:n], from, replies[:0], answered[:0])
			rest = rest[n:]
			if len(sent) == 0 {
				continue
			}
			if _, err := p.Send(sent); err != nil {
				return
			}
			now := time.Since(p.opened)
			for _, a := range answered {
				p.sa.stats.Took(sa.AtOnce, now-a.at, a.n)
			}
		}
	}
}

// answer appends the replies to requests, and how many there are for each arrival. It
// returns what is left of arrivals.
func (p *saPort) answer(requests []mad.Datagram, arrivals []arrival, replies []mad.Datagram, answered []arrival) ([]mad.Datagram, []arrival, []arrival) {
	responder := p.sa.responder.Load()
	for len(requests) > 0 {
		a := &arrivals[0]
		n, before := min(a.n, len(requests)), len(replies)
		for i := range requests[:n] {
			replies = append(replies, mad.Datagram{})
			if last := len(replies) - 1; !responder.Answer(&requests[i], &replies[last], &p.sa.stats) {
				replies = replies[:last]
			}
		}
		if count := len(replies) - before; count > 0 {
			answered = append(answered, arrival{count, a.at})
		}
		requests = requests[n:]
		if a.n -= n; a.n == 0 {
			arrivals = arrivals[1:]
		}
	}
	return replies, arrivals, answered
}
