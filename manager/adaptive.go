package manager

import (
	"ibsm/mad"
	"ibsm/sweep"
	"ibsm/topo"
)

// adaptiveLog logs adaptive routing and private tables, each switch once.
type adaptiveLog struct {
	on                  int // switches, as logged last
	private, noAdaptive map[mad.GUID]bool
}

// logAdaptive logs what a walk has found of adaptive routing.
func (l *sweepLog) logAdaptive(fx *effects, r *sweep.SweepPlan) {
	on := l.adaptive.on
	l.adaptive.on = r.AR
	switch {
	case r.RoutesHeld():
		fx.log(erro, "adaptive routing is on: routes are not written; --ar_mode=keep or --ar_mode=disable writes them", "switches", r.AR)
	case r.AR > 0 && r.AR != on:
		fx.log(info, "adaptive routing is on: switches keep it as long as their routes do not change", "switches", r.AR)
	}
	l.adaptive.private = logSwitches(fx, "private forwarding tables are in use: the forwarding table of the switch is not written", l.adaptive.private, r.Topo, r.Private())
}

// logNotAdaptive logs the switches that have lost adaptive routing.
func (l *sweepLog) logNotAdaptive(fx *effects, out *sweep.Outcome) {
	l.adaptive.noAdaptive = logSwitches(fx, "adaptive routing is off since the routes of the switch changed", l.adaptive.noAdaptive, out.Topo, out.NotAdaptive())
}

// logSwitches logs a text for each of some switches that was not logged before, and returns
// those that are now.
func logSwitches(fx *effects, text string, logged map[mad.GUID]bool, t *topo.Topo, switches []topo.NodeIdx) (now map[mad.GUID]bool) {
	now = map[mad.GUID]bool{}
	for _, n := range switches {
		node := &t.Nodes[n]
		if now[node.GUID] = true; !logged[node.GUID] {
			fx.log(warn, text, "guid", node.GUID, "name", node.Desc.String())
		}
	}
	return now
}
