package manager

import (
	"testing"
	"time"

	"ibsm/routing"
	"ibsm/sweep"
)

// TestMaintenanceWindow: when the window is, also past midnight and on days of 23 and 25 hours.
func TestMaintenanceWindow(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		from, to   time.Duration
		now, begin string
		inside     bool
	}{
		{2 * time.Hour, 4 * time.Hour, "2026-05-10 01:59:59", "2026-05-10 02:00:00", false},
		{2 * time.Hour, 4 * time.Hour, "2026-05-10 02:00:00", "2026-05-10 02:00:00", true},
		{2 * time.Hour, 4 * time.Hour, "2026-05-10 03:59:59", "2026-05-10 02:00:00", true},
		{2 * time.Hour, 4 * time.Hour, "2026-05-10 04:00:00", "2026-05-11 02:00:00", false},
		{23 * time.Hour, time.Hour, "2026-05-10 00:30:00", "2026-05-09 23:00:00", true},
		{23 * time.Hour, time.Hour, "2026-05-10 01:00:00", "2026-05-10 23:00:00", false},
		{23*time.Hour + 30*time.Minute, 23 * time.Hour, "2026-05-10 23:10:00", "2026-05-10 23:30:00", false},
		{4 * time.Hour, 5 * time.Hour, "2026-03-29 04:30:00", "2026-03-29 04:00:00", true}, // the clock was put forward at 2
		{4 * time.Hour, 5 * time.Hour, "2026-10-25 05:00:00", "2026-10-26 04:00:00", false},
	} {
		m := Maintenance{From: c.from, To: c.to, Zone: zone}
		now, err := time.ParseInLocation(time.DateTime, c.now, zone)
		if err != nil {
			t.Fatal(err)
		}
		begin, inside, ok := m.next(now.UTC())
		if got := begin.Format(time.DateTime); !ok || inside != c.inside || got != c.begin {
			t.Errorf("%+v: %s, %t, %t", c, got, inside, ok)
		}
	}
	if _, _, ok := (&Maintenance{}).next(time.Now()); ok {
		t.Error("there is a window that nobody has named")
	}
}

