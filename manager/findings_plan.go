package manager

import (
	"fmt"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/opensm/names"
	"ibsm/partitions"
	"ibsm/routing/creditloop"
	"ibsm/routing/verify"
	"ibsm/sweep"
	"ibsm/sweep/device"
	"ibsm/sweep/routes"
	"ibsm/topo"
	"ibsm/view"
)

// at is a finding of a kind at a port.
func at(t *topo.Topo, p topo.PortIdx, kind finding.Kind, detail string) finding.Finding {
	port := &t.Ports[p]
	return finding.Finding{Kind: kind, Node: t.Nodes[port.Node].GUID, Port: port.Num, Detail: detail}
}

// portName names a port.
func portName(t *topo.Topo, p topo.PortIdx, m names.Map) string {
	port := &t.Ports[p]
	return fmt.Sprintf("port %d of %q", port.Num, nodeName(m, &t.Nodes[port.Node]))
}

// planFindings are what a sweep found before it writes anything, but for its routes.
func planFindings(r *sweep.SweepPlan, m names.Map) (all []finding.Finding) {
	t := r.Topo
	for _, guid := range r.Exhausted {
		if p := t.FindPort(guid); p != topo.None {
			all = append(all, at(t, p, finding.NoLID, ""))
		}
	}
	for _, o := range r.Partitions.Overflows {
		all = append(all, at(t, o.Port, finding.PKeyOverflow, r.Partitions.Explain(o, t)))
	}
	for i := range r.Partitions.Claims {
		all = append(all, finding.Finding{Kind: finding.SharedName, Detail: r.Partitions.Claims[i].String()})
	}
	all = append(all, heldFindings(r.Partitions.Policy)...)
	if links := r.Plan.Unforced(); len(links) > 0 {
		all = append(all,
			finding.Finding{
				Kind: finding.Unforced, Detail: fmt.Sprintf("%d, such as %s", len(links), portName(t, links[0], m)),
			})
	}
	if r.Unavoidable > 0 {
		all = append(all, finding.Finding{Kind: finding.Unhealthy, Fields: []any{"links", r.Unavoidable}})
	}
	if r.RoutesHeld() {
		all = append(all, finding.Finding{Kind: finding.ARHeld, Fields: []any{"switches", r.AR}})
	}
	for _, n := range r.Private() {
		all = append(all, finding.Finding{Kind: finding.PrivateTables, Node: t.Nodes[n].GUID})
	}
	if r.Err != nil {
		all = append(all, finding.Finding{Kind: finding.NoRoutes, Detail: r.Err.Error()})
	}
	all = append(all, engineFindings(r)...)
	return append(append(all, drainFindings(r.Drained)...), cablingFindings(r.Cabling)...)
}

// maxHeldFindings bounds the findings about callers' partitions that are held.
const maxHeldFindings = 32

// heldFindings are the findings about callers' partitions of which the partition file has the P_Key or the name.
func heldFindings(p *partitions.Policy) (all []finding.Finding) {
	if p == nil {
		return nil
	}
	for i := range p.Held {
		if i == maxHeldFindings {
			return append(all,
				finding.Finding{Kind: finding.CallerHeld, Detail: fmt.Sprintf("and %d more", len(p.Held)-i)})
		}
		all = append(all, finding.Finding{Kind: finding.CallerHeld, Detail: p.Held[i].String()})
	}
	return all
}

// drainFindings are the findings about links that routes avoid because they are drained or sick, and about those that
// routes still need.
func drainFindings(drained []view.Drained) (all []finding.Finding) {
	for i := range drained {
		d := &drained[i]
		f := finding.Finding{Node: d.Switch, Port: d.Port, Detail: "by " + d.By.String(),
			Fields: []any{"hosts", len(d.Hosts) + d.More}}
		switch d.State {
		case view.DrainEmpty:
			f.Kind = finding.DrainEmpty
		case view.DrainNeeded:
			f.Kind = finding.DrainNeeded
		default:
			continue
		}
		all = append(all, f)
	}
	return all
}

