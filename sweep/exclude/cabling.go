// Package exclude takes out of what a walk has found what the subnet must not have: cables that are held back, and
// what a preview leaves out, with everything that cannot be reached any more then.
package exclude

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
	"ibsm/topo/cabling"
	"ibsm/view"
)

// Cabling is what the operator wants of cables.
type Cabling struct {
	Plan     *cabling.Cabling // nil for none
	Enforced bool             // cables that are not in the plan are held back
	HeldBack []mad.GUID       // switches that are held back
}

// Held is a cable that is held back, by its ends.
type Held [2]End

// End is a port.
type End struct {
	Node mad.GUID
	Port uint8
}

// Check compares the result of a walk with the plan, and removes the cables that are held back: the only place that
// decides this. These cables are not in the subnet, nor is anything that only they lead to: it gets no LID and no
// route, and its ports stay in INIT. Our own cable is never held back. down are the cables to take down if they are
// ARMED or ACTIVE, and behind are devices at held cables whose descriptions may change to names of the plan.
//
// Cables in use stay in use, and are not in down, if the plan matches too little, or if holding back all of them would
// cut us off from most devices. This depends only on the result of the walk, so a restart does not change it.
func (c *Cabling) Check(b *topo.Builder) (v *view.Cabling, down []Held, behind []Unnamed) {
	if c.Plan == nil && len(c.HeldBack) == 0 {
		return nil, nil, nil
	}
	found, nodes := cabling.Found(b)
	v = &view.Cabling{Enforced: c.Enforced && c.Plan != nil, Found: found}
	bySwitch := make([]bool, len(nodes))
	for _, guid := range c.HeldBack {
		if n, is := b.Find(guid); is && !b.Dropped(n) && b.Node(n).Type == mad.Switch {
			at, _ := slices.BinarySearch(nodes, n)
			bySwitch[at] = true
		}
	}
	unplanned := make([]bool, len(found.Cables))
	if c.Plan != nil {
		r := cabling.Compare(c.Plan, found)
		r.Limit(view.MaxCablingFindings)
		v.Comparison = r
		for _, i := range r.Unplanned {
			unplanned[i] = c.Enforced
		}
	}
	self := b.Self()
	end := func(e cabling.End) topo.End { return topo.End{Node: nodes[e.Device], Port: e.Port} }
	var excluded []int32
	for i := range found.Cables {
		e := found.Cables[i].Ends
		if at, to := end(e[0]), end(e[1]); at == self || to == self || !unplanned[i] && !bySwitch[e[0].Device] &&
			!bySwitch[e[1].Device] {
			continue
		}
		excluded = append(excluded, int32(i))
	}
	v.CutOff, v.Of = cutOffBy(b, found, nodes, excluded)
	var cables []int32
	for _, i := range excluded {
		e := found.Cables[i].Ends
		at, to, off := end(e[0]), end(e[1]), bySwitch[e[0].Device] || bySwitch[e[1].Device]
		spare := v.CutOff > 0 || !off && !v.Applies()
		if spare && isUp(b, at) && isUp(b, to) {
			v.Spared = append(v.Spared, i)
			continue
		}
		b.Unlink(at)
		b.SetAnswered(at) // nobody need ask again what is there
		b.SetAnswered(to)
		cables = append(cables, i)
		v.Held = append(v.Held, view.HeldCable{Switch: off})
		if !spare {
			down = append(down, Held{{b.Node(at.Node).GUID, at.Port}, {b.Node(to.Node).GUID, to.Port}})
		}
	}
	if len(cables) == 0 {
		return v, nil, nil
	}
	for i, l := range found.Links(cables) {
		v.Held[i].Link = l
	}
	dropUnreached(b, func(from, at topo.End) bool { return reachedBy(b, from, at) }) // over cables that are used
	if c.Plan != nil && slices.ContainsFunc(c.Plan.Devices, func(d cabling.Device) bool { return d.GUID == 0 }) {
		behind = unnamedBehind(b, found, nodes, cables)
	}
	return v, down, behind
}

// Unnamed is a device behind a cable that is held back. A plan may know it by a name that it does not have yet: hosts
// get theirs when they have booted. It has no LID to send a trap from then.
type Unnamed struct {
	At   End // the other end of the cable, which is in the subnet
	Desc smp.NodeDescription
}

// unnamedBehind are the devices behind cables, each once.
func unnamedBehind(b *topo.Builder, found *cabling.Cabling, nodes, cables []int32) (all []Unnamed) {
	done := map[int32]bool{}
	for _, i := range cables {
		for j, near := range found.Cables[i].Ends {
			at, to := nodes[near.Device], nodes[found.Cables[i].Ends[1-j].Device]
			if !b.Dropped(at) && b.Dropped(to) && !done[to] {
				done[to] = true
				all = append(all, Unnamed{End{b.Node(at).GUID, near.Port}, b.Node(to).Desc})
			}
		}
	}
	return all
}

// isUp reports whether a port is ARMED or ACTIVE, or may be.
func isUp(b *topo.Builder, e topo.End) bool {
	info := b.Port(e)
	return info == nil || info.PortState() >= smp.PortArmed
}

// cutOffBy counts the devices that our port reaches only over excluded cables, among those with another cable. It is 0
// for up to half of them, since a part of the subnet may well be held back.
func cutOffBy(b *topo.Builder, found *cabling.Cabling, nodes, excluded []int32) (lost, of int) {
	if len(excluded) == 0 {
		return 0, 0
	}
	self := b.Self()
	next := make([][]int32, len(nodes)) // of devices that forward, and of our port
	counted, reached := make([]bool, len(nodes)), make([]bool, len(nodes))
	for i := range found.Cables {
		if len(excluded) > 0 && excluded[0] == int32(i) {
			excluded = excluded[1:]
			continue
		}
		for j, from := range found.Cables[i].Ends {
			counted[from.Device] = true
			if n := nodes[from.Device]; b.Node(n).Type == mad.Switch || (topo.End{Node: n, Port: from.Port}) == self {
				next[from.Device] = append(next[from.Device], found.Cables[i].Ends[1-j].Device)
			}
		}
	}
	at, _ := slices.BinarySearch(nodes, self.Node)
	reached[at] = true
	for queue := []int32{int32(at)}; len(queue) > 0; queue = queue[1:] {
		for _, to := range next[queue[0]] {
			if !reached[to] {
				reached[to] = true
				queue = append(queue, to)
			}
		}
	}
	for i := range nodes {
		if counted[i] {
			of++
			if !reached[i] {
				lost++
			}
		}
	}
	if 2*lost <= of {
		return 0, 0
	}
	return lost, of
}

// StillUp are ports of cables that are held back which are ARMED or ACTIVE, one of each cable. They are taken down:
// what is behind them could send packets.
func StillUp(t *topo.Topo, held []Held) (ports []topo.PortIdx) {
	for _, h := range held {
		for _, e := range h {
			n := t.FindNode(e.Node)
			if n == topo.None || t.Nodes[n].Missed > 0 {
				continue
			}
			if p := t.Port(n, e.Port); t.Ports[p].Seen && t.Ports[p].Info.PortState() >= smp.PortArmed {
				ports = append(ports, p)
				break
			}
		}
	}
	return ports
}
