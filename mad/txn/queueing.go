package txn

import "time"

// queueing tells from round trips how large a window may be before what is added to it
// does nothing but wait in queues, where it speeds nothing up and delays what others send
// by the same way, as the SA's clients do.
//
// What the mean round trip is without such a queue is measured with few requests on the
// wire, again and again, since a sweep goes on to nodes that are farther away, and asks
// them other things. The least round trip of any, which congestion control has from its
// one path, would say nothing here: nodes differ by what they are. By how much the mean is
// longer with the whole window on the wire, is how long a request waits for others of ours.
type queueing struct {
	measuring bool   // only few requests are to be on the wire
	sent      int    // of them
	few       sample // those that are answered

	base, last time.Duration // the least of the last two means, and the last; 0 before
	round      sample        // the round trip under way
	began      time.Duration // it ends with the answer to what was sent since
	rounds     int           // since the last measurement
}

const (
	// fewRequests make no queue that is worth being avoided.
	fewRequests = 8
	// maxQueueing is how long a request may wait for others of ours, if that is more than
	// half of what it takes without them. Where one server has to do with all of them, this
	// keeps it at work, but leaves a processor time for other things. On a fabric, where
	// each agent has its own few to answer, however slowly, none waits so long.
	maxQueueing = 50 * time.Microsecond
)

// sample is a number of round trips.
type sample struct {
	sum time.Duration
	n   int
}

func (s *sample) add(d time.Duration) { s.sum, s.n = s.sum+d, s.n+1 }
func (s *sample) mean() time.Duration { return s.sum / time.Duration(s.n) }

// measure reports whether a request that is sent now belongs to a measurement. All such
// must be answered, or given up.
func (q *queueing) measure() bool {
	if !q.measuring || q.sent == fewRequests {
		return false
	}
	q.sent++
	return true
}

// giveUp ends a measurement without a result: what has no answer is not to hold the window
// that has become so small.
func (q *queueing) giveUp() { q.measuring, q.sent, q.few, q.rounds = false, 0, sample{}, 0 }

// settle ends a measurement. What the machine has to do otherwise only adds to it: the less
// of two is nearer the truth.
func (q *queueing) settle() {
	mean := max(q.few.mean(), 1)
	q.base = mean
	if q.last > 0 {
		q.base = min(mean, q.last)
	}
	q.last = mean
	q.giveUp()
}

// answered is told when an answer came, when its request was sent, and whether that
// belongs to a measurement. It returns how large a window fits in place of the one that was
// full: the same but at the end of a round trip.
func (q *queueing) answered(now, sent time.Duration, measured bool, window int) (fits int) {
	if measured {
		if q.few.add(now - sent); q.few.n == fewRequests {
			q.settle()
			q.round, q.began = sample{}, now
		}
	}
	if q.measuring {
		return window
	}
	allowed := q.base + max(maxQueueing, q.base/2)
	q.round.add(min(now-sent, 2*allowed)) // however slow a single node is, it does not count for many
	if sent < q.began || q.round.n < window {
		return window
	}
	mean := max(q.round.mean(), 1)
	q.round, q.began = sample{}, now
	// The larger the window, the more a measurement costs.
	if q.rounds++; q.rounds >= window/2 || q.base == 0 {
		q.measuring = true
	}
	if q.base == 0 {
		return window
	}
	return int(min(int64(window)*int64(allowed)/int64(mean), maxMaxWindow)) // where one server serves all, window/mean is its speed
}
