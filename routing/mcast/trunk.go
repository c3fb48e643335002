package mcast

import (
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// GrowAlong is Grow for a tree that must be a part of a trunk: it has the way of each member from the root
// on. Of several cables each multicast LID takes one, as with OpenSM.
func (g *Grower) GrowAlong(trunk *routing.Trunk, mlid mad.LID, m Members, old *Tree) (tree *Tree,
	unreached []topo.PortIdx) {
	g.mlid, g.plane = mlid, g.graph.plane(mlid)
	tree = &Tree{MLID: mlid}
	if g.settle(m) {
		if g.capableHomes() {
			for _, s := range g.homes {
				g.climb(trunk, s)
			}
			tree = g.finish(&g.fresh)
		}
		unreached = g.missed(m, &g.fresh)
	}
	g.clear()
	if old != nil && tree.Equal(old) {
		tree = old
	}
	return tree, unreached
}

// climb adds the way from a switch to the root, if all of it can be used.
func (g *Grower) climb(trunk *routing.Trunk, from topo.SwitchIdx) {
	k := &g.fresh
	way := g.queue[:0]
	for s := from; !k.has[s]; s = trunk.Up[s].To {
		if way = append(way, s); s == trunk.Root {
			break
		}
		if _, ok := g.cable(&trunk.Up[s], s); !ok {
			return
		}
	}
	g.queue = way
	for _, s := range way {
		k.add(s, g.isHome[s])
		if s != trunk.Root {
			port, _ := g.cable(&trunk.Up[s], s)
			g.join(k, trunk.Up[s].To, port)
		}
	}
}

// cable is the port at the upper end of the cable that a multicast LID takes; ok is false if none can be
// used, or one of the switches cannot forward the LID.
func (g *Grower) cable(l *routing.TrunkLink, s topo.SwitchIdx) (port uint8, ok bool) {
	if l.To == topo.None {
		return 0, false
	}
	t := g.graph.t
	for _, sw := range [2]topo.SwitchIdx{s, l.To} {
		if !g.graph.capable(t.Nodes[t.Switches[sw]].First, int(g.mlid-mad.MinMulticastLID)+1) {
			return 0, false
		}
	}
	shunned := func(port uint8) bool { return g.graph.use[t.Port(t.Switches[l.To], port)] == Shun }
	down := l.Down
	if slices.ContainsFunc(down, shunned) {
		down = slices.DeleteFunc(slices.Clone(down), shunned)
	}
	if len(down) == 0 {
		return 0, false
	}
	return down[int(g.mlid)%len(down)], true
}
