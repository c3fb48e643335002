package creditloop

import (
	"context"

	"ibsm/routing"
	"ibsm/topo"
)

// Turn is what packets of an SL do that leave a switch by one port, and the switch behind it by another.
type Turn struct {
	SL     uint8
	Switch topo.SwitchIdx
	Port   uint8 // of Switch
	Next   uint8 // of the switch that Port leads to; it leads to a switch, too
}

// Covering is this report for the switches of other tables, if the report proves these tables too: all their routes are
// routes of the report, as far as they exist. Otherwise it is nil. In.Since does not matter. r may be nil.
func (r *Report) Covering(in In) *Report {
	if r == nil || r.number == nil {
		return nil
	}
	g := newGraph(in)
	if r = r.by(g); r == nil || !g.comparable(r) {
		return nil
	}
	was := r.graph
	var fresh, all []int // LIDs that packets come to
	for lid, is := range g.dests {
		if is {
			all = append(all, lid)
		}
		if is && (lid >= len(was.dests) || !was.dests[lid]) {
			fresh = append(fresh, lid)
		}
	}
	for i, row := range g.Rows {
		s, turned, lids := topo.SwitchIdx(i), [256]bool{}, fresh
		if before := was.Rows[i]; len(row) == 0 || len(before) == 0 || &row[0] != &before[0] {
			lids = all
		}
		g.Tracer.Turns(was.Tracer, s, func(port uint8) { turned[port], lids = true, all })
		for _, lid := range lids {
			port := g.egress(0, s, lid)
			if g.Tracer.Next(s, port) != topo.None &&
				(turned[port] || was.egress(0, s, lid) != port || lid >= len(was.dests) || !was.dests[lid]) {
				return nil
			}
		}
	}
	return r
}

// Rises reports whether a turn leads packets to a higher number. If this is so for all turns of some routes, they can
// be added to those of the report without a credit loop: the numbers prove it. via is the switch that the port leads
// to. It is false for channels that the report does not know, and for all turns if the report has a loop.
func (r *Report) Rises(t Turn, via topo.SwitchIdx) bool {
	g := r.graph
	from, to := int(t.Switch)*g.ports+int(t.Port), int(via)*g.ports+int(t.Next)
	if r.number == nil || int(t.SL) >= g.sls || int(t.Port) >= g.ports || int(t.Next) >= g.ports ||
		from >= len(g.next) || g.next[from] != via || g.next[to] < 0 {
		return false
	}
	rises := true
	g.eachLane(t, func(a, b int) { rises = rises && r.number[a] < r.number[b] })
	return rises
}

// eachLane calls do for the channels before and after a turn, on each lane that the packets can be on, for all ports by
// which they may have come in.
func (g *graph) eachLane(t Turn, do func(from, to int)) {
	c := int(t.Switch)*g.ports + int(t.Port)
	next := g.next[c]
	after := g.stream(next, t.Next, g.after(c))
	for class := range g.classCount(t.Switch) {
		stream := g.stream(t.Switch, t.Port, uint8(class))
		for i := range g.rules {
			for j := range g.rules {
				a, b := g.lane(i, stream, t.SL), g.lane(j, after, t.SL)
				if a != routing.DropVL && b != routing.DropVL {
					do(int(a)*len(g.next)+c, int(b)*len(g.next)+int(next)*g.ports+int(t.Next))
				}
			}
		}
	}
}

// Dependencies are the dependencies of packets that follow tables. Turns of further packets can be added. One goroutine
// uses them.
type Dependencies struct {
	graph  *graph
	added  []int // dependencies: a word of deps times 64, and the bit
	search int32
	passed []int32 // by lane * channels + channel: the last search that came by
	queue  []int32
	// Passed is the number of channels that all searches have visited: a measure of their work.
	Passed int
}

// Follow finds the dependencies of a subnet. In.Since does not matter; the error is that of ctx.
func Follow(ctx context.Context, in In) (*Dependencies, error) {
	g := newGraph(in)
	if err := g.follow(ctx, g.Changed(nil)); err != nil {
		return nil, err
	}
	return &Dependencies{graph: g, passed: make([]int32, g.lanes*len(g.next))}, nil
}

// Add adds a turn, unless packets that make it have, or close, a credit loop that they are not in
// already. The SL must be below the number of SLs of In.
func (d *Dependencies) Add(t Turn) bool {
	first, closes := len(d.added), false
	if d.Force(t); len(d.added) == first {
		return true
	}
	d.graph.eachLane(t, func(from, to int) { closes = closes || d.leads(to, from) })
	if closes {
		d.Undo(first)
	}
	return !closes
}

// Force adds a turn in any case.
func (d *Dependencies) Force(t Turn) {
	g := d.graph
	for class := range g.classCount(t.Switch) {
		at, bit := (g.stream(t.Switch, t.Port, uint8(class))*g.sls+int(t.SL))*g.words+int(t.Next/64), t.Next%64
		if g.deps[at]>>bit&1 == 0 {
			g.deps[at] |= 1 << bit
			d.added = append(d.added, at*64+int(bit))
		}
	}
}

// Added is how many dependencies have been added.
func (d *Dependencies) Added() int { return len(d.added) }

// Undo removes all added dependencies except the first ones.
func (d *Dependencies) Undo(first int) {
	for _, dep := range d.added[first:] {
		d.graph.deps[dep/64] &^= 1 << (dep % 64)
	}
	d.added = d.added[:first]
}

// leads reports whether dependencies lead from a channel on a lane to another, or it is the same.
func (d *Dependencies) leads(from, to int) bool {
	if from == to {
		return true
	}
	d.search++
	d.passed[from] = d.search
	d.queue = append(d.queue[:0], int32(from))
	found := false
	for i := 0; i < len(d.queue) && !found; i++ {
		d.graph.each(int(d.queue[i]), func(next int) {
			if found = found || next == to; d.passed[next] != d.search {
				d.passed[next] = d.search
				d.queue = append(d.queue, int32(next))
			}
		})
	}
	d.Passed += len(d.queue)
	return found
}
