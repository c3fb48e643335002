package manager

import (
	"context"
	"slices"
	"sync"
	"time"

	"ibsm/mad"
	"ibsm/sa"
)

// maxReplies bounds the replies that wait for the port. Further ones are dropped: their
// clients ask again.
const maxReplies = 4096

// answerBatch is how many replies are sent at a time.
const answerBatch = 64

// reply is one to a request that arrived at a time.
type reply struct {
	out mad.Datagram
	at  time.Duration
}

// replyQueue holds replies that the port did not accept at once. The receive loop adds them, and one goroutine sends
// them, so that the receive loop never waits for the port: the program at its other end may accept nothing until its
// own packets are received.
type replyQueue struct {
	wake chan struct{} // has room for one

	mu      sync.Mutex
	waiting []reply
	sending bool // some were taken out and are not sent yet
}

// put adds replies to requests that arrived at a time, as far as there is room, and returns the number of those that
// had no room.
func (q *replyQueue) put(ds []mad.Datagram, at time.Duration) (dropped int) {
	q.mu.Lock()
	n := min(len(ds), maxReplies-len(q.waiting))
	for i := range ds[:n] {
		q.waiting = append(q.waiting, reply{ds[i], at})
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return len(ds) - n
}

// empty reports whether a reply may be sent past the queue: it overtakes none.
func (q *replyQueue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) == 0 && !q.sending
}

// take takes out all that wait. The caller owns the result and has sent all that it took
// before; buf, usually the result of the call before, is the queue's from now on.
func (q *replyQueue) take(buf []reply) []reply {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	q.waiting = buf[:0]
	q.sending = len(all) > 0
	return all
}

// answer answers requests that arrived at a time, in the receive loop, and returns how many
// replies there was no room for.
func (p *saPort) answer(ds []mad.Datagram, at time.Duration) (dropped int) {
	responder := p.sa.responder.Load()
	replies := p.answers[:0]
	for i := range ds {
		replies = append(replies, mad.Datagram{})
		if last := len(replies) - 1; !responder.Answer(&ds[i], &replies[last], &p.sa.stats) {
			replies = replies[:last]
		}
	}
	p.answers = replies
	if len(replies) == 0 {
		return 0
	}
	if p.replies.empty() {
		sent, err := p.TrySend(replies)
		if sent > 0 {
			p.sa.stats.Took(sa.AtOnce, time.Since(p.opened)-at, sent)
		}
		if replies = replies[sent:]; len(replies) == 0 || err != nil { // Recv reports a broken port
			return 0
		}
	}
	dropped = p.replies.put(replies, at)
	for range dropped {
		p.sa.stats.Drop(sa.DropNoRoom)
	}
	return dropped
}

// sendReplies sends replies that wait until ctx is done or the port breaks, which the
// receive loop reports.
func (p *saPort) sendReplies(ctx context.Context) {
	var waiting []reply
	batch := make([]mad.Datagram, 0, answerBatch)
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.replies.wake:
		}
		for waiting = p.replies.take(waiting); len(waiting) > 0; waiting = p.replies.take(waiting) {
			for some := range slices.Chunk(waiting, answerBatch) {
				batch = batch[:0]
				for i := range some {
					batch = append(batch, some[i].out)
				}
				if _, err := p.Send(batch); err != nil {
					return
				}
				now := time.Since(p.opened)
				for i := range some {
					p.sa.stats.Took(sa.AtOnce, now-some[i].at, 1)
				}
			}
		}
	}
}
