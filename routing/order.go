package routing

import (
	"cmp"
	"math/bits"
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// Order lists the ports to route to in the order in which OpenSM's balancing
// engines place them: those of s.First, then what hangs on the switch with the most end ports, port
// by port, and after them all other switches. Switches with equal numbers of end ports, and those
// at the end, come in the order of their GUIDs, read from the last byte to the first: OpenSM sorts
// them as they lie in a packet, and takes them for numbers of its little-endian
// machine. Ports that own no LID or hang on no switch are left out.
func Order(t *topo.Topo, l *topo.LIDs, s Balancing) []Dest {
	order := make([]Dest, 0, len(t.EndPorts))
	listed := make([]bool, len(t.Ports))
	add := func(p topo.PortIdx, scatter bool) {
		at, egress := Home(t, p)
		if listed[p] || l.Base[p] == 0 || at == topo.None {
			return
		}
		listed[p] = true
		node := &t.Nodes[t.Ports[p].Node]
		weighs := !node.Aggregation
		if node.Switch != topo.None {
			weighs = s.Switches
		}
		order = append(order, Dest{Port: p, Switch: at, Egress: egress, Weighs: weighs, Scatter: scatter,
			Base: l.Base[p], LMC: l.LMC[p]})
	}
	for _, guid := range s.First {
		if p := t.FindPort(guid); p != topo.None {
			add(p, s.Seed != 0 && !s.FirstInTurn)
		}
	}
	switches, endPorts := mostEndPortsFirst(t)
	for _, sw := range switches {
		if endPorts[sw] == 0 {
			break
		}
		n := t.Switches[sw]
		for num := 1; num <= ports(t, n); num++ {
			if p := t.Ports[t.Port(n, uint8(num))].Peer; p != topo.None && t.Nodes[t.Ports[p].Node].Type != mad.Switch {
				add(p, s.Seed != 0)
			}
		}
	}
	rest := slices.DeleteFunc(slices.Clone(t.EndPorts), func(p topo.PortIdx) bool { return listed[p] })
	slices.SortFunc(rest, func(a, b topo.PortIdx) int { return cmp.Compare(portReversed(t, a), portReversed(t, b)) })
	for _, p := range rest {
		add(p, s.Seed != 0)
	}
	return order
}

// mostEndPortsFirst are all switches, and by switch the number of ports of adapters and routers that hang on it.
func mostEndPortsFirst(t *topo.Topo) (switches []topo.SwitchIdx, endPorts []int) {
	switches, endPorts = make([]topo.SwitchIdx, len(t.Switches)), make([]int, len(t.Switches))
	for s := range switches {
		switches[s] = topo.SwitchIdx(s)
	}
	for p := range t.Ports { // from these ports, as most ports of switches lead to switches
		peer := t.Ports[p].Peer
		if peer == topo.None || t.Nodes[t.Ports[p].Node].Type == mad.Switch {
			continue
		}
		if n := t.Ports[peer].Node; t.Nodes[n].Switch != topo.None && int(t.Ports[peer].Num) <= ports(t, n) {
			endPorts[t.Nodes[n].Switch]++
		}
	}
	slices.SortFunc(switches, func(a, b topo.SwitchIdx) int {
		return cmp.Or(cmp.Compare(endPorts[b], endPorts[a]), cmp.Compare(reversed(t, a), reversed(t, b)))
	})
	return switches, endPorts
}

// Ranks gives each of some switches its place in an order that has no equals, for Tables.Ranks.
func Ranks(switches int, compare func(a, b topo.SwitchIdx) int) []int32 {
	sorted, ranks := make([]topo.SwitchIdx, switches), make([]int32, switches)
	for s := range sorted {
		sorted[s] = topo.SwitchIdx(s)
	}
	slices.SortStableFunc(sorted, compare)
	for i, s := range sorted {
		ranks[s] = int32(i)
	}
	return ranks
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
