package sweep

import (
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// adaptiveSwitch is a switch on which a walk found adaptive routing on.
type adaptiveSwitch struct {
	groups *groups // nil where it is off now
	looked *looked // the last look, after which it was kept; nil for none
	why    WhyOff
}

// WhyOff is why adaptive routing is off at a switch where it was on, or why a plan turns it off.
type WhyOff uint8

// Reasons.
const (
	StaysOn      WhyOff = iota
	TableWritten        // a Set of the forwarding table turns it off
	GroupsStale
	GroupsUnknown
	WentOff // this manager did not turn it off
)

// String is the reason as text.
func (w WhyOff) String() string {
	return [...]string{
		StaysOn:       "it is on",
		TableWritten:  "its forwarding table was written",
		GroupsStale:   "its groups may no longer lead to their destinations",
		GroupsUnknown: "a link had been lost before this manager saw its groups, which may lead in circles",
		WentOff:       "this manager did not turn it off: the switch has rebooted, or another manager turned it off",
	}[w]
}

// ours reports whether this manager turned it off.
func (w WhyOff) ours() bool { return w != StaysOn && w != WentOff }

// adaptive brings what is known of switches with adaptive routing up to what a walk found, by switch GUID. After a
// pause, where tables are not as before, or links were added, another manager may have been master, and the groups are
// taken for those of the present subnet.
func (j *RouteTask) adaptive(out *SweepPlan) map[mad.GUID]adaptiveSwitch {
	t, was := out.Topo, j.state.adaptive
	is := map[mad.GUID]adaptiveSwitch{}
	others := j.state.before != nil && len(was) > 0 && (!j.holdsBefore(out) || linksAdded(j.state.before, t))
	var now *groups
	for _, n := range t.Switches {
		node := &t.Nodes[n]
		known, before := was[node.GUID]
		switch {
		case node.AR == topo.AROn && (known.groups == nil || others):
			if now == nil {
				if now = (&groups{}); others || !j.manyGroups(t) {
					now = newGroups(out)
				}
			}
			is[node.GUID] = adaptiveSwitch{groups: now}
		case node.AR == topo.AROn:
			is[node.GUID] = adaptiveSwitch{groups: known.groups, looked: known.looked}
		case before && node.AR == topo.AROff && known.why == StaysOn:
			is[node.GUID] = adaptiveSwitch{why: WentOff}
		case before && node.AR == topo.AROff:
			is[node.GUID] = adaptiveSwitch{why: known.why}
		}
	}
	return is
}

// holdsBefore reports whether all switches have forwarding tables that they can have had before Pause.
func (j *RouteTask) holdsBefore(out *SweepPlan) bool {
	return !slices.ContainsFunc(out.delta.switches, func(sw device.Walked) bool {
		return sw.LFT != nil && !j.state.devices.HeldBefore(sw.GUID, sw.LFT.Row())
	})
}

// turnOff are the switches on which adaptive routing and what depends on it go off before tables are written. Where
// DisableAR is set and the table found leads into a lost link, groups carry on until it is repaired: the Set of
// the table ends adaptive routing.
func (j *RouteTask) turnOff(ctx context.Context, out *SweepPlan) (off []topo.SwitchIdx) {
	t, d := out.Topo, &out.delta
	var keeping []keptSwitches
	var broken map[topo.SwitchIdx]bool
	isOn := func(n topo.NodeIdx) bool { return t.Nodes[n].AR == topo.AROn }
	if j.settings.AR == DisableAR && out.Tables != nil && slices.ContainsFunc(t.Switches, isOn) {
		broken = outdated(out)
	}
	for i, n := range t.Switches {
		node, s := &t.Nodes[n], topo.SwitchIdx(i)
		carriesOn := broken[s] && isOn(n) && !node.UsesPrivateLFT()
		switch known := d.adaptive[node.GUID]; {
		case node.Missed > 0 || !adaptiveSomehow(node):
		case j.settings.AR == DisableAR && !carriesOn, known.why.ours(): // what depends on it was left on
			off = append(off, s)
		case !isOn(n) || out.Tables == nil || node.UsesPrivateLFT():
		case d.switches[s].LFT.Target(out.Tables.LFT[s]).Complete():
			keeping = keep(keeping, known.groups, s)
		default:
			d.adaptive[node.GUID] = adaptiveSwitch{groups: known.groups, why: TableWritten}
		}
	}
	return append(off, d.dropStale(ctx, j.Workers, out, keeping)...)
}

// keptSwitches are those that keep their tables and adaptive routing, of which the same is assumed.
type keptSwitches struct {
	groups   *groups
	switches []topo.SwitchIdx
}

// keep adds a switch.
func keep(all []keptSwitches, g *groups, s topo.SwitchIdx) []keptSwitches {
	i := slices.IndexFunc(all, func(k keptSwitches) bool { return k.groups == g })
	if i < 0 {
		i, all = len(all), append(all, keptSwitches{groups: g})
	}
	all[i].switches = append(all[i].switches, s)
	return all
}

// dropStale takes those out whose groups are stale. When one forwards by its table again, all that are kept are looked
// at once more.
func (d *delta) dropStale(ctx context.Context, workers routing.Workers, out *SweepPlan,
	keeping []keptSwitches) (off []topo.SwitchIdx) {
	kept := 0
	for _, k := range keeping {
		kept += len(k.switches)
	}
	again, byTable := kept > 0, kept < len(d.adaptive)
	for again {
		again = false
		now := &looked{out.Report.Forwarding(), byTable}
		for i := range keeping {
			k := &keeping[i]
			stale := k.groups.stale(ctx, workers, out, k.switches, d.lastLook(out.Topo, k.switches), now)
			k.switches = slices.DeleteFunc(k.switches, func(s topo.SwitchIdx) bool { return slices.Contains(stale, s) })
			d.note(out.Topo, k.switches, adaptiveSwitch{groups: k.groups, looked: now})
			d.note(out.Topo, stale, adaptiveSwitch{groups: k.groups, why: k.groups.whyStale()})
			off = append(off, stale...)
			again = again || len(stale) > 0 && !byTable
		}
		byTable = byTable || again
	}
	return off
}

// note notes the same of some switches.
func (d *delta) note(t *topo.Topo, switches []topo.SwitchIdx, a adaptiveSwitch) {
	for _, s := range switches {
		d.adaptive[t.Nodes[t.Switches[s]].GUID] = a
	}
}

// lastLook is the last look at the groups of some switches, if it was one at all of them.
func (d *delta) lastLook(t *topo.Topo, switches []topo.SwitchIdx) (last *looked) {
	for i, s := range switches {
		look := d.adaptive[t.Nodes[t.Switches[s]].GUID].looked
		if i > 0 && look != last {
			return nil
		}
		last = look
	}
	return last
}

// adaptiveSomehow reports whether adaptive routing is on at a switch, or anything that depends on it.
func adaptiveSomehow(n *topo.Node) bool {
	if n.AR != topo.AROn && n.AR != topo.AROff {
		return false
	}
	off := *n.ARInfo
	off.TurnOff()
	return off != *n.ARInfo
}

// RoutesHeld reports whether no route is written because adaptive routing is on somewhere.
func (c *SweepPlan) RoutesHeld() bool { return c.ARMode == HoldAR && c.AR > 0 }

// NotAdaptive is a switch on which adaptive routing was on and is off.
type NotAdaptive struct {
	Node topo.NodeIdx
	Why  WhyOff
}

// NotAdaptive are the switches on which adaptive routing was on and is off, though it was not
// DisableAR that turned it off.
func (c *SweepPlan) NotAdaptive() (all []NotAdaptive) {
	for _, n := range c.Topo.Switches {
		node := &c.Topo.Nodes[n]
		if known, was := c.delta.adaptive[node.GUID]; was && node.AR == topo.AROff && c.ARMode != DisableAR {
			all = append(all, NotAdaptive{n, known.why})
		}
	}
	return all
}

// Private are the switches that forward by private tables.
func (c *SweepPlan) Private() (nodes []topo.NodeIdx) {
	for _, n := range c.Topo.Switches {
		if c.Topo.Nodes[n].UsesPrivateLFT() {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// LanesLeft are ports of such switches whose lanes are not as wanted.
func (c *SweepPlan) LanesLeft() []topo.PortIdx {
	if c.Plan == nil {
		return nil
	}
	return c.Plan.LanesLeft()
}
