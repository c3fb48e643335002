package nue

import "context"

// hull is the switches on the shortest ways between the homes of destinations.
type hull struct {
	*network
	in    []bool   // by vertex
	ends  []uint8  // destinations that hang on a switch
	depth []int32  // of the last walk
	queue []int32  // vertices in the order of that
	ways  []uint64 // the number of shortest ways
	share []float64
}

// newHull is the hull of destinations.
func newHull(ctx context.Context, n *network, dests []dest) (*hull, error) {
	size := len(n.switches)
	h := &hull{network: n, in: make([]bool, size), ends: make([]uint8, size), depth: make([]int32, size),
		queue: make([]int32, 0, size), ways: make([]uint64, size), share: make([]float64, size)}
	left := size
	for _, d := range dests {
		if !h.in[d.home] {
			h.in[d.home] = true
			left--
		}
		if d.egress != 0 && !d.router {
			h.ends[d.home]++
		}
	}
	for v := int32(0); int(v) < size && left > 0; v++ {
		if !h.in[v] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h.walk(v, func(int32) bool { return true })
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

// walk finds the distances from a switch among some switches, and how many shortest ways there are.
func (h *hull) walk(start int32, among func(v int32) bool) {
	for v := range h.depth {
		h.depth[v], h.ways[v] = -1, 0
	}
	h.depth[start], h.ways[start] = 0, 1
	h.queue = append(h.queue[:0], start)
	for i := 0; i < len(h.queue); i++ {
		at := h.queue[i]
		for c := h.first[at]; c < h.first[at+1]; c++ {
			to := h.to[c]
			if !among(to) {
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

// centre is the switch through which the greatest share of the shortest ways between destinations leads
// (Brandes' betweenness): the first of equals. Sums are added in OpenSM's order, for the rounding of
// them can decide.
func (h *hull) centre(ctx context.Context) (int32, error) {
	between := make([]float64, len(h.in))
	for v := range h.in {
		if !h.in[v] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return none, err
		}
		start := int32(v)
		h.walk(start, func(v int32) bool { return h.in[v] })
		clear(h.share)
		for i := len(h.queue) - 1; i >= 0; i-- {
			at := h.queue[i]
			ends := h.ends[at]
			if at == start && ends > 0 {
				ends--
			}
			for range ends {
				h.share[at]++
			}
			for c := h.first[at]; c < h.first[at+1]; c++ {
				if to := h.to[c]; h.in[to] && h.depth[to]+1 == h.depth[at] {
					h.share[to] += float64(float64(h.ways[to]) / float64(h.ways[at]) * (1 + h.share[at]))
				}
			}
			times := int(h.ends[start])
			if at != start {
				times++
			}
			for range times {
				between[at] += h.share[at]
			}
		}
	}
	best, most := none, -1.0
	for v := range h.in {
		if h.in[v] && most < between[v] {
			best, most = int32(v), between[v]
		}
	}
	return best, nil
}
