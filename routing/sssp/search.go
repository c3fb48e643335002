package sssp

import (
	"slices"

	"ibsm/routing/heap"
)

// search finds the lightest ways from all switches to a destination (Dijkstra). Among equals the order
// of the heap decides, as it does in OpenSM.
type search struct {
	vertices int
	edges    []edge // of vertex v: first[v] .. first[v+1]-1
	first    []int32
	weight   []uint64 // by edge
	link     uint64   // weight of an empty link
	heavy    uint64   // routes over the link that has most
	rows     rows

	// What the last search found, by vertex.
	distance []uint64
	by       []int32 // the edge by which it was reached, home for that of the destination
	taken    []int32 // vertices, each after that from which it was reached
	heap     heap.Heap
	behind   []uint64 // scratch of weigh
}

// rows are the vertices by the fewest links to them from one vertex.
//
// An empty link weighs more than the routes over any link, so ways of the fewest links are nearly always
// the lightest. While that is sure, a search looks at edges from one row to the next only, and leaves the
// last row out of the heap: it comes after all others, and whatever is greater than two items changes
// nothing in their order.
type rows struct {
	home    int32   // the vertex in row 0
	row     []int32 // by vertex
	reached []int32 // vertices in the order of their rows
	last    int32
	others  int   // vertices that are not in the last row
	on      []way // to the next row; of vertex v: first[v] .. first[v+1]-1
	first   []int32
}

// way is an edge and where it leads to.
type way struct{ to, edge int32 }

// In place of the edge by which a vertex was reached.
const (
	unreached int32 = -1
	home      int32 = -2
)

const infinite = uint64(1) << 62

// newSearch is a search over a graph in which an empty link has a weight.
func newSearch(edges []edge, first []int32, link uint64) search {
	count := len(first) - 1
	return search{vertices: count, edges: edges, first: first, weight: slices.Repeat([]uint64{link}, len(edges)), link: link,
		rows:     rows{home: unreached, row: make([]int32, count), first: make([]int32, count+1)},
		distance: make([]uint64, count), by: make([]int32, count), heap: heap.New(count + 1), behind: make([]uint64, count)}
}

// toSwitch searches for the ways to a switch. It returns one from which there is none, unreached if all have one.
func (s *search) toSwitch(v int32) (missed int32) {
	s.start(v, 0)
	return s.throughAll()
}

// toPort searches for the ways to an end port of a switch.
func (s *search) toPort(v int32) (missed int32) {
	if s.rows.home != v {
		s.arrange(v)
	}
	s.start(v, 1)
	if len(s.rows.reached) == s.vertices && uint64(s.rows.last)*s.heavy < s.link {
		s.throughRows()
		return unreached
	}
	return s.throughAll()
}

// arrange puts the vertices into rows.
func (s *search) arrange(v int32) {
	r := &s.rows
	for i := range r.row {
		r.row[i] = unreached
	}
	r.home, r.row[v] = v, 0
	r.reached = append(r.reached[:0], v)
	r.on = r.on[:0]
	for i := 0; i < len(r.reached); i++ {
		v := r.reached[i]
		for e := s.first[v]; e < s.first[v+1]; e++ {
			to := s.edges[e].to
			if r.row[to] == unreached {
				r.row[to] = r.row[v] + 1
				r.reached = append(r.reached, to)
			}
		}
	}
	r.last = r.row[r.reached[len(r.reached)-1]]
	r.others = slices.IndexFunc(r.reached, func(v int32) bool { return r.row[v] == r.last })
	for v := range r.row {
		for e := s.first[v]; e < s.first[v+1]; e++ {
			if to := s.edges[e].to; r.row[to] == r.row[v]+1 {
				r.on = append(r.on, way{to, e})
			}
		}
		r.first[v+1] = int32(len(r.on))
	}
}

// start fills the heap and puts the switch of the destination first.
func (s *search) start(v int32, distance uint64) {
	for v := range s.distance {
		s.distance[v], s.by[v] = infinite, unreached
	}
	s.taken = s.taken[:0]
	s.heap.Fill(s.vertices, infinite)
	if distance > 0 { // an end port is a vertex of its own
		s.heap.Push(int32(s.vertices), infinite)
		s.heap.Lower(int32(s.vertices), 0)
		s.heap.Pop()
	}
	s.distance[v], s.by[v] = distance, home
	s.heap.Lower(v, distance)
}

// throughRows searches where no way of more links than need be is the lightest.
func (s *search) throughRows() {
	r := &s.rows
	for range r.others {
		v, d := s.heap.Pop()
		s.taken = append(s.taken, v)
		inHeap := r.row[v]+1 < r.last
		for _, w := range r.on[r.first[v]:r.first[v+1]] {
			if sum := d + s.weight[w.edge]; sum < s.distance[w.to] {
				s.distance[w.to], s.by[w.to] = sum, w.edge
				if inHeap {
					s.heap.Lower(w.to, sum)
				}
			}
		}
	}
	s.taken = append(s.taken, r.reached[r.others:]...)
}

// throughAll searches for any ways.
func (s *search) throughAll() (missed int32) {
	for range s.vertices {
		v, d := s.heap.Pop()
		if d == infinite {
			return v
		}
		s.taken = append(s.taken, v)
		for e := s.first[v]; e < s.first[v+1]; e++ {
			to := s.edges[e].to
			if sum := d + s.weight[e]; sum < s.distance[to] { // never of one that was taken before
				s.distance[to], s.by[to] = sum, e
				s.heap.Lower(to, sum)
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