// cablingFindings are how cables differ from the plan of the operator, and which are held back.
func cablingFindings(c *view.Cabling) (all []finding.Finding) {
	if c == nil {
		return nil
	}
	for i := range c.Held {
		h := &c.Held[i]
		all = append(all, finding.Finding{Kind: finding.CableHeldBack, Detail: h.String()})
		for _, e := range h.Ends {
			all = append(all, finding.Finding{Kind: finding.HeldBack, Node: e.GUID, Port: e.Port, Detail: h.String()})
		}
	}
	inUse := []any{"held_back", len(c.Held), "in_use", len(c.Spared)}
	if c.CutOff > 0 {
		all = append(all,
			finding.Finding{Kind: finding.CutOff, Fields: append([]any{"devices", c.CutOff, "of", c.Of}, inUse...)})
	}
	if c.Comparison == nil {
		return all
	}
	size := []any{"devices", c.Devices, "known", c.Known, "cables", c.Planned, "present", c.Present, "same", c.Same}
	switch {
	case c.Ignored():
		all = append(all, finding.Finding{Kind: finding.PlanIgnored, Fields: append(size, inUse...)})
	case c.OtherSubnet():
		all = append(all, finding.Finding{Kind: finding.PlanOfOther, Fields: size})
	}
	for i := range c.Findings {
		all = append(all, finding.Finding{Kind: finding.CablingDiffers, Detail: c.Findings[i].String()})
	}
	return all
}

// engineFindings are which engines refused the subnet, whose routes are kept, and what files of the engine name in
// vain.
func engineFindings(r *sweep.SweepPlan) (all []finding.Finding) {
	add := func(kind finding.Kind, format string, args ...any) {
		all = append(all, finding.Finding{Kind: kind, Detail: fmt.Sprintf(format, args...)})
	}
	for _, f := range r.Refused {
		add(finding.EngineRefused, "%v", f)
	}
	if len(r.Refused) > 0 && r.Tables == nil {
		add(finding.NoEngine, "")
	}
	if r.Awaited != "" {
		add(finding.InterimRoutes, "%s in use, %s still computing", r.Engine, r.Awaited)
	}
	if r.Foreign != "" {
		add(finding.ForeignRoutes, "%s", r.Foreign)
	}
	if guids := r.Unknown.Switches; len(guids) > 0 {
		is := "which is not in this subnet"
		switch guid := guids[0]; {
		case r.Topo.FindNode(guid) != topo.None:
			is = "which is not a switch"
		case r.Topo.FindPort(guid) != topo.None:
			is = "which is a port: use the GUID of its node"
		}
		add(finding.UnknownSwitches, "%d of engine %s, the first is %v, %s", len(guids), r.Engine, guids[0], is)
	}
	if guids := r.Unknown.Ports; len(guids) > 0 {
		is := "which is not in this subnet"
		if r.Topo.FindNode(guids[0]) != topo.None {
			is = "which is a node: use the GUID of its port"
		}
		add(finding.UnknownPorts, "%d of engine %s, the first is %v, %s", len(guids), r.Engine, guids[0], is)
	}
	if r.Members == nil {
		return all
	}
	if missing := r.Members.Unmatched; len(missing) > 0 {
		add(finding.UnmatchedRules, "%d, the first is %s of group %s at %v", len(missing), missing[0].Text,
			missing[0].Group, missing[0].Position)
	}
	if idle := r.Members.Idle; len(idle) > 0 {
		add(finding.GroupOfNoSwitch, "%d, the first is %s", len(idle), idle[0])
	}
	return all
}

// routeFindings are what verification and the proof found of the routes of a plan that has some.
func routeFindings(r *sweep.SweepPlan, m names.Map) (all []finding.Finding) {
	if n := r.Report.Unreached(); n > 0 {
		all = append(all, finding.Finding{Kind: finding.LostRoutes, Detail: example(r, isLost, m),
			Fields: []any{"pairs", n}})
	}
	if n := r.Report.Count[verify.Cut]; n > 0 {
		all = append(all, finding.Finding{Kind: finding.Split, Detail: example(r, isKind(verify.Cut), m),
			Fields: []any{"pairs", n}})
	}
	if n := r.Report.Count[verify.Forbidden]; n > 0 {
		all = append(all, finding.Finding{Kind: finding.Forbidden, Detail: fmt.Sprintf("%d by %s", n, r.Engine),
			Fields: []any{"connect_roots", r.Report.Connects, "example", example(r, isKind(verify.Forbidden), m)}})
	}
	if r.CreditLoop != nil {
		all = append(all, finding.Finding{Kind: creditLoopKind(r), Detail: creditLoopDetail(r, m),
			Fields: []any{"example", waits(r, m)}})
		for i, c := range r.CreditLoop {
			all = append(all, creditLoopPort(r, c, r.CreditLoop[(i+1)%len(r.CreditLoop)]))
		}
	}
	if f := r.Fitting; f.State == routes.Fitted {
		all = append(all,
			finding.Finding{
				Kind: finding.SLsOfKept,
				Detail: fmt.Sprintf(
					"%d service levels on %d VLs; existing connections keep theirs until hosts request their paths again", f.Needed, f.Lanes), Fields: []any{"sl_back_may_differ", f.OneWay},
			})
	}
	return append(all, laneFindings(r, m)...)
}

