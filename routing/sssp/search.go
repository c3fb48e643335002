package sssp

import (
	"slices"

	"ibsm/routing/heap"
)

// search finds the lightest ways from all switches to a destination. Among equals the order of the heap
// decides with which OpenSM finds them (Dijkstra).
//
// An empty link weighs more than the routes over any link, so ways of the fewest links are nearly always
// the lightest, and the switches next to a switch have different distances. While that is so, the
// lightest ways are found without the heap.
type search struct {
	edges  []edge   // those to vertex 0, then those to vertex 1, ...
	in     []int32  // edges to vertex v: in[v] .. in[v+1]-1, in the order of where they come from
	out    [][]way  // by vertex: edges from it, in the order of its ports
	weight []uint64 // by edge
	link   uint64   // weight of an empty link
	heavy  uint64   // routes over the link that has most
	rows   rows
	heap   heap.Heap
	behind []uint64    // scratch of weigh
	sums   [256]uint64 // scratch of byRows

	// What the last search found, by vertex.
	distance []uint64
	by       []int32 // the edge by which it was reached, home for that of the destination
	taken    []int32 // vertices, each after that from which it was reached
}

// edge is a link from one switch to the next, in the direction away from destinations.
type edge struct {
	from, to int32 // vertices
	port     uint8 // of the switch that it leads to
}

// rows are the vertices by the fewest links to them from one vertex.
type rows struct {
	home    int32   // the vertex in row 0
	row     []int32 // by vertex
	reached []int32 // vertices in the order of their rows
	ways    []way   // from the row before; to vertex reached[i]: first[i] .. first[i+1]-1
	first   []int32
}

// way is an edge, and the vertex at its other end.
type way struct{ vertex, edge int32 }

// In place of the edge by which a vertex was reached.
const (
	unreached int32 = -1
	home      int32 = -2
)

const infinite = uint64(1) << 62

// newSearch is a search over edges, which are in the order of the vertices and ports that they come from. An
// empty link has a weight.
func newSearch(vertices int, edges []edge, link uint64) search {
	s := search{edges: make([]edge, len(edges)), in: make([]int32, vertices+1), out: make([][]way, vertices),
		weight: slices.Repeat([]uint64{link}, len(edges)), link: link,
		rows: rows{home: unreached, row: make([]int32, vertices)}, heap: heap.New(vertices + 1), behind: make([]uint64, vertices),
		distance: make([]uint64, vertices), by: make([]int32, vertices)}
	for _, e := range edges {
		s.in[e.to+1]++
	}
	for v := range vertices {
		s.in[v+1] += s.in[v]
	}
	next := slices.Clone(s.in)
	for _, e := range edges {
		s.edges[next[e.to]] = e
		s.out[e.from] = append(s.out[e.from], way{e.to, next[e.to]})
		next[e.to]++
	}
	return s
}

// find searches for the ways to the end port of a switch, or to the switch itself. It returns a switch from
// which there is none, unreached if all have one.
func (s *search) find(v int32, endPort bool) (missed int32) {
	if s.rows.home != v {
		s.arrange(v)
	}
	if r := &s.rows; len(r.reached) == len(s.out) && uint64(r.row[r.reached[len(r.reached)-1]])*s.heavy < s.link && s.byRows() {
		return unreached
	}
	return s.byHeap(v, endPort)
}

// arrange puts the vertices into rows.
func (s *search) arrange(v int32) {
	r := &s.rows
	for i := range r.row {
		r.row[i] = unreached
	}
	r.home, r.row[v] = v, 0
	r.reached, r.ways, r.first = append(r.reached[:0], v), r.ways[:0], r.first[:0]
	for i := 0; i < len(r.reached); i++ {
		v := r.reached[i]
		for _, w := range s.out[v] {
			if r.row[w.vertex] == unreached {
				r.row[w.vertex] = r.row[v] + 1
				r.reached = append(r.reached, w.vertex)
			}
		}
		r.first = append(r.first, int32(len(r.ways)))
		before := r.row[v] - 1
		for e := s.in[v]; e < s.in[v+1] && i > 0; e++ {
			if from := s.edges[e].from; r.row[from] == before {
				r.ways = append(r.ways, way{from, e})
			}
		}
	}
	r.first = append(r.first, int32(len(r.ways)))
}

// byRows searches where the lightest ways are of the fewest links. It reports false where the heap has to
// decide.
func (s *search) byRows() bool {
	r := &s.rows
	s.distance[r.home], s.by[r.home] = 0, home
	for i, v := range r.reached[1:] {
		ways := r.ways[r.first[i+1]:r.first[i+2]]
		sums := s.sums[:len(ways)]
		least := infinite
		for i, w := range ways {
			sums[i] = s.distance[w.vertex] + s.weight[w.edge]
			least = min(least, sums[i])
		}
		best, nearest := way{}, infinite
		for i, sum := range sums {
			if sum != least {
				continue
			}
			d := s.distance[ways[i].vertex]
			if d == nearest && ways[i].vertex != best.vertex {
				return false
			}
			if d < nearest { // the heap has it before the others
				best, nearest = ways[i], d
			}
		}
		s.distance[v], s.by[v] = least, best.edge
	}
	s.taken = append(s.taken[:0], r.reached...)
	return true
}

// byHeap searches as OpenSM does. An end port is a vertex of its own.
func (s *search) byHeap(v int32, endPort bool) (missed int32) {
	for v := range s.distance {
		s.distance[v], s.by[v] = infinite, unreached
	}
	s.taken = s.taken[:0]
	s.distance[v], s.by[v] = 0, home
	s.heap.Fill(len(s.out), infinite)
	if endPort {
		port := int32(len(s.out))
		s.distance[v] = 1
		s.heap.Push(port, infinite)
		s.heap.Lower(port, 0)
		s.heap.Pop()
	}
	s.heap.Lower(v, s.distance[v])
	for range s.out {
		v, d := s.heap.Pop()
		if d == infinite {
			return v
		}
		s.taken = append(s.taken, v)
		for _, w := range s.out[v] {
			if sum := d + s.weight[w.edge]; sum < s.distance[w.vertex] { // never of one that was taken before
				s.distance[w.vertex], s.by[w.vertex] = sum, w.edge
				s.heap.Lower(w.vertex, sum)
			}
		}
	}
	return unreached
}

// weigh adds to the weight of each link the LIDs of all switches whose way the last search led over it.
func (s *search) weigh(lids []uint64) {
	copy(s.behind, lids)
	for _, v := range slices.Backward(s.taken) {
		if e := s.by[v]; e >= 0 {
			s.weight[e] += s.behind[v]
			s.heavy = max(s.heavy, s.weight[e]-s.link)
			s.behind[s.edges[e].from] += s.behind[v]
		}
	}
}
