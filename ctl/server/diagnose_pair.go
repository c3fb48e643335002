package server

import (
	"fmt"
	"strings"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/routing"
	"ibsm/routing/candidates"
	"ibsm/routing/verify"
	"ibsm/sa/path"
	"ibsm/topo"
)

// pair explains why one port does not reach another: both must be up, share a partition,
// and have routes to each other.
func (d *doctor) pair(from, to topo.EndIdx) *ctl.Diagnosis {
	far, t := d.end(to), d.view.Topo
	out := d.diagnosis(t.Physical(from))
	if v := t.VPortOf(from); v != topo.None {
		out = d.vPortDiagnosis(v)
	}
	out.To, out.Reasons = &far, []ctl.Reason{}
	for _, p := range []topo.EndIdx{from, to} {
		node := t.Ports[t.Physical(p)].Node
		switch {
		case !d.active(p) || t.Nodes[node].Missed > 0:
			for _, r := range d.reasonsOf(p) {
				r.Text = d.called(p) + ": " + strings.TrimPrefix(r.Text, d.called(p)+": ")
				out.Reasons = append(out.Reasons, r)
			}
		case d.lidOf(p) == 0:
			out.Reasons = append(out.Reasons,
				because("no LID", d.called(p)+" has no LID",
					"run ibsmctl sweep; ibsmctl events shows whether all LIDs are assigned"))
		}
	}
	if from != to {
		out.Reasons = append(out.Reasons, d.apart(from, to)...)
		out.Reasons = append(out.Reasons, d.unreached(from, to)...)
		out.Reasons = append(out.Reasons, d.unreached(to, from)...)
	}
	stopped, passes := d.stopped(from, to)
	dropped := d.droppedBetween(from, to)
	out.Reasons = unique(out.Reasons)
	out.Works = len(out.Reasons) == 0 && passes && !d.stillDropped(from, to)
	out.Reasons = append(append(out.Reasons, stopped...), dropped...)
	if out.Works {
		out.Reasons = append(out.Reasons, d.slow(from, to)...)
		if d.waits != nil {
			out.Reasons = append(out.Reasons, d.congested(from, to)...)
			out.Reasons = append(out.Reasons, d.congested(to, from)...)
		}
	}
	out.Routes, out.Choices = d.routes(from, to), d.choices(from, to)
	return out
}

// reasonsOf are the reasons why a port or vPort is not Active, or why its port is not.
func (d *doctor) reasonsOf(e topo.EndIdx) (why []ctl.Reason) {
	t := d.view.Topo
	p := t.Physical(e)
	if v := t.VPortOf(e); v != topo.None {
		why = d.vPortReasons(v)
		if d.active(p) && t.Nodes[t.Ports[p].Node].Missed == 0 {
			return why
		}
	}
	return append(why, d.reasons(p)...)
}

// choices are the candidates at the switches of a path that has some, where the engine ranked the switches.
func (d *doctor) choices(from, to topo.EndIdx) (choices []ctl.Choice) {
	t, ranks := d.view.Topo, d.view.Tables.Ranks
	home, _ := routing.Home(t, t.Physical(to))
	w := d.walk(from, to, d.lidOf(to))
	if ranks == nil || home == topo.None || !w.path.Arrived {
		return nil
	}
	c := candidates.FindTo(t, ranks, home)
	for i := range w.path.Hops {
		h, s := &w.path.Hops[i], t.Nodes[w.nodes[i]].Switch
		if s == topo.None {
			continue
		}
		ports := c.Ports(s, home)
		var others []int
		for port := range ports.All {
			if port != h.Out {
				others = append(others, int(port))
			}
		}
		if others != nil {
			choices = append(choices, ctl.Choice{Node: h.Node, Desc: h.Desc, Out: h.Out, Others: others})
		}
	}
	return choices
}

// routes says which engine routed two ports, and by which SLs they reach each other if the engine gives
// SLs.
func (d *doctor) routes(from, to topo.EndIdx) string {
	text := RoutesText(&d.view.Routing)
	if sls := d.view.Tables.SLs; sls != nil { // which vPorts share with their ports
		a, b := d.view.LIDs.Base[d.view.Topo.Physical(from)], d.view.LIDs.Base[d.view.Topo.Physical(to)]
		text += fmt.Sprintf("; SL %d there, SL %d back", sls.Of(a, b), sls.Of(b, a))
	}
	return text
}

