package hyperx

import (
	"slices"

	"ibsm/routing/detour"
	"ibsm/routing/spread"
	"ibsm/topo"
)

// Multicast packets share their lane with all others, so the trees of all groups are parts of one, the trunk: from its
// root along the first dimension, from all of these along the second, and so on. Away from the root packets turn as
// others do, and towards it only into the rows that lead to the root.

// mostTrunks is how many trees are tried.
const mostTrunks = 32

// trunks are trees with their roots at the highest switches.
func (n *network) trunks(yield func(detour.Tree) bool) {
	roots := make([]topo.SwitchIdx, len(n.height))
	for s, h := range n.height {
		roots[len(roots)-1-int(h)] = topo.SwitchIdx(s)
	}
	roots = slices.DeleteFunc(roots, func(s topo.SwitchIdx) bool { return len(n.at[s]) == 0 })
	for _, root := range roots[:min(len(roots), mostTrunks)] {
		if !yield(n.trunk(root)) {
			return
		}
	}
}

// trunk is the tree with a root. It is known to close no credit loop if no cable of it is missing.
func (n *network) trunk(root topo.SwitchIdx) detour.Tree {
	tree, members := detour.NewTree(n.Topo, root), []topo.SwitchIdx{root}
	for dim := range n.dims {
		for _, s := range members {
			for c := range int32(n.dims[dim]) {
				r := n.moved(s, dim, c)
				if r == topo.None || tree.Has(r) {
					continue
				}
				if b := spread.Find(n.bundles[r], s); b != nil {
					tree.Join(r, b)
					members = append(members, r)
				}
			}
		}
	}
	tree.Known = len(members) == len(n.at)
	tree.JoinRest(n.bundles)
	tree.Prune()
	return *tree
}
