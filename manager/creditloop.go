package manager

import (
	"fmt"

	"ibsm/opensm/names"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/sweep"
	"ibsm/topo"
	"ibsm/view"
)

// logCreditLoop logs a credit loop among the routes, once as long as it lasts, and its end.
func (l *sweepLog) logCreditLoop(fx *effects, r *sweep.SweepPlan, m names.Map) {
	text := CreditLoop(r, m)
	switch {
	case text == l.creditLoop:
	case text == "":
		fx.log(info, "the routes have no credit loop any more")
	case r.Keep == routing.KeepWorking:
		fx.log(erro, text)
	default:
		fx.log(warn, text)
	}
	l.creditLoop = text
}

// CreditLoop is a sentence about the credit loop of a plan; "" if it has none.
func CreditLoop(r *sweep.SweepPlan, m names.Map) string {
	if r.CreditLoop == nil {
		return ""
	}
	whose := "the routes have a credit loop"
	switch {
	case r.Keep != routing.KeepWorking:
	case len(r.Closing) > 0:
		whose = fmt.Sprintf("the routes of another manager are kept, and have a credit loop since a repair, which found no other way to LID %v that goes with them", r.Closing[0].LID)
	default:
		whose = "the routes of another manager are kept, and have a credit loop where that manager gave paths different SLs, because every path has the same SL now"
	}
	name := func(n *topo.Node) string { return nodeName(m, n) }
	return fmt.Sprintf("%s: packets that leave by these %d ports can wait for each other for ever: %s", whose, len(r.CreditLoop), creditloop.Text(r.Topo, r.CreditLoop, name))
}

// creditLoopFault is the fault of a port in a credit loop, whose packets wait for the next one.
func creditLoopFault(r *sweep.SweepPlan, c, next creditloop.Channel) view.Fault {
	node := func(s topo.SwitchIdx) *topo.Node { return &r.Topo.Nodes[r.Topo.Switches[s]] }
	return view.Fault{
		Kind: view.CreditLoop, Node: node(c.Switch).GUID, Port: c.Port,
		Text: fmt.Sprintf("in a credit loop of %d links: packets from hosts of %v to LID %v leave by this port, and wait for port %d of %v",
			len(r.CreditLoop), node(c.Source).Desc, c.Dest, next.Port, node(next.Switch).Desc),
	}
}
