package txn

import "time"

// queueing tells from round trips how large a window may be before what is added to it
// does nothing but wait in queues, where it speeds nothing up and delays what others send
// by the same way, as the SA's clients do.
//
// What the mean round trip is without such a queue is measured with few requests on the
// wire: at each beginning, and then once in a while, since a sweep goes on to nodes that
// are farther away, and asks them other things. The least round trip of any, which
// congestion control has from its one path, would say nothing here: nodes differ by what
// they are. By how much the mean is longer with the whole window on the wire, is how long
// a request waits for others of ours.
//
// The zero value has measured nothing, and finds that every window fits.
type queueing struct {
	sent   int           // of the requests of a measurement
	few    sample        // those of them that are answered
	base   time.Duration // mean of the last measurement
	known  bool          // there was one
	round  sample        // the round trip under way
	began  time.Duration // it ends with the answer to what was sent since
	rounds int           // since base was measured
}

const (
	// fewRequests make no queue, or none that is worth being avoided.
	fewRequests = startWindow
	// maxQueueing is how long a request may wait for others of ours. Where one server has
	// to do with all of them, this keeps it at work while we are not. On a fabric, where
	// each agent has its own few to answer, however slowly, none waits so long.
	maxQueueing = 150 * time.Microsecond
	// measureEvery is how many round trips pass between measurements, each of which takes
	// two.
	measureEvery = 64
)

// sample is a number of round trips.
type sample struct {
	sum time.Duration
	n   int
}

func (s *sample) add(d time.Duration) { s.sum, s.n = s.sum+d, s.n+1 }
func (s *sample) mean() time.Duration { return s.sum / time.Duration(s.n) }

// measuring reports whether only few requests are to be on the wire.
func (q *queueing) measuring() bool { return q.rounds >= measureEvery }

// fresh reports whether a round trip has just ended that was the first since a measurement.
func (q *queueing) fresh() bool { return q.rounds == 1 && q.round.n == 0 }

// measure reports whether a request that is sent as one of so many belongs to a
// measurement. All such must be answered, or given up.
func (q *queueing) measure(onWire int) bool {
	if onWire > fewRequests || q.sent == fewRequests {
		return false
	}
	q.sent++
	return true
}

// giveUp ends a measurement without a result: what has no answer is not to hold the window
// that has become so small.
func (q *queueing) giveUp() { q.sent, q.few, q.rounds = 0, sample{}, 0 }

// allowed is how long the mean round trip may be.
func (q *queueing) allowed() time.Duration { return q.base + max(maxQueueing, q.base/2) }

// settle ends a measurement. A moment in which this machine had other things to do must not
// open the window wide: base rises step by step.
func (q *queueing) settle(mean time.Duration) {
	if q.known {
		mean = min(mean, q.allowed())
	}
	q.base, q.known = mean, true
	q.giveUp()
}

// answered is told when an answer came, when its request was sent, and whether that
// belongs to a measurement. It returns how large a window fits in place of the one that was
// full: the same but at the end of a round trip.
func (q *queueing) answered(now, sent time.Duration, measured bool, size int) (fits int) {
	if measured {
		q.few.add(now - sent)
	}
	if q.few.n == fewRequests {
		q.settle(q.few.mean())
	}
	allowed := q.allowed()
	q.round.add(min(now-sent, 2*allowed)) // however slow a single node is, it does not count for many
	if sent < q.began || q.round.n < size {
		return size
	}
	mean := q.round.mean()
	q.round, q.began = sample{}, now
	q.rounds++
	if !q.known || mean == 0 {
		return size
	}
	return int(int64(size) * int64(allowed) / int64(mean)) // where one server serves all, size/mean is its speed
}
