package dragonfly

import (
	"cmp"
	"slices"

	"ibsm/routing"
	"ibsm/routing/shape"
	"ibsm/routing/spread"
	"ibsm/topo"
)

// network is the switches of the subnet in their groups.
type network struct {
	routing.In
	lanes  int
	group  []int32            // by switch
	groups [][]topo.SwitchIdx // by group
	member []int32            // by switch: its place in the group
	local  [][]spread.Bundle  // by switch: to others of its group
	global [][]spread.Bundle  // by switch: to other groups
	byPeer [][]int16          // by switch, then by member of its group: 1 + the place in local; 0 without a cable
	height []int32            // by switch: its place in an order without equals
	spine  []bool             // by switch, of a dragonfly+
	plus   bool               // all cables are those of a dragonfly+
}

// newNetwork sorts the cables. A switch that is in no group has one of its own.
func newNetwork(in routing.In, d *shape.Dragonfly) *network {
	count := len(d.Of)
	n := &network{In: in, lanes: int(routing.LeastLanes(in.Lanes)), group: make([]int32, count),
		groups: make([][]topo.SwitchIdx, len(d.Groups)), member: make([]int32, count)}
	n.spine = make([]bool, count)
	if d.Plus {
		copy(n.spine, d.Spine)
	}
	for s, g := range d.Of {
		if g < 0 || int(g) >= len(d.Groups) {
			g = int32(len(n.groups))
			n.groups = append(n.groups, nil)
		}
		n.group[s], n.member[s] = g, int32(len(n.groups[g]))
		n.groups[g] = append(n.groups[g], topo.SwitchIdx(s))
	}
	bundles := spread.Bundles(routing.NewGraph(in.Topo))
	n.local, n.global, n.byPeer = make([][]spread.Bundle, count), make([][]spread.Bundle, count), make([][]int16, count)
	for s := range topo.SwitchIdx(count) {
		n.byPeer[s] = make([]int16, len(n.groups[n.group[s]]))
		for _, b := range bundles[s] {
			if n.group[b.To] != n.group[s] {
				n.global[s] = append(n.global[s], b)
				continue
			}
			n.local[s] = append(n.local[s], b)
			n.byPeer[s][n.member[b.To]] = int16(len(n.local[s]))
		}
	}
	n.plus = n.isPlus()
	// Packets that leave the order of channels for a gap go up and then down. So spines, which have many leaves above
	// them, and switches with few cables are low.
	n.height = routing.Ranks(count, func(a, b topo.SwitchIdx) int {
		switch {
		case n.spine[a] && !n.spine[b]:
			return -1
		case n.spine[b] && !n.spine[a]:
			return 1
		}
		return cmp.Compare(len(n.local[a]), len(n.local[b]))
	})
	return n
}

// isPlus reports whether all cables are those of a dragonfly+: between leaves and spines of a group, and between spines
// of different ones.
func (n *network) isPlus() bool {
	for s := range n.local {
		if !n.spine[s] && len(n.global[s]) > 0 || slices.ContainsFunc(n.local[s], func(b spread.Bundle) bool {
			return n.spine[b.To] == n.spine[s]
		}) {
			return false
		}
	}
	return true
}

// cable is the cables from a switch to another of its group, nil for none.
func (n *network) cable(from, to topo.SwitchIdx) []spread.Way {
	if at := n.byPeer[from][n.member[to]]; at > 0 {
		return n.local[from][at-1].Ways
	}
	return nil
}

// between is a switch over which packets go from a switch to another of the group, to which it has no cable.
type between struct {
	at topo.SwitchIdx
	// out says that packets are on their way out of the group, and stay on VL 0; others have VL 1 from here on, and go
	// no farther than the other switch.
	out bool
	up  bool // it is higher than both
}

// betweens are the switches between two of a group that have no cable. Ways out of the group and ways in it take turns:
// a switch cannot distinguish them by the ports alone.
func (n *network) betweens(into []between, from, to topo.SwitchIdx) []between {
	into = into[:0]
	several, turn := len(n.global[to]) > 0, false
	for _, b := range n.local[from] {
		if n.cable(b.To, to) == nil {
			continue
		}
		m := between{at: b.To, up: n.height[b.To] > max(n.height[from], n.height[to])}
		if several && m.up {
			m.out = turn
			turn = !turn
		}
		into = append(into, m)
	}
	return into
}

// inOrder reports whether packets to the switch after a between keep the order of channels there. Those that have come
// into the group are on VL 1 before it and after it, so they must go up and then down.
func (n *network) inOrder(m between, from topo.SwitchIdx) bool {
	return !m.out && (m.up || len(n.global[from]) == 0)
}
