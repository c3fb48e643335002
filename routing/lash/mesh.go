package lash

import (
	"math"
	"slices"

	"ibsm/routing"
)

// mesh is the analysis of meshes and tori (do_mesh_analysis): switches get coordinates, and their
// order and that of their links follow these, so that fewer lanes are needed. Everything is as in
// OpenSM, which goes by what the neighbours of each switch look like.
type mesh struct {
	*network
	nodes      []meshNode // by switch
	classes    []class
	seed       int // the switch at the origin
	dimensions int
	size       []int32 // by dimension
	order      []int   // dimensions, that of the most switches first
}

// meshNode is a switch. An axis is 1 + twice its dimension, or one more in the negative direction; 0 is
// that of a link in no known direction.
type meshNode struct {
	distance   [][]int32 // by link, link: between the ends, on ways past the switch; nil if it has more than maxDegree
	polynomial polynomial
	shape      int     // 1 + its index in shapes; 0 if that is not known
	edge       bool    // has a known shape, but a neighbour has more links
	axes       []int   // by link
	back       []int   // by link: the link of its end that leads back; -1 for none
	at         []int32 // coordinates, unplaced if not known
}

// class is switches whose neighbours look alike.
type class struct{ first, count int }

// unplaced is what OpenSM has for coordinates and distances that are not known.
const unplaced = math.MaxInt32

// analyse orders switches and links by their coordinates, if most of the switches are in a mesh. It returns what
// it has found.
func (n *network) analyse() *routing.MeshShape {
	m := &mesh{network: n, nodes: make([]meshNode, len(n.links))}
	for s := range m.nodes {
		m.measure(int32(s))
	}
	for s := range m.nodes {
		node := &m.nodes[s]
		node.edge = node.shape > 0 && slices.ContainsFunc(n.links[s], func(l link) bool {
			return len(n.links[l.to]) > len(n.links[s])
		})
	}
	if m.classify(); len(m.classes) == 0 {
		return &routing.MeshShape{}
	}
	if m.dimensions > 0 {
		m.nameAxes()
		m.place()
		m.orderDimensions()
		for s := range m.nodes {
			m.orderLinks(s)
		}
	}
	found := m.found()
	if m.dimensions > 0 {
		m.renumber()
	}
	return found
}

// found is what the analysis has found, for operators.
func (m *mesh) found() *routing.MeshShape {
	found := &routing.MeshShape{Size: m.size}
	for _, c := range m.classes {
		found.Classes = append(found.Classes, routing.MeshClass{Shape: m.nodes[c.first].shape, Switches: c.count})
	}
	seed := &m.nodes[m.seed]
	if n := len(seed.polynomial); n > 0 {
		found.Polynomial = append(slices.Clone(seed.polynomial), int32(1-n%2*2))
	}
	if m.dimensions > 0 {
		found.Seen = shapes[seed.shape-1].sizes
	}
	return found
}

// measure finds the distances of the neighbours of a switch from each other, and its shape.
func (m *mesh) measure(s int32) {
	node, links := &m.nodes[s], m.links[s]
	node.axes, node.back = make([]int, len(links)), make([]int, len(links))
	for i, l := range links {
		node.back[i] = slices.IndexFunc(m.links[l.to], func(b link) bool { return b.to == s })
	}
	if len(links) > maxDegree {
		return
	}
	node.distance = make([][]int32, len(links))
	for i := range links {
		node.distance[i] = m.distances(s, i)
	}
	node.polynomial = characteristic(node.distance)
	node.shape = 1 + slices.IndexFunc(shapes, func(k shape) bool { return slices.Equal(k.polynomial, node.polynomial) })
}

// distances are those of the neighbours of a switch from one of them, on ways past the switch. They
// use parent as the distance by switch.
func (m *mesh) distances(s int32, from int) []int32 {
	for i := range m.parent {
		m.parent[i] = unplaced
	}
	links := m.links[s]
	distance, missing := make([]int32, len(links)), len(links)-1
	m.parent[links[from].to] = 0
	m.queue = append(m.queue[:0], links[from].to)
	for i := 0; i < len(m.queue) && missing > 0; i++ {
		at := m.queue[i]
		for _, l := range m.links[at] {
			if l.to == s || m.parent[l.to] != unplaced {
				continue
			}
			m.parent[l.to] = m.parent[at] + 1
			m.queue = append(m.queue, l.to)
			if slices.ContainsFunc(links, func(o link) bool { return o.to == l.to }) {
				missing--
			}
		}
	}
	for i, l := range links {
		distance[i] = m.parent[l.to]
	}
	return distance
}

