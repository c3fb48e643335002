package page

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"ibsm/ctl/shape"
)

// podsOf are leafs that share more than half of the switches above them, of two one, with these, by the name of the
// first leaf. So a few cables between pods do not make one of two, and one that is missing does not make two of one.
func podsOf(f *shape.Fabric, levels [][]int) [][2][]numbered {
	level := make([]int, len(f.Switches))
	for l, members := range levels {
		for _, s := range members {
			level[s] = l
		}
	}
	beside := func(s, l int) (all []int) { // neighbours on a level
		for _, t := range f.Switches[s].Trunks {
			if o := f.Trunks[t].Other(s); level[o] == l {
				all = append(all, o)
			}
		}
		return all
	}
	up, down := make([][]int, len(f.Switches)), make([][]int, len(f.Switches))
	for _, s := range levels[0] {
		up[s] = beside(s, 1)
	}
	for _, s := range levels[1] {
		down[s] = beside(s, 0)
	}
	pod := make([]int, len(f.Switches)) // the first leaf; a switch is in no pod yet where it is -1
	for s := range pod {
		pod[s] = -1
	}
	shared := make([]int, len(f.Switches))
	for _, first := range levels[0] {
		if pod[first] >= 0 {
			continue
		}
		pod[first] = first
		for queue := []int{first}; len(queue) > 0; queue = queue[1:] {
			s := queue[0]
			clear(shared)
			for _, a := range up[s] {
				for _, o := range down[a] {
					shared[o]++
					most := max(len(up[s]), len(up[o]))
					if pod[o] < 0 && (2*shared[o] > most || most == 2 && shared[o] == 1) {
						pod[o] = first
						queue = append(queue, o)
					}
				}
			}
		}
	}
	for _, a := range levels[1] {
		votes := map[int]int{}
		for _, s := range down[a] {
			votes[pod[s]]++
		}
		most := 0
		for of, n := range votes {
			if n > most || n == most && of < pod[a] {
				most, pod[a] = n, of
			}
		}
	}
	return podLists(f, levels, pod)
}

// podLists are the switches of pods, leafs and those above. A switch above without a pod is in the first one.
func podLists(f *shape.Fabric, levels [][]int, pod []int) (pods [][2][]numbered) {
	members, order := map[int]*[2][]int{}, []int{}
	for l := range 2 {
		for _, s := range levels[l] {
			of := pod[s]
			if of < 0 {
				of = order[0]
			}
			if members[of] == nil {
				members[of] = &[2][]int{}
				order = append(order, of)
			}
			members[of][l] = append(members[of][l], s)
		}
	}
	for _, of := range order {
		pods = append(pods, [2][]numbered{numberedOf(f, members[of][0]), numberedOf(f, members[of][1])})
	}
	slices.SortFunc(pods, func(a, b [2][]numbered) int {
		return cmp.Or(shape.Natural(a[0][0].name, b[0][0].name), cmp.Compare(a[0][0].index, b[0][0].index))
	})
	return pods
}

// grid places switches by their coordinates: even dimensions go to the right, odd ones downwards, each in place of all
// that are before it. A last one that has no other beside it goes on in further rows.
func (p *Places) grid(g *shape.Grid) {
	pitch := [2]float64{cellPitch + 26, p.cellHeight() + rowGap}
	each, turn := make([][2]float64, len(g.Size)), make([]int, len(g.Size))
	for dim, size := range g.Size {
		turn[dim] = size
		each[dim][dim%2] = pitch[dim%2]
		if dim == len(g.Size)-1 && dim > 0 && dim%2 == 0 {
			turn[dim] = max(1, int(math.Round(math.Sqrt(aspect*float64(step(size-1))*pitch[1]/pitch[0]))))
			each[dim][1] = pitch[1]
		}
		pitch[dim%2] = pitch[dim%2]*float64(size) + blockGap
	}
	for s, at := range g.At {
		for dim, n := range at {
			if dim%2 == 0 {
				p.At[s].X += float64(n%turn[dim]) * each[dim][0]
				p.At[s].Y += float64(n/turn[dim]) * each[dim][1]
			} else {
				p.At[s].Y += float64(n) * each[dim][1]
			}
		}
	}
}

// groups places switches that are neither a tree nor a grid: those with a group and a number in their names in a ring
// of groups, others in rows.
func (p *Places) groups(f *shape.Fabric) {
	all := make([]int, len(f.Switches))
	for s := range all {
		all[s] = s
	}
	height := p.cellHeight() + rowGap
	list := numberedOf(f, all)
	var groups [][]numbered
	for i, n := range list {
		if i == 0 || n.group != list[i-1].group {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], n)
	}
	if len(groups) < 3 || 2*len(groups) > len(list) {
		columns := max(1, int(math.Round(math.Sqrt(aspect*float64(step(len(list)))*height/cellPitch))))
		p.row(list, 0, columns, 0, 0, height)
		return
	}
	most := 0
	for _, g := range groups {
		most = max(most, len(g))
	}
	columns := int(math.Ceil(math.Sqrt(float64(step(most - 1)))))
	rows := float64((step(most-1) + columns - 1) / columns)
	w, h := float64(columns)*cellPitch, rows*height
	places := step(len(groups) - 1)
	radius := max(float64(places)*math.Hypot(w, h)*1.1/2/math.Pi, math.Hypot(w, h))
	for i, g := range groups {
		turn := 2*math.Pi*float64(i)/float64(places) - math.Pi/2
		p.block(g)
		p.Blocks[len(p.Blocks)-1].Name = title(g[0].group)
		p.row(g, 0, columns, radius*1.4+1.4*radius*math.Cos(turn), titleHeight+radius+radius*math.Sin(turn), height)
	}
}

// titleHeight is the room for the name above a group at the top.
const titleHeight = 16

// title is the name of a group: those of its switches up to the number of the group.
func title(group string) string {
	if i := strings.LastIndexAny(group, "0123456789"); i >= 0 {
		return group[:i+1]
	}
	return strings.TrimRight(group, "-_. ")
}
