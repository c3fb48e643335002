package txn

import "time"

// queueing computes from round trips how large the window may be. In a larger window further
// requests only wait in queues: they do not make the sweep faster, and they delay the packets
// of others on the same path, such as clients of the SA.
//
// It measures the mean round trip without queues with few requests on the wire. It repeats
// that, because a sweep goes on to nodes that are farther away, and reads other attributes.
// The least round trip, which congestion control measures on its single path, means nothing
// here, because nodes differ in speed. The difference between that mean and the mean with the
// whole window on the wire is how long a request waits behind others of this table.
type queueing struct {
	measuring bool   // only few requests may be on the wire
	sent      int    // requests of the measurement
	few       sample // their round trips

	base, last time.Duration // the lesser of the last two means, and the last; 0 before
	round      sample        // round trips since began
	began      time.Duration // the round ends with the first reply to a request sent since
	rounds     int           // since the last measurement
}

const (
	// fewRequests do not make a queue that matters.
	fewRequests = 8
	// maxQueueing is how long a request may wait behind others of this table, if that is more
	// than half of its round trip without them. It keeps a single server that answers all of
	// them busy, but leaves processor time for other work. In a fabric each agent has only a
	// few requests to answer, and none waits this long.
	maxQueueing = 50 * time.Microsecond
)

// sample is a number of round trips.
type sample struct {
	sum time.Duration
	n   int
}

func (s *sample) add(d time.Duration) { s.sum, s.n = s.sum+d, s.n+1 }
func (s *sample) mean() time.Duration { return s.sum / time.Duration(s.n) }

// measure reports whether a request that is sent now belongs to a measurement. The caller calls
// answered or giveUp for all of those.
func (q *queueing) measure() bool {
	if !q.measuring || q.sent == fewRequests {
		return false
	}
	q.sent++
	return true
}

// giveUp ends a measurement without a result, so that a request without a reply does not keep
// the window small.
func (q *queueing) giveUp() { q.measuring, q.sent, q.few, q.rounds = false, 0, sample{}, 0 }

// settle ends a measurement. Other load of the machine only adds to a mean: the lesser of two is
// more accurate.
func (q *queueing) settle() {
	mean := max(q.few.mean(), 1)
	q.base = mean
	if q.last > 0 {
		q.base = min(mean, q.last)
	}
	q.last = mean
	q.giveUp()
}

// answered takes the times at which a reply came and its request was sent, and whether that
// belongs to a measurement. At the end of a round it returns the size that the window should
// have; else window.
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
	q.round.add(min(now-sent, 2*allowed)) // a single slow node has limited weight
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
	// where one server serves all, window/mean is its speed
	return int(min(int64(window)*int64(allowed)/int64(mean), maxMaxWindow))
}
