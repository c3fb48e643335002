package routes

import (
	"bytes"
	"context"
	"slices"

	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/layers"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// Fitting is the result of assigning SLs to the paths in the tables found, so that they have no credit loop on the
// lanes of the ports. Forwarding tables and tables of lanes stay.
type Fitting struct {
	State  FittingState
	Needed int  // with Fitted and TooFewLanes: SLs with lanes of their own; 16 for more than there can be
	Lanes  int  // likewise: how many there are
	OneWay bool // with Fitted: a path can have another SL than the one back
}

// FittingState is how far it came.
type FittingState uint8

// States.
const (
	NotNeeded   FittingState = iota
	LanesFirst               // nothing is planned: a walk has to read first what lanes ports have
	LanesUnread              // likewise, but routes have to be repaired, which does not wait for that
	Fitted
	TooFewLanes // the tables keep their credit loop
)

// fit assigns SLs to the paths of r, which are another manager's and have a credit loop, such that they have none, if
// the ports have the lanes.
func (a *attempt) fit(ctx context.Context, r *routed) error {
	if without, err := a.withoutTrees(ctx, r); err != nil || without.Loop == nil {
		return err
	}
	was := a.was
	switch {
	case r.rules == nil && !was.readLanes && !usesSLs(a.Topo) && !a.haveLanes():
		return nil
	case r.rules == nil && !was.readLanes:
		r.fitting = Fitting{State: LanesUnread}
		if a.First && a.in.Prev != nil && slices.EqualFunc(r.tables.LFT, a.in.Prev.LFT, bytes.Equal) {
			r.fitting.State = LanesFirst
		}
		return nil
	case was.fitting.State == TooFewLanes && r.rules == was.rules &&
		r.report.Forwarding().Changed(was.report.Forwarding()).Empty():
		r.fitting = was.fitting
		return nil
	}
	usable := distinctLanes(a.Topo, a.rules(nil, true), a.in.Lanes)
	assigned, err := layers.Assign(ctx, layers.In{
		Topo: a.Topo, LIDs: a.LIDs, Forwarding: r.report.Forwarding(), Lanes: max(len(usable), 1), Hosts: true,
		Workers: a.in.Workers,
	})
	if err != nil {
		return err
	}
	found, tables := *r, *r.tables
	found.tables, tables.SLs = &tables, nil
	found.fitting = Fitting{State: TooFewLanes, Needed: assigned.Needed, Lanes: len(usable), OneWay: assigned.OneWay}
	if assigned.SLs != nil {
		tables.SLs, found.fitting.State = renumbered(assigned.SLs, usable), Fitted
	}
	if err = a.prove(ctx, &found); err != nil {
		return err
	}
	*r = found
	return nil
}

// haveLanes reports whether a link between switches has more than one lane. Routes found that have a credit loop on one
// lane may have none on the lanes that their paths had. Reading the lanes of all ports can take many times as long as
// the rest of a walk, so it is done only if both are true.
func (a *attempt) haveLanes() bool {
	t := a.Topo
	for i, n := range a.in.Lanes {
		if p := topo.PortIdx(i); n > 1 && t.Ports[p].Peer != topo.None && t.IsSwitchPort(p) &&
			t.IsSwitchPort(t.Ports[p].Peer) {
			return true
		}
	}
	return false
}

// usesSLs reports whether hosts of a subnet as found send to their manager on other SLs than 0, which shows
// that the manager before gave SLs, also where links have one lane now.
func usesSLs(t *topo.Topo) bool {
	return slices.ContainsFunc(t.EndPorts, func(p topo.PortIdx) bool { return t.Ports[p].Info.MasterSMSL() != 0 })
}

// layer gives the paths of an engine's tables SLs, each with a lane of its own, without a credit loop
// if there are lanes enough.
func (a *attempt) layer(ctx context.Context, r *routed) error {
	assigned, err := layers.Assign(ctx, layers.In{
		Topo: a.Topo, LIDs: a.LIDs, Forwarding: r.report.Forwarding(),
		Lanes: int(routing.LeastLanes(a.in.Lanes)), Hosts: true, Workers: a.in.Workers,
	})
	if err != nil || assigned.SLs == nil {
		return err
	}
	tables := *r.tables
	if tables.SLs = assigned.SLs; tables.SLs.Equal(a.was.sls) {
		tables.SLs = a.was.sls
	}
	r.tables = &tables
	return a.prove(ctx, r)
}

// renumbered are SLs with others in place of 0, 1 and so on.
func renumbered(sls *routing.SLs, by []uint8) *routing.SLs {
	same := map[*uint8][]uint8{} // rows are shared
	rows := make([][]uint8, len(sls.Rows))
	for i, row := range sls.Rows {
		if len(row) == 0 {
			continue
		}
		if same[&row[0]] == nil {
			other := slices.Clone(row)
			for j := range other {
				other[j] = by[other[j]]
			}
			same[&row[0]] = other
		}
		rows[i] = same[&row[0]]
	}
	return routing.NewSLs(sls.From, sls.To, rows)
}

// distinctLanes are as many SLs as possible, ascending, that no port drops and that share no lane of any link between
// switches: packets of one cannot wait for packets of another.
func distinctLanes(t *topo.Topo, rules *plan.LaneRules, links []uint8) []uint8 {
	if rules == nil {
		rules = &plan.LaneRules{Lanes: links}
	}
	var meets [16]uint16 // by SL: SLs that share a lane with it somewhere
	stopped := uint16(0)
	for i := range t.Ports {
		p := topo.PortIdx(i)
		port := &t.Ports[p]
		if port.Peer == topo.None || port.Info.PortState() == smp.PortDown {
			continue
		}
		lanes := lanesOf(t, rules, p)
		for sl, vls := range lanes {
			if vls&^carried(rules, p, port.Peer) != 0 {
				stopped |= 1 << sl
			}
			for other := range lanes {
				if t.IsSwitchPort(p) && t.IsSwitchPort(port.Peer) && sl != other && vls&lanes[other] != 0 {
					meets[sl] |= 1 << other
				}
			}
		}
	}
	return largest(nil, 0, stopped, &meets)
}

// lanesOf are the VLs that packets of each SL can be on when they leave by a port, a bit for each.
func lanesOf(t *topo.Topo, rules *plan.LaneRules, p topo.PortIdx) (vls [16]uint16) {
	port := &t.Ports[p]
	ins := uint8(0)
	if t.IsSwitchPort(p) && rules.Maps != nil && len(rules.Maps.Of[p]) > 1 {
		ins = t.Nodes[port.Node].NumPorts
	}
	for in := range int(ins) + 1 {
		if in == int(port.Num) && ins > 0 {
			continue // no packet leaves by the port that it came in by
		}
		table := rules.Maps.Table(uint8(in), p)
		for sl := range vls {
			vls[sl] |= 1 << table.VL(uint8(sl))
		}
	}
	return vls
}

// carried are the VLs that a link between two ports has and to which the first gives turns, by bit.
func carried(rules *plan.LaneRules, p, peer topo.PortIdx) uint16 {
	n := max(rules.Lanes[p], rules.Lanes[peer])
	vls := uint16(1)<<routing.DropVL - 1
	if n > 0 {
		vls &= 1<<n - 1
	}
	if rules.Turns != nil {
		vls &= rules.Turns[p]
	}
	return vls
}

// largest is the largest list of SLs that begins with the given ones and in which no two share a lane; of several, the
// one with the lowest SLs.
func largest(some []uint8, next uint8, excluded uint16, meets *[16]uint16) []uint8 {
	best := slices.Clone(some)
	for sl := next; sl < 16 && len(some)+16-int(sl) > len(best); sl++ {
		if excluded>>sl&1 != 0 {
			continue
		}
		if all := largest(append(some, sl), sl+1, excluded|meets[sl], meets); len(all) > len(best) {
			best = all
		}
	}
	return best
}
