package tree

import (
	"context"
	"math/bits"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// batchSize is the most destinations of a batch.
const batchSize = 64

// run is destinations whose LIDs follow each other.
type run struct {
	lid        mad.LID
	first, end int
}

// batch is the destinations to which ports are placed together by their digits, at one switch or several that are next
// to each other in the order of the tree. It belongs to one goroutine.
type batch struct {
	lids   []mad.LID // up to batchSize
	runs   []run     // of them
	chosen []uint8   // by switch * batchSize + destination: the port, NoPath where that of the digit does not do

	// Of some of them at one switch:
	up      [][batchSize]int16 // by level: which of the ups of a switch has the digit
	down    [][batchSize]int16 // by level: which of the cables from above
	sources [batchSize][]uint32
	hosts   uint64   // those that are hosts
	others  uint64   // those to which some switches have no port of the digit
	came    []uint64 // by switch: those to which packets of others come there
	flow    []uint32 // by switch * batchSize + destination: hosts whose packets come there; 0 where came has no bit
	here    [batchSize]uint32
}

func (p *placer) newBatch() *batch {
	return &batch{
		chosen: make([]uint8, len(p.rows)*batchSize),
		up:     make([][batchSize]int16, len(p.tiers)), down: make([][batchSize]int16, len(p.tiers)),
		came: make([]uint64, len(p.rows)), flow: make([]uint32, len(p.rows)*batchSize),
	}
}

// placeDigits fills the tables with the ports of digits, and counts the routes that need no others.
func (p *placer) placeDigits(ctx context.Context, all []destinations) error {
	var batches [][]destinations
	for len(all) > 0 {
		count, ports := 1, len(all[0].ports)
		for count < len(all) && ports+len(all[count].ports) <= batchSize {
			ports += len(all[count].ports)
			count++
		}
		batches, all = append(batches, all[:count]), all[count:]
	}
	return p.forEach(ctx, len(batches), func(w *placer, i int) {
		if w.batch == nil {
			w.batch = w.newBatch()
		}
		w.placeBatch(batches[i])
	})
}

// placeBatch places ports to destinations at some switches: more than a batch if one switch has more.
func (p *placer) placeBatch(some []destinations) {
	for i := range some {
		at := &some[i]
		p.begin(at)
		for first := 0; first < len(at.ports); first += batchSize {
			ports := at.ports[first:min(first+batchSize, len(at.ports))]
			if len(p.batch.lids)+len(ports) > batchSize {
				p.writeBatch()
			}
			p.placeSome(at.at, ports)
		}
	}
	p.writeBatch()
}

// writeBatch writes the ports that have been chosen into the tables, and empties the batch.
func (p *placer) writeBatch() {
	b := p.batch
	b.runs = b.runs[:0]
	for i, lid := range b.lids {
		if last := len(b.runs) - 1; i > 0 && lid == b.lids[i-1]+1 {
			b.runs[last].end++
		} else {
			b.runs = append(b.runs, run{lid, i, i + 1})
		}
	}
	for s, row := range p.rows {
		chosen := b.chosen[s*batchSize:][:len(b.lids)]
		for _, r := range b.runs {
			copy(row[r.lid:], chosen[r.first:r.end])
		}
	}
	b.lids = b.lids[:0]
}

// placeSome gives switches their ports of digits to some destinations at one, and counts the routes of hosts that come
// by them, up to switches that need another port.
func (p *placer) placeSome(at topo.SwitchIdx, some []destination) {
	b, first := p.batch, len(p.batch.lids)
	b.hosts, b.others = 0, 0
	for i := range some {
		d := &some[i]
		b.lids, b.sources[i] = append(b.lids, d.lid), p.sources[d.class]
		if d.host {
			b.hosts |= 1 << i
		}
		for level := range p.tiers {
			t := &p.tiers[level]
			b.up[level][i] = int16(d.number / t.divider % (t.parents * t.cables))
			b.down[level][i] = int16(d.number / t.divider / t.parents % t.cables)
		}
	}
	p.inOrder(func(s topo.SwitchIdx) {
		chosen, going := b.chosen[int(s)*batchSize+first:][:len(some)], p.arrive(s)
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
		some[i].others = b.others>>i&1 != 0
	}
}

// arrive takes what comes to a switch into here, and returns to which destinations packets leave it.
func (p *placer) arrive(s topo.SwitchIdx) (going uint64) {
	b := p.batch
	going, b.came[s] = b.came[s], 0
	flow := b.flow[int(s)*batchSize:][:batchSize]
	if p.hosts[s] == 0 {
		for came := going; came != 0; came &= came - 1 {
			i := bits.TrailingZeros64(came)
			b.here[i], flow[i] = flow[i], 0
		}
		return going
	}
	for hosts := b.hosts; hosts != 0; hosts &= hosts - 1 {
		i := bits.TrailingZeros64(hosts)
		b.here[i] = b.sources[i][s]
		if going>>i&1 != 0 {
			b.here[i] += flow[i]
			flow[i] = 0
		}
	}
	return b.hosts
}

func (p *placer) placeUp(s topo.SwitchIdx, chosen []uint8, going uint64) {
	b := p.batch
	ups, index, cost := p.ups[s], &b.up[p.level[s]], p.cost[s]-1
	for i := range chosen {
		up := ups[index[i]]
		if up.next == topo.None || p.cost[up.next] != cost {
			chosen[i] = routing.NoPath
			b.others |= 1 << i
			going &^= 1 << i
		} else {
			chosen[i] = up.port
		}
	}
	load := p.load[int(s)<<8:][:256]
	for ; going != 0; going &= going - 1 {
		i := bits.TrailingZeros64(going)
		load[chosen[i]] += b.here[i]
		b.send(ups[index[i]].next, i)
	}
}

func (p *placer) placeDown(s topo.SwitchIdx, chosen []uint8, going uint64) {
	b, by := p.batch, p.onlyBy[s]
	if by == nil || len(by.ports) > p.tiers[p.level[by.to]].cables {
		noPath(chosen)
		b.others |= 1<<len(chosen) - 1
		return
	}
	cables := &b.down[p.level[by.to]]
	for i := range chosen {
		if cable := int(cables[i]); cable < len(by.ports) {
			chosen[i] = by.ports[cable]
		} else {
			chosen[i] = routing.NoPath
			b.others |= 1 << i
			going &^= 1 << i
		}
	}
	load := p.load[int(s)<<8:][:256]
	for ; going != 0; going &= going - 1 {
		i := bits.TrailingZeros64(going)
		load[chosen[i]] += b.here[i]
		b.send(by.to, i)
	}
}

func noPath(chosen []uint8) {
	for i := range chosen {
		chosen[i] = routing.NoPath
	}
}

// send moves the packets at this switch for a destination to the next switch.
func (b *batch) send(next topo.SwitchIdx, i int) {
	b.came[next] |= 1 << i
	b.flow[int(next)*batchSize+i] += b.here[i]
}
