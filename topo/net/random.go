package net

import "ibsm/disjoint"

// random is a random regular graph: every switch has the same number of cables,
// no two of them to one neighbour.
var random = kind{
	name:  "random",
	about: "random regular graph of switches, connected",
	keys: []key{
		{"switches", number(2, 49151), "20", "switches"},
		{"degree", number(1, 253), "5", "cables of each switch to others"},
		{"hosts", number(1, 253), "3", "hosts on each switch"},
	},
	shape: shapeRandom,
}

func shapeRandom(s *Spec) (plan, error) {
	switches, degree, hosts := s.int("switches", 0), s.int("degree", 0), s.int("hosts", 0)
	switch {
	case degree >= switches:
		return plan{}, s.errorf("degree=%d: each of %d switches has at most %d neighbours", degree, switches, switches-1)
	case switches*degree%2 != 0:
		return plan{}, s.errorf("switches=%d with degree=%d: one of them must be even", switches, degree)
	case degree == 1 && switches > 2:
		return plan{}, s.errorf("degree=1 does not connect %d switches", switches)
	}
	if err := s.fits(hosts + degree); err != nil {
		return plan{}, err
	}
	build := func(b *builder) {
		b.addSwitches(switches, hosts+degree, hosts, func(sw int) string { return "switch-" + numbered(sw, switches) })
		for _, e := range regularGraph(b, switches, degree) {
			b.link(e[0], e[1])
		}
	}
	return plan{switches, switches * hosts, build}, nil
}

// regularGraph starts from a ring with chords, which is regular and connected,
// and exchanges the ends of cables at random, which keeps it regular. An exchange
// that would give two cables to one neighbour is left out.
func regularGraph(b *builder, n, degree int) [][2]int {
	var edges [][2]int
	has := map[[2]int]bool{}
	edge := func(a, z int) [2]int { return [2]int{min(a, z), max(a, z)} }
	add := func(a, z int) {
		edges = append(edges, edge(a, z))
		has[edge(a, z)] = true
	}
	for i := range n {
		for chord := 1; chord <= degree/2; chord++ {
			add(i, (i+chord)%n)
		}
		if degree%2 == 1 && i < n/2 {
			add(i, i+n/2)
		}
	}
	if degree < 3 {
		return edges // a ring is the only connected one
	}
	exchange := func() {
		i, j := b.rng.IntN(len(edges)), b.rng.IntN(len(edges))
		if b.rng.IntN(2) == 0 {
			edges[j] = [2]int{edges[j][1], edges[j][0]}
		}
		x, y := edges[i], edges[j]
		p, q := edge(x[0], y[0]), edge(x[1], y[1])
		if p[0] == p[1] || q[0] == q[1] || p == q || has[p] || has[q] {
			return
		}
		delete(has, edge(x[0], x[1]))
		delete(has, edge(y[0], y[1]))
		has[p], has[q] = true, true
		edges[i], edges[j] = p, q
	}
	for {
		for range 10 * len(edges) {
			exchange()
		}
		joined, left := disjoint.New(n), n
		for _, e := range edges {
			if joined.Join(int32(e[0]), int32(e[1])) {
				left--
			}
		}
		if left == 1 {
			return edges
		}
	}
}
