package torus

import (
	"errors"
	"fmt"

	"ibsm/routing"
	"ibsm/topo"
)

// Multicast packets share their lanes with all others, so the trees of all groups are parts of one, the
// trunk: from its root along x, from there along y, and from all of these along z, and never over a
// dateline unless the ring is broken anyway. Away from the root packets turn as others do; towards it
// they add only one of the two turns that a circle takes.

// trunk is the tree of which those of multicast groups are parts.
func (g *grid) trunk(t *topo.Topo) (*routing.Trunk, error) {
	root := g.root()
	if root == nil {
		return nil, errors.New(
			"no switch can be the root of the multicast tree: those in the middle of each plane have a gap in their row or column")
	}
	tree := &routing.Trunk{Root: root.sw, Up: make([]routing.TrunkLink, len(t.Switches))}
	for s := range tree.Up {
		tree.Up[s].To = topo.None
	}
	g.branch(tree, root, 0)
	for i := range g.Radix[0] {
		at := by(root.at, 0, i-root.at[0])
		g.branch(tree, g.cell(at), 1)
		for j := range g.Radix[1] {
			g.branch(tree, g.cell(by(at, 1, j-at[1])), 2)
		}
	}
	for _, c := range g.order {
		if c != root && tree.Up[c.sw].To == topo.None {
			return nil, fmt.Errorf("switch %s not in torus multicast master spanning tree", g.name(t, c))
		}
	}
	return tree, nil
}

// branch lets the tree grow from a switch along the ring of a dimension to its ends at the dateline; and
// beyond that where a gap keeps it from one of them.
func (g *grid) branch(tree *routing.Trunk, from *cell, dim int) {
	if from == nil {
		return
	}
	tips := [2]*cell{from, from}
	grow := func(side int) {
		d := 2*dim + side
		tip := tips[side]
		next := tip.next[d]
		if next == nil || tree.Up[next.sw].To != topo.None {
			tips[side] = nil
			return
		}
		tree.Up[next.sw] = routing.TrunkLink{To: tip.sw, Down: tip.group[d], Up: next.group[d^1]}
		tips[side] = next
	}
	for l := from.at[dim]; tips[0] != nil && l >= 1; l-- {
		grow(0)
	}
	for l := from.at[dim]; tips[1] != nil && l < g.Radix[dim]-1; l++ {
		grow(1)
	}
	if tips[0] != nil && tips[1] != nil {
		return
	}
	for range g.Radix[dim] {
		for side := range tips {
			if tips[side] != nil {
				grow(side)
			}
		}
	}
}

// root is a switch near the middle, in a plane without gaps if there is one. It is nil if none
// has a whole row and column.
func (g *grid) root() *cell {
	middle := g.Radix[2] / 2
	for away := range middle + 1 {
		for _, z := range []int{middle - away, middle + away} {
			if z = g.wrap(2, z); g.whole(z) {
				if root := g.middle(z); root != nil {
					return root
				}
			}
		}
	}
	return g.middle(middle)
}

// whole reports whether no switch is missing in the plane of a z.
func (g *grid) whole(z int) bool {
	for j := range g.Radix[1] {
		for i := range g.Radix[0] {
			if g.cell([3]int{i, j, z}) == nil {
				return false
			}
		}
	}
	return true
}

// middle is a switch of a plane, near its middle, whose row and column are whole; nil for none.
func (g *grid) middle(z int) *cell {
	x, y := g.Radix[0]/2, g.Radix[1]/2
	for away := range min(x, y) + 1 {
		for _, sign := range [2]int{-1, 1} {
			at := [3]int{g.wrap(0, x+sign*away), g.wrap(1, y+sign*away), z}
			if g.wholeCross(at) {
				return g.cell(at)
			}
		}
	}
	return nil
}

// wholeCross reports whether no switch is missing in the row and the column through a place.
func (g *grid) wholeCross(at [3]int) bool {
	for dim := range 2 {
		for v := range g.Radix[dim] {
			if g.cell(by(at, dim, v-at[dim])) == nil {
				return false
			}
		}
	}
	return true
}
