package detour

import (
	"cmp"
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// connect gives switches without a way to a destination one: to those with hosts, or to others. When ctx is done it stops.
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

// connectTo gives switches ways to one destination. Those with hosts come first, as soon as they can have one.
func (g *graph) connectTo(ctx context.Context, t topo.SwitchIdx) error {
	lid := g.homes[t][0]
	var near [2][]topo.SwitchIdx // without a way, next to a switch that has one: those with hosts, and others
	waits := g.waits
	clear(waits)
	wait := func(s topo.SwitchIdx) {
		if g.Rows[s][lid] != routing.NoPath || waits[s] {
			return
		}
		waits[s] = true
		kind := 1
		if g.hosts[s] > 0 {
			kind = 0
		}
		near[kind] = append(near[kind], s)
	}
	for s, row := range g.Rows {
		if row[lid] == routing.NoPath && slices.ContainsFunc(g.peers[s], func(r topo.SwitchIdx) bool { return g.Rows[r][lid] != routing.NoPath }) {
			wait(topo.SwitchIdx(s))
		}
	}
	for len(near[0])+len(near[1]) > 0 && ctx.Err() == nil {
		best, at := step{}, -1
		if len(near[0]) > 0 {
			if best, at = g.bestOf(near[0], t); best.found {
				near[0] = slices.Delete(near[0], at, at+1)
			}
		} else if best, at = g.bestOf(near[1], t); best.found {
			near[1] = slices.Delete(near[1], at, at+1)
		}
		if !best.found && at < 0 {
			continue // the cable leads here only
		}
		if !best.found {
			break
		}
		if best.closes && g.rule.onlySL0 && g.between(best.from, t) {
			return g.noRoom(best.from, t)
		}
		g.take(&best)
		for _, r := range g.peers[best.from] {
			wait(r)
		}
	}
	return nil
}

// mostSeen is how many ways without a credit loop are compared.
const mostSeen = 8

// bestOf is the way of one of some switches to a destination: the first that brings no dependency, or else the best of a few. at is the
// place of the switch.
func (g *graph) bestOf(some []topo.SwitchIdx, t topo.SwitchIdx) (best step, at int) {
	seen := 0
	for i, s := range some {
		now := g.best(s, t)
		if now.found && (!best.found || g.compare(&now, &best) < 0) {
			best, at = now, i
		}
		if now.found && !now.closes {
			seen++
		}
		if seen == mostSeen || seen > 0 && best.adds == 0 && !g.rule.even && !g.rule.short {
			break
		}
	}
	return best, at
}

// step is the first link of a way.
type step struct {
	choice
	found  bool
	hops   int
	adds   int    // dependencies that are new
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
		return cmp.Or(closes, cmp.Compare(max(a.adds, fewAdds), max(b.adds, fewAdds)), cmp.Compare(a.full, b.full), cmp.Compare(a.adds, b.adds), cmp.Compare(a.hops, b.hops))
	}
	return cmp.Or(closes, cmp.Compare(a.adds, b.adds), cmp.Compare(a.hops, b.hops))
}

// best is the best way of a switch to another, over a switch next to it that has one. If the port that it has taken last brings no
// dependency, that is good enough, unless there are shorter ways and these are wanted.
func (g *graph) best(s, t topo.SwitchIdx) (best step) {
	steps := g.steps[:0]
	for port := 1; port < routing.NoPath; port++ {
		if c := g.channel[int(s)<<8|port]; c >= 0 {
			if hops, full := g.hops(g.next[c], g.homes[t][0]); hops >= 0 {
				steps = append(steps, step{choice: choice{s, t, uint8(port)}, found: true, hops: hops, full: max(full, g.load[int(s)<<8|port])})
			}
		}
	}
	others := func(a *step) int {
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
		if steps[i].adds, steps[i].closes = g.count(s, t); steps[i].adds == 0 && !g.rule.even && !g.rule.short {
			steps = steps[:i+1]
			break
		}
	}
	g.steps = steps
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

// count is the number of dependencies that the paths from a switch to another bring on SL 0. never says that one of them is known to
// close a circle.
func (g *graph) count(s, t topo.SwitchIdx) (adds int, never bool) {
	g.fresh = g.fresh[:0]
	for _, lid := range g.unlike[t] {
		g.follow(s, lid, 0, func(a, b int32) bool {
			if e := [2]int32{a, b}; a >= 0 && !g.order.has(a, b) && !slices.Contains(g.fresh, e) {
				g.fresh = append(g.fresh, e)
				never = never || slices.Contains(g.never[a], b)
			}
			return true
		})
	}
	return len(g.fresh), never
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

// hops is how many links packets take from a switch to a LID, -1 if they do not arrive, and the routes on the fullest of these.
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
