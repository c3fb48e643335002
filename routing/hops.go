package routing

import (
	"context"
	"math/bits"

	"ibsm/topo"
)

// Unreachable in a hop matrix: there is no way, or none that costs less than 255.
const Unreachable = 0xff

// Hops is the number of links between each two switches, or what the cheapest way costs where links have
// weights.
type Hops struct {
	n   int
	row []uint8 // from * n + to
}

// From are the hops from a switch to each other, as a view that must not be
// written.
func (h *Hops) From(s topo.SwitchIdx) []uint8 { return h.row[int(s)*h.n:][:h.n] }

// Nearest adds the ports of a switch that lie on a shortest way.
func (h *Hops) Nearest(g *Graph, s topo.SwitchIdx, into *PortSets) {
	peers, egress := g.Edges(s)
	own := h.From(s)
	for e, r := range peers {
		words, bit := into.Of(egress[e])
		cost := g.Cost(s, e)
		for d, hop := range h.From(r) {
			if hop == own[d]-cost && hop < own[d] && own[d] != Unreachable {
				words[d] |= bit
			}
		}
	}
}

// wave is a set of destinations: 512 of them are searched for at once, one bit
// each, so that a step over an edge costs one cache line.
type wave [8]uint64

const waveSize = 64 * len(wave{})

// NewHops counts hops by breadth-first search from all destinations together. Where links have weights it
// finds the cheapest ways to one destination after the other.
func NewHops(ctx context.Context, workers Workers, g *Graph) (*Hops, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h := &Hops{n: g.Len(), row: make([]uint8, g.Len()*g.Len())}
	for i := range h.row {
		h.row[i] = Unreachable
	}
	if g.cost != nil {
		return h, h.weighted(ctx, workers, g)
	}
	err := Parallel(ctx, workers, (h.n+waveSize-1)/waveSize, func() func(int) {
		front, next, seen := make([]wave, h.n), make([]wave, h.n), make([]wave, h.n)
		return func(i int) { h.search(ctx, g, i*waveSize, front, next, seen) }
	})
	return h, err
}

// search fills in the hops to the destinations from first on.
func (h *Hops) search(ctx context.Context, g *Graph, first int, front, next, seen []wave) {
	clear(front)
	clear(seen)
	for d := first; d < min(first+waveSize, h.n); d++ {
		i := d - first
		front[d][i/64] |= 1 << (i % 64)
		seen[d][i/64] |= 1 << (i % 64)
		h.row[d*h.n+d] = 0
	}
	for hop := uint8(1); hop < Unreachable && ctx.Err() == nil; hop++ {
		grown := false
		for s := range next {
			var reach wave
			peers, _ := g.Edges(topo.SwitchIdx(s))
			for _, r := range peers {
				f := &front[r]
				for w := range reach {
					reach[w] |= f[w]
				}
			}
			for w := range reach {
				found := reach[w] &^ seen[s][w]
				next[s][w] = found
				if found == 0 {
					continue
				}
				grown = true
				seen[s][w] |= found
				for row := h.row[s*h.n+first+64*w:]; found != 0; found &= found - 1 {
					row[bits.TrailingZeros64(found)] = hop
				}
			}
		}
		if !grown {
			return
		}
		front, next = next, front
	}
}

// weighted fills in what the cheapest ways cost. Costs are small, so switches wait in a list for each
// cost (Dijkstra's algorithm by Dial).
func (h *Hops) weighted(ctx context.Context, workers Workers, g *Graph) error {
	into := g.reversed()
	return Parallel(ctx, workers, h.n, func() func(int) {
		far := make([]uint8, h.n)
		var waiting [Unreachable][]topo.SwitchIdx
		return func(d int) {
			for s := range far {
				far[s] = Unreachable
			}
			far[d] = 0
			waiting[0] = append(waiting[0], topo.SwitchIdx(d))
			for cost := range waiting {
				for i := 0; i < len(waiting[cost]); i++ {
					r := waiting[cost][i]
					if int(far[r]) != cost {
						continue // has become cheaper since
					}
					for _, e := range into[r] {
						if sum := cost + int(e.cost); sum < int(far[e.from]) {
							far[e.from] = uint8(sum)
							waiting[sum] = append(waiting[sum], e.from)
						}
					}
				}
				waiting[cost] = waiting[cost][:0]
			}
			for s, cost := range far {
				h.row[s*h.n+d] = cost
			}
		}
	})
}

// arrival is an edge as the switch sees it that it leads to.
type arrival struct {
	from topo.SwitchIdx
	cost uint8
}

// reversed are the edges by the switch that they lead to.
func (g *Graph) reversed() [][]arrival {
	into := make([][]arrival, g.Len())
	for s := range topo.SwitchIdx(g.Len()) {
		peers, _ := g.Edges(s)
		for e, r := range peers {
			into[r] = append(into[r], arrival{s, g.Cost(s, e)})
		}
	}
	return into
}
