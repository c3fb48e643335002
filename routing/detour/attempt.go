package detour

import (
	"context"
	"fmt"
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// preference says which of several ways a switch takes that close no credit loop.
type preference uint8

const (
	short        preference = iota // the shortest
	few                            // that which brings the fewest dependencies, so that more room is left for others
	fewBackwards                   // likewise, the last destinations first
	preferences
)

// attempt is what comes of a preference.
type attempt struct {
	Result
	chosen []choice
	needed int   // SLs
	failed error // ErrNoRoom
}

// choice is a port for all LIDs at a switch.
type choice struct {
	from, to topo.SwitchIdx
	port     uint8
}

// better compares attempts.
func (a *attempt) better(than *attempt) bool {
	switch {
	case a.failed != nil || than.failed != nil:
		return a.failed == nil && than.failed != nil
	case a.Unproved != than.Unproved:
		return than.Unproved
	}
	return a.needed < than.needed
}

// try finds ways, and takes them back again. The error is that of ctx.
func (g *graph) try(ctx context.Context, rule preference) (*attempt, error) {
	g.odd, g.rule, g.chosen, g.order = slices.Clone(g.Odd), rule, nil, newOrder(g.lanes()*len(g.next))
	if g.odd == nil {
		g.odd = make([]bool, len(g.Rows)*len(g.Rows))
	}
	defer func() {
		for _, c := range g.chosen {
			g.set(c.from, c.to, routing.NoPath)
		}
	}()
	a := &attempt{Result: Result{SLs: g.noSLs()}}
	if a.failed = g.fit(ctx, a); a.failed == nil {
		for _, row := range a.SLs {
			a.needed = max(a.needed, 1+int(slices.Max(row)))
		}
	}
	a.chosen = g.chosen
	return a, ctx.Err()
}

// fit finds the ways and SLs of paths between switches with hosts, and then those of others.
func (g *graph) fit(ctx context.Context, a *attempt) error {
	if !g.addEven(ctx, true) {
		return fmt.Errorf("%w: among the ways that lead around nothing", ErrNoRoom)
	}
	g.connect(ctx, true)
	if err := g.assign(ctx, a, true); err != nil {
		return err
	}
	if fits := g.addEven(ctx, false); !fits {
		for i := range g.odd {
			g.odd[i] = g.odd[i] || !g.between(topo.SwitchIdx(i/len(g.Rows)), topo.SwitchIdx(i%len(g.Rows)))
		}
	}
	g.connect(ctx, false)
	return g.assign(ctx, a, false)
}

// between reports whether a path is one between switches with hosts.
func (g *graph) between(from, to topo.SwitchIdx) bool { return g.hosts[from] && g.hosts[to] }

// assign finds the SLs of odd paths, of those between hosts or of others. When ctx is done it stops.
func (g *graph) assign(ctx context.Context, a *attempt, hosts bool) error {
	n, zero := len(a.SLs), &g.zero[0]
	for i := range topo.SwitchIdx(n) {
		for j := range i {
			if !g.odd[int(i)*n+int(j)] && !g.odd[int(j)*n+int(i)] || g.between(i, j) != hosts {
				continue
			}
			if ctx.Err() != nil || a.Unproved && g.SLs == 1 {
				return nil
			}
			sl, fits := g.place(i, j)
			if !fits && hosts {
				return fmt.Errorf("%w: between %q and %q", ErrNoRoom, g.name(i), g.name(j))
			}
			a.Unproved = a.Unproved || !fits
			for _, at := range [2][2]topo.SwitchIdx{{i, j}, {j, i}} {
				if sl > 0 && &a.SLs[at[0]][0] == zero {
					a.SLs[at[0]] = slices.Clone(a.SLs[at[0]])
				}
				a.SLs[at[0]][at[1]] = sl
			}
		}
	}
	return nil
}

// addEven adds the dependencies of all paths that are not odd, of those between hosts or of others. It reports false, and adds none
// of others, if there is a circle.
func (g *graph) addEven(ctx context.Context, hosts bool) (fits bool) {
	passed := make([]bool, len(g.order.place)) // by node: packets to the LID in hand have come by
	var nodes []int32
	for home, lids := range g.unlike {
		if ctx.Err() != nil {
			return true
		}
		for _, lid := range lids {
			for s := range g.Rows {
				if g.odd[s*len(g.Rows)+home] || g.Rows[s][lid] == routing.NoPath || g.between(topo.SwitchIdx(s), topo.SwitchIdx(home)) != hosts {
					continue
				}
				g.follow(topo.SwitchIdx(s), lid, 0, func(from, to int32) bool {
					if from >= 0 && !g.order.has(from, to) {
						g.order.link(from, to)
						g.added = append(g.added, [2]int32{from, to})
					}
					if passed[to] {
						return false
					}
					passed[to] = true
					nodes = append(nodes, to)
					return true
				})
			}
			for _, node := range nodes {
				passed[node] = false
			}
			nodes = nodes[:0]
		}
	}
	if fits = g.order.number(); !fits && !hosts {
		g.undo()
		g.order.number()
	}
	g.added = g.added[:0]
	return fits
}
