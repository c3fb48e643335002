package shape

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"ibsm/disjoint"
	"ibsm/topo"
)

// groups is the switches of a fabric in groups.
type groups struct {
	*fabric
	of      []int32   // by switch: its group, None for none
	lists   [][]int32 // by group: its switches
	spine   []bool    // by switch, of a dragonfly+; otherwise nil
	size    int       // of most groups
	within  int       // links that whole groups have
	missing int       // of those
	apart   int       // pairs of groups without a link
	uneven  int       // pairs of groups with links, but a quarter fewer or more than most
	without int       // switches of no group
}

// A dragonfly has at least three groups of three switches: smaller groups do not stand out from a random graph.
const leastGroup, leastGroups = 3, 3

// newGroups finds groups in which each switch is cabled to each other, or says why there are none.
func newGroups(f *fabric) (*groups, error) {
	g := &groups{fabric: f, of: slices.Repeat([]int32{topo.None}, f.len())}
	cores := make([][]int32, f.len())
	sizes := make([]int32, f.len())
	place := slices.Repeat([]int32{topo.None}, f.len())
	for s := range cores {
		cores[s] = f.core(topo.SwitchIdx(s), place)
		sizes[s] = int32(len(cores[s]))
	}
	g.size = usual(sizes)
	if g.size < leastGroup {
		return nil, errors.New("most switches are in no triangle")
	}
	for _, core := range cores {
		agree := 0 // switches of the core that have the same: others lack a cable to one of it
		for _, s := range core {
			if slices.Equal(cores[s], core) {
				agree++
			}
		}
		taken := slices.ContainsFunc(core, func(s int32) bool { return g.of[s] != topo.None })
		if len(core) == g.size && agree*2 > len(core) && !taken {
			g.add(core)
		}
	}
	g.attach()
	g.collect()
	g.attach()
	g.count()
	for s := range g.of {
		if of := g.of[s]; of != topo.None {
			for _, r := range g.lists[of] {
				if r > int32(s) && f.link(topo.SwitchIdx(s), topo.SwitchIdx(r)) == topo.None {
					g.missing++
				}
			}
		}
	}
	for _, list := range g.lists {
		g.within += len(list) * (len(list) - 1) / 2
	}
	return g, g.refusal()
}

// usual is the greatest size that a quarter has, or the most common one: damage makes sizes smaller.
func usual(sizes []int32) int {
	sorted := slices.Sorted(slices.Values(sizes))
	for i := len(sorted) - 1; i >= 0; {
		first, _ := slices.BinarySearch(sorted, sorted[i])
		if (i+1-first)*4 >= len(sorted) {
			return int(sorted[i])
		}
		i = first - 1
	}
	return int(most(sizes))
}

// add makes a group of switches.
func (g *groups) add(switches []int32) {
	for _, s := range switches {
		g.of[s] = int32(len(g.lists))
	}
	g.lists = append(g.lists, slices.Clone(switches))
}

// core is a switch and those of its neighbours that have the most links among themselves: each to as many of them as
// possible. It is in ascending order. place has None for each switch, before and after.
func (f *fabric) core(s topo.SwitchIdx, place []int32) []int32 {
	next := f.next[s]
	for i, r := range next {
		place[r] = int32(i)
	}
	degree, in := make([]int, len(next)), slices.Repeat([]bool{true}, len(next))
	for i, r := range next {
		for _, o := range f.next[r] {
			if place[o] != topo.None {
				degree[i]++
			}
		}
	}
	// in which neighbours are taken away: always one with the fewest links to those that remain
	order := make([]int, 0, len(next))
	// how many links each had when they were the most, and how many neighbours had been taken away
	best, gone := 0, len(next)
	for range next {
		least := topo.None
		for i := range next {
			if in[i] && (least == topo.None || degree[i] < degree[least]) {
				least = i
			}
		}
		if degree[least] > best {
			best, gone = degree[least], len(order)
		}
		in[least] = false
		order = append(order, least)
		for _, o := range f.next[next[least]] {
			if i := place[o]; i != topo.None {
				degree[i]--
			}
		}
	}
	for _, r := range next {
		place[r] = topo.None
	}
	core := []int32{int32(s)}
	for _, i := range order[gone:] {
		core = append(core, int32(next[i]))
	}
	slices.Sort(core)
	return core
}

// attach adds switches without a group to groups that are not full, if they have links to most of their switches.
func (g *groups) attach() {
	for changed := true; changed; {
		changed = false
		for s := range topo.SwitchIdx(g.len()) {
			if g.of[s] != topo.None {
				continue
			}
			links := map[int32]int{}
			for _, r := range g.next[s] {
				if of := g.of[r]; of != topo.None && len(g.lists[of]) < g.size {
					links[of]++
				}
			}
			for _, r := range g.next[s] {
				if of := g.of[r]; of != topo.None && links[of]*2 > len(g.lists[of]) {
					g.of[s] = of
					g.lists[of] = append(g.lists[of], int32(s))
					changed = true
					break
				}
			}
		}
	}
}