// classify finds classes, and the seed: the first switch of those that are the most. There are no
// dimensions if these are in no known shape.
func (m *mesh) classify() {
	for s := range m.nodes {
		node := &m.nodes[s]
		if node.edge || node.distance == nil {
			continue
		}
		i := slices.IndexFunc(m.classes, func(c class) bool {
			return slices.Equal(m.nodes[c.first].polynomial, node.polynomial)
		})
		if i < 0 {
			i = len(m.classes)
			m.classes = append(m.classes, class{first: s})
		}
		m.classes[i].count++
	}
	most := class{}
	for _, c := range m.classes {
		if c.count > most.count {
			most = c
		}
	}
	if most.count == 0 {
		return
	}
	m.seed = most.first
	if shape := m.nodes[m.seed].shape; shape > 0 {
		m.dimensions = len(shapes[shape-1].sizes)
	}
}

// place gives each switch the coordinates with the least magnitudes that a way along axes leads to.
func (m *mesh) place() {
	for s := range m.nodes {
		m.nodes[s].at = slices.Repeat([]int32{unplaced}, m.dimensions)
	}
	clear(m.nodes[m.seed].at)
	for changed := true; changed; {
		changed = false
		for s := range m.nodes {
			from := &m.nodes[s]
			if from.at[0] == unplaced {
				continue
			}
			for i, axis := range from.axes {
				if axis == 0 {
					continue
				}
				to := &m.nodes[m.links[s][i].to]
				for d, at := range from.at {
					if d == (axis-1)/2 {
						at += 1 - 2*int32((axis-1)%2)
					}
					if nearer(at, to.at[d]) {
						to.at[d], changed = at, true
					}
				}
			}
		}
	}
}

// nearer reports whether a coordinate has less magnitude than another; the positive one has if they are
// equal.
func nearer(a, b int32) bool {
	x, y := max(a, -a), max(b, -b)
	return x < y || x == y && a > b
}

// orderDimensions puts dimensions with more switches first.
func (m *mesh) orderDimensions() {
	m.size = make([]int32, m.dimensions)
	for d := range m.size {
		least, most := int32(unplaced), int32(-unplaced)
		for s := range m.nodes {
			if at := m.nodes[s].at[d]; at != unplaced {
				least, most = min(least, at), max(most, at)
			}
		}
		m.size[d] = most - least + 1
		m.order = append(m.order, d)
	}
	slices.SortStableFunc(m.order, func(a, b int) int { return int(m.size[b] - m.size[a]) })
}

// orderLinks puts the links of a switch in the order of dimensions: in each first those that lead away
// from the origin's side, which is a matter of the sign of its coordinate.
func (m *mesh) orderLinks(s int) {
	node, links := &m.nodes[s], m.links[s]
	ordered := make([]link, 0, len(links))
	taken := make([]bool, len(links))
	take := func(i int) {
		if !taken[i] {
			taken[i] = true
			ordered = append(ordered, links[i])
		}
	}
	for _, d := range m.order {
		for axis := 2*d + 1; axis <= 2*d+2; axis++ {
			along := axis
			if node.at[d] > 0 {
				along = m.opposite(s, axis)
			}
			for i := range links {
				if node.axes[i] == along {
					take(i)
				}
			}
		}
	}
	for i := range links {
		take(i)
	}
	m.links[s] = ordered
}

// renumber puts switches in the order of their coordinates.
func (m *mesh) renumber() {
	sorted := make([]int32, len(m.nodes))
	for s := range sorted {
		sorted[s] = int32(s)
	}
	mergeSort(sorted, func(a, b int32) int32 {
		for _, d := range m.order {
			if c := m.nodes[a].at[d] - m.nodes[b].at[d]; c != 0 { // wraps around where one is not placed
				return c
			}
		}
		return 0
	})
	links, order := m.links, slices.Clone(m.network.order)
	number := make([]int32, len(sorted))
	m.links = make([][]link, len(sorted))
	for i, s := range sorted {
		number[s], m.links[i], m.network.order[i] = int32(i), links[s], order[s]
	}
	for i, s := range m.network.order {
		m.number[s] = int32(i)
		for j := range m.links[i] {
			m.links[i][j].to = number[m.links[i][j].to]
		}
	}
}

// mergeSort is the C library's: with the differences of coordinates that are not known the order
// depends on which are compared.
func mergeSort(s []int32, compare func(a, b int32) int32) {
	if len(s) < 2 {
		return
	}
	a, b := slices.Clone(s[:len(s)/2]), slices.Clone(s[len(s)/2:])
	mergeSort(a, compare)
	mergeSort(b, compare)
	for i := range s {
		if len(b) == 0 || len(a) > 0 && compare(a[0], b[0]) <= 0 {
			s[i], a = a[0], a[1:]
		} else {
			s[i], b = b[0], b[1:]
		}
	}
}
