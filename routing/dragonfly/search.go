package dragonfly

import (
	"slices"

	"ibsm/routing/spread"
	"ibsm/topo"
)

// kind is what the ways from a switch to the destination in hand look like.
type kind uint8

// Kinds of ways: those to a switch of another kind lead over one that is named before it.
const (
	lost   kind = iota // there are none
	here               // the switch is the destination
	direct             // a cable to it
	aside              // a cable to a switch with one to it
	across             // a cable to its group, and then as before
	near               // a cable to a switch of the group with such a cable
	bypass             // two cables inside the group
	twice              // a cable to another group, to a switch that has one to the group of the destination
)

// search finds the ways to one destination switch after the other. All ways pass channels in this order: those inside
// groups on VL 0, up and then down; between groups on VL 0; between groups on VL 1; inside groups on VL 1, up and then
// down.
type search struct {
	*network
	kind  []kind             // by switch
	cost  []int32            // by switch
	ways  [][]spread.Way     // by switch
	over  [][]topo.SwitchIdx // by switch, of kind bypass: the second switch of each of its ways
	order []topo.SwitchIdx   // those with ways, after those that their ways lead over
	at    topo.SwitchIdx     // the destination

	scratch []between
	flat    []bool // by switch: the ways keep the order on one lane
}

func newSearch(n *network) *search {
	count := len(n.group)
	return &search{network: n, kind: make([]kind, count), cost: make([]int32, count), ways: make([][]spread.Way, count),
		over: make([][]topo.SwitchIdx, count), flat: make([]bool, count)}
}

// find finds the ways to a switch.
func (w *search) find(t topo.SwitchIdx) {
	for s := range w.kind {
		w.kind[s], w.ways[s] = lost, w.ways[s][:0]
	}
	w.at, w.order = t, w.order[:0]
	w.add(t, here, 0, nil)
	w.findInside()
	w.findAcross()
	w.findNear(across)
	if len(w.order) == len(w.kind) {
		return
	}
	w.findBypass(across)
	w.findTwice()
	w.findNear(twice)
	w.findBypass(twice)
}

// onOneLane reports, for the switches of the order one after the other, whether the ways from a switch keep the order
// of channels on one lane: up to a spine, between groups, and down.
func (w *search) onOneLane(s topo.SwitchIdx) bool {
	k := w.kind[s]
	w.flat[s] = k != bypass && k != twice && !(k == aside && w.spine[s]) &&
		!slices.ContainsFunc(w.ways[s], func(way spread.Way) bool {
			return !w.flat[way.To] || k == across && w.kind[way.To] == aside
		})
	return w.flat[s]
}

// add adds ways to a switch that has none, or whose ways are of the same kind; of these only the cheapest count. It
// reports whether they do.
func (w *search) add(s topo.SwitchIdx, k kind, cost int32, ways []spread.Way) bool {
	switch {
	case w.kind[s] == lost:
		w.order = append(w.order, s)
	case w.kind[s] != k || w.cost[s] < cost:
		return false
	case w.cost[s] > cost:
		w.ways[s] = w.ways[s][:0]
	}
	w.kind[s], w.cost[s], w.ways[s] = k, cost, append(w.ways[s], ways...)
	return true
}

// findInside finds the ways inside the group of the destination.
func (w *search) findInside() {
	for _, b := range w.local[w.at] {
		if len(b.Back) > 0 {
			w.add(b.To, direct, 1, b.Back)
		}
	}
	for _, s := range w.groups[w.group[w.at]] {
		if w.kind[s] != lost {
			continue
		}
		w.scratch = w.betweens(w.scratch, s, w.at)
		for _, m := range w.scratch {
			if w.inOrder(m, s) {
				w.add(s, aside, 2, w.cable(s, m.at))
			}
		}
	}
}

// findAcross finds the ways that begin with a cable to the group of the destination. Those that come in at the
// destination are no better than others, so that all cables between two groups have their part.
func (w *search) findAcross() {
	for _, s := range w.groups[w.group[w.at]] {
		if w.kind[s] == lost {
			continue
		}
		for _, b := range w.global[s] {
			if len(b.Back) > 0 {
				w.add(b.To, across, 1+max(1, w.cost[s]), b.Back)
			}
		}
	}
}

// findNear finds the ways that lead over a switch of the same group which has ways of some kind.
func (w *search) findNear(k kind) {
	for _, s := range w.order {
		if w.kind[s] != k {
			continue
		}
		for _, b := range w.local[s] {
			if len(b.Back) > 0 {
				w.add(b.To, near, w.cost[s]+1, b.Back)
			}
		}
	}
}

// bypassCost is that of all ways over two switches of the group: no two of them are compared.
const bypassCost = 4

// findBypass finds the ways that lead over two switches of the same group, the second of which has ways of some kind.
func (w *search) findBypass(k kind) {
	for s := range topo.SwitchIdx(len(w.kind)) {
		if w.kind[s] != lost {
			continue
		}
		w.over[s] = w.over[s][:0]
		for _, second := range w.groups[w.group[s]] {
			if w.kind[second] != k {
				continue
			}
			w.scratch = w.betweens(w.scratch, s, second)
			for _, m := range w.scratch {
				if ways := w.cable(s, m.at); m.out && w.kind[m.at] == near && w.add(s, bypass, bypassCost, ways) {
					w.over[s] = append(w.over[s], slices.Repeat([]topo.SwitchIdx{second}, len(ways))...)
				}
			}
		}
	}
}

// only are the ways of a switch to all LIDs at the destination: none if they are not the same for all. A switch inside
// a group that has no hosts, such as a spine on the way to another spine, takes one for all.
func (w *search) only(s topo.SwitchIdx, p *spread.Placer) []spread.Way {
	ways := w.ways[s]
	if w.kind[s] != bypass && w.kind[s] != aside {
		return ways
	}
	if slices.ContainsFunc(ways, func(way spread.Way) bool { return !p.Fixed(way.To) }) {
		return nil
	}
	if w.kind[s] == bypass {
		ways = w.regular(s, p)
	}
	if len(ways) > 1 && !p.HasHosts(s) {
		i := int(s+w.at) % len(ways)
		ways = ways[i : i+1]
	}
	return ways
}

// regular are the ways of a switch of kind bypass, to the LID in hand, whose first switch goes on to their second.
func (w *search) regular(s topo.SwitchIdx, p *spread.Placer) (ways []spread.Way) {
	for i, way := range w.ways[s] {
		if p.Next(way.To) == w.over[s][i] {
			ways = append(ways, way)
		}
	}
	return ways
}

// findTwice finds the ways that begin with a cable to a third group, to a switch that has one to that of the
// destination.
func (w *search) findTwice() {
	for s := range w.kind {
		for _, b := range w.global[s] {
			if w.kind[b.To] == across {
				w.add(topo.SwitchIdx(s), twice, w.cost[b.To]+1, b.Ways)
			}
		}
	}
}
