package hyperx

import (
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// maps are SL to VL mapping tables that raise the lane of packets which go back to an earlier dimension, as ways around
// missing switches do: on SL 0 they are on VL 1 then. Each other SL of paths has the lane of its number; SLs that hosts
// use by themselves are like 0.
func (n *network) maps(sls int) *routing.Maps {
	plain, raised := &routing.SLToVL{}, &routing.SLToVL{}
	for sl := range raised {
		raised[sl] = 1
	}
	for sl := 1; sl < sls; sl++ {
		plain[sl], raised[sl] = uint8(sl), uint8(sl)
	}
	ends, all := []*routing.SLToVL{{}}, []*routing.SLToVL{plain}
	maps := &routing.Maps{Of: slices.Repeat([][]*routing.SLToVL{ends}, len(n.Topo.Ports))}
	for s, node := range n.Topo.Switches {
		dims := n.dimensions(topo.SwitchIdx(s))
		lists := make([][]*routing.SLToVL, len(n.dims)) // by dimension
		for out := range lists {
			for _, in := range dims {
				table := plain
				if in > out {
					table = raised
				}
				lists[out] = append(lists[out], table)
			}
		}
		for _, b := range n.bundles[s] {
			for _, way := range b.Ways {
				list := all
				if dim := dims[way.Port]; dim >= 0 {
					list = lists[dim]
				}
				maps.Of[n.Topo.Port(node, way.Port)] = list
			}
		}
	}
	return maps
}

// dimensions are those along which the ports of a switch lead, by number: -1 for others.
func (n *network) dimensions(s topo.SwitchIdx) []int {
	dims := slices.Repeat([]int{-1}, int(n.Topo.Nodes[n.Topo.Switches[s]].NumPorts)+1)
	for _, b := range n.bundles[s] {
		dim := n.dimension(s, b.To)
		for _, way := range b.Ways {
			dims[way.Port] = dim
		}
	}
	return dims
}

// dimension is the only one in which two switches are at different coordinates, -1 if there is none or there are
// several.
func (n *network) dimension(a, b topo.SwitchIdx) int {
	if len(n.at[a]) == 0 || len(n.at[b]) == 0 {
		return -1
	}
	only := -1
	for dim, c := range n.at[a] {
		switch {
		case c == n.at[b][dim]:
		case only >= 0:
			return -1
		default:
			only = dim
		}
	}
	return only
}
