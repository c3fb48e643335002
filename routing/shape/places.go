package shape

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"ibsm/topo"
)

// next reports whether a row has a link between two coordinates.
func (d dimension) next(a, b int) bool {
	apart := max(a-b, b-a)
	return apart == 1 || apart > 0 && d.full || apart == d.size-1 && d.ring
}

// beside are the coordinates to which a row has links from one.
func (d dimension) beside(a int) iter.Seq[int] {
	return func(yield func(int) bool) {
		from, to := max(0, a-1), min(a+1, d.size-1)
		if d.full || d.ring && (a == 0 || a == d.size-1) {
			from, to = 0, d.size-1
		}
		for b := from; b <= to; b++ {
			if d.next(a, b) && !yield(b) {
				return
			}
		}
	}
}

// links is how many a whole row has.
func (d dimension) links() int {
	switch {
	case d.full:
		return d.size * (d.size - 1) / 2
	case d.ring:
		return d.size
	}
	return d.size - 1
}

// sizes are those of the dimensions, such as 4x4x2.
func (p *product) sizes() string {
	sizes := make([]int, len(p.dims))
	for d := range p.dims {
		sizes[d] = p.dims[d].size
	}
	return by(sizes)
}

// close finds how rows are cabled: as most of those are of which the switches have places.
func (p *product) close() {
	// by dimension: links in a row between switches that are neither next to each other nor its ends
	chords := make([]int, len(p.dims))
	for _, ends := range p.ends {
		if d, apart := p.along(ends); d != topo.None && apart > 1 && apart < p.dims[d].size-1 {
			chords[d]++
		}
	}
	for d := range p.dims {
		dim := &p.dims[d]
		rows, closed, open := len(p.slot)/dim.size, 0, 0
		for place, first := range p.slot {
			if first == topo.None || place/dim.step%dim.size != 0 {
				continue
			}
			if last := p.slot[place+(dim.size-1)*dim.step]; last == topo.None {
				continue
			} else if p.link(first, last) != topo.None {
				closed++
			} else {
				open++
			}
		}
		dim.ring = dim.size > 2 && closed > 0 && closed >= open
		switch {
		case dim.size < 4:
			dim.full = dim.size == 2 || dim.ring
		case chords[d]*4 > rows*dim.size*(dim.size-3):
			dim.ring, dim.full = false, true
		}
	}
}

// along is the dimension in which alone the places of two switches are apart, and how far.
func (p *product) along(ends [2]topo.SwitchIdx) (dim, apart int) {
	a, z := p.at[ends[0]], p.at[ends[1]]
	dim = topo.None
	for d := range a {
		switch {
		case z == nil || a[d] != z[d] && dim != topo.None:
			return topo.None, 0
		case a[d] != z[d]:
			dim, apart = d, int(max(a[d]-z[d], z[d]-a[d]))
		}
	}
	return dim, apart
}

// around are the places that have a link to one.
func (p *product) around(place int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, dim := range p.dims {
			here := place / dim.step % dim.size
			for there := range dim.beside(here) {
				if !yield(place + (there-here)*dim.step) {
					return
				}
			}
		}
	}
}

// complete gives switches without a place the one, of those that are free, next to the most of the switches to which
// they are cabled. Where several are, it waits for others to get a place, which may leave one of them, and then takes
// the first for a few.
func (p *product) complete() {
	votes := make([]int, len(p.slot))
	for few := 2 + p.len()/50; few > 0; few-- {
		for p.settle(votes, false) {
		}
		if !p.settle(votes, true) {
			return
		}
	}
}

// settle gives places to all switches that have one best, or to the first that has several. It reports whether there
// was one.
func (p *product) settle(votes []int, ties bool) (placed bool) {
	for s := range topo.SwitchIdx(p.len()) {
		if p.at[s] != nil {
			continue
		}
		place, others := p.elect(s, votes)
		if place == topo.None || others > 0 && !ties {
			continue
		}
		p.put(s, place)
		if placed = true; ties {
			return true
		}
	}
	return placed
}

// widen looks for places beyond the ends of open rows, for switches that have none yet.
func (p *product) widen() {
	for before := -1; p.placed() != before; {
		before = p.placed()
		low, size, places := make([]int, len(p.dims)), make([]int, len(p.dims)), 1
		for d, dim := range p.dims {
			if size[d] = dim.size; !dim.ring && (!dim.full || dim.size == 2) {
				low[d], size[d] = -1, dim.size+2
			}
			places = min(places*size[d], maxPlaces)
		}
		if before == 0 || before == p.len() || places == maxPlaces {
			return
		}
		p.cut(low, size)
		p.complete()
		p.trim(low, size)
		for d := range p.dims {
			low[d], size[d] = size[d], 0
			for _, at := range p.at {
				if at != nil {
					low[d], size[d] = min(low[d], int(at[d])), max(size[d], int(at[d]))
				}
			}
			size[d] -= low[d] - 1
		}
		p.cut(low, size)
		p.close()
		p.complete()
	}
}

