package manager

import (
	"fmt"
	"strings"

	"ibsm/mad"
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
		fx.log(erro, text, "example", waits(r, m))
	default:
		fx.log(warn, text, "example", waits(r, m))
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
	case r.Fitting.State == sweep.TooFewLanes:
		whose = "the routes of another manager are kept, and have a credit loop: without one they need " + lanesNeeded(&r.Fitting)
	case r.Keep != routing.KeepWorking:
	case len(r.Closing) > 0:
		whose = fmt.Sprintf("the routes of another manager are kept, and have a credit loop since a repair, which found no other way to LID %v that goes with them", r.Closing[0].LID)
	default:
		whose = "the routes of another manager are kept, and have a credit loop where that manager gave paths different SLs, because every path has the same SL now, while connections made before keep theirs until hosts ask for their paths again"
	}
	name := func(n *topo.Node) string { return nodeName(m, n) }
	return fmt.Sprintf("%s: packets that leave by these %d ports can wait for each other for ever: %s", whose, len(r.CreditLoop), creditloop.Text(r.Topo, r.CreditLoop, name))
}

// lanesNeeded says how many service levels tables need, and how many ports have.
func lanesNeeded(f *sweep.Fitting) string {
	if f.Needed > routing.DropVL {
		return fmt.Sprintf("more service levels with lanes of their own than there can be; the ports have lanes for %d", f.Lanes)
	}
	return fmt.Sprintf("%d service levels with lanes of their own; the ports have lanes for %d", f.Needed, f.Lanes)
}

// logFitting logs that paths in tables found get SLs, once as long as that lasts.
func (l *sweepLog) logFitting(fx *effects, r *sweep.SweepPlan) {
	if f := r.Fitting; f != l.fitting && f.State == sweep.Fitted {
		fx.log(warn, Fitting(r), "sls", f.Needed, "lanes", f.Lanes, "sl_back_may_differ", f.OneWay)
	}
	l.fitting = r.Fitting
}

// Fitting is a sentence about the SLs that paths in tables found get; "" if they get none.
func Fitting(r *sweep.SweepPlan) string {
	if r.Fitting.State != sweep.Fitted {
		return ""
	}
	return "the routes of another manager are kept: their paths get service levels with which they have no credit loop on the lanes that ports have; connections made before keep theirs until hosts ask for their paths again"
}

// logTransition logs what can happen while a plan is written.
func (l *sweepLog) logTransition(fx *effects, r *sweep.SweepPlan, m names.Map) {
	text := Transition(r, m)
	switch {
	case text == "":
	case r.Transition.Risk != nil:
		fx.log(warn, text)
	default:
		fx.log(info, text)
	}
}

// Transition is a sentence about credit loops while a plan is written; "" if its tables can be written in
// any order.
func Transition(r *sweep.SweepPlan, m names.Map) string {
	tr := &r.Transition
	if tr.Risk == nil {
		if len(tr.Order) < 2 {
			return ""
		}
		return fmt.Sprintf("switches get their tables in %d groups, one after the other: in any other order the old and new routes together could have a credit loop", len(tr.Order))
	}
	until := fmt.Sprintf("until the last %d switches have their tables", len(tr.Order[len(tr.Order)-1]))
	if tr.State == sweep.AtRiskUntilAsked {
		until = "until hosts have asked for their paths again, because connections made before keep their SLs"
	}
	name := func(n *topo.Node) string { return nodeName(m, n) }
	return fmt.Sprintf("the old and new routes together have a credit loop %s: packets that leave by these %d ports can wait for each other until switches drop them (head_of_queue_lifetime): %s",
		until, len(tr.Risk), creditloop.Text(r.Topo, tr.Risk, name))
}

// maxWaits is how many packets waits names.
const maxWaits = 6

// waits names packets for each channel of a credit loop that are in it and wait for the next one.
func waits(r *sweep.SweepPlan, m names.Map) string {
	var all []string
	for i := range r.CreditLoop[:min(len(r.CreditLoop), maxWaits)] {
		c := &r.CreditLoop[i]
		all = append(all, fmt.Sprintf("%q port %d, lane %d: %s", nodeName(m, switchNode(r, c.Switch)), c.Port, c.Lane, packets(r, &c.Flow, m)))
	}
	return strings.Join(all, "; ")
}

