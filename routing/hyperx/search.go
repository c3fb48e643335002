package hyperx

import (
	"ibsm/routing/spread"
	"ibsm/topo"
)

// search finds the ways to one destination switch after the other. They pass channels in this order: dimension by
// dimension, in each up and then down.
type search struct {
	*network
	ways  [][]spread.Way     // by switch; none where no such way leads to the destination
	group [][]topo.SwitchIdx // switches by the first dimension in which they are elsewhere than the destination
	order []topo.SwitchIdx   // those with ways, after those that their ways lead over
}

func newSearch(n *network) *search {
	return &search{network: n, ways: make([][]spread.Way, len(n.at)), group: make([][]topo.SwitchIdx, len(n.dims))}
}

// find finds the ways to a switch.
func (w *search) find(t topo.SwitchIdx) {
	w.order = w.order[:0]
	w.sort(t)
	for dim := len(w.dims) - 1; dim >= 0; dim-- {
		for _, s := range w.group[dim] {
			if r := w.target(s, t, dim); r != topo.None {
				w.add(s, w.cables(s, r))
			}
		}
		for _, s := range w.group[dim] {
			if len(w.ways[s]) == 0 {
				w.findAside(s, t, dim)
			}
		}
	}
}

// sort puts the switches into their groups.
func (w *search) sort(t topo.SwitchIdx) {
	for dim := range w.group {
		w.group[dim] = w.group[dim][:0]
	}
	to := w.at[t]
	for s, at := range w.at {
		w.ways[s] = w.ways[s][:0]
		for dim := range min(len(at), len(to)) {
			if at[dim] != to[dim] {
				w.group[dim] = append(w.group[dim], topo.SwitchIdx(s))
				break
			}
		}
	}
}

// target is the switch of the row that a switch goes to in a dimension: None if it is missing or has no way itself.
func (w *search) target(s, t topo.SwitchIdx, dim int) topo.SwitchIdx {
	if r := w.moved(s, dim, w.at[t][dim]); r == t || r != topo.None && len(w.ways[r]) > 0 {
		return r
	}
	return topo.None
}

// findAside finds the ways of a switch in a dimension over a third one of the row, which has a cable to where it goes.
func (w *search) findAside(s, t topo.SwitchIdx, dim int) {
	r := w.target(s, t, dim)
	if r == topo.None {
		return
	}
	for c := range int32(w.dims[dim]) {
		k := w.moved(s, dim, c)
		if k == topo.None || k == r || w.height[k] < max(w.height[s], w.height[r]) || len(w.cables(k, r)) == 0 {
			continue
		}
		if k != s {
			w.add(s, w.cables(s, k))
		}
	}
}

func (w *search) add(s topo.SwitchIdx, ways []spread.Way) {
	if len(ways) > 0 && len(w.ways[s]) == 0 {
		w.order = append(w.order, s)
	}
	w.ways[s] = append(w.ways[s], ways...)
}
