package mcast

import (
	"ibsm/routing"
	"ibsm/topo"
)

// keep takes over what is left of a tree, prunes it, and joins the homes that have come. It
// reports whether there is a tree with no turns but those that a fresh one has, too.
func (g *Grower) keep(old *Tree) bool {
	k := &g.kept
	if old == nil || !g.standing(old) {
		return false
	}
	g.prune(k)
	join := g.branch
	if g.ways == &g.plane.upward {
		if g.turns(k) {
			return false
		}
		join = g.branchUpward
	}
	for _, s := range g.homes {
		if !k.has[s] {
			join(k, s)
		}
	}
	return true
}

// turns reports whether packets on a tree can turn from a link down to one up: whether one of
// its switches has several above it.
func (g *Grower) turns(k *sketch) bool {
	for _, s := range k.switches {
		above := 0
		for num := range k.links[s].Ports() {
			if r, _ := g.graph.link(s, num); g.graph.ranks[r] < g.graph.ranks[s] {
				above++
			}
		}
		if above > 1 {
			return true
		}
	}
	return false
}

// standing takes over the largest piece of a tree, that with most homes, and reports
// whether there is one with any.
func (g *Grower) standing(old *Tree) bool {
	k := &g.kept
	for _, b := range old.Branches {
		g.dist[b.Switch] = -1 // not walked over yet
	}
	best, most := topo.SwitchIdx(topo.None), 0
	for _, b := range old.Branches {
		if g.dist[b.Switch] >= 0 {
			continue
		}
		homes := 0
		g.piece(old, b.Switch, func(s topo.SwitchIdx, _ PortMask) {
			g.dist[s] = 0
			if g.isHome[s] {
				homes++
			}
		})
		if homes > most {
			best, most = b.Switch, homes
		}
	}
	if most == 0 {
		return false
	}
	g.piece(old, best, func(s topo.SwitchIdx, links PortMask) {
		k.add(s, g.isHome[s])
		k.links[s] = links
	})
	return true
}

// piece walks over the switches of a tree that its links join to one of them. A tree
// that is not one, as no proof has let pass, is walked over like any graph.
func (g *Grower) piece(old *Tree, from topo.SwitchIdx, visit func(topo.SwitchIdx, PortMask)) {
	seen := map[topo.SwitchIdx]bool{from: true}
	g.queue = append(g.queue[:0], from)
	for i := 0; i < len(g.queue); i++ {
		s := g.queue[i]
		links := PortMask{}
		for num := range old.Ports(s).Ports() {
			r, ok := g.keeps(old, s, num)
			if !ok {
				continue
			}
			links.Add(num)
			if !seen[r] {
				seen[r] = true
				g.queue = append(g.queue, r)
			}
		}
		visit(s, links)
	}
}

// keeps follows a port to another switch of a tree, if the link is in the tree at both
// ends and may stay there.
func (g *Grower) keeps(old *Tree, s topo.SwitchIdx, port uint8) (topo.SwitchIdx, bool) {
	n := g.graph.t.Switches[s]
	if port == 0 || port > g.graph.t.Nodes[n].NumPorts {
		return topo.None, false
	}
	p := g.graph.t.Port(n, port)
	if g.graph.use[p] == Shun || !g.graph.capable(p, g.plane.cap) ||
		!g.graph.capable(g.graph.t.Ports[p].Peer, g.plane.cap) {
		return topo.None, false
	}
	r, back := g.graph.link(s, port)
	return r, old.Ports(r).Has(back)
}

// prune takes branches away that lead to no home.
func (g *Grower) prune(k *sketch) {
	left := k.switches[:0]
	for _, s := range k.switches {
		for {
			if g.isHome[s] || k.links[s].Len() != 1 {
				break
			}
			k.has[s] = false
			var next topo.SwitchIdx
			for num := range k.links[s].Ports() {
				r, back := g.graph.link(s, num)
				k.links[r].Remove(back)
				next = r
			}
			k.links[s] = PortMask{}
			s = next // which may lead to no home now, either
		}
	}
	for _, s := range k.switches {
		if k.has[s] {
			left = append(left, s)
		}
	}
	k.switches = left
}

// branchUpward joins a home to a tree on which packets do not turn, so that they still do not,
// if there are ways: up to the nearest switch of the tree, or up to one above the whole tree to
// which the highest of the tree is joined, too.
func (g *Grower) branchUpward(k *sketch, s topo.SwitchIdx) {
	from, near := g.ways.hops.From(s), int(routing.Unreachable)
	highest := k.switches[0]
	for _, r := range k.switches {
		near = min(near, int(from[r]))
		if g.graph.ranks[r] < g.graph.ranks[highest] {
			highest = r
		}
	}
	top := topo.SwitchIdx(topo.None)
	for r, up := range g.ways.hops.From(highest) {
		if hops := int(up) + int(from[r]); up != routing.Unreachable && hops < near {
			top, near = topo.SwitchIdx(r), hops
		}
	}
	if top == topo.None {
		g.branch(k, s)
		return
	}
	g.lead(k, s, top)
	g.lead(k, highest, top)
	k.add(top, g.isHome[top])
}

// lead adds the way from a switch to another one, except that one itself.
func (g *Grower) lead(k *sketch, s, to topo.SwitchIdx) {
	for s != to {
		k.add(s, g.isHome[s])
		s = g.step(k, s, to)
	}
}

// branch joins a home to the nearest switch of a tree, if there is a way.
func (g *Grower) branch(k *sketch, s topo.SwitchIdx) {
	near, equals := uint8(routing.Unreachable), 0
	from := g.ways.hops.From(s)
	for _, r := range k.switches {
		if hops := from[r]; hops < near {
			near, equals = hops, 1
		} else if hops == near {
			equals++
		}
	}
	if near == routing.Unreachable {
		return
	}
	turn := g.pick(s, equals)
	to := topo.SwitchIdx(topo.None)
	for _, r := range k.switches {
		if from[r] == near {
			if to = r; turn == 0 {
				break
			}
			turn--
		}
	}
	g.lead(k, s, to)
}

// step links a switch to one that is nearer to the end of a way.
func (g *Grower) step(k *sketch, s, to topo.SwitchIdx) topo.SwitchIdx {
	peers, ports := g.ways.graph.Edges(s)
	hops := g.ways.hops.From(s)[to]
	nearer := func(r topo.SwitchIdx) bool { return g.ways.hops.From(r)[to]+1 == hops }
	equals := 0
	for _, r := range peers {
		if nearer(r) {
			equals++
		}
	}
	turn := g.pick(s, equals)
	for i, r := range peers {
		if nearer(r) {
			if turn == 0 {
				g.join(k, s, ports[i])
				return r
			}
			turn--
		}
	}
	panic("mcast: a way ends before its end")
}
