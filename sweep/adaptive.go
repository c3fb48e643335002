package sweep

import (
	"context"

	"ibsm/mad"
	"ibsm/topo"
)

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
