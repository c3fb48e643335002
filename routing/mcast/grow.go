package mcast

import (
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// Members are the end ports that use a multicast LID, in any order; one that is named
// more than once counts once.
type Members struct {
	Receivers []topo.PortIdx // they also send
	Senders   []topo.PortIdx // only
}

// Grower grows trees on a Graph. It is for one goroutine.
type Grower struct {
	graph *Graph
	plane *plane // of the multicast LID at hand
	ways  *ways  // of plane: those that its tree uses
	mlid  mad.LID
	// Member switches, in ascending order, and what hangs on each of all switches.
	homes    []topo.SwitchIdx
	isHome   []bool
	receives []PortMask
	kept     sketch
	fresh    sketch
	depth    []uint8 // by switch, hops up to the root
	dist     []int   // of a walk over a tree
	queue    []topo.SwitchIdx
	worst    []uint8 // by switch, most hops to a home
	total    []int32 // by switch, hops to all homes
	wanted   []int32 // by switch, how many children could have it as parent
}

// NewGrower grows on a graph.
func NewGrower(g *Graph) *Grower {
	n := len(g.t.Switches)
	return &Grower{
		graph: g, isHome: make([]bool, n), receives: make([]PortMask, n), kept: newSketch(n), fresh: newSketch(n),
		depth: make([]uint8, n), dist: make([]int, n), worst: make([]uint8, n), total: make([]int32, n),
		wanted: make([]int32, n),
	}
}

// Grow returns the tree of a multicast LID, and the members that it does not reach: those on switches that cannot
// forward the LID, or that no usable link joins to most others. Ports without a switch need no tree: the cable joins
// the two. The tree has no branches where there is nothing to forward.
//
// old is the tree so far, by the same Topo, nil or a part of one as Remap leaves it. As
// little of it changes as possible: a branch is added for each member that has come, the
// shortest, and those that lead to nobody any more go. Only a tree that has become much
// longer than need be is grown afresh. What is equal to old is old itself.
//
// Where switches have ranks no packet on the tree turns from a link down to one up, unless no
// switch has ways down to all members. An old tree on which packets turn is grown afresh.
func (g *Grower) Grow(mlid mad.LID, m Members, old *Tree) (tree *Tree, unreached []topo.PortIdx) {
	g.mlid, g.plane = mlid, g.graph.plane(mlid)
	many := g.settle(m)
	if many && g.capableHomes() {
		g.growFresh()
		best := &g.fresh
		if g.keep(old) && g.worthKeeping() {
			best = &g.kept
		}
		tree, unreached = g.finish(best), g.missed(m, best)
	} else {
		tree = &Tree{MLID: mlid}
		if many {
			unreached = append(slices.Clone(m.Receivers), m.Senders...)
		}
	}
	g.clear()
	if old != nil && tree.Equal(old) {
		tree = old
	}
	return tree, unreached
}

// settle finds the homes of the members. It reports whether there is anything to be
// forwarded: a receiver, and somebody else.
func (g *Grower) settle(m Members) bool {
	g.homes = g.homes[:0]
	home := func(p topo.PortIdx) (topo.SwitchIdx, uint8) {
		s, num := At(g.graph.t, p)
		if s != topo.None && !g.isHome[s] {
			g.isHome[s] = true
			g.homes = append(g.homes, s)
		}
		return s, num
	}
	for _, p := range m.Receivers {
		if s, num := home(p); s != topo.None {
			g.receives[s].Add(num)
		}
	}
	receivers := 0
	for _, s := range g.homes {
		receivers += g.receives[s].Len()
	}
	others := receivers > 1
	for _, p := range m.Senders {
		s, num := home(p)
		others = others || s != topo.None && !g.receives[s].Has(num)
	}
	slices.Sort(g.homes)
	return receivers > 0 && others
}

// capableHomes leaves out the homes that cannot forward the multicast LID, and reports
// whether there are others.
func (g *Grower) capableHomes() bool {
	capable := g.homes[:0]
	for _, s := range g.homes {
		if g.plane != nil && g.graph.capable(g.graph.t.Nodes[g.graph.t.Switches[s]].First, g.plane.cap) {
			capable = append(capable, s)
		} else {
			g.isHome[s], g.receives[s] = false, PortMask{}
		}
	}
	g.homes = capable
	return len(g.homes) > 0
}

// clear makes the Grower ready for the next tree.
func (g *Grower) clear() {
	for _, s := range g.homes {
		g.isHome[s], g.receives[s] = false, PortMask{}
	}
	g.kept.clear()
	g.fresh.clear()
}

// worthKeeping reports whether the tree that was kept is nearly as good as a fresh one, or
// leads where nothing can be grown to any more.
func (g *Grower) worthKeeping() bool {
	if g.kept.homes != g.fresh.homes {
		return g.kept.homes > g.fresh.homes
	}
	links, least := len(g.kept.switches)-1, len(g.fresh.switches)-1
	return links <= least+least/4+2 && g.longest(&g.kept) <= g.longest(&g.fresh)+2
}

// longest is the number of links between the two switches of a tree that are furthest
// from each other.
func (g *Grower) longest(k *sketch) int {
	end, _ := g.furthest(k, k.switches[0])
	_, links := g.furthest(k, end)
	return links
}

// furthest walks over a tree and returns the switch reached last.
func (g *Grower) furthest(k *sketch, from topo.SwitchIdx) (topo.SwitchIdx, int) {
	for _, s := range k.switches {
		g.dist[s] = -1
	}
	g.dist[from] = 0
	g.queue = append(g.queue[:0], from)
	for i := 0; i < len(g.queue); i++ {
		for num := range k.links[g.queue[i]].Ports() {
			if r, _ := g.graph.link(g.queue[i], num); g.dist[r] < 0 {
				g.dist[r] = g.dist[g.queue[i]] + 1
				g.queue = append(g.queue, r)
			}
		}
	}
	last := g.queue[len(g.queue)-1]
	return last, g.dist[last]
}

// finish makes a Tree of a sketch.
func (g *Grower) finish(k *sketch) *Tree {
	slices.Sort(k.switches)
	t := &Tree{MLID: g.mlid, Branches: make([]Branch, 0, len(k.switches))}
	for _, s := range k.switches {
		if ports := k.links[s].Or(g.receives[s]); !ports.Empty() {
			t.Branches = append(t.Branches, Branch{s, ports})
		}
	}
	return t
}

// missed are the members whose switches are not in a tree.
func (g *Grower) missed(m Members, k *sketch) (ports []topo.PortIdx) {
	for _, list := range [][]topo.PortIdx{m.Receivers, m.Senders} {
		for _, p := range list {
			if s, _ := At(g.graph.t, p); s != topo.None && !k.has[s] {
				ports = append(ports, p)
			}
		}
	}
	return ports
}

// pick is one of n equal choices: each multicast LID makes its own.
func (g *Grower) pick(s topo.SwitchIdx, n int) int {
	x := uint32(g.mlid)*0x9e3779b1 ^ uint32(s)*0x85ebca6b
	x ^= x >> 15
	x *= 0x2c1b3c6d
	x ^= x >> 13
	return int(x % uint32(n))
}

// sketch is a tree that is being grown: links between switches only.
type sketch struct {
	switches []topo.SwitchIdx
	has      []bool
	links    []PortMask
	homes    int // homes in it
}

func newSketch(n int) sketch { return sketch{has: make([]bool, n), links: make([]PortMask, n)} }

func (k *sketch) clear() {
	for _, s := range k.switches {
		k.has[s], k.links[s] = false, PortMask{}
	}
	k.switches, k.homes = k.switches[:0], 0
}

// add puts a switch into the tree.
func (k *sketch) add(s topo.SwitchIdx, isHome bool) {
	if k.has[s] {
		return
	}
	k.has[s] = true
	k.switches = append(k.switches, s)
	if isHome {
		k.homes++
	}
}
