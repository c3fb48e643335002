package tree

import (
	"context"
	"math/bits"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// mostDigits is to how many destinations ports are placed together.
const mostDigits = 64

// run is destinations whose LIDs follow each other.
type run struct {
	lid        mad.LID
	first, end int
}

// digits is the destinations in hand, at one switch or several that are next to each other in the order of the tree. It belongs to one goroutine.
type digits struct {
	lids   []mad.LID // up to mostDigits
	runs   []run     // of them
	chosen []uint8   // by switch * mostDigits + destination: the port, NoPath where that of the digit does not do

	// Of some of them at one switch:
	up      [][mostDigits]int16 // by level: which of the ups of a switch has the digit
	down    [][mostDigits]int16 // by level: which of the cables from above
	sources [mostDigits][]uint32
	hosts   uint64   // those that are hosts
	others  uint64   // those to which some switches have no port of the digit
	came    []uint64 // by switch: those to which packets of others come there
	flow    []uint32 // by switch * mostDigits + destination: hosts whose packets come there; 0 where came has no bit
	here    [mostDigits]uint32
}

func (p *placer) newDigits() *digits {
	return &digits{
		chosen: make([]uint8, len(p.rows)*mostDigits),
		up:     make([][mostDigits]int16, len(p.tiers)), down: make([][mostDigits]int16, len(p.tiers)),
		came: make([]uint64, len(p.rows)), flow: make([]uint32, len(p.rows)*mostDigits),
	}
}

// placeDigits fills the tables with the ports of digits, and counts the routes that need no others.
func (p *placer) placeDigits(ctx context.Context, all []destinations) error {
	var items [][]destinations
	for len(all) > 0 {
		count, ports := 1, len(all[0].ports)
		for count < len(all) && ports+len(all[count].ports) <= mostDigits {
			ports += len(all[count].ports)
			count++
		}
		items, all = append(items, all[:count]), all[count:]
	}
	return p.forEach(ctx, len(items), func(w *placer, item int) error {
		if w.digits == nil {
			w.digits = w.newDigits()
		}
		return w.placeItem(items[item])
	})
}

func (p *placer) placeItem(item []destinations) error {
	for i := range item {
		at := &item[i]
		if err := p.begin(at); err != nil {
			return err
		}
		for first := 0; first < len(at.ports); first += mostDigits {
			some := at.ports[first:min(first+mostDigits, len(at.ports))]
			if len(p.digits.lids)+len(some) > mostDigits {
				p.writeDigits()
			}
			p.placeSome(at.at, some)
		}
	}
	p.writeDigits()
	return nil
}

// writeDigits writes the ports that have been chosen into the tables.
func (p *placer) writeDigits() {
	g := p.digits
	g.runs = g.runs[:0]
	for i, lid := range g.lids {
		if last := len(g.runs) - 1; i > 0 && lid == g.lids[i-1]+1 {
			g.runs[last].end++
		} else {
			g.runs = append(g.runs, run{lid, i, i + 1})
		}
	}
	for s, row := range p.rows {
		chosen := g.chosen[s*mostDigits:][:len(g.lids)]
		for _, r := range g.runs {
			copy(row[r.lid:], chosen[r.first:r.end])
		}
	}
	g.lids = g.lids[:0]
}

// placeSome gives switches their ports of digits to some destinations at one, and counts the routes of hosts that come by them, up to switches that need another port.
func (p *placer) placeSome(at topo.SwitchIdx, some []destination) {
	g, first := p.digits, len(p.digits.lids)
	g.hosts, g.others = 0, 0
	for i := range some {
		d := &some[i]
		g.lids, g.sources[i] = append(g.lids, d.lid), p.sources[d.class]
		if d.host {
			g.hosts |= 1 << i
		}
		for level := range p.tiers {
			t := &p.tiers[level]
			g.up[level][i] = int16(d.number / t.divider % (t.parents * t.cables))
			g.down[level][i] = int16(d.number / t.divider / t.parents % t.cables)
		}
	}
	p.inOrder(func(s topo.SwitchIdx) {
		chosen, going := g.chosen[int(s)*mostDigits+first:][:len(some)], p.arrive(s)
		switch {
		case s == at:
			for i := range chosen {
				chosen[i] = some[i].egress
			}
		case p.cost[s] == unreachable:
			noPath(chosen)
		case p.falls[s]:
			p.placeDown(s, chosen, going)
		default:
			p.placeUp(s, chosen, going)
		}
	})
	for i := range some {
		some[i].others = g.others>>i&1 != 0
	}
}

// arrive takes what comes to a switch into here, and returns to which destinations packets leave it.
func (p *placer) arrive(s topo.SwitchIdx) (going uint64) {
	g := p.digits
	going, g.came[s] = g.came[s], 0
	flow := g.flow[int(s)*mostDigits:][:mostDigits]
	if p.hosts[s] == 0 {
		for came := going; came != 0; came &= came - 1 {
			i := bits.TrailingZeros64(came)
			g.here[i], flow[i] = flow[i], 0
		}
		return going
	}
	for hosts := g.hosts; hosts != 0; hosts &= hosts - 1 {
		i := bits.TrailingZeros64(hosts)
		g.here[i] = g.sources[i][s]
		if going>>i&1 != 0 {
			g.here[i] += flow[i]
			flow[i] = 0
		}
	}
	return g.hosts
}

func (p *placer) placeUp(s topo.SwitchIdx, chosen []uint8, going uint64) {
	g := p.digits
	ups, index, cost := p.ups[s], &g.up[p.level[s]], p.cost[s]-1
	for i := range chosen {
		up := ups[index[i]]
		if up.next == topo.None || p.cost[up.next] != cost {
			chosen[i] = routing.NoPath
			g.others |= 1 << i
			going &^= 1 << i
		} else {
			chosen[i] = up.port
		}
	}
	load := p.load[int(s)<<8:][:256]
	for ; going != 0; going &= going - 1 {
		i := bits.TrailingZeros64(going)
		load[chosen[i]] += g.here[i]
		g.send(ups[index[i]].next, i)
	}
}

func (p *placer) placeDown(s topo.SwitchIdx, chosen []uint8, going uint64) {
	g, by := p.digits, p.onlyBy[s]
	if by == nil {
		noPath(chosen)
		g.others |= 1<<len(chosen) - 1
		return
	}
	cables := &g.down[p.level[by.to]]
	for i := range chosen {
		if cable := int(cables[i]); cable < len(by.ports) {
			chosen[i] = by.ports[cable]
		} else {
			chosen[i] = routing.NoPath
			g.others |= 1 << i
			going &^= 1 << i
		}
	}
	load := p.load[int(s)<<8:][:256]
	for ; going != 0; going &= going - 1 {
		i := bits.TrailingZeros64(going)
		load[chosen[i]] += g.here[i]
		g.send(by.to, i)
	}
}

func noPath(chosen []uint8) {
	for i := range chosen {
		chosen[i] = routing.NoPath
	}
}

// send has what is here to a destination come to the next switch.
func (g *digits) send(next topo.SwitchIdx, i int) {
	g.came[next] |= 1 << i
	g.flow[int(next)*mostDigits+i] += g.here[i]
}