// laneFindings are the ports that stop packets because of their lanes.
func laneFindings(r *sweep.SweepPlan, m names.Map) (all []finding.Finding) {
	first := func(kind finding.Kind, f *creditloop.Finding, text string, fields ...any) {
		port := &r.Topo.Ports[f.Port]
		where := fmt.Sprintf("first %q port %d: ", nodeName(m, &r.Topo.Nodes[port.Node]), port.Num)
		all = append(all, finding.Finding{Kind: kind, Detail: where + text, Fields: fields})
	}
	for i := range r.Stopped {
		f := &r.Stopped[i]
		text := stopped(r, f, m)
		if i == 0 {
			first(finding.LanesStop, f, text, "ports", len(r.Stopped))
		}
		all = append(all, at(r.Topo, f.Port, finding.StoppedLane, text))
	}
	for i := range r.StoppedSA.Ports {
		f := &r.StoppedSA.Ports[i]
		text := stoppedSA(r, f, m)
		if i == 0 {
			first(finding.LanesStopSA, f, text, "sm_sl", f.SL, "ports", len(r.StoppedSA.Ports), "end_ports",
				r.StoppedSA.Ends)
		}
		all = append(all, at(r.Topo, f.Port, finding.StoppedSA, text))
	}
	return all
}

// isLost reports whether a route that is found not to arrive is a fault.
func isLost(k verify.Kind) bool {
	return k != verify.Cut && k != verify.Forbidden && k != verify.Unowned
}

func isKind(kind verify.Kind) func(verify.Kind) bool {
	return func(k verify.Kind) bool { return k == kind }
}

// example is one route that is found to be of some kind.
func example(r *sweep.SweepPlan, is func(verify.Kind) bool, m names.Map) string {
	for _, f := range r.Report.Examples {
		if is(f.Kind) {
			n := &r.Topo.Nodes[r.Topo.Switches[f.Switch]]
			return fmt.Sprintf("%v from switch %v %q to LID %v", f.Kind, n.GUID, nodeName(m, n), f.LID)
		}
	}
	return ""
}

// creditLoopPort is the finding of a port in a credit loop, whose packets wait for the next one.
func creditLoopPort(r *sweep.SweepPlan, c, next creditloop.Channel) finding.Finding {
	return finding.Finding{
		Kind: finding.CreditLoopPort, Node: switchNode(r, c.Switch).GUID, Port: c.Port,
		Detail: fmt.Sprintf("%d links; %s are sent by this port on VL %d and wait for port %d of %v",
			len(r.CreditLoop), packets(r, &c.Flow, nil), c.Lane, next.Port, switchNode(r, next.Switch).Desc),
	}
}

// switchFindings are the findings about lanes, partitions, adaptive routing and optional attributes after the Sets of a
// sweep.
func switchFindings(out *sweep.Outcome, m names.Map) (all []finding.Finding) {
	t, logged := out.Topo, map[mad.GUID]bool{}
	for _, p := range out.LanesLeft() {
		if guid := t.Nodes[t.Ports[p].Node].GUID; !logged[guid] {
			logged[guid] = true
			all = append(all, finding.Finding{Kind: finding.PrivateLanes, Node: guid})
		}
		all = append(all, at(t, p, finding.PrivateLanesPort, ""))
	}
	for _, given := range out.GivenUp {
		f := finding.Finding{Kind: finding.GivenUp, Node: given.Node, Detail: smp.AttrName(given.Attr)}
		if given.Port != device.AllPorts {
			f.Port = given.Port
		}
		all = append(all, f)
	}
	for i, p := range out.Plan.Unenforced() {
		if i == 0 {
			all = append(all,
				finding.Finding{Kind: finding.Unenforced,
					Detail: fmt.Sprintf("%d, such as %s", len(out.Plan.Unenforced()), portName(t, p, m))})
		}
		all = append(all, at(t, p, finding.UnenforcedPort, ""))
	}
	for _, off := range out.NotAdaptive() {
		all = append(all, finding.Finding{Kind: finding.NotAdaptive, Node: t.Nodes[off.Node].GUID,
			Detail: off.Why.String()})
	}
	return all
}
