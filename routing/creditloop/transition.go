package creditloop

import (
	"context"
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// Transition is how switches go over from the rules of before to new ones.
type Transition struct {
	// Stages are the switches whose rules change, ascending in each stage. Switches of one stage can be
	// written in any order. Those of the next stage follow when all writes are acknowledged, and packets
	// sent before have left the subnet.
	Stages [][]topo.SwitchIdx
	// Risk is a credit loop that can form while the last stage is written; nil if none can.
	Risk []Channel
}

// Order finds an order of writing switches in which no credit loop can form, whichever switches of a stage have been
// written: one stage if that is safe, otherwise stages as large as possible. If it finds no such order, the last stage
// has the remaining switches, and the Transition has its risk. At any time hosts may use both the previous SLs and the
// new ones. In.Before must be set; In.Since may be a report of the new rules. Order searches for a loop at most the
// given number of times, but at least once. The error is that of ctx.
func Order(ctx context.Context, in In, searches int) (*Transition, error) {
	t := &transition{in: in, stage: make([]int, len(in.Topo.Switches)), searches: searches}
	out := &Transition{}
	rest := t.rewritten()
	for len(rest) > 0 {
		now, risk, err := t.next(ctx, rest)
		if err != nil {
			return nil, err
		}
		out.Stages, out.Risk = append(out.Stages, now), risk
		rest = slices.DeleteFunc(rest, func(s topo.SwitchIdx) bool { return slices.Contains(now, s) })
	}
	return out, nil
}

// transition is a search for an order.
type transition struct {
	in       In
	stage    []int // by switch: of those below
	searches int   // that are left
	// graph is that of descents at all stages, and changed are the entries of both rules since In.Since: the new ones
	// and those of before. So rows are compared once, however many stages are tried. They are nil before the first.
	graph   *graph
	changed [2]*changes
	rounds  int // that the graph has been used for
}

// Stages of switches: with the rules of before, with either, with the new ones. Switches whose rules do
// not change stay at the first.
const (
	later = iota
	writing
	written
)

// rewritten are the switches whose rules change.
func (t *transition) rewritten() (changed []topo.SwitchIdx) {
	for s := range t.in.Topo.Switches {
		if t.in.Forwarding.Differs(topo.SwitchIdx(s), t.in.Before.Forwarding.Rows[s]) || t.remapped(topo.SwitchIdx(s)) {
			changed = append(changed, topo.SwitchIdx(s))
		}
	}
	return changed
}

// remapped reports whether a mapping table of a switch changes.
func (t *transition) remapped(s topo.SwitchIdx) bool {
	if t.in.Maps == t.in.Before.Maps {
		return false
	}
	n := t.in.Topo.Switches[s]
	for out := 1; out <= int(t.in.Topo.Nodes[n].NumPorts); out++ {
		p := t.in.Topo.Port(n, uint8(out))
		for from := range int(t.in.Topo.Nodes[n].NumPorts) + 1 {
			if is, was := t.in.Maps.Table(uint8(from), p), t.in.Before.Maps.Table(uint8(from), p); is != was &&
				!is.Equal(was) {
				return true
			}
		}
	}
	return false
}

// next is the next stage of the switches that are left, and the risk of writing them all if there is no
// other way.
func (t *transition) next(ctx context.Context, rest []topo.SwitchIdx) (now []topo.SwitchIdx, risk []Channel,
	err error) {
	if now, err = t.numbered(ctx, rest); now == nil && err == nil {
		now, risk, err = t.most(ctx, rest)
	}
	for i := 0; i < len(rest) && now == nil && err == nil && t.searches > 0; i++ {
		now, _, err = t.most(ctx, rest[i:i+1])
	}
	if now == nil {
		return slices.Clone(rest), risk, err
	}
	for _, s := range now {
		t.stage[s] = written
	}
	return now, nil, err
}

// numbered is the next stage, if the numbers of the new rules prove one: switches from which packets could reach a
// lower number wait until others are written. If that leaves too few, switches without hosts are first, so that packets
// sent there find the new routes, or last, when no packets are sent there any more. It is nil if the numbers prove no
// stage.
func (t *transition) numbered(ctx context.Context, rest []topo.SwitchIdx) (now []topo.SwitchIdx, err error) {
	for now = slices.Clone(rest); len(now) > 0; {
		from, known, err := t.descents(ctx, rest, now)
		if err != nil {
			return nil, err
		}
		if known && from == nil {
			return now, nil
		}
		left := len(now)
		now = slices.DeleteFunc(now, func(s topo.SwitchIdx) bool { return slices.Contains(from, s) })
		if len(now) == left {
			break // others than those that are written come to lower numbers
		}
	}
	if t.searches <= 0 {
		return nil, nil
	}
	t.searches-- // these two follow about as many routes
	hosts := make([]bool, len(t.stage))
	for _, p := range t.in.Topo.EndPorts {
		if s := t.in.Topo.SwitchOf(p); s != topo.None && t.in.Topo.IsHost(p) {
			hosts[s] = true
		}
	}
	for _, with := range []bool{false, true} {
		now = slices.DeleteFunc(slices.Clone(rest), func(s topo.SwitchIdx) bool { return hosts[s] != with })
		if len(now) == 0 || len(now) == len(rest) {
			break
		}
		if from, known, err := t.descents(ctx, rest, now); err != nil || known && from == nil {
			return now, err
		}
	}
	return nil, nil
}

// descents are the descents while some of the remaining switches are written. known is false if the numbers of the new
// rules say nothing.
func (t *transition) descents(ctx context.Context, rest, now []topo.SwitchIdx) (from []topo.SwitchIdx, known bool,
	err error) {
	for _, s := range now {
		t.stage[s] = writing
	}
	from, since, err := t.staged().descents(ctx, t.in.Since)
	for _, s := range rest {
		t.stage[s] = later
	}
	return from, since != nil, err
}

// staged is the graph of descents while switches are at their stages, which differ in the rows that are followed.
func (t *transition) staged() *graph {
	in, since := t.rules(), t.in.Since
	switch {
	case since == nil || t.in.Maps != t.in.Before.Maps:
		return newGraph(in)
	case t.graph == nil:
		t.graph = newGraph(in)
		before := *t.in.Forwarding
		before.Rows = t.in.Before.Forwarding.Rows
		t.changed = [2]*changes{newChanges(t.in.Forwarding, since), newChanges(&before, since)}
	case t.rounds == 1 && t.graph.followed != nil && t.changed[0] != nil && t.changed[1] != nil:
		// At first each switch may follow both rules. Packets that then only come to higher
		// numbers do so at all stages.
		t.changed = [2]*changes{t.changed[0].of(t.graph.followed), t.changed[1].of(t.graph.followed)}
		fallthrough
	default:
		t.graph.follows(in)
	}
	t.rounds++
	t.graph.changed = nil
	if is, was := t.changed[0], t.changed[1]; is != nil && was != nil {
		t.graph.changed = is.or(was, func(s topo.SwitchIdx) (bool, bool) {
			return t.stage[s] != later, t.stage[s] != written
		})
	}
	return t.graph
}

// most is a large set of switches that can be written in any order, and the loop that excludes others. It leaves out
// switches until no loop is found; the set is nil if none is left.
func (t *transition) most(ctx context.Context, some []topo.SwitchIdx) (now []topo.SwitchIdx, risk []Channel,
	err error) {
	for _, s := range some {
		t.stage[s] = writing
	}
	for now = slices.Clone(some); len(now) > 0; {
		r, err := Find(ctx, t.rules())
		if err != nil {
			return nil, nil, err
		}
		t.searches--
		if r.Loop == nil {
			return now, risk, nil
		}
		if risk == nil {
			risk = r.Loop
		}
		out, broken := r.graph.breakers(func(s topo.SwitchIdx) bool { return t.stage[s] == writing })
		if !broken { // the rules of before, or those of the stages so far, have the loop: no order helps
			t.searches = 0
		}
		if t.searches <= 0 {
			break
		}
		for _, s := range out {
			t.stage[s] = later
		}
		now = slices.DeleteFunc(now, func(s topo.SwitchIdx) bool { return t.stage[s] == later })
	}
	for _, s := range some {
		t.stage[s] = later
	}
	return nil, risk, nil
}

// rules are the search for a loop while switches are at their stages.
func (t *transition) rules() In {
	in, before := t.in, *t.in.Before
	in.Forwarding, before.Forwarding = t.forwarding(later), t.forwarding(later, writing)
	in.Maps, before.Maps = t.maps(later), t.maps(later, writing)
	in.Before = &before
	return in
}

// forwarding is the previous table for switches of some stages, and the new one for all others.
func (t *transition) forwarding(old ...int) *routing.Forwarding {
	f := *t.in.Forwarding
	f.Rows = slices.Clone(f.Rows)
	for s := range f.Rows {
		if slices.Contains(old, t.stage[s]) {
			f.Rows[s] = t.in.Before.Forwarding.Rows[s]
		}
	}
	return &f
}

// maps is likewise for mapping tables; end ports may have both.
func (t *transition) maps(old ...int) *routing.Maps {
	if t.in.Maps == t.in.Before.Maps {
		return t.in.Maps
	}
	m := &routing.Maps{Of: make([][]*routing.SLToVL, len(t.in.Topo.Ports))}
	for p := range m.Of {
		from, port := t.in.Maps, topo.PortIdx(p)
		if s := t.in.Topo.Nodes[t.in.Topo.Ports[p].Node].Switch; s != topo.None && slices.Contains(old, t.stage[s]) ||
			s == topo.None && len(old) > 1 {
			from = t.in.Before.Maps
		}
		if from != nil {
			m.Of[p] = from.Of[port]
		}
	}
	return m
}
