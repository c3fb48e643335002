package nue

import (
	"context"
	"slices"
)

// hull is the switches on the shortest ways between the homes of some destinations.
type hull struct {
	*network
	in    []bool   // by vertex
	depth []int32  // of the last walk
	queue []int32  // vertices in the order of that
	ways  []uint64 // the number of shortest ways
}

// newHull is the hull of destinations.
func newHull(ctx context.Context, n *network, dests []dest) (*hull, error) {
	size := len(n.switches)
	h := &hull{network: n, in: make([]bool, size), depth: make([]int32, size), queue: make([]int32, 0, size),
		ways: make([]uint64, size)}
	left := size
	for _, d := range dests {
		if !h.in[d.home] {
			h.in[d.home] = true
			left--
		}
	}
	for v := int32(0); int(v) < size && left > 0; v++ {
		if !h.in[v] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h.walk(v, nil)
		for i := len(h.queue) - 1; i > 0; i-- {
			at := h.queue[i]
			for c := h.first[at]; h.in[at] && c < h.first[at+1]; c++ {
				if to := h.to[c]; h.depth[to]+1 == h.depth[at] && !h.in[to] {
					h.in[to] = true
					left--
				}
			}
		}
	}
	return h, nil
}

// walk finds the distances from a switch among some switches, nil for all, and how many shortest ways there are.
func (h *hull) walk(start int32, among []bool) {
	for v := range h.depth {
		h.depth[v], h.ways[v] = -1, 0
	}
	h.depth[start], h.ways[start] = 0, 1
	h.queue = append(h.queue[:0], start)
	for i := 0; i < len(h.queue); i++ {
		at := h.queue[i]
		for c := h.first[at]; c < h.first[at+1]; c++ {
			to := h.to[c]
			if among != nil && !among[to] {
				continue
			}
			if h.depth[to] < 0 {
				h.depth[to] = h.depth[at] + 1
				h.queue = append(h.queue, to)
			}
			if h.depth[to] == h.depth[at]+1 {
				h.ways[to] += h.ways[at]
			}
		}
	}
}

// centres are the centres of the destinations of each lane; one is not set for a lane that has none. Lanes
// whose destinations have the same hull share the walks through it.
func (n *network) centres(ctx context.Context, lanes [][]dest) ([]int32, error) {
	centres, hulls := make([]int32, len(lanes)), make([]*hull, len(lanes))
	for i, dests := range lanes {
		if len(dests) == 0 {
			continue
		}
		var err error
		if hulls[i], err = newHull(ctx, n, dests); err != nil {
			return nil, err
		}
	}
	for i, h := range hulls {
		if h == nil {
			continue
		}
		var alike []int
		var dests [][]dest
		for k := i; k < len(lanes); k++ {
			if hulls[k] != nil && slices.Equal(hulls[k].in, h.in) {
				alike, dests, hulls[k] = append(alike, k), append(dests, lanes[k]), nil
			}
		}
		found, err := h.centres(ctx, dests)
		if err != nil {
			return nil, err
		}
		for k, lane := range alike {
			centres[lane] = found[k]
		}
	}
	return centres, nil
}

// centres are, for each of several sets of destinations with this hull, the switch through which the greatest
// share of the shortest ways between them leads (Brandes' betweenness): the first of equals. Sums are added in
// OpenSM's order, for the rounding of them can decide.
func (h *hull) centres(ctx context.Context, sets [][]dest) ([]int32, error) {
	// By vertex, then by set: destinations that hang on a switch, the share of ways from where a walk began,
	// and the sum of shares.
	size := len(h.in) * len(sets)
	ends, share, between := make([]uint8, size), make([]float64, size), make([]float64, size)
	for i, dests := range sets {
		for _, d := range dests {
			if d.egress != 0 && !d.router {
				ends[int(d.home)*len(sets)+i]++
			}
		}
	}
	of := func(v int32) (from, to int) { return int(v) * len(sets), (int(v) + 1) * len(sets) }
	for v := range h.in {
		if !h.in[v] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		start := int32(v)
		h.walk(start, h.in)
		clear(share)
		first, _ := of(start)
		for i := len(h.queue) - 1; i >= 0; i-- {
			at := h.queue[i]
			from, to := of(at)
			own := share[from:to]
			for k, n := range ends[from:to] {
				if at == start && n > 0 {
					n--
				}
				for range n {
					own[k]++
				}
			}
			h.passOn(at, own, share)
			for k, s := range own {
				times := int(ends[first+k])
				if at != start {
					times++
				}
				for range times {
					between[from+k] += s
				}
			}
		}
	}
	centres := make([]int32, len(sets))
	for k := range sets {
		most := -1.0
		for v := range h.in {
			if b := between[v*len(sets)+k]; h.in[v] && most < b {
				centres[k], most = int32(v), b
			}
		}
	}
	return centres, nil
}

// passOn adds the share of a switch to those before it on the ways of the last walk.
func (h *hull) passOn(at int32, own, share []float64) {
	depth, ways := h.depth[at], float64(h.ways[at])
	for _, to := range h.to[h.first[at]:h.first[at+1]] {
		if h.depth[to]+1 != depth || !h.in[to] {
			continue
		}
		part := float64(h.ways[to]) / ways
		for k, s := range share[int(to)*len(own) : (int(to)+1)*len(own)] {
			share[int(to)*len(own)+k] = s + float64(part*(1+own[k]))
		}
	}
}
