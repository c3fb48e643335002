package shape

import (
	"maps"
	"slices"

	"ibsm/disjoint"
	"ibsm/topo"
)

// axes is along which dimension links lead.
type axes struct {
	*classes
	dims int
	dim  []int32 // by class: its dimension, None for none
	firm []bool  // by class: it is certain
}

func (a *axes) equal(o *axes) bool { return slices.Equal(a.dim, o.dim) && slices.Equal(a.firm, o.firm) }

// measure finds the coordinates of a dimension. A layer is switches that links of other dimensions connect, so they
// have one coordinate. The layers of a row are numbered in its order, and then those next to them.
func (a *axes) measure(d int32) (dim dimension) {
	rows, layers := disjoint.New(a.len()), disjoint.New(a.len())
	along := make([][]topo.SwitchIdx, a.len()) // by switch: those to which links of the dimension lead
	full := false
	for link, ends := range a.ends {
		switch class := a.of[link]; {
		case a.dim[class] == d:
			rows.Join(int32(ends[0]), int32(ends[1]))
			along[ends[0]], along[ends[1]] = append(along[ends[0]], ends[1]), append(along[ends[1]], ends[0])
			full = full || a.row[class]
		case a.dim[class] != topo.None && a.firm[class]:
			layers.Join(int32(ends[0]), int32(ends[1]))
		}
	}
	sizes := make([]int, a.len()) // of layers, by the switch that stands for them
	for s := range sizes {
		sizes[layers.Of(int32(s))]++
	}
	var best []int32 // row with the greatest layers
	most := 0
	for _, row := range rows.Lists() {
		if !full {
			row = line(along, row)
		}
		weight := 0
		for _, s := range row {
			weight += sizes[layers.Of(s)]
		}
		if len(row) > 1 && weight > most && distinct(row, layers) {
			best, most = row, weight
		}
	}
	values := map[int32]int32{} // by the switch that stands for a layer
	for i, s := range best {
		values[layers.Of(s)] = int32(i)
	}
	if !full {
		spread(along, layers, values, len(best))
	}
	return newDimension(layers, values)
}

// newDimension is a dimension in which layers have values. Layers at an end with hardly any switches, which do not
// belong there, lose theirs.
func newDimension(layers disjoint.Sets, values map[int32]int32) (dim dimension) {
	count := map[int32]int{} // switches with a value
	dim.value = slices.Repeat([]int32{topo.None}, len(layers))
	for s := range dim.value {
		if value, ok := values[layers.Of(int32(s))]; ok {
			count[value]++
		}
	}
	few := func(value int32) bool { return count[value]*3*len(count) < len(layers) }
	for len(count) > 0 && (few(lowest(count)) || few(highest(count))) {
		if few(lowest(count)) {
			delete(count, lowest(count))
		} else {
			delete(count, highest(count))
		}
	}
	if len(count) == 0 {
		return dim
	}
	low, high := lowest(count), highest(count)
	dim.size = int(high-low) + 1
	for s := range dim.value {
		if value, ok := values[layers.Of(int32(s))]; ok && value >= low && value <= high {
			dim.value[s] = value - low
		}
	}
	return dim
}

func lowest(count map[int32]int) int32 { return slices.Min(slices.Collect(maps.Keys(count))) }

func highest(count map[int32]int) int32 { return slices.Max(slices.Collect(maps.Keys(count))) }

// choice is a value that a layer may have.
type choice struct{ layer, value int32 }

// spread gives values to layers next to those that have one, until there are none: those of which the most links agree
// first. A row has at least so many values.
func spread(along [][]topo.SwitchIdx, layers disjoint.Sets, values map[int32]int32, least int) {
	for {
		count := closed(along, layers, values, least)
		wrap := func(value int32) int32 {
			if count == 0 {
				return value
			}
			return (value%count + count) % count
		}
		for layer, value := range values {
			values[layer] = wrap(value)
		}
		best, margin := agreed(proposed(along, layers, values, wrap))
		greatest := 0
		for _, n := range margin {
			greatest = max(greatest, n)
		}
		if greatest == 0 {
			return
		}
		for layer, c := range best {
			if margin[layer]*2 >= greatest {
				values[layer] = c.value
			}
		}
	}
}

// proposed counts the links that lead to a layer without a value and say what it may be: a link leads from a value to
// the next or the one before, but not where another link of the same switch leads. wrap is what a value beyond the end
// of a ring is.
func proposed(along [][]topo.SwitchIdx, layers disjoint.Sets, values map[int32]int32,
	wrap func(int32) int32) map[choice]int {
	votes := map[choice]int{}
	for s, peers := range along {
		here, ok := values[layers.Of(int32(s))]
		if !ok {
			continue
		}
		next, taken := [2]int32{wrap(here - 1), wrap(here + 1)}, [2]bool{}
		for _, r := range peers {
			if there, ok := values[layers.Of(int32(r))]; ok {
				taken[0], taken[1] = taken[0] || there == next[0], taken[1] || there == next[1]
			}
		}
		for _, r := range peers {
			layer := layers.Of(int32(r))
			if _, ok := values[layer]; ok {
				continue
			}
			for i, value := range next {
				if !taken[i] {
					votes[choice{layer, value}]++
				}
			}
		}
	}
	return votes
}

// agreed is by layer the choice with the most votes, and how many more it has than the next.
func agreed(votes map[choice]int) (best map[int32]choice, margin map[int32]int) {
	best, margin = map[int32]choice{}, map[int32]int{}
	for c, n := range votes {
		switch b, ok := best[c.layer]; {
		case !ok:
			best[c.layer], margin[c.layer] = c, n
		case n > votes[b]:
			best[c.layer], margin[c.layer] = c, n-votes[b]
		default:
			margin[c.layer] = min(margin[c.layer], votes[b]-n)
		}
	}
	return best, margin
}

// closed is the number of values of a ring, at least so many: most links between values that are not next to each other
// lead from its last to its first. It is 0 if there are no such links.
func closed(along [][]topo.SwitchIdx, layers disjoint.Sets, values map[int32]int32, least int) (count int32) {
	found := map[int32]int{}
	for s, peers := range along {
		for _, r := range peers {
			from, ok := values[layers.Of(int32(s))]
			to, also := values[layers.Of(int32(r))]
			if apart := to - from; ok && also && apart > 1 && int(apart)+1 >= least {
				found[apart+1]++
			}
		}
	}
	for n, links := range found {
		if links > found[count] || links == found[count] && n > count {
			count = n
		}
	}
	return count
}

// distinct reports whether no two of some switches are in one layer.
func distinct(switches []int32, layers disjoint.Sets) bool {
	seen := map[int32]bool{}
	for _, s := range switches {
		if of := layers.Of(s); seen[of] {
			return false
		} else {
			seen[of] = true
		}
	}
	return true
}

// line is a row in order: from an end of it, or round it; nil if some switch has more than two links.
func line(along [][]topo.SwitchIdx, row []int32) []int32 {
	start := row[0]
	for _, s := range row {
		switch len(along[s]) {
		case 0, 1:
			start = s
		case 2:
		default:
			return nil
		}
	}
	ordered := []int32{start}
	for last, s := int32(topo.None), start; len(ordered) < len(row); {
		i := slices.IndexFunc(along[s], func(r topo.SwitchIdx) bool { return int32(r) != last })
		last, s = s, int32(along[s][i])
		ordered = append(ordered, s)
	}
	return ordered
}
