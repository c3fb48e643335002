package manager

import (
	"time"

	"ibsm/routing"
	"ibsm/sweep"
)

// Measure runs a drift task and returns its result as DriftMeasured. Only one is out at a time.
type Measure struct{ Task *sweep.DriftTask }

// EndMeasure ends the drift task that is out early; its result is still awaited.
type EndMeasure struct{}

// DriftMeasured is the result of a Measure action; nil for one that EndMeasure has ended, and where no engine routes afresh.
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

// length is that of the window, 0 for none.
func (m *Maintenance) length() time.Duration {
	if m.To < m.From {
		return m.To - m.From + 24*time.Hour
	}
	return m.To - m.From
}

// next is when the window begins next, or began if it is now; false for no window. Times are those of day.
func (m *Maintenance) next(now time.Time) (begin time.Time, inside, ok bool) {
	if m.length() == 0 {
		return begin, false, false
	}
	if m.Zone != nil {
		now = now.In(m.Zone)
	} else {
		now = now.UTC()
	}
	for day := -1; ; day++ { // that of yesterday may go on
		begin = time.Date(now.Year(), now.Month(), now.Day()+day, 0, 0, int(m.From/time.Second), 0, now.Location())
		if now.Before(begin.Add(m.length())) {
			return begin, !now.Before(begin), true
		}
	}
}

// driftWait is how long routes must have been in force before they are measured: a fabric in which much changes is measured once.
const driftWait = 30 * time.Second

// drifting is the machine that measures how far the routes in force are from those that would be computed afresh, beside everything else, and
// has these taken in the maintenance window. A sweep that computes routes ends what is under way.
type drifting struct {
	state    driftState
	task     taskState
	routes   *sweep.DriftTask // in force; nil in routesUnknown and routesAfresh
	due      time.Duration    // in routesSettle: when they are measured
	measured *sweep.DriftTask // what was measured last, if no other routes have come into force since
	last     *sweep.Drift     // its result; nil if there is none
	left     *sweep.DriftTask // what the last order in a window came to: none is given for the same tables
	window   time.Time        // when the window began in which it was given
	logged   bool             // better routes were offered, and have not been taken since
}

// driftState is what is known of the routes in force.
type driftState uint8

const (
	routesUnknown   driftState = iota // there are none, others are computed, or the threshold is 0
	routesSettle                      // they may change again soon
	routesMeasuring                   // a task is out for them
	routesMeasured                    // last is their result
	routesLeft                        // likewise, and the last order in a window left them: another one would change nothing
	routesAfresh                      // all are about to be computed afresh, by an order in a window
)

func (s driftState) String() string {
	return [...]string{"unknown", "settling", "measuring", "measured", "left", "rerouting"}[s]
}

// begin takes the routes that a sweep left.
func (d *drifting) begin(fx *effects, out *sweep.Outcome, m *Maintenance) {
	d.interrupt(fx)
	d.routes = out.Drift()
	if d.state == routesAfresh && out.Keep == routing.KeepNone {
		d.left = d.routes
	}
	switch {
	case d.routes == nil || m.Threshold == 0:
		d.state = routesUnknown
		d.withdraw(fx)
	case d.measured != nil && d.measured.Same(d.routes):
		d.know()
	default:
		d.state, d.due = routesSettle, fx.now+driftWait
		d.withdraw(fx)
	}
}

// know notes that the routes in force have been measured.
func (d *drifting) know() {
	if d.state = routesMeasured; d.left != nil && d.left.SameTables(d.routes) {
		d.state = routesLeft
	}
}

// withdraw ends what was said of routes that are not in force any more.
func (d *drifting) withdraw(fx *effects) {
	if d.last != nil {
		fx.do(Drifted{})
	}
	d.measured, d.last = nil, nil
}

// interrupt ends what is under way: routes are computed, which must not wait for it.
func (d *drifting) interrupt(fx *effects) {
	if d.task == taskOut {
		d.task = taskEnding
		fx.do(EndMeasure{})
	}
	if d.routes = nil; d.state != routesAfresh {
		d.state = routesUnknown
	}
}

// forget ends everything: this manager is not master any more.
func (d *drifting) forget(fx *effects) {
	d.interrupt(fx)
	d.withdraw(fx)
	d.state, d.left, d.logged = routesUnknown, nil, false
}

// reconfigure judges by other settings.
func (d *drifting) reconfigure(fx *effects, before, now *Maintenance) {
	switch {
	case now.Threshold == 0:
		d.interrupt(fx)
		d.withdraw(fx)
		d.logged = false
	case d.last != nil && isOver(d.last, before) != isOver(d.last, now):
		d.report(fx, now)
	}
}

// deadline is when tick has something to do; false for never.
func (d *drifting) deadline(now time.Duration, epoch int64, m *Maintenance) (time.Duration, bool) {
	switch {
	case d.task != noTask:
		return 0, false
	case d.state == routesSettle:
		return d.due, true
	case !d.takes(m):
		return 0, false
	}
	day := timeOfDay(now, epoch)
	at, ok := d.opens(day, m)
	return now + max(0, at.Sub(day)), ok
}

func timeOfDay(now time.Duration, epoch int64) time.Time { return time.Unix(epoch, 0).Add(now) }

// takes reports whether better routes are wanted in the window.
func (d *drifting) takes(m *Maintenance) bool {
	return d.state == routesMeasured && m.length() > 0 && d.last != nil && isOver(d.last, m)
}

func isOver(d *sweep.Drift, m *Maintenance) bool { return m.Threshold > 0 && d.Percent() > m.Threshold }

// opens is when the next order may be given: one in each window. It is false for never.
func (d *drifting) opens(now time.Time, m *Maintenance) (at time.Time, ok bool) {
	begin, inside, ok := m.next(now)
	if inside && begin.Equal(d.window) {
		now = begin.Add(m.length())
		begin, inside, ok = m.next(now)
	}
	if inside {
		return now, ok
	}
	return begin, ok
}

// tick has the routes measured when that is due. It reports whether all routes must be computed afresh now.
func (d *drifting) tick(fx *effects, epoch int64, m *Maintenance) (reroute bool) {
	if at, is := d.deadline(fx.now, epoch, m); !is || at > fx.now {
		return false
	}
	if d.state == routesSettle {
		d.state, d.task = routesMeasuring, taskOut
		fx.do(Measure{d.routes})
		return false
	}
	d.window, _, _ = m.next(timeOfDay(fx.now, epoch))
	d.state = routesAfresh
	fx.log(info, "maintenance window: all routes are computed afresh", "worse_percent", d.last.Percent())
	return true
}

// done takes the result of the task.
func (d *drifting) done(fx *effects, r *sweep.Drift, m *Maintenance) {
	ended := d.task == taskEnding
	if d.task = noTask; ended {
		return
	}
	d.measured, d.last = d.routes, r
	if d.know(); r != nil {
		d.report(fx, m)
	}
}

// report says what is known of the routes in force, and offers better ones once.
func (d *drifting) report(fx *effects, m *Maintenance) {
	r, over := d.last, isOver(d.last, m)
	fx.do(Drifted{r, over})
	if over && !d.logged {
		fx.log(warn, "routes have degraded: run ibsmctl reroute, or wait for the maintenance window if reroute_window is set",
			"engine", r.Engine, "worse_percent", r.Percent(), "fullest", r.Fullest, "fullest_afresh", r.BestFullest, "shift", r.Shift, "shift_afresh", r.BestShift)
	}
	d.logged = over
}
