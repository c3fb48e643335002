package mcast

import (
	"ibsm/routing"
	"ibsm/topo"
)

// growFresh grows a tree from a root in the middle of the homes: every home is as near to
// it as can be. It chooses the ways that the tree uses.
func (g *Grower) growFresh() {
	homes := g.together()
	root := topo.SwitchIdx(topo.None)
	if g.ways = &g.plane.upward; g.graph.ranks != nil {
		root = g.root(homes)
	}
	if root == topo.None {
		g.ways = &g.plane.any
		root = g.root(homes)
	}
	k := &g.fresh
	k.add(root, g.isHome[root])
	up := g.ways.hops.From(root) // links go both ways
	if g.ways == &g.plane.upward {
		up = g.depth
		for s := range up {
			up[s] = g.ways.hops.From(topo.SwitchIdx(s))[root]
		}
	}
	// From the far end inwards, so that each switch knows which others could share its
	// parent. level is the homes still to come, sorted by distance as levels are taken.
	depth := uint8(0)
	for _, s := range homes {
		depth = max(depth, up[s])
	}
	var level, next []topo.SwitchIdx
	for ; depth > 0; depth-- {
		for _, s := range homes {
			if up[s] == depth && !k.has[s] {
				k.add(s, true)
				level = append(level, s)
			}
		}
		next = next[:0]
		g.countParents(level, up, depth, 1)
		for _, s := range level {
			parent := g.toParent(s, up)
			if !k.has[parent] {
				k.add(parent, g.isHome[parent])
				next = append(next, parent)
			}
		}
		g.countParents(level, up, depth, -1)
		level, next = next, level
	}
}

// together are the homes in the part of the plane that has most of them.
func (g *Grower) together() []topo.SwitchIdx {
	count := map[int32]int{}
	most := g.plane.part[g.homes[0]]
	for _, s := range g.homes {
		part := g.plane.part[s]
		if count[part]++; count[part] > count[most] || count[part] == count[most] && part < most {
			most = part
		}
	}
	if count[most] == len(g.homes) {
		return g.homes
	}
	homes := make([]topo.SwitchIdx, 0, count[most])
	for _, s := range g.homes {
		if g.plane.part[s] == most {
			homes = append(homes, s)
		}
	}
	return homes
}

// root is a switch from which the furthest home is nearest, and of those one from which
// all homes are nearest together; equal ones take turns from one multicast LID to the
// next. It is None if no switch has ways to all homes.
func (g *Grower) root(homes []topo.SwitchIdx) topo.SwitchIdx {
	clear(g.worst)
	clear(g.total)
	for _, s := range homes {
		worst, total := g.worst, g.total
		for r, hops := range g.ways.hops.From(s) {
			worst[r] = max(worst[r], hops)
			total[r] += int32(hops)
		}
	}
	best, equals := homes[0], 0
	for r := range g.worst {
		s := topo.SwitchIdx(r)
		switch {
		case g.worst[s] == routing.Unreachable:
		case g.worst[s] < g.worst[best] || g.worst[s] == g.worst[best] && g.total[s] < g.total[best]:
			best, equals = s, 1
		case g.worst[s] == g.worst[best] && g.total[s] == g.total[best]:
			equals++
		}
	}
	if equals == 0 {
		return topo.None
	}
	turn := int(g.mlid) % equals
	for r := range g.worst {
		if s := topo.SwitchIdx(r); g.worst[s] == g.worst[best] && g.total[s] == g.total[best] {
			if turn == 0 {
				return s
			}
			turn--
		}
	}
	return best
}

// countParents adds by to each switch of the level above for each link to it from this
// one.
func (g *Grower) countParents(level []topo.SwitchIdx, up []uint8, depth uint8, by int32) {
	for _, s := range level {
		peers, _ := g.ways.graph.Edges(s)
		for _, r := range peers {
			if up[r] == depth-1 {
				g.wanted[r] += by
			}
		}
	}
}

// toParent links a switch to one that is nearer to the root: one that is in the tree
// already, or is a home, or could be the parent of most others.
func (g *Grower) toParent(s topo.SwitchIdx, up []uint8) topo.SwitchIdx {
	k := &g.fresh
	score := func(r topo.SwitchIdx) int32 {
		if k.has[r] || g.isHome[r] {
			return 1 << 30
		}
		return g.wanted[r]
	}
	peers, ports := g.ways.graph.Edges(s)
	best, equals := int32(-1), 0
	for _, r := range peers {
		if up[r]+1 != up[s] {
			continue
		}
		if v := score(r); v > best {
			best, equals = v, 1
		} else if v == best {
			equals++
		}
	}
	turn := g.pick(s, equals)
	for i, r := range peers {
		if up[r]+1 == up[s] && score(r) == best {
			if turn == 0 {
				g.join(k, s, ports[i])
				return r
			}
			turn--
		}
	}
	panic("mcast: a switch has no neighbour that is nearer to the root")
}

// join puts both ends of the link at a port of a switch into a tree.
func (g *Grower) join(k *sketch, s topo.SwitchIdx, port uint8) {
	r, back := g.graph.link(s, port)
	k.links[s].Add(port)
	k.links[r].Add(back)
}
