package dragonfly

import (
	"slices"

	"ibsm/routing"
	"ibsm/routing/detour"
	"ibsm/routing/spread"
	"ibsm/topo"
)

// Multicast packets share their lanes with all others, so the trees of all groups are parts of one, the trunk. Its root is the highest
// switch of a group, and all others of that are next to it; in each other group all are next to the one by which the group is joined
// to that of the root. So packets come into a group, and leave it again, only in the group of the root, and there they go up and then down.

// mostTrunks is how many trees are tried.
const mostTrunks = 8

// trunks are trees of which those of multicast groups can be parts, with their roots in the largest groups; known says that the first
// one is as it should be everywhere.
func (n *network) trunks() (trunks []*routing.Trunk, known bool) {
	groups := slices.Clone(n.groups)
	slices.SortStableFunc(groups, func(a, b []topo.SwitchIdx) int { return len(b) - len(a) })
	for i, members := range groups[:min(len(groups), mostTrunks)] {
		if len(members) == 0 {
			break
		}
		root := slices.MaxFunc(members, func(a, b topo.SwitchIdx) int { return int(n.height[a] - n.height[b]) })
		trunk, asItShould := n.trunk(root)
		if trunks = append(trunks, trunk); i == 0 {
			known = asItShould
		}
	}
	return trunks, known
}

// trunk is the tree with a root.
func (n *network) trunk(root topo.SwitchIdx) (trunk *routing.Trunk, known bool) {
	tree := detour.NewTree(n.Topo, root)
	known = n.gather(tree, root)
	home := n.group[root]
	for g, members := range n.groups {
		if int32(g) == home {
			continue
		}
		entry, cable := topo.SwitchIdx(topo.None), (*spread.Bundle)(nil)
		for _, s := range members {
			for i := range n.global[s] {
				if b := &n.global[s][i]; n.group[b.To] == home && tree.Has(b.To) && (cable == nil || len(n.local[s]) > len(n.local[entry])) {
					entry, cable = s, b
				}
			}
		}
		if cable == nil {
			known = false
			continue
		}
		join(tree, entry, cable)
		known = n.gather(tree, entry) && known
	}
	n.joinRest(tree)
	tree.Prune()
	return tree.Trunk, known
}

// gather joins the other switches of a group to one of them: those next to it, and of a dragonfly+ the others to these. It reports
// whether all are joined but for spines.
func (n *network) gather(tree *detour.Tree, to topo.SwitchIdx) (all bool) {
	all = true
	members := n.groups[n.group[to]]
	for _, s := range members {
		if b := spread.Find(n.local[s], to); b != nil && !tree.Has(s) {
			join(tree, s, b)
		}
	}
	for _, s := range members {
		for i := range n.local[s] {
			if b := &n.local[s][i]; n.plus && !tree.Has(s) && tree.Up[b.To].To == to {
				join(tree, s, b)
			}
		}
		all = all && (tree.Has(s) || n.spine[s])
	}
	return all
}

// joinRest joins what is left to any switch next to it.
func (n *network) joinRest(tree *detour.Tree) {
	for more := true; more; {
		more = false
		for s := range topo.SwitchIdx(len(n.group)) {
			for _, list := range [...][]spread.Bundle{n.local[s], n.global[s]} {
				for i := range list {
					if !tree.Has(s) && tree.Has(list[i].To) {
						join(tree, s, &list[i])
						more = true
					}
				}
			}
		}
	}
}

func join(tree *detour.Tree, s topo.SwitchIdx, by *spread.Bundle) {
	var ports []uint8
	for _, way := range by.Ways {
		ports = append(ports, way.Port)
	}
	tree.Join(s, by.To, ports)
}
