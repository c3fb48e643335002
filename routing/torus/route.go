package torus

import (
	"context"
	"fmt"

	"ibsm/routing"
	"ibsm/topo"
)

// direction is the direction of the first link from a switch to another, -1 if there is none: along
// x, then y, then z. Where the switch at which packets would turn is missing, they go as near to it
// as they can, and turn there.
func (g *grid) direction(from, to *cell) int {
	for dim := range from.at {
		if from.at[dim] == to.at[dim] {
			continue
		}
		if d := g.along(from, to, dim); d >= 0 {
			return d
		}
		// A turn that comes too early: x may go on in y or z, y in z.
		if next := dim + 1; next < len(from.at) {
			for ; next < len(from.at); next++ {
				if from.at[next] == to.at[next] {
					continue
				}
				if d := g.along(from, to, next); d >= 0 {
					return d
				}
			}
		}
		return -1
	}
	return -1
}

// along is the direction of the next link in one dimension: the shorter way around the ring, or the other
// one if links of that are missing. It is -1 for none.
func (g *grid) along(from, to *cell, dim int) int {
	shorter := g.shorter(from.at[dim], to.at[dim], dim)
	at := from.at
	at[dim] = to.at[dim]
	turn := g.cell(at)
	if turn == nil {
		if dim < 2 && from.next[shorter] != nil {
			return shorter
		}
		return -1
	}
	for _, d := range [2]int{shorter, shorter ^ 1} {
		// The length is bounded: places on a ring are linked in their order.
		for c := from.next[d]; c != nil && c != from; c = c.next[d] {
			if c == turn {
				return d
			}
		}
	}
	return -1
}

// shorter is the direction of the shorter way between two coordinates that differ; of equal ways that
// without the dateline.
func (g *grid) shorter(from, to, dim int) int {
	if (to > from) != g.overDateline(from, to, dim) {
		return 2*dim + 1
	}
	return 2 * dim
}

// overDateline reports whether the shorter way between two coordinates leads over the dateline, between
// the last one and 0.
func (g *grid) overDateline(a, b, dim int) bool {
	direct := max(a, b) - min(a, b)
	return direct > g.Radix[dim]-direct
}

// portOrder are all ports in the order in which end ports are routed.
func (g *grid) portOrder() (order []uint8) {
	var listed [maxPort + 1]bool
	for _, p := range g.PortOrder {
		order, listed[p] = append(order, p), true
	}
	for p, is := range listed {
		if !is {
			order = append(order, uint8(p))
		}
	}
	return order
}

// rows are the forwarding tables. Where several cables lead the same way, end ports take turns, and so
// do switches among themselves.
func (g *grid) rows(ctx context.Context, workers routing.Workers, t *topo.Topo, l *topo.LIDs) ([][]uint8, error) {
	length := routing.RowLen(l.Top)
	empty := make([]uint8, length)
	for lid := range empty {
		empty[lid] = routing.NoPath
	}
	rows := make([][]uint8, len(t.Switches))
	for s := range rows {
		rows[s] = empty
	}
	dests := g.dests(t, l)
	lost := make([]*cell, len(g.order)) // a switch that cannot be reached from each
	err := routing.Parallel(ctx, workers, len(g.order), func() func(int) {
		return func(i int) {
			from := g.order[i]
			row := append([]uint8(nil), empty...)
			rows[from.sw] = row
			var turns [directions][2]int
			for j, to := range g.order {
				d := -1
				if from != to {
					if d = g.direction(from, to); d < 0 {
						lost[i] = to
						return
					}
				}
				for _, e := range dests[j] {
					port := e.port
					if d >= 0 {
						kind := &turns[d][min(e.port, 1)]
						port = from.group[d][*kind%len(from.group[d])]
						*kind++
					}
					for lid := range 1 << e.lmc {
						row[e.base+lid] = port
					}
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for i, to := range lost {
		if to != nil {
			return nil, fmt.Errorf("unable to route from switch %s to switch %s", g.name(t, g.order[i]), g.name(t, to))
		}
	}
	return rows, nil
}

// end is an end port of a switch.
type end struct {
	port uint8 // of the switch; 0 for its own
	lmc  uint8
	base int // LID; 0 without one, as is row[0]
}

// dests are the end ports of each switch, in the order in which they are routed.
func (g *grid) dests(t *topo.Topo, l *topo.LIDs) [][]end {
	order := g.portOrder()
	dests := make([][]end, len(g.order))
	for i, c := range g.order {
		var has [maxPort + 1]bool
		for _, p := range c.ends {
			has[p] = true
		}
		for _, num := range order {
			if !has[num] {
				continue
			}
			p := t.Port(t.Switches[c.sw], num)
			if num > 0 {
				p = t.Ports[p].Peer
			}
			if l.Base[p] != 0 {
				dests[i] = append(dests[i], end{num, l.LMC[p], int(l.Base[p])})
			}
		}
	}
	return dests
}
