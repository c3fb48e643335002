package routing

import "ibsm/topo"

// Rules are the ways between switches that an engine permits. An entry that they forbid is empty in sound tables, too.
type Rules struct {
	// Permitted has, by SwitchIdx, bit i set for each switch from which a way to a LID at switch to[i] is permitted; to
	// are 64 at most, and may have None. The LID is the switch's own where bit i of own is set.
	Permitted func(g *Graph, to []topo.SwitchIdx, own uint64) []uint64
	// Connects reports whether connect_roots would give a switch a way to a LID at another one, to its own or to that
	// of a node on it; nil where it is on already.
	Connects func(from, to topo.SwitchIdx, own bool) bool
}

// Permitted is that of Rules: unlike RankedWays it finds every permitted way, of whatever length, and no weight
// matters.
func (r *Rule) Permitted(g *Graph, to []topo.SwitchIdx, _ uint64) []uint64 {
	from := make([]uint64, g.Len())
	w := permittedWays{Rule: r, graph: g}
	for leads := range w.at {
		w.at[leads], w.followed[leads] = make([]uint64, g.Len()), make([]uint64, g.Len())
	}
	w.waits = make([]bool, g.Len())
	for i, d := range to {
		if d == topo.None {
			continue
		}
		if r.Penalty > 0 || r.Direct != nil && r.Direct[d] { // ways may turn
			for s := range from {
				from[s] |= 1 << i
			}
			continue
		}
		w.add(d, r.Start, 1<<i)
	}
	for len(w.queue) > 0 {
		s := w.queue[0]
		w.queue, w.waits[s] = w.queue[1:], false
		w.visit(s)
	}
	for s := range from {
		from[s] |= w.at[Up][s] | w.at[Down][s] | w.at[Level][s]
	}
	return from
}

// permittedWays follows ways back from several destinations, a bit for each.
type permittedWays struct {
	*Rule
	graph *Graph
	// at are, by the direction of the last link and SwitchIdx, the destinations from which a way has come; followed are
	// those of them that have been followed on.
	at, followed [Level + 1][]uint64
	waits        []bool // by SwitchIdx: is in the queue
	queue        []topo.SwitchIdx
}

func (w *permittedWays) add(s topo.SwitchIdx, leads Direction, bits uint64) {
	if w.at[leads][s]|bits == w.at[leads][s] {
		return
	}
	w.at[leads][s] |= bits
	if !w.waits[s] {
		w.queue, w.waits[s] = append(w.queue, s), true
	}
}

// visit follows the ways that have come to a switch since its last visit.
func (w *permittedWays) visit(s topo.SwitchIdx) {
	var bits [Level + 1]uint64
	for leads := range bits {
		bits[leads] = w.at[leads][s] &^ w.followed[leads][s]
		w.followed[leads][s] = w.at[leads][s]
	}
	peers, _ := w.graph.Edges(s)
	for i, to := range peers {
		if i > 0 && peers[i-1] == to {
			continue // another cable to the same switch
		}
		leads := w.Leads(s, to)
		for before, came := range bits {
			before := Direction(before)
			switch {
			case came == 0 || before == w.Last && leads == w.Never:
			case leads == Level && w.KeepsDirection:
				w.add(to, before, came)
			default:
				w.add(to, leads, came)
			}
		}
	}
}
