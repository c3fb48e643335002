package acyclic

import (
	"math/rand/v2"
	"testing"
)

// TestGraph: an edge is refused when it would close a circle, which a search over all edges finds too,
// and only then; places always go up along edges.
func TestGraph(t *testing.T) {
	const nodes, events = 24, 4000
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		edges := map[[2]int32]bool{}
		g := New(make([]int32, nodes))
		for i := range int32(nodes - 1) {
			if rng.IntN(2) == 0 {
				g.Link(i+1, i)
				edges[[2]int32{i + 1, i}] = true
			}
		}
		if !g.Number() {
			t.Fatalf("seed %d: a circle in a path", seed)
		}
		refused := 0
		for range events {
			e := [2]int32{rng.Int32N(nodes), rng.Int32N(nodes)}
			switch {
			case g.Has(e[0], e[1]) != edges[e]:
				t.Fatalf("seed %d: edge %v: %t", seed, e, !edges[e])
			case edges[e]:
				g.Unlink(e[0], e[1])
				delete(edges, e)
			default:
				circle := leads(edges, e[1], e[0])
				if g.Add(e[0], e[1]) == circle {
					t.Fatalf("seed %d: edge %v closes a circle: %t", seed, e, circle)
				}
				if circle {
					refused++
				} else {
					edges[e] = true
				}
			}
			for e := range edges {
				if g.place[e[0]] >= g.place[e[1]] {
					t.Fatalf("seed %d: edge %v leads from place %d to %d", seed, e, g.place[e[0]], g.place[e[1]])
				}
			}
		}
		if refused == 0 {
			t.Errorf("seed %d: no circle", seed)
		}
	}
	g := New(make([]int32, 2))
	g.Link(0, 1)
	g.Link(1, 0)
	if g.Number() {
		t.Error("two nodes in a circle have places")
	}
}

// leads reports whether edges lead from one node to another.
func leads(edges map[[2]int32]bool, from, to int32) bool {
	seen := map[int32]bool{from: true}
	for queue := []int32{from}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == to {
			return true
		}
		for e := range edges {
			if e[0] == queue[0] && !seen[e[1]] {
				seen[e[1]] = true
				queue = append(queue, e[1])
			}
		}
	}
	return false
}
