package detour

import (
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// connect gives switches without a way to a destination one: to those with hosts, or to others. When ctx is done it stops.
func (g *graph) connect(ctx context.Context, hosts bool) {
	order := make([]topo.SwitchIdx, len(g.homes))
	for i := range order {
		order[i] = topo.SwitchIdx(i)
	}
	if g.rule == fewBackwards {
		slices.Reverse(order)
	}
	for _, t := range order {
		if len(g.homes[t]) > 0 && g.hosts[t] == hosts {
			g.connectTo(ctx, t)
		}
	}
}

// connectTo gives switches ways to one destination. Those with hosts come first, as soon as they can have one.
func (g *graph) connectTo(ctx context.Context, t topo.SwitchIdx) {
	var lost, others []topo.SwitchIdx
	for s, row := range g.Rows {
		switch {
		case row[g.homes[t][0]] != routing.NoPath:
		case g.hosts[s]:
			lost = append(lost, topo.SwitchIdx(s))
		default:
			others = append(others, topo.SwitchIdx(s))
		}
	}
	for more := true; more && ctx.Err() == nil; {
		before := len(lost)
		lost = slices.DeleteFunc(lost, func(s topo.SwitchIdx) bool {
			best := g.step(s, t)
			return best.found && g.take(&best)
		})
		if more = len(lost) < before; !more {
			others, more = g.connectBest(others, t)
		}
	}
}

// connectBest gives the one of some switches a way to a destination that has the best one, and returns the rest.
func (g *graph) connectBest(lost []topo.SwitchIdx, t topo.SwitchIdx) (rest []topo.SwitchIdx, found bool) {
	var best step
	for _, s := range lost {
		if now := g.step(s, t); now.found && (!best.found || g.better(&now, &best)) {
			best = now
		}
	}
	if !best.found {
		return lost, false
	}
	g.take(&best)
	return slices.DeleteFunc(lost, func(s topo.SwitchIdx) bool { return s == best.from }), true
}

// step is the first link of a way.
type step struct {
	choice
	found  bool
	hops   int
	adds   int  // dependencies that are new
	closes bool // a credit loop
}

func (g *graph) better(a, b *step) bool {
	switch {
	case a.closes != b.closes:
		return b.closes
	case g.rule == short && a.hops != b.hops:
		return a.hops < b.hops
	case a.adds != b.adds:
		return a.adds < b.adds
	}
	return a.hops < b.hops
}

// step finds the best way of a switch to another, over a switch next to it that has one.
func (g *graph) step(s, t topo.SwitchIdx) (best step) {
	for port := 1; port < routing.NoPath; port++ {
		c := g.channel[int(s)<<8|port]
		if c < 0 {
			continue
		}
		now := step{choice: choice{s, t, uint8(port)}, hops: g.hops(g.next[c], g.homes[t][0])}
		if now.hops < 0 {
			continue
		}
		g.set(s, t, now.port)
		now.found, now.closes = true, !g.add(s, t, 0)
		now.adds = len(g.added)
		g.undo()
		if !best.found || g.better(&now, &best) {
			best = now
		}
	}
	g.set(s, t, routing.NoPath)
	return best
}

// take gives a switch its way. The path is odd if a credit loop closes.
func (g *graph) take(by *step) bool {
	g.set(by.from, by.to, by.port)
	g.chosen = append(g.chosen, by.choice)
	if by.closes {
		g.odd[int(by.from)*len(g.Rows)+int(by.to)] = true
	} else {
		g.add(by.from, by.to, 0)
		g.added = g.added[:0]
	}
	return true
}

// set gives a switch a port for all LIDs at another.
func (g *graph) set(s, t topo.SwitchIdx, port uint8) {
	for _, lid := range g.homes[t] {
		g.Rows[s][lid] = port
	}
}

// hops is how many links packets take from a switch to a LID, -1 if they do not arrive.
func (g *graph) hops(s topo.SwitchIdx, lid mad.LID) (hops int) {
	for ; g.Rows[s][lid] != routing.NoPath; hops++ {
		c := g.channel[int(s)<<8|int(g.Rows[s][lid])]
		if c < 0 {
			return hops
		}
		s = g.next[c]
	}
	return -1
}
