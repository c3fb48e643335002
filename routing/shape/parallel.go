package shape

import (
	"cmp"
	"slices"

	"ibsm/disjoint"
	"ibsm/topo"
)

// A torus, mesh, hypercube or HyperX is a product: a switch has a coordinate in each dimension, and a link leads along
// one dimension. Round a circle of four links in a product, opposite links lead along the same dimension, and so do all
// links of a triangle. A cable that is missing makes no circle, so both remain true of what is left.

// classes are sets of links that lead along the same dimension: those of a dimension whose rows are fully cabled, and
// otherwise those that lead from the switches of one coordinate to those of the next.
type classes struct {
	*fabric
	of    []int32   // by link: its class
	links [][]int32 // by class
	row   []bool    // by class: some switch has two links of it
	// by class: those of which links meet its own in corners of squares, so that they are of another dimension
	turns [][]int32
	meet  []map[int32]int // by class: at how many switches links of others meet its own
	loose int             // links in no square and no triangle
}

// newClasses finds the classes. Squares are looked for between switches that have exactly two neighbours in common.
func newClasses(f *fabric) *classes {
	c := &classes{fabric: f, of: make([]int32, len(f.ends))}
	joined := disjoint.New(len(f.ends))
	found := make([]bool, len(f.ends))
	squares := f.squares()
	for _, q := range squares {
		joined.Join(q[0], q[2])
		joined.Join(q[1], q[3])
		for _, link := range q {
			found[link] = true
		}
	}
	f.triangles(func(a, b, c int32) {
		joined.Join(a, b)
		joined.Join(b, c)
		found[a], found[b], found[c] = true, true, true
	})
	c.links = joined.Lists()
	c.row = make([]bool, len(c.links))
	for i, links := range c.links {
		for _, link := range links {
			c.of[link] = int32(i)
		}
	}
	for _, links := range f.links {
		for i, link := range links {
			for _, other := range links[:i] {
				if c.of[link] == c.of[other] {
					c.row[c.of[link]] = true
				}
			}
		}
	}
	c.turns = make([][]int32, len(c.links))
	for _, q := range squares {
		if a, b := c.of[q[0]], c.of[q[1]]; a != b {
			c.turns[a], c.turns[b] = append(c.turns[a], b), append(c.turns[b], a)
		}
	}
	for i, others := range c.turns {
		slices.Sort(others)
		c.turns[i] = slices.Compact(others)
	}
	c.meet = c.meetings(len(squares) == 0)
	for _, is := range found {
		if !is {
			c.loose++
		}
	}
	return c
}

// pair is two numbers, the lower first.
func pair(a, b int32) [2]int32 { return [2]int32{min(a, b), max(a, b)} }

// squares are circles of four links, in their order, around two switches that have no link and exactly two neighbours
// in common.
func (f *fabric) squares() (squares [][4]int32) {
	ways := make([]int32, f.len())     // to each switch in two steps
	by := make([][2][2]int32, f.len()) // the links of the first two ways
	var reached []topo.SwitchIdx
	for s := range topo.SwitchIdx(f.len()) {
		for i, m := range f.next[s] {
			for j, r := range f.next[m] {
				if r <= s {
					continue
				}
				if ways[r] == 0 {
					reached = append(reached, r)
				}
				if ways[r] < 2 {
					by[r][ways[r]] = [2]int32{f.links[s][i], f.links[m][j]}
				}
				ways[r]++
			}
		}
		for _, r := range reached {
			if ways[r] == 2 && f.link(s, r) == topo.None {
				squares = append(squares, [4]int32{by[r][0][0], by[r][0][1], by[r][1][1], by[r][1][0]})
			}
			ways[r] = 0
		}
		reached = reached[:0]
	}
	return squares
}

// triangles calls visit with the links of each triangle.
func (f *fabric) triangles(visit func(a, b, c int32)) {
	at := slices.Repeat([]int32{topo.None}, f.len()) // links to the switch in hand
	for s := range topo.SwitchIdx(f.len()) {
		for i, r := range f.next[s] {
			at[r] = f.links[s][i]
		}
		for i, r := range f.next[s] {
			if r < s {
				continue
			}
			for j, o := range f.next[r] {
				if o > r && at[o] != topo.None {
					visit(f.links[s][i], f.links[r][j], at[o])
				}
			}
		}
		for _, r := range f.next[s] {
			at[r] = topo.None
		}
	}
}

// maxDims is the number of dimensions that a product may have: with two switches in each there are more switches than a
// subnet has LIDs.
const maxDims = 15

