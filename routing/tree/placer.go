package tree

import (
	"context"
	"math"
	"slices"
	"sync"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// placer chooses the ports of all switches for one destination switch after the other. Routes by digits are counted
// first, so that routes without a port of their digit see the load of all of them. One goroutine uses a placer.
type placer struct {
	*network
	rows [][]uint8
	load []uint32 // by switch * 256 + port: routes from hosts that leave by it

	// To the switch in hand, by switch:
	cost   []int32  // links
	falls  []bool   // the way leads down only
	onlyBy []*group // where it falls by one group only: that group
	queue  []topo.SwitchIdx
	least  []int32 // by network.higherSet: the cost of these switches, 0 where it is not known yet

	// To the destination in hand, by switch:
	by    []uint8          // the port
	next  []topo.SwitchIdx // the switch behind it
	free  []bool           // the port is not that of the digit
	fixed []bool           // and has been chosen for the rail
	flow  []uint32         // hosts whose packets come there

	// Of destinations that are near each other, below one switch of the level above: by switch, which they are, and by
	// switch
	// * 256 + port how many have a port other than that of the digit.
	near  []int32
	moved []uint8
	idle  bool // several placers run side by side: near and moved are shared, and only read

	// Nil where all is placed afresh:
	beyond beyond
	ways   *ways
	lost   lost
	turner *turner // nil where each switch with hosts has a way to all others
	inRows bool    // the ports of switches to the destination in hand are those of the tables, not by and next
	batch  *batch  // nil before ports are placed by digits
}

const unreachable = math.MaxInt32 / 2

func newPlacer(n *network, rows [][]uint8, load []uint32) *placer {
	count := len(rows)
	return &placer{network: n, rows: rows, load: load, cost: make([]int32, count), falls: make([]bool, count),
		onlyBy: make([]*group, count), least: make([]int32, n.higherSets),
		by: make([]uint8, count), next: make([]topo.SwitchIdx, count), free: make([]bool, count),
		fixed: make([]bool, count), flow: make([]uint32, count)}
}

// placeWork is the approximate work of choosing the port of one switch for one destination, in units of routing.Budget.
const placeWork = 3

// place chooses all ports.
func place(ctx context.Context, n *network, all []destinations, rows [][]uint8) (*turner, error) {
	p := newPlacer(n, rows, make([]uint32, len(rows)<<8))
	steps := []func(context.Context, []destinations) error{
		p.placeDigits, p.placeOthers, p.placeTurns, p.relieve, p.separate, p.relieveShifts, p.giveLanes, p.connect,
	}
	if n.Base != nil {
		steps = []func(context.Context, []destinations) error{p.keep, p.placeLost, p.placeTurns, p.giveLanes, p.connect,
			p.share}
	}
	for _, step := range steps {
		if err := step(ctx, all); err != nil {
			return nil, err
		}
	}
	return p.turner, nil
}

// forEach lets several placers work on items, and adds up their counts. The error is that of ctx.
func (p *placer) forEach(ctx context.Context, items int, do func(w *placer, item int)) error {
	var mutex sync.Mutex
	var workers []*placer
	err := routing.Parallel(ctx, p.Workers, items, func() func(int) {
		w := newPlacer(p.network, p.rows, make([]uint32, len(p.load)))
		mutex.Lock()
		workers = append(workers, w)
		mutex.Unlock()
		return func(item int) { do(w, item) }
	})
	for _, w := range workers {
		for c, n := range w.load {
			p.load[c] += n
		}
	}
	return err
}

// begin measures the ways to destinations.
func (p *placer) begin(at *destinations) {
	p.measureWays(at.at)
	at.cut = slices.Contains(p.cost, unreachable)
}

// placeOthers gives switches that lack the port of the digit another port. Ports for destinations that are not hosts
// depend on the load of links but do not add to it, so several such destinations are placed at the same time.
func (p *placer) placeOthers(ctx context.Context, all []destinations) error {
	p.near, p.moved = slices.Repeat([]int32{topo.None}, len(p.rows)), make([]uint8, len(p.load))
	for len(all) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		idle := 0
		for idle < len(all) && all[idle].addNothing() {
			idle++
		}
		if idle < fewIdle {
			for i := range min(idle+1, len(all)) {
				p.placeOthersAt(ctx, &all[i])
			}
			all = all[min(idle+1, len(all)):]
			continue
		}
		some := all[:idle]
		all = all[idle:]
		err := routing.Parallel(ctx, p.Workers, len(some), func() func(int) {
			w := newPlacer(p.network, p.rows, p.load)
			w.near, w.moved, w.idle = p.near, p.moved, true
			return func(i int) { w.placeOthersAt(ctx, &some[i]) }
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fewIdle is how many switches are too few for several goroutines: one is faster.
const fewIdle = 64

// addNothing reports whether no destination without ports of its digit is a host.
func (d *destinations) addNothing() bool {
	return !slices.ContainsFunc(d.ports, func(d destination) bool {
		return d.others && (d.host || d.rail != nil || d.owner != topo.None)
	})
}

func (p *placer) placeOthersAt(ctx context.Context, at *destinations) {
	if !slices.ContainsFunc(at.ports, func(d destination) bool { return d.others }) {
		return
	}
	p.measureWays(at.at)
	var f *fitting
	if len(p.rails) > 0 {
		f = p.newFitting(at, func(d *destination) { p.choose(at.at, d) })
	}
	for i := range at.ports {
		if d := &at.ports[i]; d.others {
			routing.Spend(ctx, placeWork*len(p.rows))
			p.choose(at.at, d)
			if d.rail != nil {
				p.fit(at.at, d, f)
			}
			p.settle(at.at, d)
			clear(p.fixed)
		}
	}
}

// measureWays finds the shortest ways to a switch that go up and then down. A switch above it goes down, also where a
// way that goes up first is shorter: then no packet that has come down goes up.
func (p *placer) measureWays(to topo.SwitchIdx) {
	for s := range p.cost {
		p.cost[s], p.falls[s] = unreachable, false
	}
	p.cost[to], p.falls[to] = 0, true
	p.queue = append(p.queue[:0], to)
	for i := 0; i < len(p.queue); i++ {
		r := p.queue[i]
		for _, a := range p.above[r] {
			switch cost := p.cost[r] + 1; {
			case cost < p.cost[a.from]:
				p.cost[a.from], p.falls[a.from], p.onlyBy[a.from] = cost, true, a.by
				p.queue = append(p.queue, a.from)
			case cost == p.cost[a.from]:
				p.onlyBy[a.from] = nil
			}
		}
	}
	clear(p.least)
	for h := len(p.byHeight) - 1; h >= 0; h-- {
		s := p.byHeight[h]
		if p.falls[s] {
			continue
		}
		least := &p.least[p.higherSet[s]]
		if *least == 0 {
			cost := int32(unreachable - 1)
			for _, r := range p.higher[s] {
				cost = min(cost, p.cost[r])
			}
			*least = cost + 1
		}
		p.cost[s] = *least
	}
}

// choose gives each switch the port of the destination's digit, or, if it has none, any port on a shortest path. It
// reports whether any switch lacked the port of the digit.
func (p *placer) choose(at topo.SwitchIdx, d *destination) (others bool) {
	for level := range p.tiers {
		t := &p.tiers[level]
		index := t.index(d)
		for _, s := range t.switches {
			p.chooseAt(s, at, d, index)
			others = others || p.free[s]
		}
	}
	return others
}

// index is which of the ups of a switch has the digit of a destination.
func (t *tier) index(d *destination) int { return d.number / t.divider % (t.parents * t.cables) }

func (p *placer) chooseAt(s, at topo.SwitchIdx, d *destination, index int) {
	cost := p.cost[s]
	p.free[s] = false
	switch step := p.ups[s][index]; {
	case cost == unreachable:
		p.by[s], p.next[s] = routing.NoPath, topo.None
	case p.falls[s] && s != at:
		p.descend(s, d)
	case s == at:
		p.by[s], p.next[s] = d.egress, topo.None
	case step.next != topo.None && p.cost[step.next] == cost-1:
		p.by[s], p.next[s] = step.port, step.next
	default:
		p.takeAny(s, p.up[s])
	}
}

func (p *placer) descend(s topo.SwitchIdx, d *destination) {
	if g := p.onlyBy[s]; g != nil {
		t := &p.tiers[p.level[g.to]]
		if cable := d.number / t.divider / t.parents % t.cables; cable < len(g.ports) && len(g.ports) <= t.cables {
			p.by[s], p.next[s] = g.ports[cable], g.to
			return
		}
	}
	p.takeAny(s, p.down[s])
}

// takeAny gives a switch any group of cables on a shortest path.
func (p *placer) takeAny(s topo.SwitchIdx, groups []group) {
	for i := range groups {
		if p.isWay(s, &groups[i]) {
			p.by[s], p.next[s], p.free[s] = groups[i].ports[0], groups[i].to, true
			return
		}
	}
}

// isWay reports whether a shortest way from a switch begins with a group.
func (p *placer) isWay(s topo.SwitchIdx, g *group) bool {
	return p.cost[g.to] == p.cost[s]-1 && (p.falls[g.to] || !p.falls[s])
}

// inOrder calls do for each switch before the next switches on the path of its packets.
func (p *placer) inOrder(do func(s topo.SwitchIdx)) {
	for _, s := range p.byHeight {
		if !p.falls[s] {
			do(s)
		}
	}
	for h := len(p.byHeight) - 1; h >= 0; h-- {
		if s := p.byHeight[h]; p.falls[s] {
			do(s)
		}
	}
}

// settle gives switches without a port of the digit their ports. What comes to such a switch is counted from there on,
// up to the next.
func (p *placer) settle(at topo.SwitchIdx, d *destination) {
	clear(p.flow)
	if d.host {
		copy(p.flow, p.sources[d.class])
	}
	p.inOrder(func(s topo.SwitchIdx) {
		flow, next := p.flow[s], p.next[s]
		if !p.free[s] {
			if next != topo.None {
				p.flow[next] += flow
			}
			return
		}
		var moved []uint8
		if !p.idle || int(p.level[s]) == len(p.tiers)-1 && p.near[s] == p.below[p.level[s]][at] {
			moved = p.movedNear(s, at)
		}
		if !p.fixed[s] {
			p.improve(s, d, moved)
		}
		p.rows[s][d.lid] = p.by[s]
		if flow == 0 {
			return
		}
		moved[p.by[s]]++
		for ; p.next[s] != topo.None; s = p.next[s] {
			p.load[int(s)<<8|int(p.by[s])] += flow
			if next := p.next[s]; p.free[next] {
				p.flow[next] += flow
				return
			}
		}
	})
}

// movedNear is, by port, the number of neighbouring destinations, including those at a switch, that have been moved.
func (p *placer) movedNear(s, at topo.SwitchIdx) []uint8 {
	moved := p.moved[int(s)<<8:][:256]
	if near := p.below[p.level[s]][at]; near != p.near[s] {
		p.near[s] = near
		clear(moved)
	}
	return moved
}

// improve chooses among the cables on a shortest path: the one to which the fewest neighbouring destinations have been
// moved, and of several the one whose path has the least loaded busiest link. moved is by port; it may be nil. A path
// that all other LIDs of the host use comes last.
func (p *placer) improve(s topo.SwitchIdx, d *destination, moved []uint8) {
	groups := p.up[s]
	if p.falls[s] {
		groups = p.down[s]
	}
	least := uint64(math.MaxUint64)
	fewest := uint32(math.MaxUint32)
	shared, by := p.common(s, d)
	for i := range groups {
		g := &groups[i]
		if !p.isWay(s, g) {
			continue
		}
		beyond := p.fullest(g.to, d.lid)
		for _, port := range g.ports {
			count := uint32(0)
			if moved != nil {
				count = uint32(moved[port])
			}
			if g.to == shared {
				count += 1 << 16
			}
			if port == by {
				count += 1 << 16
			}
			own := p.load[int(s)<<8|int(port)]
			if full := uint64(max(own, beyond))<<32 | uint64(own); count < fewest || count == fewest && full < least {
				fewest, least = count, full
				p.by[s], p.next[s] = port, g.to
			}
		}
	}
}

// fullest is the routes of the fullest link on the way from a switch to a LID.
func (p *placer) fullest(s topo.SwitchIdx, lid mad.LID) (most uint32) {
	for {
		port, next := p.by[s], p.next[s]
		if p.inRows {
			port = p.rows[s][lid]
			next = p.beyond.next(s, port)
		}
		if next == topo.None {
			return most
		}
		most = max(most, p.load[int(s)<<8|int(port)])
		s = next
	}
}
