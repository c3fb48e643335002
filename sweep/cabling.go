package sweep

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

// heldBack is a cable that is held back, by its ends.
type heldBack [2]heldEnd

type heldEnd struct {
	node mad.GUID
	port uint8
}

// check compares what a walk has found with the plan, and takes out what is held back: the one place that decides on it. These cables are
// not in the subnet, and what only they lead to is not, either: it gets no LID and no route, and its ports stay in INIT. Our own cable
// is never held back. A plan that matches too little is only reported.
func (c *Cabling) check(b *topo.Builder) (v *view.Cabling, held []heldBack) {
	if c.Plan == nil && len(c.HeldBack) == 0 {
		return nil, nil
	}
	found, nodes := cabling.Found(b)
	v = &view.Cabling{Enforced: c.Enforced}
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
		r.Limit(view.MaxFindings)
		v.Comparison = r
		for _, i := range r.Unplanned {
			unplanned[i] = c.Enforced && r.Applies()
		}
	}
	self := b.Self()
	var cables []int32
	for i := range found.Cables {
		e := found.Cables[i].Ends
		at, to := topo.End{Node: nodes[e[0].Device], Port: e[0].Port}, topo.End{Node: nodes[e[1].Device], Port: e[1].Port}
		off := bySwitch[e[0].Device] || bySwitch[e[1].Device]
		if !off && !unplanned[i] || at == self || to == self {
			continue
		}
		b.Unlink(at)
		b.SetAnswered(at) // nobody need ask again what is there
		b.SetAnswered(to)
		cables = append(cables, int32(i))
		v.Held = append(v.Held, view.HeldCable{Switch: off})
		held = append(held, heldBack{{b.Node(at.Node).GUID, at.Port}, {b.Node(to.Node).GUID, to.Port}})
	}
	if len(held) == 0 {
		return v, nil
	}
	for i, l := range found.Links(cables) {
		v.Held[i].Link = l
	}
	dropUnreached(b, func(from, at topo.End) bool { return reachedBy(b, from, at) }) // over cables that are used
	return v, held
}

// stillUp are ports of cables that are held back which are ARMED or ACTIVE, one of each cable. They are taken down: what is behind them
// could send packets.
func stillUp(t *topo.Topo, held []heldBack) (ports []topo.PortIdx) {
	for _, h := range held {
		for _, e := range h {
			n := t.FindNode(e.node)
			if n == topo.None || t.Nodes[n].Missed > 0 {
				continue
			}
			if p := t.Port(n, e.port); t.Ports[p].Seen && t.Ports[p].Info.PortState() >= smp.PortArmed {
				ports = append(ports, p)
				break
			}
		}
	}
	return ports
}