// unreached is the reason if the forwarding tables do not lead to some LIDs of a port.
func (d *doctor) unreached(from, to topo.EndIdx) []ctl.Reason {
	base, count := d.lidOf(to), d.lidsOf(to)
	if base == 0 || d.lidOf(from) == 0 {
		return nil // reported already
	}
	lost := 0
	var first *walk
	for lid := base; lid < base+mad.LID(count); lid++ {
		if w := d.walk(from, to, lid); !w.path.Arrived {
			if lost++; first == nil {
				first = w
			}
		}
	}
	if first == nil {
		return d.notOffered(from, to)
	}
	last := first.path.Hops[len(first.path.Hops)-1]
	text := fmt.Sprintf("no route from %s to %s: a packet to LID %d %s at %q", d.called(from), d.called(to),
		first.path.DLID, first.path.Result, d.nodeName(first.nodes[len(first.nodes)-1]))
	if first.dropped {
		return []ctl.Reason{because("SL is dropped", text+fmt.Sprintf(" port %d", last.Out),
			"ibsmctl path shows the VL at each hop; check qos_sl2vl and, for switches, qos_swe_sl2vl")}
	}
	if count > 1 {
		text += fmt.Sprintf("; %d of its %d LIDs are affected", lost, count)
	}
	for _, f := range d.withoutRoutes() {
		text += "; " + f.String()
	}
	if s := d.view.Topo.SwitchOf(d.view.Topo.Physical(from)); s != topo.None {
		if forbidden, connects := verify.ForbiddenRoute(d.view.Topo, d.view.LIDs, d.view.Tables, s,
			first.path.DLID); forbidden {
			return []ctl.Reason{
				because("no route by the rules", text+"; the rules of "+d.view.Routing.Engine+
					" forbid the route, and neither hosts nor the manager need it", withRoots(connects)),
			}
		}
	}
	return []ctl.Reason{because("no route", text,
		fmt.Sprintf(
			"see the route with ibsmctl path and the cables with ibsmctl links --node %q; run ibsmctl sweep to look for changes", d.nodeName(first.nodes[len(first.nodes)-1])))}
}

// withRoots says how switches get a route that the rules of the engine forbid.
func withRoots(connects bool) string {
	if connects {
		return "set connect_roots TRUE (-z) if the two switches must exchange packets"
	}
	return "use another engine, such as tree, if the two switches must exchange packets; ibsmctl plan --engine tree shows its routes"
}

// notOffered is the reason if the subnet administrator gives no path from a port to another, because a
// port on the way is not known to let the SL of the path pass.
func (d *doctor) notOffered(from, to topo.EndIdx) []ctl.Reason {
	if d.view.Ports == nil {
		return nil
	}
	decision := d.finder().Decide(d.view.Topo.EndPort(from), d.view.Topo.EndPort(to), &sarec.PathRecord{}, 0)
	if decision.Refusal != path.SLDropped {
		return nil
	}
	return []ctl.Reason{
		because("SL is not offered", fmt.Sprintf("no path from %s to %s: %s", d.called(from), d.called(to),
			d.refusal(&decision, from, to, 0)),
			"ibsmctl path shows the VL at each hop; ibsmctl events shows rejected Sets, and ibsmctl sweep sends them again")}
}

// slow are remarks about the route between two ports that reach each other.
func (d *doctor) slow(from, to topo.EndIdx) (why []ctl.Reason) {
	from, to = d.view.Topo.Physical(from), d.view.Topo.Physical(to)
	for _, way := range [][2]topo.PortIdx{{from, to}, {to, from}} {
		w := d.walk(way[0], way[1], d.view.LIDs.Base[way[1]])
		if w.path.Links < 2 {
			continue // the ends' own link is all there is
		}
		a, b := d.view.Topo.EndPort(way[0]), d.view.Topo.EndPort(way[1])
		mtu, rate := mad.MTU(0), mad.Rate(0)
		for _, p := range []topo.PortIdx{a, b} {
			port := &d.view.Topo.Ports[p]
			if port.Num == 0 {
				return nil // a switch has no link of its own
			}
			if m := port.Info.NeighborMTU(); mtu == 0 || m < mtu {
				mtu = m
			}
			if r := d.view.Topo.LinkRate(p); rate == 0 || r.Rank() < rate.Rank() {
				rate = r
			}
		}
		between := fmt.Sprintf("from %s to %s", d.called(way[0]), d.called(way[1]))
		if w.mtu < mtu.Bytes() {
			why = append(why,
				because("lower MTU", fmt.Sprintf("the route %s has an MTU of %d, although both ends support %d",
					between, w.mtu, mtu.Bytes()),
					"ibsmctl path and ibsmctl ports show the link"))
		}
		if w.rate.Rank() < rate.Rank() {
			why = append(why,
				because("lower rate", fmt.Sprintf("the route %s has %g Gb/s, although both ends support %g", between,
					w.rate.Gbps(), rate.Gbps()),
					"ibsmctl path shows the slowest link: reseat or replace its cable"))
		}
	}
	return why
}
