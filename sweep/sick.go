package sweep

import (
	"cmp"
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/view"
)

// avoidSick marks avoided links in t, after those that are drained, as far as that does not split the subnet. marked
// are one port of each that was not marked before, and that routes may pass if they lack something: not links that
// return and are not ACTIVE yet, which would lose packets. Links of hosts are not in all.
func avoidSick(t *topo.Topo, avoided []Avoided) (all []view.Drained, marked []topo.PortIdx) {
	if len(avoided) == 0 {
		return nil, nil
	}
	before := parts(t)
	for i := range avoided {
		if avoided[i].Host {
			continue
		}
		p := t.FindNodePort(avoided[i].Switch, avoided[i].Port)
		was := p != topo.None && t.Ports[p].Unhealthy
		d := drainOne(t, avoided[i].SwitchPort, before, nil)
		d.By = view.BySickLinks
		if all = append(all, d); d.State == view.DrainEmpty && !was &&
			!(avoided[i].Ports == PortEnabled && t.Ports[p].Info.PortState() < smp.PortActive) {
			marked = append(marked, p)
		}
	}
	return all, marked
}

// routeAvoiding is route. Where routes that avoid sick links lack something, and routes that pass these do not, the
// links that were found last are passed, or all: a link that loses packets is better than packets that do not arrive,
// or a credit loop.
//
// marked are those links, in the order in which they were found.
func (j *RouteTask) routeAvoiding(ctx context.Context, out *SweepPlan, reserved []mad.LID, marked []topo.PortIdx) {
	if len(marked) == 0 {
		j.route(ctx, out, reserved)
		return
	}
	before, chain := *out, j.chain
	avoiding := func(n int) SweepPlan { // the first n of them
		*out, j.chain = before, chain
		out.delta.switches = slices.Clone(before.delta.switches) // to which route writes
		setUnhealthy(out.Topo, marked, false)
		setUnhealthy(out.Topo, marked[:n], true)
		j.route(ctx, out, reserved)
		return *out
	}
	all := avoiding(len(marked))
	if ctx.Err() != nil || out.RoutesHeld() || all.lack() == (lack{}) {
		return
	}
	chosen, n := avoiding(0), 0
	if ctx.Err() != nil {
		return
	}
	least := chosen.lack()
	if least.compare(all.lack()) >= 0 {
		chosen, n = all, len(marked)
	}
	for try := len(marked) - 1; n == 0 && try > 0 && try >= len(marked)-maxFewer; try-- {
		fewer := avoiding(try)
		if ctx.Err() != nil {
			return
		}
		if fewer.lack().compare(least) <= 0 {
			chosen, n = fewer, try
		}
	}
	*out = chosen
	setUnhealthy(out.Topo, marked, false)
	setUnhealthy(out.Topo, marked[:n], true)
	for i := range out.Drained {
		if d := &out.Drained[i]; d.By == view.BySickLinks && d.State == view.DrainEmpty &&
			slices.Contains(marked[n:], out.Topo.FindNodePort(d.Switch, d.Port)) {
			d.State = view.DrainNeeded
		}
	}
}

// maxFewer is how many sets of fewer links are tried. Each takes as long as all routes.
const maxFewer = 3

// lack is what routes lack that they should have.
type lack struct {
	routes    int // 1 if there are none
	loop      int // 1 if they have a credit loop
	unreached int // pairs of a switch and a LID
	refusals  int // by engines that were tried before
}

// compare is below 0 if l is less of a fault than o.
func (l lack) compare(o lack) int {
	return cmp.Or(cmp.Compare(l.routes, o.routes), cmp.Compare(l.loop, o.loop), cmp.Compare(l.unreached, o.unreached),
		cmp.Compare(l.refusals, o.refusals))
}

func (c *SweepPlan) lack() (l lack) {
	l.refusals = len(c.Refused)
	if c.Tables == nil {
		l.routes = 1
		return l
	}
	if l.unreached = c.Report.Unreached(); c.CreditLoop != nil {
		l.loop = 1
	}
	return l
}

// avoidedNow are ports of sick links that routes avoid, one of each.
func avoidedNow(t *topo.Topo, drained []view.Drained) (ports []topo.PortIdx) {
	for i := range drained {
		if d := &drained[i]; d.By == view.BySickLinks && d.State == view.DrainEmpty {
			ports = append(ports, t.FindNodePort(d.Switch, d.Port))
		}
	}
	return ports
}

func setUnhealthy(t *topo.Topo, ports []topo.PortIdx, is bool) {
	for _, p := range ports {
		t.Ports[p].Unhealthy, t.Ports[t.Ports[p].Peer].Unhealthy = is, is
	}
}

// toDisable are the ports to be disabled of avoided links that no route passes, and of hosts' links, as toShutOff
// chooses them.
func toDisable(t *topo.Topo, avoided []Avoided, drained []view.Drained) (ports []topo.PortIdx) {
	empty := avoidedNow(t, drained)
	for i := range avoided {
		a := &avoided[i]
		p := t.FindNodePort(a.Switch, a.Port)
		switch {
		case a.Ports != PortDisabled, p == topo.None, t.Ports[p].Peer == topo.None:
		case a.Host == t.BetweenSwitches(p): // another kind of link is there now
		case !a.Host && !slices.Contains(empty, p):
		default:
			if near, ok := toShutOff(t, p); ok {
				ports = append(ports, near)
			}
		}
	}
	return ports
}

// toEnable are ports that were disabled, of links that should come up again.
func toEnable(t *topo.Topo, avoided []Avoided) (ports []topo.PortIdx) {
	for i := range avoided {
		if avoided[i].Ports != PortEnabled {
			continue
		}
		for _, end := range []routing.SwitchPort{avoided[i].SwitchPort, avoided[i].Far} {
			p := t.FindNodePort(end.Switch, end.Port)
			if p != topo.None && t.Ports[p].Seen && t.Nodes[t.Ports[p].Node].Missed == 0 &&
				t.Ports[p].Info.PortPhysicalState() == smp.PhysDisabled {
				ports = append(ports, p)
			}
		}
	}
	return ports
}