// collect makes groups of switches without one: those that triangles connect, and then those that links connect.
func (g *groups) collect() {
	free := func(s topo.SwitchIdx) bool { return g.of[s] == topo.None }
	joined := disjoint.New(g.len())
	g.triangles(func(a, b, c int32) {
		// two of a triangle have all three
		ends := [...]topo.SwitchIdx{g.ends[a][0], g.ends[a][1], g.ends[b][0], g.ends[b][1]}
		if free(ends[0]) && free(ends[1]) && free(ends[2]) && free(ends[3]) {
			for _, s := range ends[1:] {
				joined.Join(int32(ends[0]), int32(s))
			}
		}
	})
	for _, list := range joined.Lists() {
		if len(list) > 1 && len(list) <= g.size {
			g.add(list)
		}
	}
	for _, list := range g.connected(slices.DeleteFunc(numbers(g.len()), func(s int32) bool {
		return g.of[s] != topo.None
	}), topo.None) {
		g.divide(list)
	}
}

func numbers(count int) []int32 {
	list := make([]int32, count)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// connected are the parts of some switches that links between them connect, without one of the links.
func (g *groups) connected(switches []int32, without int32) (parts [][]int32) {
	joined := disjoint.New(g.len())
	for _, s := range switches {
		for i, r := range g.next[s] {
			if _, in := slices.BinarySearch(switches, int32(r)); in && g.links[s][i] != without {
				joined.Join(s, int32(r))
			}
		}
	}
	for _, list := range joined.Lists() {
		if _, in := slices.BinarySearch(switches, list[0]); in {
			parts = append(parts, list)
		}
	}
	return parts
}

// divide makes groups of connected switches, where they are too many for one, by leaving out links between groups:
// those without which the parts have the size of groups, and lead to the same group only once.
func (g *groups) divide(list []int32) {
	switch {
	case len(list) < 2:
		return
	case len(list) <= g.size:
		g.add(list)
		return
	case len(list) > 4*g.size || g.size > 8: // great groups do not fall apart
		return
	}
	var best [][]int32
	least := 0
	for _, s := range list {
		for i, r := range g.next[s] {
			if _, in := slices.BinarySearch(list, int32(r)); !in || int32(r) < s {
				continue
			}
			parts := g.connected(list, g.links[s][i])
			if len(parts) != 2 {
				continue
			}
			odd := (len(parts[0])%g.size+len(parts[1])%g.size)*len(g.next)*len(g.next) + g.repeated(parts[0]) +
				g.repeated(parts[1])
			if best == nil || odd < least {
				best, least = parts, odd
			}
		}
	}
	for _, part := range best {
		g.divide(part)
	}
}

// repeated is how many links of some switches lead to a group to which another leads.
func (g *groups) repeated(switches []int32) (links int) {
	seen := map[int32]bool{}
	for _, s := range switches {
		for _, r := range g.next[s] {
			if of := g.of[r]; of != topo.None {
				if seen[of] {
					links++
				}
				seen[of] = true
			}
		}
	}
	return links
}

// count counts the pairs of groups by the links between them.
func (g *groups) count() {
	linked := map[[2]int32]int32{}
	for _, ends := range g.ends {
		if a, z := g.of[ends[0]], g.of[ends[1]]; a != z && a != topo.None && z != topo.None {
			linked[pair(a, z)]++
		}
	}
	g.apart = g.pairs() - len(linked)
	usual := most(slices.Collect(maps.Values(linked)))
	for _, links := range linked {
		if max(links-usual, usual-links)*4 > usual {
			g.uneven++
		}
	}
	for _, of := range g.of {
		if of == topo.None {
			g.without++
		}
	}
}

// pairs is the number of pairs of groups.
func (g *groups) pairs() int { return len(g.lists) * (len(g.lists) - 1) / 2 }

// refusal says why the fabric is no dragonfly, if it differs too much. Some random graphs of a few switches are nearly
// groups, so a few small ones must be whole.
func (g *groups) refusal() error {
	few, fewer := 0, 0
	for _, list := range g.lists {
		if len(list)*2 < g.size {
			few++
		}
		if len(list) < g.size {
			fewer++
		}
	}
	// in five pairs of groups may have no link; two where a group has a few spines, of which one can be missing
	may := 1
	if g.spine != nil {
		may = 2
	}
	small := g.spine == nil && g.size+len(g.lists) < 8
	switch {
	case len(g.lists) < leastGroups:
		return errors.New("there are no groups of switches that are cabled to each other")
	case small && (g.size < 4 && len(g.lists) < 4 || fewer+g.missing+g.without+g.apart > 0):
		return errors.New("there are too few switches to distinguish groups from other shapes")
	case g.without*20 > g.len():
		return fmt.Errorf("%s of %s are in no group", number(g.without), count(g.len(), "switch"))
	case few*10 > len(g.lists):
		return fmt.Errorf("%s of %s have less than half as many switches as most", number(few),
			count(len(g.lists), "group"))
	case g.missing*10 > g.within:
		return fmt.Errorf("%s of %s within groups are missing", number(g.missing), count(g.within, "link"))
	case g.apart > max(1, g.pairs()*may/5):
		return fmt.Errorf("%s of %s of groups have no link", number(g.apart), count(g.pairs(), "pair"))
	case g.uneven*2 > g.pairs():
		return errors.New("pairs of groups have different numbers of links")
	}
	return nil
}
