package txn

import "time"

// Bounds of the send window. It never falls below what OpenSM keeps on the wire.
const (
	minWindow   = 4
	startWindow = 16
	// DefaultMaxWindow is a quarter of the replies that Linux has receive buffers for
	// on QP0. More would only wait in queues, before what hosts ask the SA: 512 brought
	// a fabric up no sooner, and doubled the latency of queries meanwhile.
	DefaultMaxWindow = 128
	maxMaxWindow     = 2048
)

// window is how many requests may wait for the answer to their first attempt. It
// doubles each round trip until the first loss, then grows by one each round
// trip, and is halved by a loss.
type window struct {
	size      int
	max       int
	threshold int // below it the window doubles
	replies   int // since it grew by one
	full      bool
	cuts      uint64
	lastCut   time.Duration
}

func newWindow(limit int) window {
	return window{size: min(startWindow, limit), max: limit, threshold: limit, lastCut: -1}
}

// setLimit changes what the window may grow to.
func (w *window) setLimit(limit int) {
	if w.cuts == 0 {
		w.threshold = limit
	}
	w.max, w.size = limit, min(w.size, limit)
}

// grow is told of each reply to a request that lost nothing. A window that nobody fills says
// nothing about a larger one.
func (w *window) grow() {
	if !w.full || w.size >= w.max {
		return
	}
	if w.size < w.threshold {
		w.size++
		return
	}
	if w.replies++; w.replies >= w.size {
		w.replies = 0
		w.size++
	}
}

// cut is told of each loss. What was sent before the last cut belongs to the
// loss that caused it.
func (w *window) cut(now, firstSent time.Duration) {
	if firstSent <= w.lastCut {
		return
	}
	w.size = max(w.size/2, min(minWindow, w.max))
	w.threshold, w.replies, w.lastCut = w.size, 0, now
	w.cuts++
}
