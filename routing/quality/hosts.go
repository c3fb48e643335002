package quality

import (
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/rails"
	"ibsm/topo"
)

// cut is the number of hosts with several LIDs, and the share of them to which all routes from a leaf pass one switch
// that is on neither end: its loss cuts them off. The share is the mean over switches with hosts; what is reached from
// there without another switch between counts as reached. LIDs to which no route arrives do not count. The error is
// that of ctx.
func cut(ctx context.Context, in routing.In, rows [][]uint8) (several int, share float64, err error) {
	var leaves []topo.SwitchIdx
	for _, p := range Hosts(in.Topo, in.LIDs) {
		leaves = append(leaves, in.Topo.SwitchOf(p))
	}
	slices.Sort(leaves)
	leaves = slices.Compact(leaves)
	w := &walker{in: in, rows: rows, tracer: routing.NewTracer(in.Topo, in.LIDs)}
	sum := 0
	for _, lids := range rails.HostLIDs(in.Topo, in.LIDs) {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		several++
		for _, leaf := range leaves {
			if w.shares(leaf, lids) {
				sum++
			}
		}
	}
	return several, float64(sum) / float64(max(1, several*len(leaves))), nil
}

// walker follows routes. It belongs to one goroutine.
type walker struct {
	in     routing.In
	rows   [][]uint8
	tracer *routing.Tracer
	common []topo.SwitchIdx // on all ways so far
	way    []topo.SwitchIdx
}

// shares reports whether all routes from a leaf to some LIDs pass one switch between the ends.
func (w *walker) shares(leaf topo.SwitchIdx, lids []mad.LID) bool {
	first := true
	for _, lid := range lids {
		if !w.follow(leaf, lid) {
			continue
		}
		if first {
			w.common, first = append(w.common[:0], w.way...), false
		} else {
			w.common = slices.DeleteFunc(w.common, func(s topo.SwitchIdx) bool { return !slices.Contains(w.way, s) })
		}
		if len(w.common) == 0 {
			return false
		}
	}
	return !first
}

// follow finds the switches between the ends of a route, and whether it arrives.
func (w *walker) follow(leaf topo.SwitchIdx, lid mad.LID) bool {
	home := w.in.Topo.SwitchOf(w.in.LIDs.PortOf(lid))
	w.way = w.way[:0]
	for s := leaf; s != home; {
		if int(lid) >= len(w.rows[s]) || len(w.way) > len(w.rows) {
			return false
		}
		if s = w.tracer.Next(s, w.rows[s][lid]); s == topo.None {
			return false
		}
		w.way = append(w.way, s)
	}
	w.way = w.way[:max(0, len(w.way)-1)]
	return true
}
