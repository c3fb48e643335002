package routing

import (
	"math/bits"
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// Balancing is the operator's settings of the engines that spread destinations over ports: minhop,
// updn, dnup, dor and file. What is not in the subnet does not count.
type Balancing struct {
	// First are the port GUIDs of the destinations that are placed first, in this order
	// (guid_routing_order_file).
	First []mad.GUID
	// Seed, if not 0, has each destination's first LID take one of the least used ports at random
	// (scatter_ports); FirstInTurn excepts the destinations of First (guid_routing_order_no_scatter).
	Seed        uint32
	FirstInTurn bool
	// Shift begins the search for the least used port with another one, the more destinations are
	// placed (port_shifting).
	Shift bool
	// Switches says that routes to switches count as load (port_profile_switch_nodes).
	Switches bool
	// Ignored are ports whose load does not count (port_prof_ignore_file).
	Ignored []SwitchPort
	// Search is the order in which the ports of switches are compared (port_search_ordering_file). Of
	// several orders of a switch the first that it has the ports for applies.
	Search []SearchOrder
	// Weights are what links cost that leave a switch by a port, 1 to 255, in place of 1; 255 is
	// that they are not used (hop_weights_file). They count for minhop, dor and file, and where updn looks for
	// roots and connects them.
	Weights map[SwitchPort]uint8
}

// SwitchPort is a port of the switch with a node GUID.
type SwitchPort struct {
	Switch mad.GUID
	Port   uint8
}

// SearchOrder is an order of ports of the switch with a node GUID. Those that it does not name come
// after the others. No port is named twice.
type SearchOrder struct {
	Switch mad.GUID
	Ports  []uint8
}

// ignored are the ports of each switch whose load does not count, by SwitchIdx; nil for none at all.
func (s *Balancing) ignored(t *topo.Topo) []PortMask {
	if len(s.Ignored) == 0 {
		return nil
	}
	masks := make([]PortMask, len(t.Switches))
	for _, at := range s.Ignored {
		if sw := switchOf(t, at.Switch); sw != topo.None {
			masks[sw].Add(at.Port)
		}
	}
	return masks
}

// search is the order in which the ports of each switch are compared, by SwitchIdx; nil for ascending
// ones.
func (s *Balancing) search(t *topo.Topo) [][]uint8 {
	orders := make([][]uint8, len(t.Switches))
	for _, o := range s.Search {
		sw := switchOf(t, o.Switch)
		if sw == topo.None || orders[sw] != nil || len(o.Ports) == 0 {
			continue
		}
		num := t.Nodes[t.Switches[sw]].NumPorts
		if slices.Max(o.Ports) > num {
			continue
		}
		order := slices.Clone(o.Ports)
		for port := 1; port <= int(num); port++ {
			if !slices.Contains(o.Ports, uint8(port)) {
				order = append(order, uint8(port))
			}
		}
		orders[sw] = order
	}
	return orders
}

// switchOf is the switch with a node GUID, None if there is none.
func switchOf(t *topo.Topo, guid mad.GUID) topo.SwitchIdx {
	if n := t.FindNode(guid); n != topo.None {
		return t.Nodes[n].Switch
	}
	return topo.None
}

// portReversed is the GUID of a port as OpenSM compares it: read from the last byte to the first.
func portReversed(t *topo.Topo, p topo.PortIdx) uint64 {
	return bits.ReverseBytes64(uint64(t.Ports[p].GUID))
}