// trim takes their places from the switches beyond the former ends of rows, where less than half of the places have
// one.
func (p *product) trim(low, size []int) {
	for d, dim := range p.dims {
		if low[d] == 0 {
			continue
		}
		for _, end := range [2]int{0, size[d] - 1} {
			var at []topo.SwitchIdx
			for place, s := range p.slot {
				if s != topo.None && place/dim.step%dim.size == end {
					at = append(at, s)
				}
			}
			inner := 1
			for other := range p.dims {
				if other != d {
					inner *= size[other] + 2*low[other]
				}
			}
			if len(at)*2 < inner {
				for _, s := range at {
					p.slot[p.place(s)], p.at[s] = topo.None, nil
				}
			}
		}
	}
}

// maxPlaces is how many places a product may have for a time: more than any subnet has switches.
const maxPlaces = 1 << 20

// placed is the number of switches that have a place.
func (p *product) placed() (count int) {
	for _, at := range p.at {
		if at != nil {
			count++
		}
	}
	return count
}

// cut gives dimensions other sizes. low are the coordinates that become 0.
func (p *product) cut(low, size []int) {
	places := 1
	for d := range p.dims {
		p.dims[d].size, p.dims[d].step = size[d], places
		places *= size[d]
	}
	p.slot = slices.Repeat([]topo.SwitchIdx{topo.None}, places)
	for s, at := range p.at {
		if at == nil {
			continue
		}
		for d := range at {
			at[d] -= int32(low[d])
		}
		p.slot[p.place(topo.SwitchIdx(s))] = topo.SwitchIdx(s)
	}
}

// elect is the free place next to the most switches to which one is cabled, and how many other places are as good.
// votes has only zeros, before and after.
func (p *product) elect(s topo.SwitchIdx, votes []int) (best, ties int) {
	var free []int
	for _, r := range p.next[s] {
		if p.at[r] == nil {
			continue
		}
		for place := range p.around(p.place(r)) {
			if p.slot[place] == topo.None {
				if votes[place] == 0 {
					free = append(free, place)
				}
				votes[place]++
			}
		}
	}
	best = topo.None
	slices.Sort(free)
	for _, place := range free {
		switch {
		case best == topo.None || votes[place] > votes[best]:
			best, ties = place, 0
		case votes[place] == votes[best]:
			ties++
		}
	}
	for _, place := range free {
		votes[place] = 0
	}
	return best, ties
}

// links is the number that a whole product has.
func (p *product) links() (sum int) {
	for _, dim := range p.dims {
		sum += len(p.slot) / dim.size * dim.links()
	}
	return sum
}

// compare counts what is not as in a whole product.
func (p *product) compare() {
	p.whole = p.links()
	for place, s := range p.slot {
		if s == topo.None {
			p.holes++
			continue
		}
		for other := range p.around(place) {
			if r := p.slot[other]; other > place && r != topo.None && p.link(s, r) == topo.None {
				p.missing++
			}
		}
	}
	p.without = p.len() - (len(p.slot) - p.holes)
	for _, ends := range p.ends {
		a, z := p.at[ends[0]], p.at[ends[1]]
		if a == nil || z == nil {
			continue
		}
		if d, _ := p.along(ends); d == topo.None || !p.dims[d].next(int(a[d]), int(z[d])) {
			p.foreign++
		}
	}
}

// refusal says why the fabric is not the product, if it differs too much. A full mesh must be nearly whole: in a random
// graph of so many links that each switch is cabled to most others few are missing, too. So must what has few switches.
func (p *product) refusal() error {
	switch {
	case slices.ContainsFunc(p.dims, func(d dimension) bool { return d.size < 2 }):
		return errors.New("links do not form rows")
	case len(p.dims) == 1 && (p.foreign > 0 || p.missing*20 > p.whole):
		return errors.New("the switches are neither a ring nor a full mesh")
	case p.without*20 > p.len():
		return fmt.Errorf("%s of %s have no place in rows of %s", number(p.without), count(p.len(), "switch"),
			p.sizes())
	case p.holes > max(1, len(p.slot)/20):
		return fmt.Errorf("rows of %s have %s without a switch", p.sizes(), count(p.holes, "place"))
	case p.foreign*50 > len(p.ends):
		return fmt.Errorf("%s of %s do not lead along rows of %s", number(p.foreign), count(len(p.ends), "link"),
			p.sizes())
	case p.missing*10 > p.whole || p.len() < 16 && p.holes > 0 && p.missing > 1:
		return fmt.Errorf("%s of %s along rows of %s are missing", number(p.missing), count(p.whole, "link"), p.sizes())
	}
	return nil
}
