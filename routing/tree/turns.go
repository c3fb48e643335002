package tree

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Between some switches no way goes up and then down: a part of the tree reaches one group of roots only, and another
// part another one. Packets between them turn: they come down to a switch, and go up again from there on a way that
// goes up and then down. Turns can close credit loops with each other and with other paths (lanes.go).

// turner finds the ways that turn. It belongs to one goroutine.
type turner struct {
	*placer
	all   []destinations
	index []int32            // by switch: which of all it has
	from  [][]topo.SwitchIdx // of each of all: switches with hosts that have no way there, in order
	to    [][]topo.SwitchIdx // by switch: the other way round
	pairs int                // of switches, counted once
	own   []bool             // by switch: its row belongs to these tables alone
	sls   *routing.SLs       // nil where all are on lane 0
	paths []int              // by lane: pairs

	// To the switch in hand, by switch:
	layer  []int32            // turns of the way, unknown for none
	tail   []int32            // links of the way
	drops  []bool             // the way to the next turn leads down only
	round  []int32            // in which ways from it were found
	place  []int32            // the round from which on packets turn at it
	nearby [][]topo.SwitchIdx // by links
}

const unknown = -1

// turnWork is the approximate work of finding the path from one switch to one destination, in units of routing.Budget.
const turnWork = 20

// placeTurns gives paths between switches without a way ways that turn.
func (p *placer) placeTurns(ctx context.Context, all []destinations) error {
	if err := p.findPairs(ctx, all); err != nil || p.turner == nil {
		return err
	}
	t := p.turner
	if t.Base != nil {
		return t.route(ctx, nil, t.Base, t.Prev)
	}
	if routing.LeastLanes(t.Lanes) == 1 {
		return t.route(ctx, t.places(1, 0))
	}
	return t.route(ctx, nil)
}

