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
		if len(g.homes[t]) > 0 && g.hosts[t] == hosts {
			if err := g.connectTo(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// connectTo gives switches ways to one destination. Those with hosts come first, as soon as they can have one.
func (g *graph) connectTo(ctx context.Context, t topo.SwitchIdx) error {
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
		for i, s := range lost {
			best := g.best(s, t)
			if !best.found {
				continue
			}
			if best.closes && g.rule.onlySL0 && g.hosts[t] {
				return g.noRoom(s, t)
			}
			g.take(&best)
			lost[i] = topo.None
		}
		lost = slices.DeleteFunc(lost, func(s topo.SwitchIdx) bool { return s == topo.None })
		if more = len(lost) < before; !more {
			others, more = g.connectBest(others, t)
		}
	}
	return nil
}

// connectBest gives one of some switches a way to a destination, the first that brings no dependency or else the best, and returns
// the rest.
func (g *graph) connectBest(lost []topo.SwitchIdx, t topo.SwitchIdx) (rest []topo.SwitchIdx, found bool) {
	var best step
	for _, s := range lost {
		if now := g.best(s, t); now.found && (!best.found || g.better(&now, &best)) {
			best = now
		}
		if best.found && !best.closes && best.adds == 0 {
			break
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
	case g.rule.short && a.hops != b.hops:
		return a.hops < b.hops
	case a.adds != b.adds:
		return a.adds < b.adds
	}
	return a.hops < b.hops
}

// best is the best way of a switch to another, over a switch next to it that has one.
func (g *graph) best(s, t topo.SwitchIdx) (best step) {
	steps := g.steps[:0]
	for port := 1; port < routing.NoPath; port++ {
		if c := g.channel[int(s)<<8|port]; c >= 0 {
			if hops := g.hops(g.next[c], g.homes[t][0]); hops >= 0 {
				steps = append(steps, step{choice: choice{s, t, uint8(port)}, hops: hops, found: true})
			}
		}
	}
	g.steps = steps
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.hops, b.hops) })
	for i := range steps {
		now := &steps[i]
		if best.found && !best.closes && (best.adds == 0 || g.rule.short && now.hops > best.hops) {
			break // none that follows is better
		}
		g.set(s, t, now.port)
		now.closes = !g.add(s, t, 0)
		now.adds = len(g.added)
		g.undo()
		if !best.found || g.better(now, &best) {
			best = *now
		}
	}
	g.set(s, t, routing.NoPath)
	return best
}

// take gives a switch its way. The path is odd if a credit loop closes.
func (g *graph) take(by *step) {
	g.set(by.from, by.to, by.port)
	g.chosen = append(g.chosen, by.choice)
	if by.closes {
		g.odd[int(by.from)*len(g.Rows)+int(by.to)] = true
		return
	}
	g.add(by.from, by.to, 0)
	g.keep()
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
