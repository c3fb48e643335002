package shape

import (
	"cmp"
	"errors"
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

// dimension is how the switches of a row are cabled that differ in one coordinate. A row of two is open and full, one
// of three can be a ring and full.
type dimension struct {
	size  int
	ring  bool    // the last has a link to the first
	full  bool    // each has a link to each
	step  int     // places from a coordinate to the next
	value []int32 // by switch: its coordinate, as far as links of other dimensions say it; None where they do not
}

// newProduct finds the dimensions of a fabric, or says why it has none.
func newProduct(f *fabric) (*product, error) {
	if len(f.ends) == 0 {
		return nil, errors.New("no cable connects two switches")
	}
	p, err := newLarge(f)
	if err == nil {
		return p, nil
	}
	if p := newSmall(f); p != nil {
		return p, nil
	}
	return nil, err
}

// newLarge finds the dimensions from squares and triangles.
func newLarge(f *fabric) (*product, error) {
	c := newClasses(f)
	if f.degree() > 2 && c.loose*2 > len(f.ends) {
		return nil, fmt.Errorf("%s of %s are in neither a square nor a triangle", number(c.loose), count(len(f.ends), "link"))
	}
	var first error
	var tried []*axes
	for _, straight := range [...]int{3, 8, 2, 5} {
		dim, dims := c.dimensions(straight)
		for _, share := range [...]int{4, 2, 1} {
			a := &axes{classes: c, dims: dims, dim: dim, firm: c.firm(dim, dims, share)}
			if slices.ContainsFunc(tried, a.equal) {
				continue
			}
			tried = append(tried, a)
			p, err := a.product()
			if err == nil {
				return p, nil
			}
			first = cmp.Or(first, err)
		}
	}
	return nil, first
}

// product gives switches coordinates.
func (a *axes) product() (*product, error) {
	if a.dims == 0 || a.dims > maxDims {
		return nil, errors.New("the squares of links do not give dimensions")
	}
	f := a.fabric
	p := &product{fabric: f, at: make([][]int32, f.len())}
	for d := range a.dims {
		p.dims = append(p.dims, a.measure(int32(d)))
	}
	slices.SortStableFunc(p.dims, func(a, b dimension) int { return cmp.Compare(a.size, b.size) })
	places := 1
	for d := range p.dims {
		dim := &p.dims[d]
		dim.step = places
		if dim.size < 2 {
			return nil, errors.New("links do not form rows")
		}
		if places *= dim.size; places > 2*f.len()+2 {
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
	if placed := p.placed(); placed*2 < f.len() {
		return nil, fmt.Errorf("%s of %s have no place in rows of %s", number(f.len()-placed), count(f.len(), "switch"),
			p.sizes())
	}
	p.close()
	p.complete()
	p.widen()
	p.close()
	p.compare()
	return p, p.refusal()
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
