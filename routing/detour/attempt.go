package detour

import (
	"context"
	"fmt"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// rule says how an attempt chooses.
type rule struct {
	// the shortest of several ways; otherwise those that bring the fewest dependencies, so that more room is left for
	// others
	short     bool
	even      bool // of those that bring few dependencies that with the fewest routes on its fullest link
	backwards bool // ways to the last destinations first
	onlySL0   bool // no other SLs for paths between hosts
}

// attempt is what comes of a rule.
type attempt struct {
	Result
	chosen []choice
	failed error // ErrNoRoom
}

// choice is a port for all LIDs at a switch.
type choice struct {
	from, to topo.SwitchIdx
	port     uint8
}

// try finds ways, and takes them back again.
func (g *graph) try(ctx context.Context, by rule) *attempt {
	g.rule, g.odd, g.chosen, g.kept, g.never = by, slices.Clone(g.Odd), nil, nil, make([][]int32, g.order.Len())
	g.last = make([]uint8, len(g.Rows))
	if g.load = slices.Clone(g.Load); g.load == nil {
		g.load = make([]uint32, len(g.channel))
	}
	a := &attempt{Result: Result{SLs: g.noSLs()}}
	a.failed = g.fit(ctx, a)
	a.chosen = g.chosen
	for _, c := range g.chosen {
		g.set(c.from, c.to, routing.NoPath)
	}
	g.added = g.kept
	g.undo()
	return a
}

// fit finds routes and SLs, first of paths between switches with hosts, then of all others.
func (g *graph) fit(ctx context.Context, a *attempt) error {
	if err := g.connect(ctx, true); err != nil {
		return err
	}
	if err := g.assign(ctx, a, true); err != nil {
		return err
	}
	if !g.addEven(ctx, false) {
		for i := range g.odd {
			g.odd[i] = g.odd[i] || !g.between(topo.SwitchIdx(i/len(g.Rows)), topo.SwitchIdx(i%len(g.Rows)))
		}
	}
	if err := g.connect(ctx, false); err != nil {
		return err
	}
	if err := g.assign(ctx, a, false); err != nil || ctx.Err() != nil {
		return err
	}
	a.Trunk = g.firstTrunk(ctx)
	return nil
}

// between reports whether a path is one between switches with hosts.
func (g *graph) between(from, to topo.SwitchIdx) bool { return g.hosts[from] > 0 && g.hosts[to] > 0 }

// pairWork is the approximate work of finding the SL of a pair, in units of routing.Budget.
const pairWork = 40

// assign finds the SLs of odd paths: either of those between hosts, or of all others. It stops when ctx is done.
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
			routing.Spend(ctx, pairWork)
			sl, fits := g.place(i, j)
			if !fits && hosts {
				return g.noRoom(i, j)
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

func (g *graph) noRoom(i, j topo.SwitchIdx) error {
	return fmt.Errorf("%w: between %q and %q", ErrNoRoom, g.name(i), g.name(j))
}

// addEven adds the dependencies of all paths that are not odd: either of those between hosts, or of all others. If they
// form a loop it returns false, and of the others it then adds none.
func (g *graph) addEven(ctx context.Context, hosts bool) (fits bool) {
	passed := make([]bool, g.order.Len()) // by node: packets to the LID in hand have come by
	var nodes []int32
	for home, lids := range g.unlike {
		for i, lid := range lids {
			if ctx.Err() != nil {
				return true
			}
			clear(g.same)
			if i > 0 {
				g.findSame(lid, lids[0])
			}
			for s := range g.Rows {
				if g.same[s] == same || g.odd[s*len(g.Rows)+home] || g.Rows[s][lid] == routing.NoPath ||
					g.between(topo.SwitchIdx(s), topo.SwitchIdx(home)) != hosts {
					continue
				}
				g.follow(topo.SwitchIdx(s), lid, 0, func(from, to int32) bool {
					if from >= 0 && !g.order.Has(from, to) {
						g.order.Link(from, to)
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
	if fits = g.order.Number(); !fits && !hosts {
		g.undo()
		g.order.Number()
	}
	if hosts {
		g.added = g.added[:0] // for all attempts
	}
	g.keep()
	return fits
}

// sameness says whether packets to two LIDs have the same way from a switch on.
type sameness uint8

const (
	unknown sameness = iota
	same
	other
)

// findSame finds the switches from which packets to two LIDs at one switch have the same way.
func (g *graph) findSame(a, b mad.LID) {
	way := g.way[:0]
	for s := range topo.SwitchIdx(len(g.Rows)) {
		is, at := same, s
		for g.same[at] == unknown {
			way = append(way, at)
			port := g.Rows[at][a]
			c := g.channel[int(at)<<8|int(port)]
			if c < 0 {
				break // both are at this switch, or lost
			}
			if port != g.Rows[at][b] {
				is = other
				break
			}
			at = g.next[c]
		}
		if g.same[at] == other {
			is = other
		}
		for _, at := range way {
			g.same[at] = is
		}
		way = way[:0]
	}
	g.way = way
}
