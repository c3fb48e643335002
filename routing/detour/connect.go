package detour

import (
	"cmp"
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// connect gives switches that have no route to a destination a route: either switches with hosts, or all others. It
// stops when ctx is done.
func (g *graph) connect(ctx context.Context, hosts bool) error {
	order := make([]topo.SwitchIdx, len(g.homes))
	for i := range order {
		order[i] = topo.SwitchIdx(i)
	}
	if g.rule.backwards {
		slices.Reverse(order)
	}
	for _, t := range order {
		if len(g.homes[t]) > 0 && g.hosts[t] > 0 == hosts {
			if err := g.connectTo(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// connectTo gives switches ways to one destination. Those with hosts come first, as soon as they can have one, and of
// these the one whose way is best.
func (g *graph) connectTo(ctx context.Context, t topo.SwitchIdx) error {
	lid := g.homes[t][0]
	near := g.near[:0] // without a way, next to a switch that has one: the best that is known of each
	for s, row := range g.Rows {
		if row[lid] == routing.NoPath {
			if best := g.estimate(topo.SwitchIdx(s), t, nil); best.found {
				near = append(near, best)
			}
		}
	}
	for tries := 0; len(near) > 0 && ctx.Err() == nil; {
		at := g.first(near)
		best := g.best(near[at].from, t)
		if near[at] = best; tries < mostTries && g.first(near) != at {
			tries++
			continue // it is not as good as it has seemed
		}
		tries = 0
		if best.closes && g.rule.onlySL0 && g.between(best.from, t) {
			return g.noRoom(best.from, t)
		}
		near = slices.Delete(near, at, at+1)
		g.take(&best)
		for _, r := range g.peers[best.from] {
			if g.Rows[r][lid] != routing.NoPath {
				continue
			}
			now := g.estimate(r, t, &best.from)
			i := slices.IndexFunc(near, func(n step) bool { return n.from == r })
			switch {
			case !now.found:
			case i < 0:
				near = append(near, now)
			case g.compare(&now, &near[i]) < 0:
				near[i] = now
			}
		}
	}
	g.near = near
	return nil
}

// mostTries is how often a way is looked at again that is not as good as it has seemed.
const mostTries = 8

// first is the place of the best of some ways: one from a switch with hosts, if there are such.
func (g *graph) first(near []step) (at int) {
	for i := range near {
		with, most := g.hosts[near[i].from] > 0, g.hosts[near[at].from] > 0
		if with && !most || with == most && g.compare(&near[i], &near[at]) < 0 {
			at = i
		}
	}
	return at
}

// step is the first link of a way.
type step struct {
	choice
	found  bool
	hops   int
	adds   int    // dependencies that are new, of the path to the first LID there
	closes bool   // a credit loop
	full   uint32 // routes on the fullest link
}

// fewAdds is how many dependencies are few.
const fewAdds = 12

// compare is negative if the first way is better.
func (g *graph) compare(a, b *step) int {
	closes := 0
	if a.closes != b.closes {
		closes = 1
		if b.closes {
			closes = -1
		}
	}
	if g.rule.short {
		return cmp.Or(closes, cmp.Compare(a.hops, b.hops), cmp.Compare(a.full, b.full), cmp.Compare(a.adds, b.adds))
	}
	if g.rule.even {
		return cmp.Or(closes, cmp.Compare(max(a.adds, fewAdds), max(b.adds, fewAdds)), cmp.Compare(a.full, b.full),
			cmp.Compare(a.adds, b.adds), cmp.Compare(a.hops, b.hops))
	}
	return cmp.Or(closes, cmp.Compare(a.adds, b.adds), cmp.Compare(a.hops, b.hops))
}

// steps are the ways of a switch to another over switches next to it that have one, or over one of these only.
func (g *graph) steps(s, t topo.SwitchIdx, over *topo.SwitchIdx) []step {
	steps := g.scratch[:0]
	for port := 1; port < routing.NoPath; port++ {
		c := g.channel[int(s)<<8|port]
		if c < 0 || over != nil && g.next[c] != *over {
			continue
		}
		if hops, full := g.hops(g.next[c], g.homes[t][0]); hops >= 0 {
			steps = append(steps, step{choice: choice{s, t, uint8(port)}, found: true, hops: hops,
				full: max(full, g.load[int(s)<<8|port])})
		}
	}
	g.scratch = steps
	return steps
}

// estimate is what seems the best way of a switch to another.
func (g *graph) estimate(s, t topo.SwitchIdx, over *topo.SwitchIdx) (best step) {
	for _, now := range g.steps(s, t, over) {
		g.set(s, t, now.port)
		now.adds, now.closes = g.count(s, g.unlike[t][0])
		if !best.found || g.compare(&now, &best) < 0 {
			best = now
		}
	}
	g.set(s, t, routing.NoPath)
	return best
}

// best is the best way of a switch to another, over a switch next to it that has one. If the port that it has taken
// last brings no dependency, that is good enough, unless there are shorter ways and these are wanted.
func (g *graph) best(s, t topo.SwitchIdx) (best step) {
	steps := g.steps(s, t, nil)
	others := func(a *step) int { // 1 for all ports but that
		if a.port == g.last[s] {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(steps, func(a, b step) int {
		if byHops := cmp.Compare(a.hops, b.hops); g.rule.short && byHops != 0 {
			return byHops
		}
		return cmp.Or(cmp.Compare(others(&a), others(&b)), cmp.Compare(a.hops, b.hops))
	})
	for i := range steps {
		g.set(s, t, steps[i].port)
		if steps[i].adds, steps[i].closes = g.count(s, g.unlike[t][0]); steps[i].adds == 0 && !g.rule.even &&
			!g.rule.short {
			steps = steps[:i+1]
			break
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return g.compare(&a, &b) })
	for i := range steps {
		if steps[i].closes {
			break
		}
		g.set(s, t, steps[i].port)
		steps[i].closes = !g.add(s, t, 0)
		if g.undo(); !steps[i].closes {
			best = steps[i]
			break
		}
	}
	if !best.found && len(steps) > 0 {
		best = steps[0]
	}
	g.set(s, t, routing.NoPath)
	return best
}

// count is the number of dependencies that the path from a switch to a LID brings on SL 0. never says that one of them
// is known to close a circle.
func (g *graph) count(s topo.SwitchIdx, lid mad.LID) (adds int, never bool) {
	g.follow(s, lid, 0, func(a, b int32) bool {
		if a >= 0 && !g.order.Has(a, b) {
			adds++
			never = never || slices.Contains(g.never[a], b)
		}
		return true
	})
	return adds, never
}

// take gives a switch its way. The path is odd if a credit loop closes.
func (g *graph) take(by *step) {
	g.set(by.from, by.to, by.port)
	g.chosen, g.last[by.from] = append(g.chosen, by.choice), by.port
	if by.closes {
		g.odd[int(by.from)*len(g.Rows)+int(by.to)] = true
		return
	}
	g.add(by.from, by.to, 0)
	g.keep()
	for _, lid := range g.homes[by.to] {
		if g.Topo.IsHost(g.LIDs.Owner[lid]) {
			g.carry(by.from, lid)
		}
	}
}

// carry adds the routes from the hosts of a switch to a LID to the load of links.
func (g *graph) carry(s topo.SwitchIdx, lid mad.LID) {
	routes := g.hosts[s]
	for routes > 0 {
		at := int(s)<<8 | int(g.Rows[s][lid])
		c := g.channel[at]
		if c < 0 {
			return
		}
		g.load[at] += routes
		s = g.next[c]
	}
}

// set gives a switch a port for all LIDs at another.
func (g *graph) set(s, t topo.SwitchIdx, port uint8) {
	for _, lid := range g.homes[t] {
		g.Rows[s][lid] = port
	}
}

// hops is how many links packets take from a switch to a LID, -1 if they do not arrive, and the routes on the fullest
// of these.
func (g *graph) hops(s topo.SwitchIdx, lid mad.LID) (hops int, full uint32) {
	for ; g.Rows[s][lid] != routing.NoPath; hops++ {
		at := int(s)<<8 | int(g.Rows[s][lid])
		c := g.channel[at]
		if c < 0 {
			return hops, full
		}
		full = max(full, g.load[at])
		s = g.next[c]
	}
	return -1, 0
}
