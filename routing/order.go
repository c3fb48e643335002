package routing

import (
	"cmp"
	"math/bits"
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// Order lists the ports to route to in the order in which OpenSM's balancing
// engines place them: what hangs on the switch with the most end ports first, port
// by port, and after them all switches. Switches with equal numbers of end ports come
// in the order of their GUIDs, read from the last byte to the first: OpenSM sorts
// them as they lie in a packet, and takes them for numbers of its little-endian
// machine. Ports that own no LID or hang on no switch are left out.
func Order(t *topo.Topo, l *topo.LIDs) []Dest {
	order := make([]Dest, 0, len(t.EndPorts))
	add := func(p topo.PortIdx, d Dest) {
		if l.Base[p] != 0 {
			d.Port, d.Base, d.LMC = p, l.Base[p], l.LMC[p]
			order = append(order, d)
		}
	}
	for _, s := range mostEndPortsFirst(t) {
		n := t.Switches[s]
		for num := 1; num <= ports(t, n); num++ {
			p := t.Ports[t.Port(n, uint8(num))].Peer
			if p == topo.None {
				continue
			}
			if node := &t.Nodes[t.Ports[p].Node]; node.Type != mad.Switch {
				add(p, Dest{Switch: s, Egress: uint8(num), Weighs: !node.Aggregation})
			}
		}
	}
	for _, p := range t.EndPorts {
		if s := t.Nodes[t.Ports[p].Node].Switch; s != topo.None {
			add(p, Dest{Switch: s})
		}
	}
	return order
}

func mostEndPortsFirst(t *topo.Topo) []topo.SwitchIdx {
	endPorts := make([]int, len(t.Switches))
	switches := make([]topo.SwitchIdx, len(t.Switches))
	for s, n := range t.Switches {
		switches[s] = topo.SwitchIdx(s)
		for num := 1; num <= ports(t, n); num++ {
			if p := t.Ports[t.Port(n, uint8(num))].Peer; p != topo.None && t.Nodes[t.Ports[p].Node].Type != mad.Switch {
				endPorts[s]++
			}
		}
	}
	slices.SortFunc(switches, func(a, b topo.SwitchIdx) int {
		return cmp.Or(cmp.Compare(endPorts[b], endPorts[a]), cmp.Compare(reversed(t, a), reversed(t, b)))
	})
	return switches
}

// SwitchesByGUID are all switches in the order of their GUIDs in which OpenSM walks them.
func SwitchesByGUID(t *topo.Topo) []topo.SwitchIdx {
	switches := make([]topo.SwitchIdx, len(t.Switches))
	for s := range switches {
		switches[s] = topo.SwitchIdx(s)
	}
	slices.SortFunc(switches, func(a, b topo.SwitchIdx) int { return cmp.Compare(reversed(t, a), reversed(t, b)) })
	return switches
}

// reversed is the GUID of a switch as OpenSM compares it: read from the last byte to the first.
func reversed(t *topo.Topo, s topo.SwitchIdx) uint64 {
	return bits.ReverseBytes64(uint64(t.Nodes[t.Switches[s]].GUID))
}
