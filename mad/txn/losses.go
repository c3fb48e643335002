package txn

import "time"

// losses distinguishes loss everywhere from devices that answer late, or drop what they are sent: each of these counts
// for the window once in lossPeriod, unless they are many.
type losses struct {
	period uint32 // counts from 1
	ends   time.Duration
	heard  int // devices that have answered in this period
	before int // in the one before
	lost   int // devices of which a loss was counted in this period
}

const (
	lossPeriod = 10 * time.Second
	// lossShare is the share of the devices that answer, one in so many, from which on losses are everywhere.
	lossShare = 4
)

// begin begins a period if the last one has ended.
func (l *losses) begin(now time.Duration) {
	if l.period == 0 || now >= l.ends {
		*l = losses{period: l.period + 1, ends: now + lossPeriod, before: l.heard}
	}
}

// answered counts a device that has answered.
func (l *losses) answered(now time.Duration, d *device) {
	if l.begin(now); d.heardIn != l.period {
		d.heardIn = l.period
		l.heard++
	}
}

// count reports whether a loss on the way to a device, or back, counts for the window.
func (l *losses) count(now time.Duration, d *device) bool {
	if l.begin(now); d.lostIn != l.period {
		d.lostIn = l.period
		l.lost++
		return true
	}
	return l.lost*lossShare > max(l.heard, l.before)
}
