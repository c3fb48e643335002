package manager

import (
	"ibsm/mad"
	"ibsm/sweep"
	"ibsm/topo"
)

// adaptiveLog logs adaptive routing and private tables, each switch once.
type adaptiveLog struct {
	on                             int // switches, as logged last
	private, lanesLeft, noAdaptive map[mad.GUID]bool
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
	now := map[mad.GUID]bool{}
	for _, n := range r.Private() {
		logSwitch(fx, "private forwarding tables are in use: the forwarding table and the lanes of the switch are not written", l.adaptive.private, now, &r.Topo.Nodes[n])
	}
	l.adaptive.private = now
}

// logLanesLeft logs the switches whose lanes are not written and are not as wanted.
func (l *sweepLog) logLanesLeft(fx *effects, out *sweep.Outcome) {
	now := map[mad.GUID]bool{}
	for _, p := range out.LanesLeft() {
		if node := &out.Topo.Nodes[out.Topo.Ports[p].Node]; !now[node.GUID] {
			logSwitch(fx, "lanes of the switch stay other than wanted: private forwarding tables are in use", l.adaptive.lanesLeft, now, node)
		}
	}
	l.adaptive.lanesLeft = now
}

// logNotAdaptive logs the switches that have lost adaptive routing.
func (l *sweepLog) logNotAdaptive(fx *effects, out *sweep.Outcome) {
	now := map[mad.GUID]bool{}
	for _, off := range out.NotAdaptive() {
		logSwitch(fx, "adaptive routing is off at a switch where it was on", l.adaptive.noAdaptive, now, &out.Topo.Nodes[off.Node], "reason", off.Why.String())
	}
	l.adaptive.noAdaptive = now
}

// logSwitch logs a text for a switch that was not logged before, and puts it to those that are now.
func logSwitch(fx *effects, text string, logged, now map[mad.GUID]bool, node *topo.Node, args ...any) {
	if now[node.GUID] = true; !logged[node.GUID] {
		fx.log(warn, text, append([]any{"guid", node.GUID, "name", node.Desc.String()}, args...)...)
	}
}
