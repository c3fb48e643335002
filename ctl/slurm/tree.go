package slurm

import (
	"cmp"
	"fmt"
	"slices"

	"ibsm/ctl/shape"
)

// addLeafs puts hosts together that are on the same leafs. One whose adapters are on some
// of these only, for the others are down, belongs to them too, unless it could belong to
// several.
func (b *builder) addLeafs(hosts map[string][]int) {
	names := sortedNames(hosts)
	count := map[string]int{}
	var sets [][]int // of leafs
	for _, name := range names {
		key := fmt.Sprint(hosts[name])
		if count[key]++; count[key] == 1 {
			sets = append(sets, hosts[name])
		}
	}
	slices.SortStableFunc(sets, func(x, y []int) int {
		return cmp.Or(len(y)-len(x), count[fmt.Sprint(y)]-count[fmt.Sprint(x)])
	})
	groupOf := map[string]int{} // by set
	for _, set := range sets {
		var within []int
		for g, on := range b.on {
			if isSubset(set, on) {
				within = append(within, g)
			}
		}
		g := len(b.on)
		if len(within) == 1 {
			g = within[0]
		} else {
			b.on = append(b.on, set)
		}
		groupOf[fmt.Sprint(set)] = g
	}
	nodes := make([][]string, len(b.on))
	for _, name := range names {
		g := groupOf[fmt.Sprint(hosts[name])]
		nodes[g] = append(nodes[g], name)
	}
	b.nameLeafs(nodes)
}

func sortedNames(hosts map[string][]int) []string {
	names := make([]string, 0, len(hosts))
	for name := range hosts {
		names = append(names, name)
	}
	slices.SortFunc(names, shape.Natural)
	return names
}

// isSubset reports whether b has all of a; both are ascending.
func isSubset(a, b []int) bool {
	for _, x := range a {
		if _, ok := slices.BinarySearch(b, x); !ok {
			return false
		}
	}
	return true
}

// nameLeafs makes the leafs out of the groups of hosts, in the order of their names.
func (b *builder) nameLeafs(nodes [][]string) {
	called := func(g int) string {
		first := b.fabric.Switches[b.on[g][0]].Name
		for _, s := range b.on[g] {
			if name := b.fabric.Switches[s].Name; shape.Natural(name, first) < 0 {
				first = name
			}
		}
		return first
	}
	order := make([]int, len(b.on))
	for g := range order {
		order[g] = g
	}
	slices.SortStableFunc(order, func(x, y int) int { return shape.Natural(called(x), called(y)) })
	on := make([][]int, len(b.on))
	for i, g := range order {
		leaf := Switch{Name: b.name(called(g)), Nodes: nodes[g]}
		if len(b.on[g]) > 1 {
			for _, s := range b.on[g] {
				leaf.Leafs = append(leaf.Leafs, b.fabric.Switches[s].Name)
			}
			slices.SortFunc(leaf.Leafs, shape.Natural)
		}
		b.top.Leafs = append(b.top.Leafs, leaf)
		on[i] = b.on[g]
	}
	b.on = on
}

// addUppers puts together, level by level, what the switches up to there connect.
func (b *builder) addUppers() {
	roots := make([]int, len(b.top.Leafs)) // by leaf: the cluster that it is in
	names := make([]string, len(roots))    // by cluster
	for l := range roots {
		roots[l], names[l] = l, b.top.Leafs[l].Name
	}
	for level := 1; level <= max(b.fabric.Levels, 1); level++ {
		joined := b.connected(level)
		var children [][]int // by new cluster
		at := map[int]int{}
		next := make([]int, len(roots))
		for l := range roots {
			c, ok := at[joined[l]]
			if !ok {
				c = len(children)
				at[joined[l]] = c
				children = append(children, nil)
			}
			if next[l] = c; !slices.Contains(children[c], roots[l]) {
				children[c] = append(children[c], roots[l])
			}
		}
		roots, names = next, b.addLevel(level, children, names)
	}
}

// addLevel makes a switch of each cluster that has several children, and returns the
// names of all.
func (b *builder) addLevel(level int, children [][]int, below []string) (names []string) {
	for i, c := range children {
		if len(c) == 1 {
			names = append(names, below[c[0]])
			continue
		}
		wanted := fmt.Sprintf("level%d-%0*d", level, len(fmt.Sprint(len(children))), i+1)
		if len(children) == 1 {
			wanted = "fabric"
		}
		s := Switch{Name: b.name(wanted)}
		for _, child := range c {
			s.Children = append(s.Children, below[child])
		}
		b.top.Uppers = append(b.top.Uppers, s)
		names = append(names, s.Name)
	}
	return names
}

// connected numbers the leafs by what the switches up to a level connect, directly or
// through hosts that are on several.
func (b *builder) connected(level int) []int {
	parent := map[int]int{} // of parts
	var find func(int) int
	find = func(x int) int {
		if p, ok := parent[x]; ok && p != x {
			parent[x] = find(p)
			return parent[x]
		}
		return x
	}
	part := b.fabric.Components(1, level)
	for _, on := range b.on {
		for _, s := range on {
			parent[find(part[s])] = find(part[on[0]])
		}
	}
	joined := make([]int, len(b.on))
	for l, on := range b.on {
		joined[l] = find(part[on[0]])
	}
	return joined
}
