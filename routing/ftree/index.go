package ftree

import (
	"bytes"
	"slices"

	"ibsm/routing"
)

// byIndex compares groups by the index of the switch that they lead to; hosts come last.
func byIndex(a, b *group) int {
	switch {
	case a.to == nil && b.to == nil:
		return 0
	case a.to == nil:
		return 1
	case b.to == nil:
		return -1
	}
	return bytes.Compare(a.to.index[:], b.to.index[:])
}

// giveIndexes gives switches their index, from the first leaf on, or with QuasiIndexing from each root
// down.
func (t *tree) giveIndexes() {
	t.known = map[index]bool{}
	subtree := uint8(0)
	for _, n := range t.nodes {
		if t.QuasiIndexing && n.rank != 0 || !t.QuasiIndexing && !n.leaf {
			continue
		}
		if n.index[0] == unset {
			t.begin(n, subtree)
			subtree++
		}
		t.visit(n)
		if !t.QuasiIndexing {
			return
		}
	}
	for _, n := range t.nodes {
		if n.leaf {
			slices.SortStableFunc(n.up, byIndex)
		}
	}
}

// begin gives the switch at which a search begins its index.
func (t *tree) begin(n *node, subtree uint8) {
	x := noIndex
	x[0] = uint8(n.rank)
	for i := 1; i <= t.leafRank; i++ {
		x[i] = 0
	}
	if n.rank == 0 {
		if t.leafRank > 1 {
			x[t.leafRank] = subtree
		}
		x[1] = 0
		for t.known[x] {
			if x[1]++; x[1] == unset {
				return
			}
		}
	}
	n.index = x
	t.known[x] = true
}

// visit gives all switches that a search reaches their index.
func (t *tree) visit(first *node) {
	for queue := []*node{first}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		give := func(groups []*group, rank int, digit int) {
			for _, g := range groups {
				if g.to == nil || g.to.index[0] != unset {
					continue
				}
				g.to.index = t.free(n.index, rank, digit)
				t.known[g.to.index] = true
				queue = append(queue, g.to)
			}
			slices.SortStableFunc(groups, byIndex)
		}
		if n.rank < t.leafRank {
			give(n.down, n.rank+1, n.rank+1)
		}
		if n.rank != 0 && (first.rank != 0 || !n.leaf) {
			give(n.up, n.rank-1, n.rank)
		}
	}
}

// free is an index like another one, but for the rank and one digit, that no switch has; noIndex if
// there is none.
func (t *tree) free(like index, rank, digit int) index {
	x := like
	x[0] = uint8(rank)
	for x[digit] = 0; t.known[x]; {
		if x[digit]++; x[digit] == unset {
			return noIndex
		}
	}
	return x
}

// sortLeaves lists the leaves by their index.
func (t *tree) sortLeaves() error {
	for _, n := range t.nodes {
		if n.rank == t.leafRank {
			t.leaves = append(t.leaves, n)
		}
	}
	slices.SortStableFunc(t.leaves, func(a, b *node) int { return bytes.Compare(a.index[:], b.index[:]) })
	for len(t.leaves) > 0 && !t.leaves[0].leaf {
		t.leaves = t.leaves[1:]
	}
	for len(t.leaves) > 0 && !t.leaves[len(t.leaves)-1].leaf {
		t.leaves = t.leaves[:len(t.leaves)-1]
	}
	if len(t.leaves) < 2 {
		return &routing.Refused{Reason: "fewer than two switches have compute nodes",
			OpenSM: "Failed to find leaf switches - topology is not fat-tree"}
	}
	for _, n := range t.leaves {
		count := 0
		for _, g := range n.down {
			if g.to == nil && t.hosts[g.host].compute {
				count++
			}
		}
		t.mostCN = max(t.mostCN, count)
	}
	return nil
}
