package nue

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/heap"
	"ibsm/topo"
)

// none is in place of a channel or a switch.
const none int32 = -1

const infinite = uint64(1) << 62

// network is the switches in the order of their LIDs in which OpenSM walks them, and the channels between
// them. A search starts at the destination, so a channel leads from the switch that is nearer to it to
// that which is further; packets take it the other way.
type network struct {
	routing.In
	switches []topo.SwitchIdx // by vertex
	vertex   []int32          // by SwitchIdx
	lids     []uint8          // by vertex: of the switch and of what hangs on it; OpenSM counts to 255
	first    []int32          // channels from vertex v are first[v] .. first[v+1]-1, in the order of ports

	// By channel.
	from, to []int32 // vertices
	back     []int32 // the channel of the same cable the other way
	port     []uint8 // of the switch that it leads to
	weight   []uint64

	by      []int32 // by vertex: the channel by which the last search came, none for where it began
	heap    heap.Heap
	reached []uint64 // distances of spread
	behind  []uint64 // scratch of weigh
	after   []int32
}

func newNetwork(in routing.In, avoidThrottled bool) *network {
	t := in.Topo
	g := routing.NewGraphOf(t, func(p topo.PortIdx) bool {
		return !t.Ports[p].Unhealthy && !(avoidThrottled && routing.Throttled(t, p))
	})
	n := &network{In: in, vertex: make([]int32, g.Len()), lids: make([]uint8, g.Len()), by: make([]int32, g.Len()),
		reached: make([]uint64, g.Len()), behind: make([]uint64, g.Len()), after: make([]int32, g.Len()),
		heap: heap.New(g.Len())}
	for s := range g.Len() {
		n.switches = append(n.switches, topo.SwitchIdx(s))
	}
	lid := func(s topo.SwitchIdx) uint16 {
		return bits.ReverseBytes16(uint16(in.LIDs.Base[t.Nodes[t.Switches[s]].First]))
	}
	slices.SortStableFunc(n.switches, func(a, b topo.SwitchIdx) int { return cmp.Compare(lid(a), lid(b)) })
	for v, s := range n.switches {
		n.vertex[s] = int32(v)
	}
	all := n.countLIDs()
	at := make([]int32, len(t.Ports)) // the channel that leaves by a port
	var leaves []topo.PortIdx
	for v, s := range n.switches {
		n.first = append(n.first, int32(len(n.to)))
		peers, ports := g.Edges(s)
		for i, r := range peers {
			p := t.Port(t.Switches[s], ports[i])
			at[p] = int32(len(n.to))
			leaves = append(leaves, p)
			n.from, n.to = append(n.from, int32(v)), append(n.to, n.vertex[r])
			n.port = append(n.port, t.Ports[t.Ports[p].Peer].Num)
			n.weight = append(n.weight, all*all)
		}
	}
	n.first = append(n.first, int32(len(n.to)))
	for _, p := range leaves {
		n.back = append(n.back, at[t.Ports[p].Peer])
	}
	return n
}

// countLIDs counts the LIDs at each switch, and returns the number of all that OpenSM routes to.
func (n *network) countLIDs() (all uint64) {
	t := n.Topo
	for _, p := range t.EndPorts {
		home, _ := routing.Home(t, p)
		if home == topo.None || n.LIDs.Base[p] == 0 {
			continue
		}
		n.lids[n.vertex[home]] += uint8(n.LIDs.Count(p))
		if t.Nodes[t.Ports[p].Node].Type != mad.Router {
			all += uint64(n.LIDs.Count(p))
		}
	}
	return all
}

// portsByGUID are the end ports that have LIDs, in the order in which OpenSM walks them: GUIDs are read
// from the last byte to the first.
func portsByGUID(t *topo.Topo, l *topo.LIDs) (list []topo.PortIdx) {
	for _, p := range t.EndPorts {
		if l.Base[p] != 0 {
			list = append(list, p)
		}
	}
	key := func(p topo.PortIdx) uint64 { return bits.ReverseBytes64(uint64(t.Ports[p].GUID)) }
	slices.SortStableFunc(list, func(a, b topo.PortIdx) int { return cmp.Compare(key(a), key(b)) })
	return list
}

// spread finds the lightest ways from a switch to all others (Dijkstra). Among equals the order of the
// heap decides, as it does in OpenSM.
func (n *network) spread(root int32) {
	h := &n.heap
	h.Clear()
	for v := range n.by {
		n.reached[v], n.by[v] = infinite, none
		h.Push(int32(v), infinite)
	}
	n.reached[root] = 0
	h.Lower(root, 0)
	for h.Len() > 0 {
		v, d := h.Pop()
		if d == infinite {
			return
		}
		for c := n.first[v]; c < n.first[v+1]; c++ {
			if to := n.to[c]; d+n.weight[c] < n.reached[to] { // never of one that was taken before
				n.reached[to], n.by[to] = d+n.weight[c], c
				h.Lower(to, d+n.weight[c])
			}
		}
	}
}

// errCircle says that the engine is at fault: it has not found ways, but a circle.
var errCircle = errors.New("routes form a loop")

// weigh adds to the weight of each channel the LIDs of all switches whose way the last search led over it.
func (n *network) weigh(d dest) error {
	clear(n.after)
	for v, c := range n.by {
		n.behind[v] = uint64(n.lids[v])
		if c != none {
			n.after[n.from[c]]++
		}
	}
	left := len(n.by)
	for v := range n.by {
		for at := int32(v); n.after[at] == 0; left-- {
			n.after[at] = none // done
			c := n.by[at]
			if at == d.home || c == none {
				left--
				break
			}
			n.weight[c] += n.behind[at]
			at = n.from[c]
			n.behind[at] += n.behind[n.to[c]]
			n.after[at]--
		}
	}
	if left > 0 {
		return errCircle
	}
	return nil
}
