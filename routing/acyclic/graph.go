// Package acyclic keeps a graph free of circles while edges come and go, such as that of the dependencies between
// channels: each node has a place above those of all that come before it, and a new edge costs a search between two
// places only (Pearce and Kelly, "A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs", 2006).
package acyclic

import "slices"

// Graph is a graph whose nodes are numbers. It is used by one goroutine.
type Graph struct {
	place       []int32   // by node
	after, prev [][]int32 // by node: those that edges lead to, and come from

	mark          []int32 // by node: the search that came by
	search        int32
	ahead, behind []int32 // scratch
	places        []int32
}

// New is a graph without edges. place has a place for each node, no two the same, or zeroes until Number is called; the
// Graph takes it over.
func New(place []int32) *Graph {
	nodes := len(place)
	return &Graph{place: place, after: make([][]int32, nodes), prev: make([][]int32, nodes), mark: make([]int32, nodes)}
}

// Len is how many nodes there are.
func (g *Graph) Len() int { return len(g.place) }

// Has reports whether there is an edge.
func (g *Graph) Has(from, to int32) bool { return slices.Contains(g.after[from], to) }

// Link adds an edge without a look at the places: Number is called before Add.
func (g *Graph) Link(from, to int32) {
	g.after[from] = append(g.after[from], to)
	g.prev[to] = append(g.prev[to], from)
}

// Unlink removes an edge, which there must be.
func (g *Graph) Unlink(from, to int32) {
	remove := func(list []int32, node int32) []int32 {
		at := slices.Index(list, node)
		return slices.Delete(list, at, at+1)
	}
	g.after[from] = remove(g.after[from], to)
	g.prev[to] = remove(g.prev[to], from)
}

// Number gives nodes their places. It reports false if there is a circle.
func (g *Graph) Number() bool {
	waiting := make([]int32, len(g.place))
	queue := make([]int32, 0, len(g.place))
	for node, from := range g.prev {
		if waiting[node] = int32(len(from)); len(from) == 0 {
			queue = append(queue, int32(node))
		}
	}
	for i := 0; i < len(queue); i++ {
		g.place[queue[i]] = int32(i)
		for _, to := range g.after[queue[i]] {
			if waiting[to]--; waiting[to] == 0 {
				queue = append(queue, to)
			}
		}
	}
	return len(queue) == len(g.place)
}

// Add adds an edge and corrects the places. It reports false, and adds nothing, if that closes a circle.
func (g *Graph) Add(from, to int32) bool {
	if from == to {
		return false
	}
	if g.place[to] < g.place[from] {
		g.search++
		if !g.forward(to, from) {
			return false
		}
		g.backward(from, g.place[to])
		g.reorder()
	}
	g.Link(from, to)
	return true
}

// forward collects the nodes that follow one, no farther than end in the order. It reports false when it comes to end.
func (g *Graph) forward(node, end int32) bool {
	g.mark[node] = g.search
	g.ahead = append(g.ahead[:0], node)
	for i := 0; i < len(g.ahead); i++ {
		for _, to := range g.after[g.ahead[i]] {
			if to == end {
				return false
			}
			if g.mark[to] != g.search && g.place[to] < g.place[end] {
				g.mark[to] = g.search
				g.ahead = append(g.ahead, to)
			}
		}
	}
	return true
}

// backward collects the nodes that come before one, down to a place.
func (g *Graph) backward(node, least int32) {
	g.mark[node] = g.search
	g.behind = append(g.behind[:0], node)
	for i := 0; i < len(g.behind); i++ {
		for _, from := range g.prev[g.behind[i]] {
			if g.mark[from] != g.search && g.place[from] > least {
				g.mark[from] = g.search
				g.behind = append(g.behind, from)
			}
		}
	}
}

// reorder puts what is behind before what is ahead, in the places that they have together.
func (g *Graph) reorder() {
	byPlace := func(a, b int32) int { return int(g.place[a] - g.place[b]) }
	slices.SortFunc(g.behind, byPlace)
	slices.SortFunc(g.ahead, byPlace)
	g.behind = append(g.behind, g.ahead...)
	g.places = g.places[:0]
	for _, node := range g.behind {
		g.places = append(g.places, g.place[node])
	}
	slices.Sort(g.places)
	for i, node := range g.behind {
		g.place[node] = g.places[i]
	}
}
