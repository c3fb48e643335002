package program

import (
	"fmt"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
)

func (p *Program) sendingLanes(st plan.Step) { p.Plan.LaneEvent(st, device.Sent) }

// lanesSettled notes what comes of a Set of a table of lanes. A wildcard that a switch refuses, does not
// answer, or does not show to have taken, is followed by the tables that it stands for.
func (p *Program) lanesSettled(r request, o *txn.Outcome) {
	left := p.Plan.LaneEvent(r.Step, p.event(r, o, p.Plan.LaneSent(r.Step)))
	node := &p.Topo.Nodes[p.Topo.Ports[r.Port].Node]
	switch {
	case r.Op.IsWildcard() && len(left) > 0:
		p.disobeyed(r.Step, left)
	case r.Op.IsWildcard() && p.Features.Of(device.Wildcards, &node.Info) != device.Works:
		witness := p.Plan.Witness(r.Step)
		p.witnesses[witness] = r.Step
		p.more = append(p.more, witness)
	case len(left) == 0:
		p.tried(r.Step, device.Taken)
		if r.Op == plan.SetSLtoVL && p.disobeys[node.GUID] {
			p.Features.Learn(device.Wildcards, &node.Info, device.Fails)
		}
	default:
		p.triedSet(r, o, false)
		if o.Result == txn.Replied && o.Status == mad.StatusOK {
			p.fail(r.Step, finding.Refused,
				fmt.Sprintf("the response to Set(%s) has other values", smp.AttrName(o.Attr)))
		}
	}
}

// disobeyed has a switch that has not done what a wildcard says get the tables one by one, now and in the rest of the
// sweep.
func (p *Program) disobeyed(st plan.Step, left []plan.Step) {
	p.disobeys[p.Plan.Place(st.Op.Attr(), st.Port).Node] = true
	p.more = append(p.more, left...)
}

// singly reports whether the tables that a wildcard stands for are sent instead of it, because the switch does not do
// what wildcards say.
func (p *Program) singly(st plan.Step) bool {
	node := &p.Topo.Nodes[p.Topo.Ports[st.Port].Node]
	if !st.Op.IsWildcard() || !p.disobeys[node.GUID] &&
		p.Features.Of(device.Wildcards, &node.Info) != device.Fails {
		return false
	}
	p.more = append(p.more, p.Plan.Singly(st)...)
	return true
}

// wildcardRead takes one of the tables that a wildcard Set covered. A switch that acknowledges a wildcard may not have
// carried it out.
func (p *Program) wildcardRead(r request, o *txn.Outcome) {
	st := p.witnesses[r.Step]
	if p.event(r, o, p.Plan.LaneSent(st)) != device.Confirmed {
		p.wildcardUnread(r.Step)
		return
	}
	p.Features.Learn(device.Wildcards, &p.Topo.Nodes[p.Topo.Ports[r.Port].Node].Info, device.Works)
	p.tried(st, device.Taken)
}

// wildcardUnread has the tables that a wildcard stood for sent one by one.
func (p *Program) wildcardUnread(read plan.Step) {
	st := p.witnesses[read]
	p.disobeyed(st, p.Plan.LaneEvent(st, device.Contradicted))
}

// lanesAnswered makes the next light sweep read tables that were sent more than once.
func (p *Program) lanesAnswered(r request, o *txn.Outcome) {
	p.check(r.Step, o)
	if r.Op != plan.SetSLtoVLAll {
		return
	}
	n := p.Topo.Ports[r.Port].Node
	for num := range p.Topo.Nodes[n].NumPorts {
		p.check(plan.Step{Op: r.Op, Port: p.Topo.Port(n, num+1), Block: r.Block}, o)
	}
}
