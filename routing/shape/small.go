package shape

import (
	"cmp"
	"math/bits"
	"slices"

	"ibsm/topo"
)

// In a small torus or mesh most squares are lost where a few cables or a switch are missing. There are few sizes that
// so few switches can have, so all are tried.

// maxTried is the number of switches up to which all sizes are tried, and maxSteps how many places are tried for the
// switches in one.
const maxTried, maxSteps = 40, 20000

// newSmall is the torus or mesh with the fewest links that has all those of a fabric, with one place at most without a
// switch; nil if there is none. Of several it is the one in which fewer are missing between switches.
func newSmall(f *fabric) *product {
	if f.len() > maxTried || f.parts > 1 {
		return nil
	}
	var models []*product
	for places := f.len(); places <= f.len()+1; places++ {
		for _, dims := range grids(places, dimension{size: 2, full: true}) {
			p := &product{fabric: f, dims: dims, at: make([][]int32, f.len()),
				slot: slices.Repeat([]topo.SwitchIdx{topo.None}, places)}
			for d, step := 0, 1; d < len(dims); d++ {
				dims[d].step = step
				step *= dims[d].size
			}
			p.whole = p.links()
			if p.whole >= len(f.ends) {
				models = append(models, p)
			}
		}
	}
	slices.SortStableFunc(models, func(a, b *product) int { return cmp.Compare(a.whole, b.whole) })
	var best *product
	for _, p := range models {
		if best != nil && p.whole > best.whole {
			break
		}
		for may := 0; may*10 <= p.whole && (best == nil || may < best.missing); may++ {
			if !newFitter(p, may).fit(0) {
				continue
			}
			if p.compare(); p.refusal() == nil {
				best = p
			}
			break
		}
	}
	return best
}

// grids are all dimensions of so many places, each as great as least or greater. A ring of four is left out: it is the
// same as two dimensions of two.
func grids(places int, least dimension) (found [][]dimension) {
	if places == 1 {
		return [][]dimension{nil}
	}
	for size := least.size; size <= places; size++ {
		if places%size != 0 {
			continue
		}
		forms := []dimension{{size: size, full: size == 2}}
		if size == 3 || size > 4 {
			forms = append(forms, dimension{size: size, ring: true, full: size == 3})
		}
		for _, form := range forms {
			if size == least.size && least.ring && !form.ring {
				continue
			}
			for _, rest := range grids(places/size, form) {
				found = append(found, append([]dimension{form}, rest...))
			}
		}
	}
	return found
}

// fitter tries places for switches.
type fitter struct {
	*product
	order   []topo.SwitchIdx // each has a link to one before it
	next    []uint64         // by place: those that have a link to it, as bits
	used    uint64           // places with a switch
	place   []int            // by switch
	missing int              // links between switches in their places
	may     int              // be missing at most
	steps   int
}

func newFitter(p *product, may int) *fitter {
	f := &fitter{product: p, may: may, next: make([]uint64, len(p.slot)),
		place: slices.Repeat([]int{topo.None}, p.len())}
	for place := range p.slot {
		for other := range p.around(place) {
			f.next[place] |= 1 << other
		}
	}
	before := make([]int, p.len()) // links to switches that are in the order
	for range p.len() {
		best := topo.None
		for s := range before {
			switch {
			case before[s] < 0:
			case best == topo.None || before[s] > before[best],
				before[s] == before[best] && len(p.fabric.next[s]) > len(p.fabric.next[best]):
				best = s
			}
		}
		before[best] = -1
		f.order = append(f.order, topo.SwitchIdx(best))
		for _, r := range p.fabric.next[best] {
			if before[r] >= 0 {
				before[r]++
			}
		}
	}
	return f
}

// fit finds places for the switches of the order from one on, so that each link leads to a place next to it.
func (f *fitter) fit(from int) bool {
	if from == len(f.order) {
		for s, place := range f.place {
			f.put(topo.SwitchIdx(s), place)
		}
		return true
	}
	s := f.order[from]
	free, links := (uint64(1)<<len(f.slot)-1)&^f.used, 0
	for _, r := range f.fabric.next[s] {
		if place := f.place[r]; place != topo.None {
			free &= f.next[place]
			links++
		}
	}
	for ; free != 0; free &= free - 1 {
		place := bits.TrailingZeros64(free)
		missing := bits.OnesCount64(f.next[place]&f.used) - links
		if f.steps++; f.steps > maxSteps {
			return false
		}
		if f.missing+missing > f.may {
			continue
		}
		f.place[s], f.used, f.missing = place, f.used|1<<place, f.missing+missing
		if f.fit(from + 1) {
			return true
		}
		f.place[s], f.used, f.missing = topo.None, f.used&^(1<<place), f.missing-missing
	}
	return false
}