// packets names packets: their SL, and the nodes at both ends.
func packets(r *sweep.SweepPlan, f *creditloop.Flow, m names.Map) string {
	end := func(lid mad.LID) string {
		if p := r.LIDs.PortOf(lid); p != topo.None {
			return fmt.Sprintf("%q LID %v", nodeName(m, &r.Topo.Nodes[r.Topo.Ports[p].Node]), lid)
		}
		return fmt.Sprintf("LID %v", lid)
	}
	return fmt.Sprintf("packets of SL %d from %s to %s", f.SL, end(f.SourceLID), end(f.Dest))
}

func switchNode(r *sweep.SweepPlan, s topo.SwitchIdx) *topo.Node {
	return &r.Topo.Nodes[r.Topo.Switches[s]]
}

// creditLoopFault is the fault of a port in a credit loop, whose packets wait for the next one.
func creditLoopFault(r *sweep.SweepPlan, c, next creditloop.Channel) view.Fault {
	return view.Fault{
		Kind: view.CreditLoop, Node: switchNode(r, c.Switch).GUID, Port: c.Port,
		Text: fmt.Sprintf("in a credit loop of %d links: %s leave by this port on lane %d, and wait for port %d of %v",
			len(r.CreditLoop), packets(r, &c.Flow, nil), c.Lane, next.Port, switchNode(r, next.Switch).Desc),
	}
}

// stopped says why packets do not leave by a port.
func stopped(r *sweep.SweepPlan, f *creditloop.Finding, m names.Map) string {
	in := ""
	if r.Topo.IsSwitchPort(f.Port) {
		in = fmt.Sprintf(" that come in by port %d", f.In)
	}
	text := packets(r, &f.Flow, m) + in
	switch f.Kind {
	case creditloop.Dropped:
		return text + " are dropped: their SL is on VL 15"
	case creditloop.NoLane:
		return fmt.Sprintf("%s are dropped: their SL is on VL %d, which the link does not have", text, f.VL)
	}
	return fmt.Sprintf("%s are never sent: their SL is on VL %d, to which the VL arbitration gives no turn", text, f.VL)
}

// stoppedSA says why packets to or from the SA do not leave by a port.
func stoppedSA(r *sweep.SweepPlan, f *creditloop.Finding, m names.Map) string {
	return fmt.Sprintf("packets to and from the SA have SL %d (sm_sl), and without qos no table of lanes is written: %s", f.SL, stopped(r, f, m))
}

// logStoppedSA logs ports that stop packets to or from the SA, each time that they are others.
func (l *sweepLog) logStoppedSA(fx *effects, r *sweep.SweepPlan, m names.Map) {
	text := ""
	if s := &r.StoppedSA; len(s.Ports) > 0 {
		f := &s.Ports[0]
		text = atPort(r, f.Port, stoppedSA(r, f, m), m)
		if text != l.stoppedSA {
			fx.log(warn, "ports drop packets to the SA on the SL of sm_sl", "sm_sl", f.SL, "ports", len(s.Ports), "end_ports", s.Ends, "first", text)
		}
	}
	l.stoppedSA = text
}

// atPort is a text about a port with its name before it.
func atPort(r *sweep.SweepPlan, p topo.PortIdx, text string, m names.Map) string {
	port := &r.Topo.Ports[p]
	return fmt.Sprintf("%q port %d: %s", nodeName(m, &r.Topo.Nodes[port.Node]), port.Num, text)
}

// logStopped logs ports that stop packets between hosts, each time that they are others.
func (l *sweepLog) logStopped(fx *effects, r *sweep.SweepPlan, m names.Map) {
	text := ""
	if len(r.Stopped) > 0 {
		f := &r.Stopped[0]
		text = atPort(r, f.Port, stopped(r, f, m), m)
		if text != l.stopped {
			fx.log(erro, "ports stop packets between hosts, because of their lanes", "ports", len(r.Stopped), "first", text)
		}
	}
	l.stopped = text
}
