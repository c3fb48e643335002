package sweep

import (
	"bytes"
	"context"
	"math/bits"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// groups is what is assumed about the groups by which switches with adaptive routing forward.
// Another manager wrote them, and they are not read: the group of a LID may be any ports on
// shortest paths to it, in the subnet as it was when adaptive routing was first seen on. They
// do not follow when links are lost and tables change.
type groups struct {
	switches []mad.GUID // by SwitchIdx of that time, as all that follows
	graph    *routing.Graph
	home     []topo.SwitchIdx // by LID: the switch that its owner is or hangs on, else None
	rows     [][]uint8        // the forwarding tables that were held
}

// adaptive brings the groups up to what a walk found, by switch GUID. A switch on which
// adaptive routing was on and is off has nil.
func (j *RouteTask) adaptive(out *SweepPlan) map[mad.GUID]*groups {
	t, was := out.Topo, j.state.groups
	is := map[mad.GUID]*groups{}
	var now *groups
	for _, n := range t.Switches {
		node := &t.Nodes[n]
		known, before := was[node.GUID]
		switch {
		case node.AR == topo.AROn && known == nil:
			if now == nil {
				now = newGroups(out)
			}
			is[node.GUID] = now
		case node.AR == topo.AROn:
			is[node.GUID] = known
		case before && node.AR == topo.AROff:
			is[node.GUID] = nil
		}
	}
	return is
}

func newGroups(out *SweepPlan) *groups {
	t := out.Topo
	g := &groups{graph: routing.NewGraphOf(t, func(topo.PortIdx) bool { return true }), home: make([]topo.SwitchIdx, int(mad.MaxUnicastLID)+1)}
	for i, n := range t.Switches {
		g.switches = append(g.switches, t.Nodes[n].GUID)
		g.rows = append(g.rows, out.delta.switches[i].LFT.Row())
	}
	for l := range g.home {
		g.home[l] = topo.None
	}
	for _, p := range t.EndPorts {
		at := p
		if t.Ports[p].Num != 0 {
			at = t.Ports[p].Peer
		}
		info := &t.Ports[p].Info
		if at == topo.None || !info.LID().IsUnicast() {
			continue
		}
		for l := int(info.LID()); l < int(info.LID())+1<<info.LMC() && l < len(g.home); l++ {
			g.home[l] = t.Nodes[t.Ports[at].Node].Switch
		}
	}
	return g
}

// turnOff are the switches on which adaptive routing goes off before tables are written.
func (j *RouteTask) turnOff(ctx context.Context, out *SweepPlan) (off []topo.SwitchIdx) {
	t := out.Topo
	keeping := map[*groups][]topo.SwitchIdx{}
	for i, n := range t.Switches {
		node, s := &t.Nodes[n], topo.SwitchIdx(i)
		switch {
		case node.AR != topo.AROn || node.Missed > 0:
		case j.settings.AR == DisableAR:
			off = append(off, s)
		case out.Tables != nil && node.PrivateLFT != topo.PrivateLFTOn && out.delta.switches[s].LFT.Target(out.Tables.LFT[s]).Complete():
			g := out.delta.groups[node.GUID]
			keeping[g] = append(keeping[g], s)
		}
	}
	for i := range t.Switches { // in their order, whatever the map's
		g := out.delta.groups[t.Nodes[t.Switches[i]].GUID]
		if all := keeping[g]; len(all) > 0 {
			off = append(off, g.stale(ctx, j.Workers, out, all)...)
			delete(keeping, g)
		}
	}
	return off
}

// stale are those of some switches that keep their tables whose groups may not lead to a LID
// any more: one that has lost a link to another switch, and one whose neighbour on a path
// that was a shortest one is not nearer to the LID than itself by the new tables. When each
// packet that leaves a switch is nearer to its LID, none circulates.
func (g *groups) stale(ctx context.Context, workers routing.Workers, out *SweepPlan, among []topo.SwitchIdx) (stale []topo.SwitchIdx) {
	t := out.Topo
	here, then := make([]topo.SwitchIdx, len(g.switches)), make([]topo.SwitchIdx, len(t.Switches))
	for i, guid := range g.switches {
		here[i] = topo.None
		if n := t.FindNode(guid); n != topo.None && t.Nodes[n].Switch != topo.None {
			here[i] = t.Nodes[n].Switch
			then[here[i]] = topo.SwitchIdx(i)
		}
	}
	var keep []topo.SwitchIdx
	for _, s := range among {
		if g.lostLink(t, s, then[s]) {
			stale = append(stale, s)
		} else {
			keep = append(keep, s)
		}
	}
	changed := g.changed(out.Tables, here)
	if changed == nil || len(keep) == 0 {
		return stale
	}
	hops, err := routing.NewHops(ctx, workers, g.graph)
	if err != nil {
		return stale
	}
	tracer, trace := routing.NewTracer(t, out.LIDs), routing.NewTrace(len(t.Switches))
	for block, lids := range changed {
		if lids == 0 || ctx.Err() != nil {
			continue
		}
		tracer.Block(out.Tables.LFT, block, lids, trace)
		for ; lids != 0; lids &= lids - 1 {
			l := block*routing.BlockSize + bits.TrailingZeros64(lids)
			if l >= len(out.LIDs.Owner) || out.LIDs.Owner[l] == topo.None {
				continue
			}
			left := keep[:0]
			for _, s := range keep {
				if g.nearer(hops, trace.Fates(mad.LID(l)), here, s, then[s], mad.LID(l)) {
					left = append(left, s)
				} else {
					stale = append(stale, s)
				}
			}
			keep = left
		}
	}
	return stale
}

// lostLink reports whether a link between switches is gone that a switch had.
func (g *groups) lostLink(t *topo.Topo, s, was topo.SwitchIdx) bool {
	peers, ports := g.graph.Edges(was)
	for i, num := range ports {
		peer := t.Ports[t.Port(t.Switches[s], num)].Peer
		if peer == topo.None || t.Nodes[t.Ports[peer].Node].GUID != g.switches[peers[i]] {
			return true
		}
	}
	return false
}

// changed are the LIDs to which some switch forwards by another port than it did, a bit each
// by block; nil for none.
func (g *groups) changed(tables *routing.Tables, here []topo.SwitchIdx) (lids []uint64) {
	for i, was := range g.rows {
		if here[i] == topo.None {
			continue
		}
		is := tables.LFT[here[i]]
		if was = resized(was, len(is)); bytes.Equal(was, is) {
			continue
		}
		if lids == nil {
			lids = make([]uint64, len(is)/routing.BlockSize)
		}
		for l := range is {
			if was[l] != is[l] {
				lids[l/routing.BlockSize] |= 1 << (l % routing.BlockSize)
			}
		}
	}
	return lids
}

// nearer reports whether each port that the group of a LID may have leads nearer to it.
func (g *groups) nearer(hops *routing.Hops, fates []routing.Fate, here []topo.SwitchIdx, s, was topo.SwitchIdx, l mad.LID) bool {
	home := g.home[l]
	if home == topo.None {
		return false
	}
	if fates[s] < routing.Arrived {
		return true // no cables lead there
	}
	peers, _ := g.graph.Edges(was)
	for _, peer := range peers {
		if hops.From(peer)[home] < hops.From(was)[home] && (fates[here[peer]] < routing.Arrived || fates[here[peer]] >= fates[s]) {
			return false
		}
	}
	return true
}

// RoutesHeld reports whether no route is written because adaptive routing is on somewhere.
func (c *SweepPlan) RoutesHeld() bool { return c.ARMode == HoldAR && c.AR > 0 }

// NotAdaptive are the switches on which adaptive routing was on and is off, though it was not
// DisableAR that turned it off.
func (c *SweepPlan) NotAdaptive() (nodes []topo.NodeIdx) {
	for _, n := range c.Topo.Switches {
		node := &c.Topo.Nodes[n]
		if _, was := c.delta.groups[node.GUID]; was && node.AR == topo.AROff && c.ARMode != DisableAR {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Private are the switches that forward by private tables.
func (c *SweepPlan) Private() (nodes []topo.NodeIdx) {
	for _, n := range c.Topo.Switches {
		if c.Topo.Nodes[n].PrivateLFT == topo.PrivateLFTOn {
			nodes = append(nodes, n)
		}
	}
	return nodes
}
