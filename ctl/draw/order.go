package draw

import (
	"cmp"
	"slices"
)

// order brings the rows of a picture in levels into an order in which few edges cross:
// each row is sorted by where what it is cabled to stands, upwards and downwards in turn,
// and the best of all that is kept. Pods stay together, in the order of their names, and
// the order by name, which rows come in, stays where no other is better by a tenth.
func (p *picture) order(rows [][]int) {
	const rounds = 4
	best, fewest := cloned(rows), p.crossings(rows)*9/10
	pod := p.pods(rows[0])
	for range rounds {
		for level := 1; level < len(rows); level++ {
			p.sortBy(rows[level], rows[level-1], pod)
		}
		if c := p.crossings(rows); c < fewest {
			best, fewest = cloned(rows), c
		}
		for level := len(rows) - 2; level >= 0; level-- {
			p.sortBy(rows[level], rows[level+1], pod)
		}
		if c := p.crossings(rows); c < fewest {
			best, fewest = cloned(rows), c
		}
	}
	for i := range rows {
		copy(rows[i], best[i])
	}
}

func cloned(rows [][]int) [][]int {
	c := make([][]int, len(rows))
	for i := range rows {
		c[i] = slices.Clone(rows[i])
	}
	return c
}

// places are the positions of knots in a row, -1 for those of others.
func (p *picture) places(row []int) []int {
	at := make([]int, len(p.knots))
	for n := range at {
		at[n] = -1
	}
	for i, n := range row {
		at[n] = i
	}
	return at
}

// pods numbers what the subnet without its top level falls into, in the order of the
// leafs: by knot, 0 for those of the top level.
func (p *picture) pods(leafs []int) []int {
	part := p.fabric.Components(1, max(p.fabric.Levels-1, 1))
	number := map[int]int{}
	for _, n := range leafs {
		if c := part[p.knots[n].members[0]]; number[c] == 0 {
			number[c] = len(number) + 1
		}
	}
	pod := make([]int, len(p.knots))
	for n := range p.knots {
		pod[n] = number[part[p.knots[n].members[0]]]
	}
	return pod
}

// sortBy sorts a row by pod, and within one by the mean place in another row of what each
// is cabled to there.
func (p *picture) sortBy(row, other, pod []int) {
	at := p.places(other)
	sum, count := make([]float64, len(p.knots)), make([]float64, len(p.knots))
	note := func(n, o int) {
		if at[o] >= 0 {
			sum[n] += float64(at[o])
			count[n]++
		}
	}
	for i := range p.edges {
		note(p.edges[i].a, p.edges[i].b)
		note(p.edges[i].b, p.edges[i].a)
	}
	own := p.places(row)
	mean := func(n int) float64 {
		if count[n] == 0 {
			return float64(own[n]) / float64(len(row)) * float64(len(other))
		}
		return sum[n] / count[n]
	}
	slices.SortStableFunc(row, func(a, b int) int { return cmp.Or(pod[a]-pod[b], cmp.Compare(mean(a), mean(b))) })
}

// crossings counts the pairs of edges between neighbouring rows that cross.
func (p *picture) crossings(rows [][]int) (n int) {
	for level := 1; level < len(rows); level++ {
		upper, lower := p.places(rows[level]), p.places(rows[level-1])
		var ends [][2]int
		for i := range p.edges {
			e := &p.edges[i]
			for _, pair := range [][2]int{{e.a, e.b}, {e.b, e.a}} {
				if upper[pair[0]] >= 0 && lower[pair[1]] >= 0 {
					ends = append(ends, [2]int{upper[pair[0]], lower[pair[1]]})
				}
			}
		}
		slices.SortFunc(ends, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], a[1]-b[1]) })
		n += inversions(ends, len(rows[level-1]))
	}
	return n
}

// inversions counts the pairs of which the first end is before the other's and the
// second behind it; pairs are sorted, second ends below limit. It keeps a tree of sums
// (Fenwick's) of how many second ends there were up to each place.
func inversions(pairs [][2]int, limit int) (n int) {
	sums := make([]int, limit+1)
	for seen, pair := range pairs {
		upTo := 0
		for i := pair[1] + 1; i > 0; i -= i & -i {
			upTo += sums[i]
		}
		n += seen - upTo
		for i := pair[1] + 1; i <= limit; i += i & -i {
			sums[i]++
		}
	}
	return n
}

// attach spreads the ends of edges over the upper and lower sides of the boxes, in the
// order of where the other ends are. Edges within a level go over the boxes in an arc.
func (p *picture) attach() {
	type end struct {
		x, y  *float64
		other float64
	}
	up, downs := make([][]end, len(p.knots)), make([][]end, len(p.knots))
	for i := range p.edges {
		e := &p.edges[i]
		a, b := &p.knots[e.a], &p.knots[e.b]
		atA, atB := end{&e.x1, &e.y1, b.x}, end{&e.x2, &e.y2, a.x}
		switch la, lb := p.level(e.a), p.level(e.b); {
		case la < lb:
			up[e.a], downs[e.b] = append(up[e.a], atA), append(downs[e.b], atB)
		case la > lb:
			downs[e.a], up[e.b] = append(downs[e.a], atA), append(up[e.b], atB)
		default:
			up[e.a], up[e.b] = append(up[e.a], atA), append(up[e.b], atB)
			e.bend, e.cx, e.cy = true, (a.x+b.x)/2, min(a.y-a.h/2, b.y-b.h/2)-40
		}
	}
	spread := func(k *knot, ends []end, y float64) {
		slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.other, b.other) })
		for i, e := range ends {
			*e.x, *e.y = k.x-k.w/2+k.w*float64(i+1)/float64(len(ends)+1), y
		}
	}
	for n := range p.knots {
		k := &p.knots[n]
		spread(k, up[n], k.y-k.h/2)
		spread(k, downs[n], k.y+k.h/2)
	}
}
