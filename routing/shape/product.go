package shape

import (
	"cmp"
	"fmt"
	"slices"

	"ibsm/topo"
)

// product is the switches of a fabric in dimensions.
type product struct {
	*fabric
	dims []dimension
	at   [][]int32        // by switch: its coordinates; nil for one that has no place
	slot []topo.SwitchIdx // by place: the switch there, None for none
	// What is not as it should be:
	without int // switches without a place
	holes   int // places without a switch
	whole   int // links that a whole product has
	missing int // links between two switches in their places
	foreign int // links that a product does not have, between two switches in their places
}

// dimension is how the switches of a row are cabled that differ in one coordinate. A row of two is open and full, one of three can be
// a ring and full.
type dimension struct {
	size  int
	ring  bool    // the last has a link to the first
	full  bool    // each has a link to each
	step  int     // places from a coordinate to the next
	value []int32 // by switch: its coordinate, as far as links of other dimensions say it; None where they do not
}

// newProduct finds the dimensions of a fabric, or says why it has none.
func newProduct(f *fabric) (p *product, err error) {
	c := newClasses(f)
	if f.degree() > 2 && c.loose*2 > len(f.ends) {
		return nil, fmt.Errorf("%s of %s are in no square and no triangle", number(c.loose), count(len(f.ends), "link"))
	}
	groups := c.dimensions()
	if len(groups) == 0 || len(groups) > maxDims {
		return nil, fmt.Errorf("links lead along %d dimensions", len(groups))
	}
	for _, share := range [...]int{4, 2, 1} {
		if p, err = c.product(groups, c.firm(groups, share)); err == nil {
			break
		}
	}
	return p, err
}

// product gives switches coordinates.
func (c *classes) product(groups [][]int32, firm []bool) (*product, error) {
	f := c.fabric
	p := &product{fabric: f, at: make([][]int32, f.len())}
	a := &axes{classes: c, dim: slices.Repeat([]int32{topo.None}, len(c.links)), firm: firm}
	for d, group := range groups {
		for _, class := range group {
			a.dim[class] = int32(d)
		}
	}
	for d := range groups {
		p.dims = append(p.dims, a.measure(int32(d)))
	}
	slices.SortStableFunc(p.dims, func(a, b dimension) int { return cmp.Compare(a.size, b.size) })
	places := 1
	for d := range p.dims {
		dim := &p.dims[d]
		dim.step = places
		if places *= dim.size; dim.size < 2 || places > 2*f.len()+2 {
			return nil, fmt.Errorf("rows of %s do not fit %s", p.sizes(), count(f.len(), "switch"))
		}
	}
	p.slot = slices.Repeat([]topo.SwitchIdx{topo.None}, places)
	for s := range topo.SwitchIdx(f.len()) {
		place := 0
		for _, dim := range p.dims {
			if place += int(dim.value[s]) * dim.step; dim.value[s] == topo.None {
				place = len(p.slot)
			}
		}
		if place < len(p.slot) && p.slot[place] == topo.None {
			p.put(s, place)
		}
	}
	for range 2 { // what has a place then may show that rows are rings
		p.close()
		p.complete()
	}
	p.compare()
	return p, p.refusal()
}

// axes is along which dimension links lead.
type axes struct {
	*classes
	dim  []int32 // by class: its dimension, None for none
	firm []bool  // by class: there is no doubt of it
}

// measure finds a whole row of a dimension, and gives each switch the coordinate of the switch of that row to which links of other dimensions
// lead; None where they lead to none.
func (a *axes) measure(d int32) (dim dimension) {
	rows, layers := newSets(a.len()), newSets(a.len())
	for link, ends := range a.ends {
		switch class := a.of[link]; {
		case a.dim[class] == d:
			rows.join(int32(ends[0]), int32(ends[1]))
		case a.dim[class] != topo.None && a.firm[class]:
			layers.join(int32(ends[0]), int32(ends[1]))
		}
	}
	sizes := make([]int, a.len()) // of layers, by the switch that stands for them
	for s := range sizes {
		sizes[layers.of(int32(s))]++
	}
	var lines [][]int32
	covered := make([]int, a.len()+1) // by size of a row: switches in such rows
	for _, row := range rows.lists() {
		if row = a.line(d, row); len(row) > 1 && distinct(row, layers) {
			lines = append(lines, row)
			covered[len(row)] += len(row)
		}
	}
	for size := range covered {
		if covered[size] >= covered[dim.size] {
			dim.size = size
		}
	}
	weight := func(row []int32) (sum int) {
		for _, s := range row {
			sum += sizes[layers.of(s)]
		}
		return sum
	}
	dim.value = slices.Repeat([]int32{topo.None}, a.len())
	lines = slices.DeleteFunc(lines, func(row []int32) bool { return len(row) != dim.size })
	if len(lines) == 0 {
		return dimension{}
	}
	best := slices.MaxFunc(lines, func(p, q []int32) int { return cmp.Compare(weight(p), weight(q)) })
	coordinate := slices.Repeat([]int32{topo.None}, a.len()) // by the switch that stands for a layer
	for i, s := range best {
		coordinate[layers.of(s)] = int32(i)
	}
	for s := range dim.value {
		dim.value[s] = coordinate[layers.of(int32(s))]
	}
	return dim
}

// distinct reports whether no two of some switches are in one layer.
func distinct(switches []int32, layers sets) bool {
	seen := map[int32]bool{}
	for _, s := range switches {
		if of := layers.of(s); seen[of] {
			return false
		} else {
			seen[of] = true
		}
	}
	return true
}

// line is a row in order: from an end of it, or round it. A row in which a switch has three links or more has no order, unless
// they are of one class. nil is for what is no row.
func (a *axes) line(d int32, row []int32) []int32 {
	along := func(s int32) (peers []topo.SwitchIdx, full bool) {
		for i, link := range a.fabric.links[s] {
			if class := a.of[link]; a.dim[class] == d {
				peers = append(peers, a.next[s][i])
				full = full || a.row[class]
			}
		}
		return peers, full
	}
	start := row[0]
	for _, s := range row {
		switch peers, full := along(s); {
		case full:
			return row
		case len(peers) > 2:
			return nil
		case len(peers) == 1:
			start = s
		}
	}
	ordered := []int32{start}
	for last, s := int32(topo.None), start; len(ordered) < len(row); {
		peers, _ := along(s)
		i := slices.IndexFunc(peers, func(r topo.SwitchIdx) bool { return int32(r) != last })
		last, s = s, int32(peers[i])
		ordered = append(ordered, s)
	}
	return ordered
}

// put gives a switch its place.
func (p *product) put(s topo.SwitchIdx, place int) {
	p.slot[place] = s
	p.at[s] = make([]int32, len(p.dims))
	for d, dim := range p.dims {
		p.at[s][d] = int32(place / dim.step % dim.size)
	}
}

// place is where a switch is.
func (p *product) place(s topo.SwitchIdx) (place int) {
	for d, dim := range p.dims {
		place += int(p.at[s][d]) * dim.step
	}
	return place
}
