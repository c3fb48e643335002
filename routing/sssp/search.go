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
// lightest ways are found without the heap. Where the heap has to decide between two switches, it gets those
// that are as near, and nearer: whatever is greater than two items changes nothing in their order.
type search struct {
	edges  []edge   // those to vertex 0, then those to vertex 1, ...
	from   []int32  // by edge, what edges have: it is read for each edge and destination
	in     []int32  // edges to vertex v: in[v] .. in[v+1]-1, in the order of where they come from
	out    [][]way  // by vertex: edges from it, in the order of its ports
	weight []uint64 // by edge
	link   uint64   // weight of an empty link
	heavy  uint64   // routes over the link that has most
	rows   rows
	heap   heap.Heap
	behind []uint64    // scratch of weigh
	sums   [256]uint64 // scratch of lightest
	turn   []int32     // by vertex: when it left the heap

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
	ways    []way   // from the row before; to vertex reached[i]: first[i] .. first[i+1]-1; one more than edges
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
	s := search{edges: make([]edge, len(edges)), from: make([]int32, len(edges)), in: make([]int32, vertices+1),
		out:    make([][]way, vertices),
		weight: slices.Repeat([]uint64{link}, len(edges)), link: link,
		rows: rows{home: unreached, row: make([]int32, vertices), ways: make([]way, len(edges)+1)},
		heap: heap.New(vertices + 1), behind: make([]uint64, vertices), turn: make([]int32, vertices),
		distance: make([]uint64, vertices), by: make([]int32, vertices)}
	for _, e := range edges {
		s.in[e.to+1]++
	}
	for v := range vertices {
		s.in[v+1] += s.in[v]
	}
	next := slices.Clone(s.in)
	for _, e := range edges {
		s.edges[next[e.to]], s.from[next[e.to]] = e, e.from
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
	r := &s.rows
	last := r.row[r.reached[len(r.reached)-1]]
	if len(r.reached) == len(s.out) && uint64(last)*s.heavy < s.link {
		s.byRows(endPort)
		return unreached
	}
	return s.byHeap(v, endPort, len(s.out))
}

// arrange puts the vertices into rows.
func (s *search) arrange(v int32) {
	r := &s.rows
	for i := range r.row {
		r.row[i] = unreached
	}
	r.home, r.row[v] = v, 0
	r.reached, r.first = append(r.reached[:0], v), r.first[:0]
	count := 0
	for i := 0; i < len(r.reached); i++ {
		v := r.reached[i]
		for _, w := range s.out[v] {
			if r.row[w.vertex] == unreached {
				r.row[w.vertex] = r.row[v] + 1
				r.reached = append(r.reached, w.vertex)
			}
		}
		r.first = append(r.first, int32(count))
		before, first := r.row[v]-1, s.in[v]
		for e, from := range s.from[first:s.in[v+1]] { // one in two is from there, by chance: without a jump
			r.ways[count] = way{from, first + int32(e)}
			if r.row[from] == before {
				count++
			}
		}
	}
	r.first = append(r.first, int32(count))
}

// byRows searches where the lightest ways are of the fewest links.
func (s *search) byRows(endPort bool) {
	r := &s.rows
	s.distance[r.home], s.by[r.home] = 0, home
	known := int32(-1) // the last row of which it is known when switches leave the heap
	for i := 1; i < len(r.reached); i++ {
		v := r.reached[i]
		best, least, sure := s.lightest(r.ways[r.first[i]:r.first[i+1]], r.row[v] <= known+1)
		if sure {
			s.distance[v], s.by[v] = least, best.edge
			continue
		}
		for known = r.row[v] - 1; r.row[r.reached[i-1]] > known; i-- {
		}
		s.byHeap(r.home, endPort, i)
		for turn, v := range s.taken {
			s.turn[v] = int32(turn)
		}
		i-- // again from the first of this row on
	}
	s.taken = append(s.taken[:0], r.reached...)
}

// lightest is the lightest of ways to a vertex, by the switch that leaves the heap first of several. It is not
// sure where that matters and is not known.
func (s *search) lightest(ways []way, known bool) (best way, least uint64, sure bool) {
	sums := s.sums[:len(ways)]
	least = infinite
	for i, w := range ways {
		sums[i] = s.distance[w.vertex] + s.weight[w.edge]
		least = min(least, sums[i])
	}
	nearest := infinite
	for i, sum := range sums {
		if sum != least {
			continue
		}
		switch w, d := ways[i], s.distance[ways[i].vertex]; {
		case d < nearest:
			best, nearest = w, d
		case d > nearest || w.vertex == best.vertex:
		case !known:
			return best, least, false
		case s.turn[w.vertex] < s.turn[best.vertex]:
			best = w
		}
	}
	return best, least, true
}

// byHeap searches as OpenSM does for the ways to a switch, or to an end port there, which is a vertex of its
// own: those from all switches, or from so many, which are the first rows.
func (s *search) byHeap(v int32, endPort bool, count int) (missed int32) {
	r := &s.rows
	last := int32(len(s.out))
	if count < len(s.out) {
		last = r.row[r.reached[count-1]]
	}
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
	for range count {
		v, d := s.heap.Pop()
		if d == infinite {
			return v
		}
		s.taken = append(s.taken, v)
		for _, w := range s.out[v] {
			// never of one that was taken before
			if sum := d + s.weight[w.edge]; sum < s.distance[w.vertex] && r.row[w.vertex] <= last {
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
			s.behind[s.from[e]] += s.behind[v]
		}
	}
}
