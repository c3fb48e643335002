package creditloop

import (
	"cmp"
	"context"
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// by is an earlier report with the switches numbered as in the subnet of g, and where its routes and LIDs came from.
// Channels of switches that it did not have are numbered below all others; they are of packets that start there. It is
// nil where nothing can be said: few switches are known, or lanes matter and the switches are others.
func (r *Report) by(g *graph) *Report {
	was := r.graph
	f := was.Forwarding.By(g.Topo)
	if f == was.Forwarding {
		return r
	}
	if f == nil || was.ports != g.ports || was.checked() || len(was.rules) > 1 || r.number == nil {
		return nil
	}
	is := &Report{graph: new(*was), number: make([]int32, was.lanes*len(g.next)), Findings: r.Findings}
	is.graph.Forwarding, is.graph.Topo, is.graph.next = f, g.Topo, slices.Clone(g.next)
	is.graph.rules = []Rules{{f, was.SLs, was.Maps}}
	is.graph.streams = new(*was.streams)
	is.graph.inputs, is.graph.count = len(g.Topo.Switches), len(g.next)
	is.graph.deps = make([]uint64, was.sls*len(g.next)*was.words)
	for i := range len(was.next) / was.ports {
		s := int(f.Now(topo.SwitchIdx(i)))
		if s >= len(g.Topo.Switches) {
			continue
		}
		for port := range was.ports {
			from, to := i*was.ports+port, s*was.ports+port
			next := f.Now(was.next[from])
			if is.graph.next[to] < 0 || !f.Added(is.graph.next[to]) {
				is.graph.next[to] = min(next, topo.SwitchIdx(len(g.Topo.Switches)))
			}
			for lane := range was.lanes {
				is.number[lane*len(g.next)+to] = r.number[lane*len(was.next)+from]
			}
			if next == g.next[to] {
				copy(is.graph.deps[to*was.sls*was.words:][:was.sls*was.words], was.deps[from*was.sls*was.words:])
			}
		}
	}
	for c, next := range is.graph.next {
		if int(next) == len(g.Topo.Switches) { // to one that is lost
			is.graph.next[c] = topo.None
		}
	}
	is.graph.sources = nil
	for _, from := range was.sources {
		if from.at = f.Now(from.at); int(from.at) < len(g.Topo.Switches) {
			is.graph.sources = append(is.graph.sources, from)
		}
	}
	slices.SortFunc(is.graph.sources, func(a, b source) int { return cmp.Compare(a.at, b.at) })
	return is
}

// turns examines the turns that packets make because entries have changed, from all sources. It adds their
// dependencies, and returns the LIDs whose routes must be followed from the sources: those for which a turn leads to a
// number that is not higher, by the numbers of an earlier report, and more than a few entries have changed. It ends
// early when ctx is done.
func (g *graph) turns(ctx context.Context, since *Report) (follow routing.LIDSet, known bool) {
	changed := g.changed
	if changed == nil {
		changed = newChanges(g.rules[0].Forwarding, since)
		if changed != nil && len(g.rules) > 1 {
			changed = changed.or(newChanges(g.rules[1].Forwarding, since),
				func(topo.SwitchIdx) (bool, bool) { return true, true })
		}
		if changed == nil {
			return nil, false
		}
	}
	follow = make(routing.LIDSet, g.Blocks())
	follow.Union(changed.follow[:min(len(changed.follow), len(follow))]) // others are nobody's
	t := &turner{graph: g, since: since, seen: make([]int, len(g.Rows))}
	for _, e := range changed.entries {
		switch {
		case ctx.Err() != nil:
			return follow, true
		case e.LID >= len(g.dests) || !g.dests[e.LID] || follow.Has(e.LID):
		case g.used != nil || !t.into(e.Switch, e.LID) || !t.onward(e.Switch, e.LID):
			follow.Add(e.LID)
		}
	}
	return follow, true
}

// changes are what routing.FewChanges found.
type changes struct {
	entries []routing.Entry
	follow  routing.LIDSet
}

// newChanges are those since an earlier report of the same subnet; nil where they are not known.
func newChanges(f *routing.Forwarding, since *Report) *changes {
	entries, follow, known := f.FewChanges(since.graph.Forwarding)
	if !known {
		return nil
	}
	return &changes{entries, follow}
}

// of are the changes of some LIDs.
func (c *changes) of(lids routing.LIDSet) *changes {
	return &changes{follow: c.follow, entries: slices.DeleteFunc(slices.Clone(c.entries), func(e routing.Entry) bool {
		return e.LID < len(lids)*routing.BlockSize && !lids.Has(e.LID)
	})}
}

// or are the changes where switches follow these rules, or the others, or either. The others may be nil: then the
// result is.
func (c *changes) or(others *changes, which func(topo.SwitchIdx) (these, other bool)) *changes {
	if others == nil {
		return nil
	}
	out := &changes{follow: make(routing.LIDSet, max(len(c.follow), len(others.follow)))}
	out.follow.Union(c.follow)
	out.follow.Union(others.follow)
	a, b := c.entries, others.entries
	for len(a) > 0 || len(b) > 0 {
		order := 0
		switch {
		case len(b) == 0:
			order = -1
		case len(a) == 0:
			order = 1
		default:
			order = a[0].Compare(b[0])
		}
		var e routing.Entry
		var these, other bool
		if order <= 0 {
			e, a, these = a[0], a[1:], true
		}
		if order >= 0 {
			e, b, other = b[0], b[1:], true
		}
		if follows, followsOther := which(e.Switch); these && follows || other && followsOther {
			out.entries = append(out.entries, e)
		}
	}
	return out
}

// turner looks at changed entries, of one LID after the other.
type turner struct {
	*graph
	since *Report
	seen  []int // by switch: the last LID to which turns of packets that leave it have been looked at
}

// into looks at the turns of packets from the switches around one.
func (t *turner) into(s topo.SwitchIdx, lid int) bool {
	for port := range t.ports {
		q := t.next[int(s)*t.ports+port]
		if q < 0 {
			continue
		}
		last := uint8(routing.NoPath)
		for i := range t.rules {
			by := t.egress(i, q, lid)
			if by != last && by != routing.NoPath && t.next[int(q)*t.ports+int(by)] == s && !t.turn(q, by, s, lid) {
				return false
			}
			last = by
		}
	}
	return true
}

// turn looks at the turns of packets that leave one switch by a port for another.
func (t *turner) turn(from topo.SwitchIdx, by uint8, s topo.SwitchIdx, lid int) bool {
	for i := range t.rules {
		port := t.egress(i, s, lid)
		if port == routing.NoPath || t.next[int(s)*t.ports+int(port)] < 0 || i > 0 && port == t.egress(0, s, lid) {
			continue
		}
		for sl := range uint8(t.sls) {
			if t.depended(t.stream(from, by, 0), sl, port) {
				continue // nothing else adds dependencies yet: this has been looked at
			}
			turn, rises := Turn{SL: sl, Switch: from, Port: by, Next: port}, true
			t.eachLane(turn, func(a, b int) { rises = rises && t.since.number[a] < t.since.number[b] })
			if !rises {
				return false
			}
			for class := range t.classCount(from) {
				t.depend(t.stream(from, by, uint8(class)), 1<<sl, port)
			}
		}
	}
	return true
}

// onward examines the turns of packets that leave a switch, as far as they go. If they go around in a loop, some turn
// does not lead to a higher number.
func (t *turner) onward(s topo.SwitchIdx, lid int) bool {
	if t.seen[s] == lid {
		return true
	}
	t.seen[s] = lid
	for i := range t.rules {
		port := t.egress(i, s, lid)
		if port == routing.NoPath || i > 0 && port == t.egress(0, s, lid) {
			continue
		}
		to := t.next[int(s)*t.ports+int(port)]
		if to >= 0 && (!t.turn(s, port, to, lid) || !t.onward(to, lid)) {
			return false
		}
	}
	return true
}
