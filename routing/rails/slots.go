package rails

import (
	"cmp"
	"slices"

	"ibsm/disjoint"
	"ibsm/topo"
)

// slot is what the rail of a leaf is: mostly a leaf has one. Where hosts have several adapters on one leaf each of them
// has a slot.
type slot struct {
	unit  int32
	leaf  topo.SwitchIdx
	ports int // of the place that has most
	place int32
}

// pair is two places that a host has.
type pair struct{ a, b int32 }

// findSlots gives the places of each unit a slot on their leaf. Places of one host do not share one; those of hosts
// whose adapters have other names do.
func (f *finder) findSlots() {
	count, together := map[spot]int{}, map[spot]map[int32]bool{} // places of one host with one leaf
	for i := range f.hosts {
		h := &f.hosts[i]
		if h.unit == topo.None {
			continue
		}
		for _, p := range h.ports {
			count[spot{h.unit, p.place}]++
			home, is := f.home(h, p)
			for _, q := range h.ports {
				if other, too := f.home(h, q); is && too && other == home && q.place != p.place {
					at := spot{h.unit, p.place}
					if together[at] == nil {
						together[at] = map[int32]bool{}
					}
					together[at][q.place] = true
				}
			}
		}
	}
	var spots []spot
	for at := range f.homes {
		spots = append(spots, at)
	}
	slices.SortFunc(spots, func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.unit, b.unit), cmp.Compare(f.homes[a], f.homes[b]), cmp.Compare(count[b], count[a]),
			cmp.Compare(a.place, b.place))
	})
	f.slotAt = map[spot]int32{}
	first := 0
	for i, at := range spots {
		if i > 0 && (spots[i-1].unit != at.unit || f.homes[spots[i-1]] != f.homes[at]) {
			first = len(f.slots)
		}
		f.slotAt[at] = f.takeSlot(at, first, together[at], count[at])
	}
}

// takeSlot is the first slot of a leaf that no place has which a host has together with another; a new one if there is
// none.
func (f *finder) takeSlot(at spot, first int, together map[int32]bool, count int) int32 {
	taken := map[int32]bool{}
	for place := range together {
		if s, is := f.slotAt[spot{at.unit, place}]; is {
			taken[s] = true
		}
	}
	for s := first; s < len(f.slots); s++ {
		if !taken[int32(s)] {
			return int32(s)
		}
	}
	f.slots = append(f.slots, slot{at.unit, f.homes[at], count, at.place})
	return int32(len(f.slots) - 1)
}

// findRails makes rails of slots: those whose places have one name, and where the adapters of other hosts have other
// names, as mlx5_0 and HCA-1, by their order.
func (f *finder) findRails() {
	ports := map[int32]int{} // by place of slots
	for _, s := range f.slots {
		ports[s.place] += s.ports
	}
	of, order := f.families(ports)
	at := map[int32]int32{}
	for _, root := range order {
		for i, place := range of[root] {
			at[place] = int32(i)
		}
	}
	f.rail = make([]int32, len(f.slots))
	for i, s := range f.slots {
		f.rail[i] = at[s.place]
	}
}

// sameRail is how many slots have the rail of another in the same unit.
func (f *finder) sameRail() (count int) {
	type at struct{ unit, rail int32 }
	taken := map[at]bool{}
	for i, s := range f.slots {
		a := at{s.unit, f.rail[i]}
		if taken[a] {
			count++
		}
		taken[a] = true
	}
	return count
}

// families are the places of slots that hosts have together, in natural order, and the families by size.
func (f *finder) families(ports map[int32]int) (of map[int32][]int32, order []int32) {
	pairs := map[pair]int{}
	for i := range f.hosts {
		var places []int32
		for _, p := range f.hosts[i].ports {
			if ports[p.place] > 0 && f.hosts[i].unit != topo.None {
				places = append(places, p.place)
			}
		}
		for k := 1; k < len(places); k++ { // one after the other is enough: they are sorted
			pairs[pair{places[k-1], places[k]}]++
		}
	}
	joined := disjoint.New(len(f.places))
	for p, n := range pairs {
		if 4*n >= min(ports[p.a], ports[p.b]) { // not where few hosts mix names
			joined.Join(p.a, p.b)
		}
	}
	of = map[int32][]int32{}
	for place := range int32(len(f.places)) {
		if ports[place] > 0 {
			root := joined.Of(place)
			of[root] = append(of[root], place)
		}
	}
	for root := range of {
		order = append(order, root)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(len(of[b]), len(of[a])), cmp.Compare(a, b))
	})
	return of, order
}
