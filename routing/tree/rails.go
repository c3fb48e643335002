package tree

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/rails"
	"ibsm/topo"
)

// rail is the order of the ports of one rail, within which as few flows of shifts as possible are wanted to meet.
// Several rails with the same leaves are one here: the ports of one host are next to each other.
type rail struct {
	lids   []mad.LID
	leaf   []topo.SwitchIdx         // of lids
	leaves []topo.SwitchIdx         // in their order
	blocks map[topo.SwitchIdx]block // by leaf
	bound  []uint8                  // by shift: flows that meet on some link, whatever the routes are
}

// block is places of a rail side by side: the ports on one leaf.
type block struct{ first, count int }

// member is a port of one of some rails with the same leaves.
type member struct {
	port             topo.PortIdx
	leaf             topo.SwitchIdx
	place, nth, rail int // of the leaf; among the ports of the rail there; of the rail
}

// findRails finds the rails of a tree of two levels. In higher ones what meets above the switches next to leaves
// counts, too, for which the order of the tree is better.
func (n *network) findRails() {
	if len(n.tiers) > 2 {
		return
	}
	found, place := rails.Find(n.Topo), map[topo.SwitchIdx]int{}
	for _, leaves := range found.Units {
		for _, l := range leaves {
			place[l] = len(place)
		}
	}
	together, order := map[string][]member{}, []string{}
	for i, of := range found.Rails {
		key := fmt.Sprint(of.Leaves)
		if together[key] == nil {
			order = append(order, key)
		}
		count := map[topo.SwitchIdx]int{}
		for _, p := range of.Ports {
			if n.LIDs.Base[p] == 0 {
				continue
			}
			m := member{port: p, leaf: n.Topo.SwitchOf(p), rail: i}
			var inUnit bool
			if m.place, inUnit = place[m.leaf]; !inUnit {
				m.place = len(n.level) + int(m.leaf)
			}
			m.nth = count[m.leaf]
			count[m.leaf]++
			together[key] = append(together[key], m)
		}
	}
	for _, key := range order {
		if members := together[key]; len(members) > 0 {
			n.rails = append(n.rails, n.newRail(members))
		}
	}
	n.boundRails()
}

func (n *network) newRail(members []member) *rail {
	slices.SortFunc(members, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.nth, b.nth), cmp.Compare(a.rail, b.rail))
	})
	r := &rail{blocks: map[topo.SwitchIdx]block{}}
	for _, m := range members {
		b, is := r.blocks[m.leaf]
		if !is {
			b.first, r.leaves = len(r.lids), append(r.leaves, m.leaf)
		}
		b.count++
		r.blocks[m.leaf] = b
		r.lids, r.leaf = append(r.lids, n.LIDs.Base[m.port]), append(r.leaf, m.leaf)
	}
	return r
}

// boundRails finds how many flows of each shift must meet: where a leaf has more flows than cables.
func (n *network) boundRails() {
	longest := 0
	for _, r := range n.rails {
		longest = max(longest, len(r.lids))
	}
	bound := slices.Repeat([]uint8{1}, longest)
	for _, r := range n.rails {
		for s, b := range r.blocks {
			cables := 0
			for _, g := range n.up[s] {
				cables += len(g.ports)
			}
			for by := 0; by < longest && cables > 0; by++ {
				k := by % len(r.lids)
				flows := min(k, len(r.lids)-k, b.count)
				bound[by] = max(bound[by], uint8(min(math.MaxUint8, (flows+cables-1)/cables)))
			}
		}
	}
	for _, r := range n.rails {
		r.bound = bound[:len(r.lids)]
	}
}

// fitting is the state of choosing paths within rails for the destinations at one leaf.
type fitting struct {
	falls map[int32][]int // places of a rail whose packets come down by a port: by switch * 256 + port
	meet  [256][]int16    // by port of the leaf that sends, then by shift of those in hand: flows
	ports []uint8         // those of meet that are in use
}

// newFitting finds where packets to the destinations at a leaf come down, by the way of each that is known.
func (p *placer) newFitting(at *destinations, known func(d *destination)) *fitting {
	f := &fitting{falls: map[int32][]int{}}
	for i := range at.ports {
		d := &at.ports[i]
		if d.rail == nil {
			continue
		}
		known(d)
		for _, from := range d.rail.leaves {
			if last := p.lastKnown(from, at.at); last != topo.None {
				f.add(last, p.by[last], d.place)
			}
		}
	}
	return f
}

func (f *fitting) add(s topo.SwitchIdx, port uint8, place int) {
	if key := int32(s)<<8 | int32(port); !slices.Contains(f.falls[key], place) {
		f.falls[key] = append(f.falls[key], place)
	}
}

// lastKnown is the last switch but one on the way from a leaf to the switch in hand, None if the port of some switch is
// not known.
func (p *placer) lastKnown(from, at topo.SwitchIdx) topo.SwitchIdx {
	for s := from; s != at && s != topo.None && !p.free[s]; s = p.next[s] {
		if p.next[s] == at {
			return s
		}
	}
	return topo.None
}

// fit gives the leaves of a rail whose way to a destination by digits is not whole another way, by which the fewest
// flows of shifts within the rail meet beyond what must. Switches where packets come by digits keep their ports.
func (p *placer) fit(at topo.SwitchIdx, d *destination, f *fitting) {
	copy(p.flow, p.hosts)
	p.inOrder(func(s topo.SwitchIdx) {
		if next := p.next[s]; next != topo.None && !p.free[s] {
			p.flow[next] += p.flow[s]
		}
	})
	for _, from := range d.rail.leaves {
		if from != at && p.cost[from] != unreachable && p.lastKnown(from, at) == topo.None && !p.falls[from] {
			p.fitFrom(from, at, d, f)
		}
	}
}

