package detour

import (
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// connect gives switches without a way to a destination one.
func (g *graph) connect(ctx context.Context) error {
	for t, lids := range g.homes {
		if len(lids) == 0 {
			continue
		}
		var lost []topo.SwitchIdx
		for s, row := range g.Rows {
			if row[lids[0]] == routing.NoPath {
				lost = append(lost, topo.SwitchIdx(s))
			}
		}
		for before := 0; len(lost) > 0 && len(lost) != before; {
			before = len(lost)
			lost = slices.DeleteFunc(lost, func(s topo.SwitchIdx) bool { return ctx.Err() == nil && g.connectOne(s, topo.SwitchIdx(t)) })
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// connectOne gives a switch a way to another, over a switch next to it that has one: that which adds the fewest dependencies, and of
// these the shortest, or the other way round. If each closes a circle, the path is odd. It is false if there is none.
func (g *graph) connectOne(s, t topo.SwitchIdx) bool {
	type step struct {
		port       uint8
		hops, adds int
		closes     bool
	}
	better := func(a, b *step) bool {
		switch {
		case a.closes != b.closes:
			return b.closes
		case g.Short && a.hops != b.hops:
			return a.hops < b.hops
		case a.adds != b.adds:
			return a.adds < b.adds
		}
		return a.hops < b.hops
	}
	best := step{hops: -1}
	for port := 1; port < routing.NoPath; port++ {
		c := g.channel[int(s)<<8|port]
		if c < 0 {
			continue
		}
		hops := g.hops(g.next[c], g.homes[t][0])
		if hops < 0 {
			continue
		}
		now := step{port: uint8(port), hops: hops}
		g.set(s, t, now.port)
		if now.closes = !g.add(s, t, 0); !now.closes {
			now.adds = len(g.added)
		}
		g.undo()
		if best.hops < 0 || better(&now, &best) {
			best = now
		}
	}
	if best.hops < 0 {
		g.set(s, t, routing.NoPath)
		return false
	}
	g.set(s, t, best.port)
	if best.closes {
		g.Odd[int(s)*len(g.Rows)+int(t)] = true
		return true
	}
	g.add(s, t, 0)
	g.added = g.added[:0]
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
