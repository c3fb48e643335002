package manager

import (
	"slices"

	"ibsm/routing"
	"ibsm/sweep"
	"ibsm/view"
)

// logDrained logs what routes avoid because the operator wants so, and what they cannot avoid, each once as long as it lasts.
func (l *sweepLog) logDrained(fx *effects, r *sweep.SweepPlan) {
	was := func(p routing.SwitchPort, in []view.Drained) (view.DrainState, bool) {
		i := slices.IndexFunc(in, func(d view.Drained) bool { return d.SwitchPort == p })
		if i < 0 {
			return view.DrainAbsent, false
		}
		return in[i].State, true
	}
	for _, d := range r.Drained {
		if state, is := was(d.SwitchPort, l.drained); is && state == d.State {
			continue
		}
		switch d.State {
		case view.DrainEmpty:
			fx.log(info, "drained: no route between other switches passes it", "guid", d.Switch, "port", d.Port, "hosts", len(d.Hosts)+d.More)
		case view.DrainNeeded:
			fx.log(warn, "drained, but still needed: routes pass it", "guid", d.Switch, "port", d.Port, "hosts", len(d.Hosts)+d.More)
		}
	}
	for _, d := range l.drained {
		if _, is := was(d.SwitchPort, r.Drained); !is {
			fx.log(info, "drained no more", "guid", d.Switch, "port", d.Port)
		}
	}
	l.drained = r.Drained
}
