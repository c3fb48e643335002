package routes

import (
	"cmp"
	"context"

	"ibsm/topo"
)

// routeAvoiding is route, except that sick links may be passed. If routes that avoid them are incomplete or have a
// credit loop, and routes that pass them do not, routes pass the most recently found links, or all of them: a link that
// loses packets is better than packets that do not arrive, or a credit loop.
//
// marked are those links, in the order in which they were found.
func (d *decision) routeAvoiding(ctx context.Context) {
	if len(d.Sick) == 0 {
		d.route(ctx)
		return
	}
	before := *d
	avoiding := func(n int) decision { // the first n of them
		*d = before
		setUnhealthy(d.Topo, d.Sick, false)
		setUnhealthy(d.Topo, d.Sick[:n], true)
		d.route(ctx)
		return *d
	}
	all := avoiding(len(d.Sick))
	if ctx.Err() != nil || d.out.RoutesHeld() || all.out.lack() == (lack{}) {
		return
	}
	chosen, n := avoiding(0), 0
	if ctx.Err() != nil {
		return
	}
	least := chosen.out.lack()
	if least.compare(all.out.lack()) >= 0 {
		chosen, n = all, len(d.Sick)
	}
	for try := len(d.Sick) - 1; n == 0 && try > 0 && try >= len(d.Sick)-maxFewer; try-- {
		fewer := avoiding(try)
		if ctx.Err() != nil {
			return
		}
		if fewer.out.lack().compare(least) <= 0 {
			chosen, n = fewer, try
		}
	}
	*d = chosen
	setUnhealthy(d.Topo, d.Sick, false)
	setUnhealthy(d.Topo, d.Sick[:n], true)
	d.out.Passed = d.Sick[n:]
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

func (r *Result) lack() (l lack) {
	l.refusals = len(r.Refused)
	if r.Tables == nil {
		l.routes = 1
		return l
	}
	if l.unreached = r.Report.Unreached(); r.CreditLoop != nil {
		l.loop = 1
	}
	return l
}

func setUnhealthy(t *topo.Topo, ports []topo.PortIdx, is bool) {
	for _, p := range ports {
		t.Ports[p].Unhealthy, t.Ports[t.Ports[p].Peer].Unhealthy = is, is
	}
}
