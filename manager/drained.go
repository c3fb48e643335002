package manager

import (
	"slices"

	"ibsm/sweep"
	"ibsm/view"
)

// logDrained logs what routes avoid because the operator wants so, or because it is sick, and what they cannot avoid, each once as long as it lasts.
func (l *sweepLog) logDrained(fx *effects, r *sweep.SweepPlan) {
	was := func(o *view.Drained, in []view.Drained) (view.DrainState, bool) {
		i := slices.IndexFunc(in, func(d view.Drained) bool { return d.SwitchPort == o.SwitchPort && d.By == o.By })
		if i < 0 {
			return view.DrainAbsent, false
		}
		return in[i].State, true
	}
	for i := range r.Drained {
		d := &r.Drained[i]
		if state, is := was(d, l.drained); is && state == d.State {
			continue
		}
		switch d.State {
		case view.DrainEmpty:
			fx.log(info, "drained: no route between other switches passes it", "guid", d.Switch, "port", d.Port, "by", d.By.String(), "hosts", len(d.Hosts)+d.More)
		case view.DrainNeeded:
			fx.log(warn, "drained, but still needed: routes pass it", "guid", d.Switch, "port", d.Port, "by", d.By.String(), "hosts", len(d.Hosts)+d.More)
		}
	}
	for i := range l.drained {
		d := &l.drained[i]
		if _, is := was(d, r.Drained); !is {
			fx.log(info, "drained no more", "guid", d.Switch, "port", d.Port, "by", d.By.String())
		}
	}
	l.drained = r.Drained
}
