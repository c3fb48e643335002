package dragonfly

import (
	"slices"

	"ibsm/routing/detour"
	"ibsm/routing/spread"
	"ibsm/topo"
)

// Multicast packets share their lanes with all others, so the trees of all groups are parts of one, the trunk. Its root
// is the highest switch of a group, and all others of that are next to it; in each other group all are next to the one
// by which the group is joined to that of the root. So packets come into a group, and leave it again, only in the group
// of the root, and there they go up and then down.

// mostTrunks is how many trees are tried.
const mostTrunks = 32

// trunks are trees of which those of multicast groups can be parts, with their roots in the largest groups.
func (n *network) trunks(yield func(detour.Tree) bool) {
	groups := slices.Clone(n.groups)
	slices.SortStableFunc(groups, func(a, b []topo.SwitchIdx) int { return len(b) - len(a) })
	for _, members := range groups[:min(len(groups), mostTrunks)] {
		if len(members) == 0 {
			return
		}
		root := slices.MaxFunc(members, func(a, b topo.SwitchIdx) int { return int(n.height[a] - n.height[b]) })
		if !yield(n.trunk(root)) {
			return
		}
	}
}

// trunk is the tree with a root. It is known to close no credit loop if it is as it should be everywhere.
func (n *network) trunk(root topo.SwitchIdx) detour.Tree {
	tree := detour.NewTree(n.Topo, root)
	known := n.gather(tree, root)
	home := n.group[root]
	for g, members := range n.groups {
		if int32(g) == home {
			continue
		}
		entry, cable := topo.SwitchIdx(topo.None), (*spread.Bundle)(nil)
		for _, s := range members {
			for i := range n.global[s] {
				if b := &n.global[s][i]; n.group[b.To] == home && tree.Has(b.To) &&
					(cable == nil || len(n.local[s]) > len(n.local[entry])) {
					entry, cable = s, b
				}
			}
		}
		if cable == nil {
			known = false
			continue
		}
		tree.Join(entry, cable)
		known = n.gather(tree, entry) && known
	}
	tree.JoinRest(n.local, n.global)
	tree.Prune()
	tree.Known = known
	return *tree
}

// gather joins the other switches of a group to one of them: those next to it, and of a dragonfly+ the others to these.
// It reports whether all are joined but for spines.
func (n *network) gather(tree *detour.Tree, to topo.SwitchIdx) (all bool) {
	all = true
	members := n.groups[n.group[to]]
	for _, s := range members {
		if b := spread.Find(n.local[s], to); b != nil && !tree.Has(s) {
			tree.Join(s, b)
		}
	}
	for _, s := range members {
		for i := range n.local[s] {
			if b := &n.local[s][i]; n.plus && !tree.Has(s) && tree.Up[b.To].To == to {
				tree.Join(s, b)
			}
		}
		all = all && (tree.Has(s) || n.spine[s])
	}
	return all
}
