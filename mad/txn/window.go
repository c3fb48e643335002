package txn

import "time"

// Bounds of the send window. It never falls below what OpenSM keeps on the wire.
const (
	minWindow   = 4
	startWindow = 16
	// DefaultMaxWindow is as many requests as Linux 7 keeps with the adapter, and a quarter of
	// the replies that Linux has receive buffers for on QP0. More would wait in the kernel.
	DefaultMaxWindow = 128
	maxMaxWindow     = 2048
)

// window is how many requests may wait for the reply to an attempt. It doubles each
// round trip until it is too large, then grows by one each round trip. A loss halves it, and
// with yields a queue shrinks it.
type window struct {
	size      int
	min, max  int
	threshold int // below it the window doubles: half of the size at the last loss
	fits      int // below it the window doubles: the size that keeps queues short
	replies   int // since it grew by one
	full      bool
	cuts      uint64
	lastCut   time.Duration
	yields    bool // it keeps queues short for other packets
	queueing  queueing
	passing   passing
	trial     trial
	chosen    bool // only losses keep it smaller than max: Config.Chosen
}

func newWindow(cfg *Config) window {
	least, limit := cfg.MinWindow, cfg.MaxWindow
	return window{size: min(max(startWindow, least), limit), min: least, max: limit, threshold: limit, fits: limit,
		lastCut: -1, chosen: cfg.Chosen}
}

// setLimit changes the largest size of the window.
func (w *window) setLimit(limit int) {
	if w.cuts == 0 {
		w.threshold = limit
	}
	w.max, w.size, w.fits = limit, min(w.size, limit), limit
}

// setYields sets whether the window keeps queues short.
func (w *window) setYields(is bool) {
	if w.yields != is {
		w.yields, w.fits, w.queueing = is, w.max, queueing{}
	}
}

// open is how many requests may wait now.
func (w *window) open() int {
	open := min(w.size, w.path())
	if w.queueing.measuring {
		open = min(open, fewRequests)
	}
	return open
}

// path is the limit of the path on which all requests leave.
func (w *window) path() int {
	if w.passing.needed && !w.passing.inHardware && !w.chosen {
		return max(pathWindow, w.min)
	}
	return maxMaxWindow
}

// undecided reports whether the path limits the window, and a trial may show that it need not.
func (w *window) undecided() bool {
	return w.passing.undecided && w.path() < maxMaxWindow && !w.queueing.measuring
}

// grow takes a reply to a request without loss. It grows only a full window, because a partly
// used one shows nothing about a larger one.
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

// cut takes a loss. A packet that was sent before the last cut belongs to the loss that caused
// that.
func (w *window) cut(now, firstSent time.Duration) {
	if firstSent <= w.lastCut {
		return
	}
	w.size = max(w.size/2, min(w.min, w.max))
	w.threshold, w.replies, w.lastCut = w.size, 0, now
	w.cuts++
	if w.passing.proven > 0 {
		w.passing.refute()
		w.trial.end(now + lossPause)
	}
}

// answered takes the times at which the reply to a first attempt came and the attempt was sent,
// and whether that belongs to a measurement.
func (w *window) answered(now, sent time.Duration, measured bool) {
	if !w.yields {
		return
	}
	fits := max(w.queueing.answered(now, sent, measured, w.size), fewRequests)
	if fits != w.size && w.full {
		w.size, w.fits = min(w.size, fits), fits
	}
}