// fitLost is fit for leaves that have no port to a destination. All ports that there are stay.
func (p *placer) fitLost(at topo.SwitchIdx, d *destination, f *fitting) {
	for s, row := range p.rows {
		if p.flow[s] = 1; row[d.lid] == routing.NoPath {
			p.flow[s] = 0
		}
	}
	for _, from := range d.rail.leaves {
		if p.flow[from] == 0 && p.cost[from] != unreachable && !p.falls[from] {
			p.free[from] = true
			p.fitFrom(from, at, d, f)
		}
	}
}

// sharedCost is what a way costs that all others to the same host take: more than any flows that meet.
const sharedCost = 1 << 40

func (p *placer) fitFrom(from, at topo.SwitchIdx, d *destination, f *fitting) {
	p.meetAt(from, d, f)
	type choice struct {
		by, last uint8 // last is 0 where the switch behind by does not lead to the leaf of the destination
		next     topo.SwitchIdx
	}
	best, least, full := choice{}, math.MaxInt, uint32(math.MaxUint32)
	shared, _ := p.common(from, d)
	try := func(c choice, load uint32) {
		cost := p.costOf(from, at, c.by, c.last, c.next, d, f, least)
		if c.next == shared {
			cost += sharedCost
		}
		if cost < least || cost == least && load < full {
			best, least, full = c, cost, load
		}
	}
	for i := range p.up[from] {
		g := &p.up[from][i]
		if !p.isWay(from, g) {
			continue
		}
		lasts := p.lasts(g.to)
		for _, port := range g.ports {
			own := p.load[int(from)<<8|int(port)]
			if len(lasts) == 0 {
				try(choice{port, 0, g.to}, max(own, p.fullest(g.to, d.lid)))
			}
			for _, last := range lasts {
				try(choice{port, last, g.to}, max(own, p.load[int(g.to)<<8|int(last)]))
			}
		}
	}
	if best.last != 0 {
		p.fixLast(best.next, at, best.last)
		f.add(best.next, best.last, d.place)
	}
	if p.by[from] != best.by || p.free[from] {
		for s := from; !p.free[s] && p.next[s] != topo.None; s = p.next[s] { // they have been counted there
			p.load[int(s)<<8|int(p.by[s])] -= p.sources[d.class][from]
		}
		p.by[from], p.next[from], p.free[from], p.fixed[from] = best.by, best.next, true, true
	}
}

// lasts are the ports by which a switch next to a leaf sends packets down to it; none if it is not next to the leaf.
func (p *placer) lasts(s topo.SwitchIdx) []uint8 {
	if !p.falls[s] || p.cost[s] != 1 {
		return nil
	}
	if p.fixed[s] || p.flow[s] > 0 && !p.free[s] {
		return p.by[s : s+1]
	}
	return p.onlyBy[s].ports // a group is all cables to the leaf
}

func (p *placer) fixLast(s, at topo.SwitchIdx, port uint8) {
	if p.flow[s] > 0 && !p.free[s] {
		return // it is that of the digit
	}
	p.by[s], p.next[s], p.free[s], p.fixed[s] = port, at, true, true
}

// meetAt counts, by port, the flows that leave a leaf in those shifts within the rail in which it sends to a
// destination. The first such shift is that of the last port on the leaf.
func (p *placer) meetAt(from topo.SwitchIdx, d *destination, f *fitting) {
	r, b := d.rail, d.rail.blocks[from]
	for _, port := range f.ports {
		f.meet[port] = f.meet[port][:0]
	}
	f.ports = f.ports[:0]
	for by := 1 - b.count; by < b.count; by++ {
		at := (d.place + by + len(r.lids)) % len(r.lids)
		if by == 0 || at == d.place || r.leaf[at] == from {
			continue
		}
		port := p.rows[from][r.lids[at]]
		if len(f.meet[port]) == 0 {
			f.meet[port], f.ports = append(f.meet[port], make([]int16, b.count+1)...), append(f.ports, port)
		}
		f.meet[port][max(0, by)]++ // the first shift in which both are sent to
		f.meet[port][min(b.count, b.count+by)]--
	}
	for _, port := range f.ports {
		sum := int16(0)
		for i, n := range f.meet[port] {
			sum += n
			f.meet[port][i] = sum
		}
	}
}

// costOf is what a way to a destination costs: each shift in which more flows meet than must, much; others that meet,
// little. It stops counting above most.
func (p *placer) costOf(from, at topo.SwitchIdx, by, last uint8, next topo.SwitchIdx, d *destination, f *fitting,
	most int) (cost int) {
	r, b, home := d.rail, d.rail.blocks[from], d.rail.blocks[at]
	var down []int
	if last != 0 {
		down = f.falls[int32(next)<<8|int32(last)]
	}
	first := d.place - b.first - b.count + 1 + 2*len(r.lids)
	for i := range b.count {
		shift, up, fall := (first+i)%len(r.lids), 1, 1
		if len(f.meet[by]) > 0 {
			up += int(f.meet[by][i])
		}
		for _, other := range down {
			source := (other - shift + len(r.lids)) % len(r.lids)
			if other != d.place && (source < home.first || source >= home.first+home.count) {
				fall++
			}
		}
		if over := max(up, fall) - int(r.bound[shift]); over > 0 {
			cost += 1000 * over * over
		}
		if cost += max(up, fall) - 1; cost > most {
			break
		}
	}
	return cost
}

// within reports whether packets from a leaf to a destination stay in a rail.
func (d *destination) within(from topo.SwitchIdx) bool {
	if d.rail == nil {
		return false
	}
	_, is := d.rail.blocks[from]
	return is
}