// TestDrifting: routes are measured once they have been in force for a while, and a sweep ends that; its result is awaited, and says nothing. Routes that are worse
// than the threshold are offered once, and computed afresh in the window: once in each, and not again for tables that came of that.
func TestDrifting(t *testing.T) {
	f := newSwept(t, "fattree:k=4,levels=2")
	f.heavy()
	with := func(out *sweep.Outcome, keep routing.Keep) *sweep.Outcome {
		plan := *out.SweepPlan
		plan.Keep = keep
		o := *out
		o.SweepPlan = &plan
		return &o
	}
	kept, same := with(f.heavy(), routing.KeepNone+1), with(f.heavy(), routing.KeepNone+1)
	f.cut(0)
	f.heavy()
	other := with(f.heavy(), routing.KeepNone+1)
	afresh := with(other, routing.KeepNone)
	if !kept.Drift().Same(same.Drift()) || kept.Drift().SameTables(other.Drift()) {
		t.Fatal("the sweeps leave not what they should")
	}
	const measure, end, drifted = " Measure", " EndMeasure", " Drifted"
	const offered, nothing, reroute = " Drifted/offered", " Drifted/nothing", " reroute"
	for _, c := range []struct {
		// 1 and s a sweep leaves the first routes, 2 others, a others that were computed afresh, 0 none, i routes are computed, f the mastership ends,
		// w the wait, j half of it, + worse routes were measured, - good ones, x nothing,
		// o the window of the next day opens, m it has gone on, c the configuration asks for more, u for nothing
		steps string
		state driftState
		task  taskState
		due   bool // something
		did   string
		lines int
	}{
		{"", routesUnknown, noTask, false, "", 0},
		{"0", routesUnknown, noTask, false, "", 0},
		{"1", routesSettle, noTask, true, "", 0},
		{"1j", routesSettle, noTask, true, "", 0},
		{"1w", routesMeasuring, taskOut, false, measure, 0},
		{"1js", routesSettle, noTask, true, "", 0},
		{"1jsj", routesSettle, noTask, true, "", 0}, // they may change again
		{"1jsw", routesMeasuring, taskOut, false, measure, 0},
		{"1i", routesUnknown, noTask, false, "", 0},
		{"1iw", routesUnknown, noTask, false, "", 0},
		{"1wi", routesUnknown, taskEnding, false, measure + end, 0},
		{"1wii", routesUnknown, taskEnding, false, measure + end, 0},
		{"1wi+", routesUnknown, noTask, false, measure + end, 0},
		{"1wi1", routesSettle, taskEnding, false, measure + end, 0},
		{"1w2", routesSettle, taskEnding, false, measure + end, 0},
		{"1w2w", routesSettle, taskEnding, false, measure + end, 0}, // the result of the one that is out first
		{"1w2wx", routesSettle, noTask, true, measure + end, 0},
		{"1w2wxw", routesMeasuring, taskOut, false, measure + end + measure, 0},
		{"1w0", routesUnknown, taskEnding, false, measure + end, 0},
		{"1w-", routesMeasured, noTask, false, measure + drifted, 0},
		{"1wx", routesMeasured, noTask, false, measure, 0},
		{"1w+", routesMeasured, noTask, true, measure + offered, 1},
		{"1w+s", routesMeasured, noTask, true, measure + offered, 1}, // that was measured
		{"1w-s", routesMeasured, noTask, false, measure + drifted, 0},
		{"1wxs", routesMeasured, noTask, false, measure, 0},
		{"1w+i", routesUnknown, noTask, false, measure + offered, 1},
		{"1w+is", routesMeasured, noTask, true, measure + offered, 1},
		{"1w+2", routesSettle, noTask, true, measure + offered + nothing, 1},
		{"1w+2w+", routesMeasured, noTask, true, measure + offered + nothing + measure + offered, 1}, // once
		{"1w+2w-1w+", routesMeasured, noTask, true, measure + offered + nothing + measure + drifted + nothing + measure + offered, 2},
		{"1w+21", routesSettle, noTask, true, measure + offered + nothing, 1}, // what was known is forgotten
		{"1w+0", routesUnknown, noTask, false, measure + offered + nothing, 1},
		{"1w+f", routesUnknown, noTask, false, measure + offered + nothing, 1},
		{"1w+f1w+", routesMeasured, noTask, true, measure + offered + nothing + measure + offered, 2},
		{"1wf", routesUnknown, taskEnding, false, measure + end, 0},
		{"1w+c", routesMeasured, noTask, false, measure + offered + drifted, 1},
		{"1w-c", routesMeasured, noTask, false, measure + drifted, 0},
		{"1w+u", routesUnknown, noTask, false, measure + offered + nothing, 1},
		{"1wu", routesUnknown, taskEnding, false, measure + end, 0},
		{"u1", routesUnknown, noTask, false, "", 0},

		{"1w-o", routesMeasured, noTask, false, measure + drifted, 0},
		{"1o", routesMeasuring, taskOut, false, measure, 0},
		{"1w+m", routesMeasured, noTask, true, measure + offered, 1}, // before the window
		{"1w+o", routesAfresh, noTask, false, measure + offered + reroute, 2},
		{"1w+oo", routesAfresh, noTask, false, measure + offered + reroute, 2},
		{"1w+oi", routesAfresh, noTask, false, measure + offered + reroute, 2},
		{"1w+ou", routesAfresh, noTask, false, measure + offered + reroute + nothing, 2},
		{"1w+of", routesUnknown, noTask, false, measure + offered + reroute + nothing, 2},
		{"1w+oi2", routesSettle, noTask, true, measure + offered + reroute + nothing, 2},
		{"1w+oiaw-", routesLeft, noTask, false, measure + offered + reroute + nothing + measure + drifted, 2},
		{"1w+oiaw+", routesLeft, noTask, false, measure + offered + reroute + nothing + measure + offered, 2},
		{"1w+oiaw+o", routesLeft, noTask, false, measure + offered + reroute + nothing + measure + offered, 2}, // another order would change nothing
		{"1w+oiaw+2", routesLeft, noTask, false, measure + offered + reroute + nothing + measure + offered, 2},
		// An order that the sweep did not carry out leaves nothing.
		{"1w+oi2w+m", routesMeasured, noTask, true, measure + offered + reroute + nothing + measure + offered, 2},
		{"1w+oi2w+o", routesAfresh, noTask, false, measure + offered + reroute + nothing + measure + offered + reroute, 3},
		{"1w+oiaw+1w+m", routesMeasured, noTask, true, measure + offered + reroute + nothing + measure + offered + nothing + measure + offered, 2}, // one order in a window
		{"1w+oiaw+1w+mo", routesAfresh, noTask, false, measure + offered + reroute + nothing + measure + offered + nothing + measure + offered + reroute, 3},
		{"1w+oiaw+fa", routesSettle, noTask, true, measure + offered + reroute + nothing + measure + offered + nothing, 2},
		{"1w+oiaw+faw+", routesMeasured, noTask, true, measure + offered + reroute + nothing + measure + offered + nothing + measure + offered, 3},
	} {
		var d drifting
		m := Maintenance{Threshold: 20, From: 2 * time.Hour, To: 4 * time.Hour}
		fx, did, lines := newEffects(time.Second), "", 0
		tick := func(at time.Duration) {
			if fx.now = at; d.tick(fx, 0, &m) {
				did += reroute
			}
		}
		for _, s := range c.steps {
			switch s {
			case '1':
				d.begin(fx, kept, &m)
			case 's':
				d.begin(fx, same, &m)
			case '2':
				d.begin(fx, other, &m)
			case 'a':
				d.begin(fx, afresh, &m)
			case '0':
				d.begin(fx, &sweep.Outcome{SweepPlan: &sweep.SweepPlan{}}, &m)
			case 'i':
				d.interrupt(fx)
			case 'f':
				d.forget(fx)
			case 'w':
				tick(fx.now + driftWait)
			case 'j':
				tick(fx.now + driftWait/2)
			case '+':
				d.done(fx, &sweep.Drift{Fullest: 13, BestFullest: 10}, &m)
			case '-':
				d.done(fx, &sweep.Drift{Fullest: 12, BestFullest: 10}, &m)
			case 'x':
				d.done(fx, nil, &m)
			case 'o':
				tick((fx.now - 3*time.Hour).Round(24*time.Hour) + 26*time.Hour)
			case 'm':
				tick(fx.now + time.Hour)
			case 'c', 'u':
				before := m
				if m.Threshold = 30; s == 'u' {
					m.Threshold = 0
				}
				d.reconfigure(fx, &before, &m)
			}
			for _, a := range fx.actions {
				switch a := a.(type) {
				case Log:
					lines++
				case Measure:
					did += measure
				case EndMeasure:
					did += end
				case Drifted:
					if did += drifted; a.Drift == nil {
						did += "/nothing"
					} else if a.Offered {
						did += "/offered"
					}
				}
			}
			fx.actions = nil
		}
		if _, due := d.deadline(fx.now, 0, &m); d.state != c.state || d.task != c.task || due != c.due || lines != c.lines {
			t.Errorf("%s leads to %v, task %v, due %t, %d lines, want %v, %v, %t, %d", c.steps, d.state, d.task, due, lines, c.state, c.task, c.due, c.lines)
		}
		if did != c.did {
			t.Errorf("%s: %q, want %q", c.steps, did, c.did)
		}
	}
}
