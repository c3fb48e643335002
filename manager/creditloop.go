package manager

import (
	"fmt"
	"strings"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/opensm/names"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/sweep"
	"ibsm/sweep/routes"
	"ibsm/topo"
)

// CreditLoop is a sentence about the credit loop of a plan; "" if it has none.
func CreditLoop(r *sweep.SweepPlan, m names.Map) string {
	if r.CreditLoop == nil {
		return ""
	}
	return creditLoopKind(r).Text() + ": " + creditLoopDetail(r, m)
}

// creditLoopKind is the kind of the finding about a credit loop: whose routes have it.
func creditLoopKind(r *sweep.SweepPlan) finding.Kind {
	if r.Keep == routing.KeepWorking {
		return finding.KeptCreditLoop
	}
	return finding.CreditLoop
}

// creditLoopDetail says why routes have a credit loop, if they are kept ones, and which ports are in it.
func creditLoopDetail(r *sweep.SweepPlan, m names.Map) string {
	why := ""
	switch {
	case r.Fitting.State == routes.TooFewLanes:
		why = "without one they need " + lanesNeeded(&r.Fitting) + ": "
	case r.Keep != routing.KeepWorking:
	case len(r.Closing) > 0:
		why = fmt.Sprintf("since a repair that found no other route to LID %v: ", r.Closing[0].LID)
	default:
		why = "the previous manager gave paths different SLs, but now all paths have the same SL, and existing connections keep theirs until hosts request their paths again: "
	}
	name := func(n *topo.Node) string { return nodeName(m, n) }
	return fmt.Sprintf("%spackets sent by these %d ports can wait for each other until switches drop them: %s", why,
		len(r.CreditLoop), creditloop.Text(r.Topo, r.CreditLoop, name))
}

// lanesNeeded says how many service levels tables need, and how many ports have.
func lanesNeeded(f *routes.Fitting) string {
	if f.Needed > routing.DropVL {
		return fmt.Sprintf("more service levels with separate VLs than possible; the ports have VLs for %d", f.Lanes)
	}
	return fmt.Sprintf("%d service levels with separate VLs; the ports have VLs for %d", f.Needed, f.Lanes)
}

// Fitting is a sentence about the SLs that paths in tables found get; "" if they get none.
func Fitting(r *sweep.SweepPlan) string {
	if r.Fitting.State != routes.Fitted {
		return ""
	}
	return finding.SLsOfKept.Text() + "; existing connections keep theirs until hosts request their paths again"
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
		return fmt.Sprintf(
			"switches are programmed in %d groups, one after the other, because otherwise old and new routes together could have a credit loop", len(tr.Order))
	}
	until := "until all switches have their tables"
	switch last := len(tr.Order) - 1; {
	case tr.State == routes.AtRiskUntilAsked:
		until = "until hosts have requested their paths again, because existing connections keep their SLs"
	case last >= 0:
		until = fmt.Sprintf("until the last %d switches have their tables", len(tr.Order[last]))
	}
	name := func(n *topo.Node) string { return nodeName(m, n) }
	return fmt.Sprintf(
		"the old and new routes together have a credit loop %s: packets sent by these %d ports can wait for each other until switches drop them (head_of_queue_lifetime): %s",
		until, len(tr.Risk), creditloop.Text(r.Topo, tr.Risk, name))
}

// maxWaits is how many packets waits names.
const maxWaits = 6

// waits names packets for each channel of a credit loop that are in it and wait for the next one.
func waits(r *sweep.SweepPlan, m names.Map) string {
	var all []string
	for i := range r.CreditLoop[:min(len(r.CreditLoop), maxWaits)] {
		c := &r.CreditLoop[i]
		all = append(all, fmt.Sprintf("%q port %d, VL %d: %s", nodeName(m, switchNode(r, c.Switch)), c.Port, c.Lane,
			packets(r, &c.Flow, m)))
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

// stopped says why packets do not leave by a port.
func stopped(r *sweep.SweepPlan, f *creditloop.Finding, m names.Map) string {
	in := ""
	if r.Topo.IsSwitchPort(f.Port) {
		in = fmt.Sprintf(" received on port %d", f.In)
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
	return fmt.Sprintf("packets to and from the SA have SL %d (sm_sl), but without qos no VL tables are written: %s",
		f.SL, stopped(r, f, m))
}
