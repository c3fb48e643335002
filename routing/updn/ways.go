package updn

import (
	"context"

	"ibsm/routing"
	"ibsm/topo"
)

// batch is how many destinations are searched for before the port sets of switches are looked up.
const batch = 64

// findWays finds the ports of each switch that lie on a shortest allowed way to each other.
func (n *network) findWays(ctx context.Context) error {
	switches := n.Graph.Len()
	n.way, n.ways = make([][]uint16, switches), make([][]routing.PortMask, switches)
	known := make([]map[routing.PortMask]uint16, switches)
	for s := range n.way {
		n.way[s], known[s] = make([]uint16, switches), map[routing.PortMask]uint16{}
	}
	found := make([][batch]routing.PortMask, switches) // of the batch in hand
	for from := 0; from < switches; from += batch {
		err := routing.Parallel(ctx, min(batch, switches-from), func() func(int) {
			w := &search{network: n, hops: make([]uint8, len(n.edges)), least: make([]uint8, switches), down: make([]bool, switches), waits: make([]bool, switches), last: make([]visit, switches)}
			return func(i int) { w.to(topo.SwitchIdx(from+i), i, found) }
		})
		if err != nil {
			return err
		}
		err = routing.Parallel(ctx, switches, func() func(int) {
			return func(s int) {
				for i := range min(batch, switches-from) {
					mask := found[s][i]
					index, is := known[s][mask]
					if !is {
						index = uint16(len(n.ways[s]))
						known[s][mask] = index
						n.ways[s] = append(n.ways[s], mask)
					}
					n.way[s][from+i] = index
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ports is for routing.Placer.
func (n *network) ports(s topo.SwitchIdx, into *routing.PortSets) {
	for to, index := range n.way[s] {
		into.Set(topo.SwitchIdx(to), &n.ways[s][index])
	}
}

// search finds the ways to one destination after the other. It belongs to one goroutine.
type search struct {
	*network
	hops  []uint8 // by edge: links to the destination by this port
	least []uint8 // by SwitchIdx
	down  []bool  // by SwitchIdx: the way back from the destination last led down there
	waits []bool  // by SwitchIdx: is in the queue
	last  []visit // by SwitchIdx
	queue []topo.SwitchIdx
}

// visit is what the visit of a switch depends on.
type visit struct {
	least uint8 // Unreachable before the first
	down  bool
}

// to puts the ports of each switch that are nearest to a destination into found, at index i.
func (w *search) to(d topo.SwitchIdx, i int, found [][batch]routing.PortMask) {
	if w.direct && w.rank[d] == 0 {
		w.directly(d, i, found)
		return
	}
	for e := range w.hops {
		w.hops[e] = routing.Unreachable
	}
	for s := range w.least {
		w.least[s], w.last[s] = routing.Unreachable, visit{least: routing.Unreachable}
	}
	w.least[d], w.down[d] = 0, false
	w.queue = append(w.queue[:0], d)
	// Backwards from the destination a way that has led down must not lead up. OpenSM remembers one
	// direction for a switch, and visits it again whenever a further port of it is found.
	for at := 0; at < len(w.queue); at++ {
		s := w.queue[at]
		w.waits[s] = false
		now := visit{w.least[s], w.down[s]}
		if w.last[s] == now {
			continue // nothing has changed since
		}
		w.last[s] = now
		for e := w.first[s]; e < w.first[s+1]; e++ {
			edge := &w.edges[e]
			if w.down[s] && !edge.down || w.least[s]+1 >= w.hops[edge.back] {
				continue
			}
			w.hops[edge.back] = w.least[s] + 1
			w.least[edge.to] = min(w.least[edge.to], w.least[s]+1)
			if !w.waits[edge.to] {
				w.down[edge.to], w.waits[edge.to] = edge.down, true
				w.queue = append(w.queue, edge.to)
			}
		}
	}
	for s := range w.least {
		var mask routing.PortMask
		for e := w.first[s]; e < w.first[s+1]; e++ {
			if port := w.edges[e].port; w.hops[e] == w.least[s] && w.hops[e] != routing.Unreachable {
				mask[port>>6] |= 1 << (port & 63)
			}
		}
		found[s][i] = mask
	}
}

// directly is to by shortest ways of any kind.
func (w *search) directly(d topo.SwitchIdx, i int, found [][batch]routing.PortMask) {
	for s := range w.least {
		var mask routing.PortMask
		own := w.network.hops.From(topo.SwitchIdx(s))[d]
		for e := w.first[s]; e < w.first[s+1]; e++ {
			if port := w.edges[e].port; w.network.hops.From(w.edges[e].to)[d] == own-1 {
				mask[port>>6] |= 1 << (port & 63)
			}
		}
		found[s][i] = mask
	}
}
