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
	l.adaptive.private = logNew(l.adaptive.private, r.Topo, r.Private(), func(n *topo.Node) {
		fx.log(warn, "private forwarding tables are in use: the forwarding table of the switch is not written", "guid", n.GUID, "name", n.Desc.String())
	})
}

// logNotAdaptive logs the switches that have lost adaptive routing.
func (l *sweepLog) logNotAdaptive(fx *effects, out *sweep.Outcome) {
	l.adaptive.noAdaptive = logNew(l.adaptive.noAdaptive, out.Topo, out.NotAdaptive(), func(n *topo.Node) {
		fx.log(warn, "adaptive routing is off since the routes of the switch changed", "guid", n.GUID, "name", n.Desc.String())
	})
}

// logNew calls do for each of some nodes that was not logged before, and returns those that
// are now.
func logNew(logged map[mad.GUID]bool, t *topo.Topo, nodes []topo.NodeIdx, do func(*topo.Node)) (now map[mad.GUID]bool) {
	now = map[mad.GUID]bool{}
	for _, n := range nodes {
		node := &t.Nodes[n]
		if now[node.GUID] = true; !logged[node.GUID] {
			do(node)
		}
	}
	return now
}