// findPairs finds the pairs of switches with hosts that have no up-down path. turner stays nil if there are none.
func (p *placer) findPairs(ctx context.Context, all []destinations) error {
	count := len(p.rows)
	t := &turner{placer: p, all: all, index: indexOf(all), from: make([][]topo.SwitchIdx, len(all)),
		to: make([][]topo.SwitchIdx, count)}
	ends := make([]bool, len(all))
	for i := range all {
		ends[i] = slices.ContainsFunc(all[i].ports, func(d destination) bool { return d.end })
	}
	look := func(s topo.SwitchIdx, i int) {
		at := all[i].at
		if !ends[i] || p.hosts[s] == 0 || p.parts[s] != p.parts[at] || !p.cutOff(s, at) {
			return
		}
		t.from[i] = append(t.from[i], s)
		t.to[s] = append(t.to[s], at)
		if p.hosts[at] == 0 || s < at {
			t.pairs++
		}
	}
	for s := range p.hosts {
		if p.ways != nil && p.hosts[s] > 0 && bytes.IndexByte(p.ways.from(topo.SwitchIdx(s))[:count], noWay) >= 0 {
			for i := range all {
				look(topo.SwitchIdx(s), i)
			}
		}
	}
	for i := range all {
		if p.ways != nil || !ends[i] || !all[i].cut {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		p.measureWays(all[i].at)
		for s := range p.hosts {
			look(topo.SwitchIdx(s), i)
		}
	}
	if t.pairs == 0 {
		return nil
	}
	if p.tracer == nil {
		p.tracer = routing.NewTracer(p.Topo, p.LIDs)
	}
	t.own = make([]bool, count)
	t.layer, t.tail, t.drops, t.round, t.place = make([]int32, count), make([]int32, count), make([]bool, count),
		make([]int32, count), make([]int32, count)
	p.turner = t
	return nil
}

// cutOff reports whether a switch has no way to another that goes up and then down.
func (p *placer) cutOff(s, at topo.SwitchIdx) bool {
	if p.ways != nil {
		return p.ways.from(s)[at] == noWay
	}
	return p.cost[s] == unreachable
}

// route finds paths for all pairs. places restricts where packets may turn, as far as possible; nil permits all places.
// If an entry of the other tables leads to a switch that has a port, it stays.
func (t *turner) route(ctx context.Context, places []bool, stay ...*routing.Tables) error {
	for i := range t.all {
		if len(t.from[i]) == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		at := &t.all[i]
		t.measureWays(at.at)
		t.measureTurns(i, places)
		routing.Spend(ctx, 2*len(t.load)/256+len(t.from[i])*len(at.ports)*turnWork)
		for j := range at.ports {
			d := &at.ports[j]
			if !d.end {
				continue
			}
			for _, other := range stay {
				for _, s := range t.from[i] {
					t.adopt(s, d.lid, other)
				}
			}
			for _, s := range t.from[i] {
				t.walk(s, d)
			}
		}
	}
	return nil
}

// measureTurns finds the ways with the fewest turns, and of these the shortest, for all switches from which packets
// come to some destinations.
func (t *turner) measureTurns(i int, places []bool) {
	for s, cost := range t.cost {
		t.tail[s], t.drops[s], t.place[s] = cost, false, unreachable
		if t.layer[s] = 0; cost == unreachable {
			t.layer[s] = unknown
		}
	}
	for turns, round := int32(1), int32(0); slices.ContainsFunc(t.from[i], func(s topo.SwitchIdx) bool {
		return t.layer[s] == unknown
	}); turns, round = turns+1, round+1 {
		if !t.addTurn(turns, round, places) {
			if places == nil {
				return
			}
			turns--
		}
		places = nil // all of them at further turns, and where those do not do
	}
}

// addTurn finds ways with one turn more, at some places, nil for anywhere. It reports whether it has found any.
func (t *turner) addTurn(turns, round int32, places []bool) (found bool) {
	t.nearby = t.nearby[:0]
	see := func(s topo.SwitchIdx) {
		for int(t.tail[s]) >= len(t.nearby) {
			t.nearby = append(t.nearby, nil)
		}
		t.nearby[t.tail[s]] = append(t.nearby[t.tail[s]], s)
	}
	for s, layer := range t.layer {
		if layer != unknown && (places == nil || places[s]) {
			t.place[s] = min(t.place[s], round)
			see(topo.SwitchIdx(s))
		}
	}
	for links := int32(0); int(links) < len(t.nearby); links++ {
		for k := 0; k < len(t.nearby[links]); k++ {
			for _, a := range t.above[t.nearby[links][k]] {
				if t.layer[a.from] == unknown {
					t.layer[a.from], t.tail[a.from], t.drops[a.from], t.round[a.from], found = turns, links+1, true,
						round, true
					see(a.from)
				}
			}
		}
	}
	for h := len(t.byHeight) - 1; h >= 0; h-- {
		s := t.byHeight[h]
		if t.layer[s] != unknown {
			continue
		}
		for _, r := range t.higher[s] {
			if t.layer[r] == turns && (t.layer[s] == unknown || t.tail[r]+1 < t.tail[s]) {
				t.layer[s], t.tail[s], t.round[s], found = turns, t.tail[r]+1, round, true
			}
		}
	}
	return found
}

// leads reports whether the way of a switch that turns begins with a group.
func (t *turner) leads(s topo.SwitchIdx, g *group) bool {
	r := g.to
	switch {
	case t.layer[r] == unknown || t.tail[r] != t.tail[s]-1:
		return false
	case t.drops[s]:
		return t.place[r] <= t.round[s] || t.drops[r] && t.round[r] == t.round[s]
	}
	return t.layer[r] == t.layer[s]
}

// walk gives the switches on the way from one to a destination their ports, up to one that has a port.
func (t *turner) walk(s topo.SwitchIdx, d *destination) {
	for v := s; t.rows[v][d.lid] == routing.NoPath; v = t.tracer.Next(v, t.rows[v][d.lid]) {
		t.choose(v, d)
	}
	if t.Base == nil && d.host {
		t.add(s, d.lid, t.sources[d.class][s])
	}
}

// adopt takes the ports of other tables for a switch and the following switches, if they lead to a switch that has a
// port.
func (t *turner) adopt(s topo.SwitchIdx, lid mad.LID, other *routing.Tables) {
	end := s
	for links := 0; t.rows[end][lid] == routing.NoPath; links++ {
		if end = t.beyond.next(end, portOf(rowOf(other, end), lid)); end == topo.None || links == routing.MaxTrace {
			return
		}
	}
	for ; s != end; s = t.tracer.Next(s, t.rows[s][lid]) {
		t.set(s, lid, other.LFT[s][lid])
	}
}

// choose gives a switch the port whose remaining path, as far as it is known, has the least loaded busiest link.
func (t *turner) choose(s topo.SwitchIdx, d *destination) {
	groups := t.up[s]
	if t.drops[s] {
		groups = t.down[s]
	}
	best, least := uint8(routing.NoPath), [2]uint32{}
	for i := range groups {
		g := &groups[i]
		if !t.leads(s, g) {
			continue
		}
		beyond := t.fullestFrom(g.to, d.lid)
		for _, port := range g.ports {
			own := t.load[int(s)<<8|int(port)]
			if full := [2]uint32{max(own, beyond), own}; best == routing.NoPath ||
				slices.Compare(full[:], least[:]) < 0 {
				best, least = port, full
			}
		}
	}
	t.set(s, d.lid, best)
}

// set gives a switch its port to a LID.
func (t *turner) set(s topo.SwitchIdx, lid mad.LID, port uint8) {
	if t.Base != nil && !t.own[s] {
		t.rows[s], t.own[s] = slices.Clone(t.rows[s]), true
	}
	if t.rows[s][lid] = port; t.Base != nil && port != routing.NoPath {
		t.load[int(s)<<8|int(port)]++
	}
}

// follow calls do for each link on the way from a switch to a LID.
func (t *turner) follow(s topo.SwitchIdx, lid mad.LID, do func(channel int)) {
	for t.rows[s][lid] != routing.NoPath {
		channel := int(s)<<8 | int(t.rows[s][lid])
		if s = t.tracer.Next(s, t.rows[s][lid]); s == topo.None {
			return
		}
		do(channel)
	}
}

func (t *turner) fullestFrom(s topo.SwitchIdx, lid mad.LID) (most uint32) {
	t.follow(s, lid, func(channel int) { most = max(most, t.load[channel]) })
	return most
}

func (t *turner) add(s topo.SwitchIdx, lid mad.LID, routes uint32) {
	t.follow(s, lid, func(channel int) { t.load[channel] += routes })
}

// arrive has the packets to a destination that turn come to the switches from which they go up and then down. t may be
// nil.
func (t *turner) arrive(at topo.SwitchIdx, d *destination, flow []uint32) {
	if t == nil {
		return
	}
	for _, s := range t.from[t.index[at]] {
		v := s
		for t.cost[v] == unreachable && t.rows[v][d.lid] != routing.NoPath {
			v = t.tracer.Next(v, t.rows[v][d.lid])
		}
		flow[v] += t.sources[d.class][s]
	}
}

// clear takes all ways that turn back.
func (t *turner) clear() {
	for i := range t.all {
		if len(t.from[i]) == 0 {
			continue
		}
		at := &t.all[i]
		t.measureWays(at.at)
		for j := range at.ports {
			d := &at.ports[j]
			if !d.end {
				continue
			}
			for _, s := range t.from[i] {
				if t.Base == nil && d.host && t.rows[s][d.lid] != routing.NoPath {
					t.add(s, d.lid, -t.sources[d.class][s])
				}
			}
			for s, cost := range t.cost {
				if port := t.rows[s][d.lid]; cost == unreachable && port != routing.NoPath {
					if t.set(topo.SwitchIdx(s), d.lid, routing.NoPath); t.Base != nil {
						t.load[s<<8|int(port)]--
					}
				}
			}
		}
	}
}

// places are so many switches where packets may turn, of those from which the most of all others that turn can be
// reached: the one after first, and those at equal distances from it. Leaves come first, and of these the ones with the
// most cables.
func (t *turner) places(count, first int) []bool {
	reached := make([]int, len(t.rows))
	for i := range t.all {
		if len(t.from[i]) == 0 {
			continue
		}
		t.measureWays(t.all[i].at)
		for s, cost := range t.cost {
			if cost < unreachable {
				reached[s] += len(t.from[i])
			}
		}
	}
	cables := func(s topo.SwitchIdx) (count int) {
		for _, g := range t.up[s] {
			count += len(g.ports)
		}
		return count
	}
	order := slices.Clone(t.byHeight)
	slices.SortStableFunc(order, func(a, b topo.SwitchIdx) int {
		return cmp.Or(cmp.Compare(t.level[a], t.level[b]), cmp.Compare(reached[b], reached[a]),
			cmp.Compare(cables(b), cables(a)))
	})
	alike := 1
	for alike < len(order) && t.level[order[alike]] == t.level[order[0]] && reached[order[alike]] == reached[order[0]] {
		alike++
	}
	places := make([]bool, len(t.rows))
	for i := range min(count, alike) {
		places[order[(first+i*alike/count)%alike]] = true
	}
	return places
}

// noRoom says that paths that turn close a credit loop on each lane.
func (t *turner) noRoom() error {
	for i := range t.all {
		for _, s := range t.from[i] {
			name := func(s topo.SwitchIdx) string { return t.Topo.Nodes[t.Topo.Switches[s]].Desc.String() }
			return fmt.Errorf(
				"not a fat tree: %d pairs of switches with hosts have no up-down path, the first %q and %q, and paths that turn close a credit loop on each of %d lanes",
				t.pairs, name(s), name(t.all[i].at), routing.LeastLanes(t.Lanes))
		}
	}
	return nil
}

// note says how many pairs turn, and on which lanes.
func (t *turner) note() string {
	var lanes []string
	for lane, pairs := range t.paths {
		if pairs > 0 {
			lanes = append(lanes, strconv.Itoa(lane))
		}
	}
	word := "lane"
	if len(lanes) > 1 {
		word = "lanes"
	}
	if t.pairs == 1 {
		return fmt.Sprintf("1 pair of leaves has no up-down path: routed over %s %s", word,
			strings.Join(lanes, ", "))
	}
	return fmt.Sprintf("%d pairs of leaves have no up-down path: routed over %s %s", t.pairs, word,
		strings.Join(lanes, ", "))
}
