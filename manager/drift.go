package manager

import (
	"time"

	"ibsm/sweep"
)

// Measure runs a drift task and returns its result as DriftMeasured. Only one is out at a time.
type Measure struct{ Task *sweep.DriftTask }

// EndMeasure ends the drift task that is out early; its result is still awaited.
type EndMeasure struct{}

// DriftMeasured is the result of a Measure action; nil for one that EndMeasure has ended, or that came to nothing.
type DriftMeasured struct{ Result *sweep.Drift }

// Drifted says how good the routes in force are, beside those that the engines would compute afresh. Offered says that these are better by more than
// the threshold. Nil says that nothing is known of the routes in force.
type Drifted struct {
	*sweep.Drift
	Offered bool
}

func (Measure) action()       {}
func (EndMeasure) action()    {}
func (Drifted) action()       {}
func (Drifted) notification() {}
func (DriftMeasured) event()  {}

// Maintenance is when routes may be computed afresh without an order.
type Maintenance struct {
	// Threshold is by how much routes in force must be worse than fresh ones, in percent, before these are offered, or taken in the window. 0 measures nothing.
	Threshold int
	// From and To are the window of each day, by the clock of Zone, as time since midnight; it can go past midnight. Equal ones are no window.
	From, To time.Duration
	Zone     *time.Location // nil for UTC
}

// next is when the window begins next, or now inside it; false for no window. Times are those of day.
func (m *Maintenance) next(now time.Time) (begin time.Time, inside, ok bool) {
	if m.From == m.To {
		return begin, false, false
	}
	if m.Zone != nil {
		now = now.In(m.Zone)
	} else {
		now = now.UTC()
	}
	length := m.To - m.From
	if length < 0 {
		length += 24 * time.Hour
	}
	for day := -1; ; day++ { // that of yesterday may go on
		begin = time.Date(now.Year(), now.Month(), now.Day()+day, 0, 0, int(m.From/time.Second), 0, now.Location())
		if now.Before(begin.Add(length)) {
			return begin, !now.Before(begin), true
		}
	}
}

// driftWait is how long routes must have been in force before they are measured: a fabric in which much changes is measured once.
const driftWait = 30 * time.Second

// drifting is the machine that measures how far the routes in force are from those that would be computed afresh, beside everything else, and
// has these taken in the maintenance window. A sweep that computes routes ends what is under way.
type drifting struct {
	state  driftState
	routes *sweep.DriftTask // of the last sweep that wrote routes; nil before, and while others may be in force
	due    time.Duration    // when they are measured; 0 for no need
	last   *sweep.Drift     // nil before there was one
	taken  *sweep.Drift     // for which all routes were computed afresh: not again for the same
	logged bool             // better routes were offered, and have not been taken since
}

// driftState is whether a task is out.
type driftState uint8

const (
	notMeasuring driftState = iota
	isMeasuring
	endsMeasuring // it was ended; its result is awaited
)

func (s driftState) String() string {
	return [...]string{"resting", "measuring", "ending"}[s]
}

// begin takes the routes that a sweep left.
func (d *drifting) begin(now time.Duration, out *sweep.Outcome, threshold int) {
	d.routes, d.due = out.Drift(), 0
	if d.routes != nil && threshold > 0 && (d.last == nil || !d.last.Of(d.routes)) {
		d.due = now + driftWait
	}
}

// interrupt ends what is under way: routes are computed, which must not wait for it.
func (d *drifting) interrupt(fx *effects) {
	if d.state == isMeasuring {
		d.state = endsMeasuring
		fx.do(EndMeasure{})
	}
	d.routes, d.due = nil, 0
}

// forget ends everything: this manager is not master any more.
func (d *drifting) forget(fx *effects) {
	d.interrupt(fx)
	if d.last != nil {
		fx.do(Drifted{})
	}
	d.last, d.taken, d.logged = nil, nil, false
}

// deadline is when tick has something to do; false for never.
func (d *drifting) deadline(now time.Duration, epoch int64, m *Maintenance) (time.Duration, bool) {
	switch {
	case d.state != notMeasuring:
		return 0, false
	case d.due > 0:
		return d.due, true
	case !d.takes(m):
		return 0, false
	}
	begin, inside, ok := m.next(timeOfDay(now, epoch))
	if inside {
		return now, true
	}
	return now + begin.Sub(timeOfDay(now, epoch)), ok
}

func timeOfDay(now time.Duration, epoch int64) time.Time { return time.Unix(epoch, 0).Add(now) }

// takes reports whether better routes are wanted in the window.
func (d *drifting) takes(m *Maintenance) bool {
	return d.routes != nil && d.last != nil && d.last != d.taken && d.due == 0 && d.last.Of(d.routes) && isOver(d.last, m)
}

func isOver(d *sweep.Drift, m *Maintenance) bool { return m.Threshold > 0 && d.Percent() > m.Threshold }

// tick has the routes measured when that is due. It reports whether all routes must be computed afresh now.
func (d *drifting) tick(fx *effects, epoch int64, m *Maintenance) (reroute bool) {
	if d.state == notMeasuring && d.due > 0 && d.due <= fx.now {
		if d.due = 0; d.routes != nil {
			d.state = isMeasuring
			fx.do(Measure{d.routes})
		}
	}
	if d.state != notMeasuring || !d.takes(m) {
		return false
	}
	if _, inside, _ := m.next(timeOfDay(fx.now, epoch)); !inside {
		return false
	}
	d.taken = d.last
	fx.log(info, "maintenance window: all routes are computed afresh", "worse by percent", d.last.Percent())
	return true
}

// done takes the result of the task.
func (d *drifting) done(fx *effects, r *sweep.Drift, m *Maintenance) {
	ended := d.state == endsMeasuring
	if d.state = notMeasuring; r == nil || ended {
		return
	}
	d.last = r
	over := isOver(r, m)
	fx.do(Drifted{r, over})
	if over && !d.logged {
		fx.log(warn, "better routes are offered: those in force have drifted from what the routing engine would compute afresh, which ibsmctl reroute does, or the maintenance window",
			"engine", r.Engine, "worse by percent", r.Percent(), "fullest", r.Fullest, "fullest afresh", r.BestFullest, "shift", r.Shift, "shift afresh", r.BestShift)
	}
	d.logged = over
}
