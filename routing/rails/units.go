package rails

import (
	"cmp"
	"encoding/binary"
	"slices"

	"ibsm/disjoint"
	"ibsm/topo"
)

// leaves are those that a host is on, ascending.
func (h *host) leaves() (all []topo.SwitchIdx) {
	for _, p := range h.ports {
		all = append(all, p.leaf)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// leafSet is leaves that hosts are on.
type leafSet struct {
	leaves []topo.SwitchIdx
	hosts  int
}

// findUnits makes units of leaves: a leaf is in one with those that at least half of its hosts on several leaves are
// on, if these are two hosts or more.
func (f *finder) findUnits() {
	sets, index := []leafSet(nil), map[string]int{}
	hosts, best := make([]int, len(f.topo.Switches)), slices.Repeat([]int{topo.None}, len(f.topo.Switches))
	for i := range f.hosts {
		leaves := f.hosts[i].leaves()
		if len(leaves) < 2 {
			continue
		}
		f.spread += len(f.hosts[i].ports)
		var key []byte
		for _, l := range leaves {
			key = binary.BigEndian.AppendUint32(key, uint32(l))
			hosts[l]++
		}
		at, is := index[string(key)]
		if !is {
			at = len(sets)
			index[string(key)], sets = at, append(sets, leafSet{leaves: leaves})
		}
		sets[at].hosts++
	}
	for i := range sets {
		for _, l := range sets[i].leaves {
			if b := best[l]; b == topo.None ||
				cmp.Or(cmp.Compare(sets[i].hosts, sets[b].hosts),
					cmp.Compare(len(sets[i].leaves), len(sets[b].leaves))) > 0 {
				best[l] = i
			}
		}
	}
	joined := disjoint.New(len(f.topo.Switches))
	for l, b := range best {
		if b != topo.None && sets[b].hosts > 1 && 2*sets[b].hosts >= hosts[l] {
			for _, o := range sets[b].leaves {
				joined.Join(int32(l), int32(o))
			}
		}
	}
	f.numberUnits(joined)
}

func (f *finder) numberUnits(joined disjoint.Sets) {
	size, number := make([]int, len(joined)), slices.Repeat([]int32{topo.None}, len(joined))
	for l := range joined {
		size[joined.Of(int32(l))]++
	}
	f.unit = make([]int32, len(joined))
	for l := range joined {
		root := joined.Of(int32(l))
		if size[root] > 1 && number[root] == topo.None {
			number[root] = int32(f.units)
			f.units++
		}
		f.unit[l] = number[root]
	}
}

// orderUnits puts the units in the order of the names of their middle hosts, which a few hosts with odd names do not
// decide.
func (f *finder) orderUnits() {
	names, middle, order := make([][]string, f.units), make([]string, f.units), make([]int32, f.units)
	for u := range order {
		order[u] = int32(u)
	}
	for i := range f.hosts {
		h := &f.hosts[i]
		if h.unit = f.unitOf(h); h.unit != topo.None {
			names[h.unit] = append(names[h.unit], h.name)
		}
	}
	for u := range names {
		if slices.SortFunc(names[u], natural); len(names[u]) > 0 {
			middle[u] = names[u][len(names[u])/2]
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return natural(middle[a], middle[b]) })
	place := make([]int32, f.units)
	for at, u := range order {
		place[u] = int32(at)
	}
	for l, u := range f.unit {
		if u != topo.None {
			f.unit[l] = place[u]
		}
	}
	for i := range f.hosts {
		if u := f.hosts[i].unit; u != topo.None {
			f.hosts[i].unit = place[u]
		}
	}
}

// dropSmall takes hosts from their units that have at most half as many ports as most of the unit: they are of another
// kind, and their places mean nothing to the others.
func (f *finder) dropSmall() {
	hosts, usual := make([][mostPorts + 1]int, f.units), make([]int, f.units)
	for i := range f.hosts {
		if h := &f.hosts[i]; h.unit != topo.None {
			of, n := &hosts[h.unit], len(h.ports)
			if of[n]++; cmp.Or(cmp.Compare(of[n], of[usual[h.unit]]), cmp.Compare(n, usual[h.unit])) >= 0 {
				usual[h.unit] = n
			}
		}
	}
	for i := range f.hosts {
		if h := &f.hosts[i]; h.unit != topo.None && 2*len(h.ports) <= usual[h.unit] {
			h.unit = topo.None
			f.spread -= len(h.ports)
		}
	}
}

// findHomes finds the leaf of each place in a unit: that of more than half of the ports.
func (f *finder) findHomes() {
	type vote struct {
		spot
		leaf topo.SwitchIdx
	}
	votes, total := map[vote]int{}, map[spot]int{}
	for i := range f.hosts {
		h := &f.hosts[i]
		if h.unit == topo.None {
			continue
		}
		for _, p := range h.ports {
			at := spot{h.unit, p.place}
			votes[vote{at, p.leaf}]++
			total[at]++
		}
	}
	f.homes = map[spot]topo.SwitchIdx{}
	for v, n := range votes {
		if 2*n > total[v.spot] && f.unit[v.leaf] == v.unit {
			f.homes[v.spot] = v.leaf
		}
	}
	for i := range f.hosts {
		for _, p := range f.hosts[i].ports {
			if home, is := f.home(&f.hosts[i], p); is && home == p.leaf {
				f.right++
			}
		}
	}
}

// unitOf is the unit that more leaves of a host with several are in than of any other; None for none.
func (f *finder) unitOf(h *host) int32 {
	leaves := h.leaves()
	if len(leaves) < 2 {
		return topo.None
	}
	var units []int32
	for _, l := range leaves {
		if u := f.unit[l]; u != topo.None {
			units = append(units, u)
		}
	}
	slices.Sort(units)
	of, most, others := int32(topo.None), 0, 0
	for i := 0; i < len(units); {
		end := i
		for end < len(units) && units[end] == units[i] {
			end++
		}
		if n := end - i; n > most {
			of, most, others = units[i], n, most
		} else {
			others = max(others, n)
		}
		i = end
	}
	if others == most {
		return topo.None
	}
	return of
}

// home is the leaf where a port of a host belongs, if that is known.
func (f *finder) home(h *host, p port) (leaf topo.SwitchIdx, is bool) {
	if h.unit == topo.None {
		return topo.None, false
	}
	leaf, is = f.homes[spot{h.unit, p.place}]
	return leaf, is
}
