package routes

import (
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// ARMode is what to do about switches that have adaptive routing on.
type ARMode uint8

// Modes. KeepAR writes all routes; a switch keeps adaptive routing as long as its forwarding
// table does not change and its groups lead to where they led. HoldAR writes no routes in the
// whole subnet while it is on anywhere. DisableAR turns it off before routes are written.
const (
	KeepAR ARMode = iota
	HoldAR
	DisableAR
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

// adaptive updates the known state of switches with adaptive routing, by switch GUID, to the result of a walk. If
// tables have changed or links were added during a pause, another manager may have been master; then the groups count
// as those of the present subnet.
func (d *decision) adaptive() map[mad.GUID]adaptiveSwitch {
	t, was := d.Topo, d.was.adaptive
	is := map[mad.GUID]adaptiveSwitch{}
	others := d.Before != nil && len(was) > 0 && (!d.holdsBefore() || linksAdded(d.Before, t))
	var now *groups
	for _, n := range t.Switches {
		node := &t.Nodes[n]
		known, before := was[node.GUID]
		switch {
		case node.AR == topo.AROn && (known.groups == nil || others):
			if now == nil {
				if now = (&groups{}); others || !d.was.manyGroups(t) {
					now = newGroups(d.In)
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
func (in *In) holdsBefore() bool {
	return !slices.ContainsFunc(in.Switches, func(sw device.Walked) bool {
		return sw.LFT != nil && !in.Devices.HeldBefore(sw.GUID, sw.LFT.Row())
	})
}

// turnOff are the switches on which adaptive routing and what depends on it go off before tables are written. Where
// DisableAR is set and the table found leads into a lost link, groups carry on until it is repaired: the Set of
// the table ends adaptive routing.
func (d *decision) turnOff(ctx context.Context) (off []topo.SwitchIdx) {
	t, tables := d.Topo, d.out.Tables
	var keeping []keptSwitches
	var broken map[topo.SwitchIdx]bool
	isOn := func(n topo.NodeIdx) bool { return t.Nodes[n].AR == topo.AROn }
	if d.Settings.AR == DisableAR && tables != nil && slices.ContainsFunc(t.Switches, isOn) {
		broken = d.outdated()
	}
	for i, n := range t.Switches {
		node, s := &t.Nodes[n], topo.SwitchIdx(i)
		carriesOn := broken[s] && isOn(n) && !node.UsesPrivateLFT()
		switch known := d.next.adaptive[node.GUID]; {
		case node.Missed > 0 || !node.AdaptiveSomehow():
		case d.Settings.AR == DisableAR && !carriesOn, known.why.ours(): // what depends on it was left on
			off = append(off, s)
		case !isOn(n) || tables == nil || node.UsesPrivateLFT():
		case d.Switches[s].LFT.Target(tables.LFT[s]).Complete():
			keeping = keep(keeping, known.groups, s)
		default:
			d.next.adaptive[node.GUID] = adaptiveSwitch{groups: known.groups, why: TableWritten}
		}
	}
	return append(off, d.dropStale(ctx, keeping)...)
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

// dropStale removes the switches whose groups are stale. When one of them forwards by its table again, all kept
// switches are examined again.
func (d *decision) dropStale(ctx context.Context, keeping []keptSwitches) (off []topo.SwitchIdx) {
	kept := 0
	for _, k := range keeping {
		kept += len(k.switches)
	}
	again, byTable := kept > 0, kept < len(d.next.adaptive)
	for again {
		again = false
		now := &looked{d.out.Report.Forwarding(), byTable}
		for i := range keeping {
			k := &keeping[i]
			stale := k.groups.stale(ctx, d.In, k.switches, d.next.lastLook(d.Topo, k.switches), now)
			k.switches = slices.DeleteFunc(k.switches, func(s topo.SwitchIdx) bool { return slices.Contains(stale, s) })
			d.next.note(d.Topo, k.switches, adaptiveSwitch{groups: k.groups, looked: now})
			d.next.note(d.Topo, stale, adaptiveSwitch{groups: k.groups, why: k.groups.whyStale()})
			off = append(off, stale...)
			again = again || len(stale) > 0 && !byTable
		}
		byTable = byTable || again
	}
	return off
}

// note notes the same of some switches.
func (s *State) note(t *topo.Topo, switches []topo.SwitchIdx, a adaptiveSwitch) {
	for _, sw := range switches {
		s.adaptive[t.Nodes[t.Switches[sw]].GUID] = a
	}
}

// lastLook is the last look at the groups of some switches, if it was one at all of them.
func (s *State) lastLook(t *topo.Topo, switches []topo.SwitchIdx) (last *looked) {
	for i, sw := range switches {
		look := s.adaptive[t.Nodes[t.Switches[sw]].GUID].looked
		if i > 0 && look != last {
			return nil
		}
		last = look
	}
	return last
}

// RoutesHeld reports whether no route is written because adaptive routing is on somewhere.
func (r *Result) RoutesHeld() bool { return r.ARMode == HoldAR && r.AR > 0 }

// NotAdaptive is a switch on which adaptive routing was on and is off.
type NotAdaptive struct {
	Node topo.NodeIdx
	Why  WhyOff
}

// NotAdaptive are the switches of a subnet on which adaptive routing was on and is off.
func (s *State) NotAdaptive(t *topo.Topo) (all []NotAdaptive) {
	for _, n := range t.Switches {
		node := &t.Nodes[n]
		if known, was := s.adaptive[node.GUID]; was && node.AR == topo.AROff {
			all = append(all, NotAdaptive{n, known.why})
		}
	}
	return all
}
