package shape

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ibsm/topo"
)

// FindGrid finds the coordinates of a torus or mesh, or says why the switches are none. A ring of four is the same as
// two dimensions of two: dimensions of two are taken together to rings of four, as long as there are two of them and no
// row is open.
func FindGrid(t *topo.Topo) (*Grid, error) {
	p, err := newProduct(newFabric(t))
	if err != nil {
		return nil, fmt.Errorf("not a torus or mesh: %w", err)
	}
	g := p.grid()
	if g == nil {
		return nil, errors.New("not a torus or mesh: " + p.kinds())
	}
	return g, nil
}

// FindHyperX finds the coordinates of a HyperX or hypercube, or says why the switches are none.
func FindHyperX(t *topo.Topo) (*HyperX, error) {
	p, err := newProduct(newFabric(t))
	if err != nil {
		return nil, fmt.Errorf("not a HyperX: %w", err)
	}
	x := p.hyperX()
	if x == nil {
		return nil, errors.New("not a HyperX: " + p.kinds())
	}
	return x, nil
}

// kinds says how the rows of a product are cabled that is neither a grid nor a HyperX.
func (p *product) kinds() string {
	full := slices.IndexFunc(p.dims, func(d dimension) bool { return d.full && d.size > 3 })
	if full < 0 {
		return fmt.Sprintf("rows of %s are not cabled all to all", p.sizes())
	}
	return fmt.Sprintf("rows of %d are cabled all to all", p.dims[full].size)
}

// hyperX is nil if some row has switches without a cable between them.
func (p *product) hyperX() *HyperX {
	x := &HyperX{At: p.at}
	for _, dim := range p.dims {
		if !dim.full {
			return nil
		}
		x.Dims = append(x.Dims, dim.size)
	}
	return x
}

// grid is nil if some row is neither open nor a ring.
func (p *product) grid() *Grid {
	var alone, pairs []int // dimensions of more than two, and of two
	open := false
	for d, dim := range p.dims {
		switch {
		case dim.size == 2:
			pairs = append(pairs, d)
		case dim.full && dim.size > 3:
			return nil
		default:
			alone = append(alone, d)
			open = open || !dim.ring
		}
	}
	type line struct {
		size  int
		ring  bool
		value func(at []int32) int32
	}
	var lines []line
	for ; len(pairs) > 1 && !open; pairs = pairs[2:] {
		a, b := pairs[0], pairs[1]
		lines = append(lines, line{4, true, func(at []int32) int32 { return at[a] ^ at[b] | at[b]<<1 }})
	}
	for _, d := range slices.Concat(pairs, alone) {
		lines = append(lines, line{p.dims[d].size, p.dims[d].ring, func(at []int32) int32 { return at[d] }})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.size, b.size) })
	g := &Grid{At: make([][]int32, p.len())}
	for _, l := range lines {
		g.Dims, g.Ring = append(g.Dims, l.size), append(g.Ring, l.ring)
		for s, at := range p.at {
			if at != nil {
				g.At[s] = append(g.At[s], l.value(at))
			}
		}
	}
	return g
}

// name is the kind of a product and its sizes; KindIrregular if it has no name. What is both a torus and a HyperX is a
// hypercube if it has no rings of three, and a torus if it has.
func (p *product) name() (Kind, string) {
	g, x := p.grid(), p.hyperX()
	switch {
	case g == nil && x == nil:
		return KindIrregular, ""
	case x == nil:
		return g.name()
	case len(x.Dims) == 1 && x.Dims[0] > 2:
		return KindHyperX, "full mesh of " + count(x.Dims[0], "switch") + ", a HyperX of 1 dimension"
	case g == nil:
		return KindHyperX, "HyperX " + by(x.Dims)
	case slices.Contains(x.Dims, 3):
		return KindTorus, "torus " + by(g.Dims) + ", which is also the HyperX " + by(x.Dims)
	case len(x.Dims) == 1:
		return KindHypercube, "hypercube of 1 dimension"
	}
	return KindHypercube, fmt.Sprintf("hypercube of %d dimensions, which is also the torus %s", len(x.Dims), by(g.Dims))
}

// name is the kind of a grid and its sizes.
func (g *Grid) name() (Kind, string) {
	rings, open := 0, 0
	for d, size := range g.Dims {
		switch {
		case g.Ring[d]:
			rings++
		case size > 2:
			open++
		}
	}
	switch {
	case rings == 0:
		return KindMesh, "mesh " + by(g.Dims)
	case open > 0:
		return KindTorus, fmt.Sprintf("torus %s, open along %s", by(g.Dims), count(open, "dimension"))
	}
	return KindTorus, "torus " + by(g.Dims)
}

// by writes sizes, such as 4x4x2.
func by(sizes []int) string {
	texts := make([]string, len(sizes))
	for i, size := range sizes {
		texts[i] = strconv.Itoa(size)
	}
	return strings.Join(texts, "x")
}

// damage says what is missing of a product, and what does not belong to it.
func (p *product) damage() (text string) {
	add := func(n int, format string, args ...any) {
		if n > 0 {
			text += "; " + fmt.Sprintf(format, args...)
		}
	}
	add(p.holes, "%s of %s %s missing", number(p.holes), count(len(p.slot), "switch"), verb(p.holes, "is", "are"))
	if most(p.wires) == 1 {
		add(p.missing, "%s of %s between switches %s missing", number(p.missing), count(p.whole, "cable"),
			verb(p.missing, "is", "are"))
	} else {
		add(p.missing, "%s of %s of next switches %s no cable", number(p.missing), count(p.whole, "pair"),
			verb(p.missing, "has", "have"))
	}
	add(p.foreign, "%s %s not belong to it", count(p.foreign, "cable"), verb(p.foreign, "does", "do"))
	add(p.without, "%s %s no place in it", count(p.without, "switch"), verb(p.without, "has", "have"))
	return text
}

// most is the most common of some numbers, the greatest of several.
func most(of []int32) (value int32) {
	sorted := slices.Sorted(slices.Values(of))
	best := 0
	for from := 0; from < len(sorted); {
		to, _ := slices.BinarySearchFunc(sorted, sorted[from]+1, cmp.Compare)
		if to-from >= best {
			best, value = to-from, sorted[from]
		}
		from = to
	}
	return value
}
