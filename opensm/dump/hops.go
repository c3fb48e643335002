package dump

import (
	"context"

	"ibsm/routing"
	"ibsm/topo"
	"ibsm/view"
)

// hops are the links from a switch to another by each port it can leave by, as a
// min-hop engine counts them: by their weights, where the engine in force has some.
type hops struct {
	graph *routing.Graph
	count *routing.Hops
	next  [256]topo.SwitchIdx // the switch behind each port of the switch chosen
	cost  [256]uint8          // of the link of each port
	least []uint8             // from it to each other
}

func newHops(ctx context.Context, v *view.View) (*hops, error) {
	g := routing.NewGraph(v.Topo)
	if f := v.Tables.Findings; f != nil {
		g.Weigh(v.Topo, f.Weights)
	}
	count, err := routing.NewHops(ctx, 0, g)
	return &hops{graph: g, count: count}, err
}

// from chooses a switch.
func (h *hops) from(s topo.SwitchIdx) {
	for i := range h.next {
		h.next[i] = topo.None
	}
	h.next[0] = s
	peers, ports := h.graph.Edges(s)
	for i, num := range ports {
		h.next[num], h.cost[num] = peers[i], h.graph.Cost(s, i)
	}
	h.least = h.count.From(s)
}

// by is the number of links to a switch when the first is that of a port;
// Unreachable where none leads there. By port 0, which is the switch itself, they
// are the fewest there are.
func (h *hops) by(port uint8, to topo.SwitchIdx) uint8 {
	r := h.next[port]
	switch {
	case r == topo.None:
		return routing.Unreachable
	case port == 0:
		return h.least[to]
	}
	return uint8(min(int(h.count.From(r)[to])+int(h.cost[port]), routing.Unreachable))
}

// nearest is the first port by which a switch is as few links away as can be.
func (h *hops) nearest(to topo.SwitchIdx) uint8 {
	_, ports := h.graph.Edges(h.next[0])
	for _, num := range ports {
		if h.by(num, to) == h.least[to] {
			return num
		}
	}
	return 0
}
