package txn

import "time"

// Bounds of the send window. It never falls below what OpenSM keeps on the wire.
const (
	minWindow   = 4
	startWindow = 16
	// DefaultMaxWindow is a quarter of the replies that Linux has receive buffers for
	// on QP0. 512 brought a fabric up no sooner.
	DefaultMaxWindow = 128
	maxMaxWindow     = 2048
)

// window is how many requests may wait for the answer to their first attempt. It
// doubles each round trip until it is found to be too large, then grows by one each round
// trip. A loss halves it, and of what waits in queues it lets go.
type window struct {
	size      int
	max       int
	threshold int // below it the window doubles: half of what met a loss
	fits      int // the same: what keeps queues short
	replies   int // since it grew by one
	full      bool
	cuts      uint64
	lastCut   time.Duration
	yields    bool // to others, by minding queues
	queueing  queueing
}

func newWindow(limit int) window {
	return window{size: min(startWindow, limit), max: limit, threshold: limit, fits: limit, lastCut: -1}
}

// setLimit changes what the window may grow to.
func (w *window) setLimit(limit int) {
	if w.cuts == 0 {
		w.threshold = limit
	}
	w.max, w.size, w.fits = limit, min(w.size, limit), limit
}

// setYields has the window mind queues, or not.
func (w *window) setYields(is bool) {
	if w.yields != is {
		w.yields, w.fits, w.queueing = is, w.max, queueing{}
	}
}

// open is how many requests may wait now.
func (w *window) open() int {
	if w.queueing.measuring {
		return min(w.size, fewRequests)
	}
	return w.size
}

// grow is told of each reply to a request that lost nothing. A window that nobody fills says
// nothing about a larger one.
func (w *window) grow() {
	if !w.full || w.size >= w.max {
		return
	}
	if w.size < min(w.threshold, w.fits) {
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

// answered is told when the answer to a first attempt came and when that was sent, as part
// of a measurement or not.
func (w *window) answered(now, sent time.Duration, measured bool) {
	if !w.yields {
		return
	}
	fits := max(w.queueing.answered(now, sent, measured, w.size), fewRequests)
	if fits != w.size && w.full {
		w.size, w.fits = min(w.size, fits), fits
	}
}
