package routes

import (
	"context"
	mathbits "math/bits"
	"slices"
	"sync/atomic"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// groups has the assumptions about the groups by which switches with adaptive routing forward. Another manager wrote
// them, and they are not read: the group of a LID may contain any ports on shortest paths to it, in the subnet as it
// was when adaptive routing was first seen on. Groups do not follow when links are lost and tables change.
type groups struct {
	graph *routing.Graph // nil where it is not known: the subnet had changed by then
	// by the forwarding tables that were held; with the switches of that time, whose numbers the graph has
	seen *routing.Forwarding
}

// maxGroups limits the subnets that are remembered for groups: a host that shows another switch with adaptive routing
// in each sweep would have as many remembered. Of the groups of further switches nothing is assumed.
const maxGroups = 32

// manyGroups reports whether switches of a subnet that forward by their groups have as many that were seen at different
// times as may be.
func (s *State) manyGroups(t *topo.Topo) bool {
	distinct := map[*groups]bool{}
	for _, n := range t.Switches {
		if g := s.adaptive[t.Nodes[n].GUID].groups; t.Nodes[n].AR == topo.AROn && g != nil && g.graph != nil {
			distinct[g] = true
		}
	}
	return len(distinct) >= maxGroups
}

// newGroups are those that a walk sees for the first time.
func newGroups(in *In) *groups {
	t := in.Topo
	if len(in.outdated()) > 0 {
		return &groups{}
	}
	g := &groups{graph: routing.NewGraphOf(t, func(topo.PortIdx) bool { return true })}
	held := &routing.Tables{Top: mad.MaxUnicastLID}
	for i := range t.Switches {
		held.LFT = append(held.LFT, in.Switches[i].LFT.Row())
	}
	g.seen = routing.NewForwarding(t, &topo.LIDs{Owner: owners(t)}, held)
	return g
}

// owners are the ports by LID; None for a LID without a port.
func owners(t *topo.Topo) []topo.PortIdx {
	owner := slices.Repeat([]topo.PortIdx{topo.None}, int(mad.MaxUnicastLID)+1)
	for _, p := range t.EndPorts {
		info := &t.Ports[p].Info
		if !info.LID().IsUnicast() {
			continue
		}
		for l := int(info.LID()); l < int(info.LID())+1<<info.LMC() && l < len(owner); l++ {
			owner[l] = p
		}
	}
	return owner
}

// outdated are the switches whose tables as found were made for a subnet with other links: an entry of a LID that is
// elsewhere leads into a port without a link to a switch.
func (in *In) outdated() map[topo.SwitchIdx]bool {
	t, is := in.Topo, map[topo.SwitchIdx]bool{}
	home := make([]topo.SwitchIdx, int(mad.MaxUnicastLID)+1)
	for l, p := range owners(t) {
		home[l], _ = routing.Home(t, p)
	}
	for i, n := range t.Switches {
		node, held := &t.Nodes[n], in.Switches[i].LFT
		if node.Missed > 0 || node.UsesPrivateLFT() {
			continue
		}
		var leads [256]bool
		for num := range 256 {
			leads[num] = num > int(node.NumPorts) || t.BetweenSwitches(t.Port(n, uint8(num)))
		}
		for l, num := range held.Row() {
			if home[l] != topo.None && home[l] != topo.SwitchIdx(i) && !leads[num] &&
				held.State(l/routing.BlockSize) == device.Known {
				is[topo.SwitchIdx(i)] = true
				break
			}
		}
	}
	return is
}

// looked is a look at groups, after which those whose groups lead to all LIDs are kept.
type looked struct {
	by *routing.Forwarding // the tables that they were compared with
	// some switch forwarded by its table again, so LIDs whose routes had not changed were looked at as well
	off bool
}

// covers reports whether a look was at all that another one is at, in what has not changed since.
func (l *looked) covers(off bool) bool { return l != nil && (l.off || !off) }

// stale are those of some switches keeping their tables whose groups may not lead to a LID any more: a switch that has
// lost a link to another switch, and a switch with a neighbour that was on a shortest path to the LID but is not nearer
// to it by the new tables. If each packet that leaves a switch gets nearer to its LID, none circulates. LIDs without
// changes count too if the tables do not lead to them by shortest paths: a switch that forwards by its table again may
// lead back. now says by which tables, and whether some switch already does; since is the last look at all of the
// switches, or nil. If nothing is known of the groups, all switches are stale.
func (g *groups) stale(ctx context.Context, in *In, among []topo.SwitchIdx, since,
	now *looked) (stale []topo.SwitchIdx) {
	if len(among) == 0 || g.graph == nil {
		return slices.Clone(among)
	}
	t := in.Topo
	here, then := make([]topo.SwitchIdx, len(g.seen.Switches)),
		slices.Repeat([]topo.SwitchIdx{topo.None}, len(t.Switches))
	for i, guid := range g.seen.Switches {
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
	look, rerouted := g.lookAt(since, now, then)
	if len(keep) == 0 || look.Empty() {
		return stale
	}
	hops, err := routing.NewHops(ctx, in.Workers, g.graph)
	if err != nil {
		return stale
	}
	farther := make([]atomic.Bool, len(keep)) // by index in keep: the group may lead to a switch that is not nearer
	_ = routing.Parallel(ctx, in.Workers, len(look), func() func(int) {
		trace := routing.NewTrace(len(t.Switches))
		return func(block int) {
			now.by.Tracer.Block(now.by.Rows, block, look[block], trace)
			for bits := look[block]; bits != 0; bits &= bits - 1 {
				l := block*routing.BlockSize + mathbits.TrailingZeros64(bits)
				if l >= len(in.LIDs.Owner) || in.LIDs.Owner[l] == topo.None {
					continue
				}
				home := g.seen.Home(mad.LID(l))
				if is := now.by.Home(mad.LID(l)); home == topo.None && is != topo.None && !rerouted.Has(l) {
					home = then[is] // to which the tables led when they were seen
				}
				fates := trace.Fates(mad.LID(l))
				if shortest(hops, fates, here, home) {
					continue // and so all are nearer on it
				}
				for i, s := range keep {
					if !farther[i].Load() && !g.nearer(hops, fates, here, s, then[s], home) {
						farther[i].Store(true)
					}
				}
			}
		}
	})
	for i, s := range keep {
		if farther[i].Load() {
			stale = append(stale, s)
		}
	}
	return stale
}

// lookAt are the LIDs to look at now: of those that have changed since they were seen first, or of all, the ones whose
// routes are not as in the last look; and of all LIDs the rerouted ones.
func (g *groups) lookAt(since, now *looked, then []topo.SwitchIdx) (look, rerouted routing.LIDSet) {
	var before *routing.Forwarding // nil: all routes are new
	if since.covers(now.off) {
		before = since.by
	}
	if look = now.by.Changed(before); look.Empty() {
		return look, nil
	}
	moved, rerouted := g.changed(now.by, then)
	if now.off {
		return look, rerouted
	}
	moved.Union(rerouted)
	for block := range look {
		look[block] &= moved[block]
	}
	return look, rerouted
}

// changed are the LIDs that are not where they were seen, and those of which a route is not as it was seen. A LID that
// no port had then has not moved: the port did not answer, or had just booted, and got the LID back. The switch at
// which packets to a LID leave the switches may have another port for it without rerouting it, if they did not go on to
// another switch from there before either: a switch that has booted has an empty table.
func (g *groups) changed(by *routing.Forwarding, then []topo.SwitchIdx) (moved, rerouted routing.LIDSet) {
	moved, rerouted = make(routing.LIDSet, by.Blocks()), make(routing.LIDSet, by.Blocks())
	move := func(lid int) {
		if g.seen.Home(mad.LID(lid)) != topo.None {
			moved.Add(lid)
		}
	}
	reroute := func(s topo.SwitchIdx, lid int) {
		if s != by.Home(mad.LID(lid)) || then[s] == topo.None || nextSwitch(by, s, lid) != topo.None ||
			nextSwitch(g.seen, then[s], lid) != topo.None {
			rerouted.Add(lid)
		}
	}
	if !by.Changes(g.seen, move, reroute) {
		for block := range rerouted {
			rerouted[block] = routing.WholeBlock
		}
	}
	return moved, rerouted
}

// nextSwitch is the switch that packets to a LID go to from a switch; None where they leave the switches, or are
// dropped.
func nextSwitch(f *routing.Forwarding, s topo.SwitchIdx, lid int) topo.SwitchIdx {
	if lid >= len(f.Rows[s]) {
		return topo.None
	}
	return f.Tracer.Next(s, f.Rows[s][lid])
}

// whyStale is the reason for turning adaptive routing off on stale switches.
func (g *groups) whyStale() WhyOff {
	if g.graph == nil {
		return GroupsUnknown
	}
	return GroupsStale
}

// lostLink reports whether a switch has lost a link to another switch. A node may first claim that it is a switch, and
// later that it is not, or has fewer ports.
func (g *groups) lostLink(t *topo.Topo, s, was topo.SwitchIdx) bool {
	peers, ports := g.graph.Edges(was)
	for i, num := range ports {
		if num > t.Nodes[t.Switches[s]].NumPorts {
			return true
		}
		peer := t.Ports[t.Port(t.Switches[s], num)].Peer
		if peer == topo.None || !t.IsSwitchPort(peer) || t.Nodes[t.Ports[peer].Node].GUID != g.seen.Switches[peers[i]] {
			return true
		}
	}
	return false
}

// shortest reports whether the tables lead from every switch to a LID by a path that was a shortest one to the switch
// that is its home.
func shortest(hops *routing.Hops, fates []routing.Fate, here []topo.SwitchIdx, home topo.SwitchIdx) bool {
	if home == topo.None || here[home] == topo.None || fates[here[home]] < routing.Arrived {
		return false
	}
	last := int(fates[here[home]]) // after the link to a host
	from := hops.From(home)
	for i, s := range here {
		if s != topo.None && int(fates[s]) != last+int(from[i]) {
			return false
		}
	}
	return true
}

// nearer reports whether each port that the group of a LID may have leads nearer to it, that is to the switch that is
// its home.
func (g *groups) nearer(hops *routing.Hops, fates []routing.Fate, here []topo.SwitchIdx, s, was,
	home topo.SwitchIdx) bool {
	if home == topo.None {
		return false
	}
	if fates[s] < routing.Arrived {
		return true // no cables lead there
	}
	peers, _ := g.graph.Edges(was)
	for _, peer := range peers {
		if hops.From(peer)[home] < hops.From(was)[home] &&
			(fates[here[peer]] < routing.Arrived || fates[here[peer]] >= fates[s]) {
			return false
		}
	}
	return true
}