// dimensions joins the classes to dimensions, those with the most links first, and gives each class its own. Those
// around which too much is missing have None.
//
// Where links of two classes meet and are never in the corner of a square, they go on in one direction. So classes that
// meet at many switches, at a share of their links or more, are joined first. Then each group of them has the dimension
// with whose links its own are in no square, and of several the one with which they go on the most often.
func (c *classes) dimensions(share int) (dim []int32, dims int) {
	groups := disjoint.New(len(c.links))
	members := make([][]int32, len(c.links))
	for i := range c.links {
		members[i] = []int32{int32(i)}
	}
	for _, p := range c.straight(share) {
		a, b := groups.Of(p[0]), groups.Of(p[1])
		few, many := members[a], members[b]
		if len(few) > len(many) {
			few, many = many, few
		}
		if a != b && !c.turn(groups, few, many[0]) && !c.crowded(groups, few, many[0]) {
			groups.Join(a, b)
			members[a], members[b] = nil, nil
			members[groups.Of(a)] = append(many, few...)
		}
	}
	size := func(group []int32) (links int) {
		for _, i := range group {
			links += len(c.links[i])
		}
		return links
	}
	members = slices.DeleteFunc(members, func(group []int32) bool { return size(group) < 2 })
	slices.SortStableFunc(members, func(a, b []int32) int { return cmp.Compare(size(b), size(a)) })
	dim = slices.Repeat([]int32{topo.None}, len(c.links))
	for before := -1; len(members) != before && dims <= maxDims; {
		before = len(members)
		members = slices.DeleteFunc(members, func(group []int32) bool {
			d, fits := c.fitting(dim, dims, group)
			switch {
			case d != topo.None:
			case fits > 0:
				return false
			case size(group)*4 >= c.len():
				d = int32(dims)
				dims++
			}
			for _, i := range group {
				dim[i] = d
			}
			return true
		})
	}
	return dim, dims
}

// fitting is the dimension of a group of classes, None if several are as likely, and how many it may have.
func (c *classes) fitting(dim []int32, dims int, group []int32) (best int32, fits int) {
	other, meetings := make([]bool, dims), make([]int, dims)
	for _, i := range group {
		for _, j := range c.turns[i] {
			if dim[j] != topo.None {
				other[dim[j]] = true
			}
		}
		for j, count := range c.meet[i] {
			if dim[j] != topo.None {
				meetings[dim[j]] += count
			}
		}
	}
	best = topo.None
	ties := false
	for d := range int32(dims) {
		if other[d] {
			continue
		}
		fits++
		if best == topo.None || meetings[d] > meetings[best] {
			best, ties = d, false
		} else if meetings[d] == meetings[best] {
			ties = true
		}
	}
	if ties {
		best = topo.None
	}
	return best, fits
}

// firm are the classes of whose dimension there is little uncertainty: they meet links of every other dimension in
// squares, and have at least a share of the links that the greatest of the dimension has.
func (c *classes) firm(dim []int32, dims, share int) []bool {
	firm, greatest := make([]bool, len(c.links)), make([]int, dims)
	for i, d := range dim {
		if d != topo.None {
			greatest[d] = max(greatest[d], len(c.links[i]))
		}
	}
	for i, d := range dim {
		if d == topo.None || len(c.links[i])*share < greatest[d] {
			continue
		}
		met := make([]bool, dims)
		met[d] = true
		for _, j := range c.turns[i] {
			if dim[j] != topo.None {
				met[dim[j]] = true
			}
		}
		firm[i] = !slices.Contains(met, false)
	}
	return firm
}

// meetings is at how many switches links of two classes meet. Left out are rows where each switch is cabled to each
// other, which go on nowhere, and classes of one link, which are in no square, unless all are.
func (c *classes) meetings(all bool) []map[int32]int {
	meet := make([]map[int32]int, len(c.links))
	for i := range meet {
		if !c.row[i] && (all || len(c.links[i]) > 1) {
			meet[i] = map[int32]int{}
		}
	}
	for _, links := range c.fabric.links {
		for i, link := range links {
			for _, other := range links[:i] {
				if a, b := c.of[link], c.of[other]; a != b && meet[a] != nil && meet[b] != nil {
					meet[a][b]++
					meet[b][a]++
				}
			}
		}
	}
	return meet
}

// straight are pairs of classes that meet at a share of their links or more, and never turn: first those that meet at
// most of them.
func (c *classes) straight(share int) (pairs [][2]int32) {
	for i := range int32(len(c.links)) {
		for j, n := range c.meet[i] {
			if _, turn := slices.BinarySearch(c.turns[i], j); i < j && !turn && n*share >= len(c.links[i]) &&
				n*share >= len(c.links[j]) {
				pairs = append(pairs, [2]int32{i, j})
			}
		}
	}
	meet := func(p [2]int32) int { return c.meet[p[0]][p[1]] }
	quota := func(p [2]int32) float64 {
		return float64(meet(p)*meet(p)) / float64(len(c.links[p[0]])*len(c.links[p[1]]))
	}
	slices.SortFunc(pairs, func(p, q [2]int32) int {
		return cmp.Or(cmp.Compare(quota(q), quota(p)), cmp.Compare(meet(q), meet(p)), cmp.Compare(p[0], q[0]),
			cmp.Compare(p[1], q[1]))
	})
	return pairs
}

// turn reports whether links of classes meet those of a group, of which one is given, in a square.
func (c *classes) turn(groups disjoint.Sets, classes []int32, one int32) bool {
	for _, i := range classes {
		for _, j := range c.turns[i] {
			if groups.Of(j) == groups.Of(one) {
				return true
			}
		}
	}
	return false
}

// crowded reports whether some switch has more than two links of a group of classes and of another, of which one is
// given.
func (c *classes) crowded(groups disjoint.Sets, few []int32, one int32) bool {
	for _, i := range few {
		for _, link := range c.links[i] {
			for _, s := range c.ends[link] {
				count := 0
				for _, other := range c.fabric.links[s] {
					if g := groups.Of(c.of[other]); g == groups.Of(i) || g == groups.Of(one) {
						count++
					}
				}
				if count > 2 {
					return true
				}
			}
		}
	}
	return false
}
