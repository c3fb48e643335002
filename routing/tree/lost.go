package tree

import (
	"context"
	"math/bits"
	"slices"
	"sync/atomic"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// lost is the switches that have no port to a LID left: for each LID a bit for each switch, by its height; nil where
// all have one.
type lost []atomic.Pointer[[]uint64]

// add may be called by several goroutines.
func (l lost) add(lid mad.LID, height, switches int) {
	set := l[lid].Load()
	if set == nil {
		set = new(make([]uint64, (switches+63)/64))
		if !l[lid].CompareAndSwap(nil, set) {
			set = l[lid].Load()
		}
	}
	atomic.OrUint64(&(*set)[height/64], 1<<(height%64))
}

func (l lost) of(lid mad.LID) []uint64 {
	if set := l[lid].Load(); set != nil {
		return *set
	}
	return nil
}

// count is of switches.
func (l lost) count(lid mad.LID) (count int) {
	for _, word := range l.of(lid) {
		count += bits.OnesCount64(word)
	}
	return count
}

// placeLost gives switches without a port to a destination one: the port of the destination's digit, or else another.
func (p *placer) placeLost(ctx context.Context, all []destinations) error {
	p.near, p.moved = slices.Repeat([]int32{topo.None}, len(p.rows)), make([]uint8, len(p.load))
	for i := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		at := &all[i]
		var f *fitting
		measured := false
		measure := func() {
			if !measured {
				p.measureWays(at.at)
				measured = true
			}
		}
		for j := range at.ports {
			switch d := &at.ports[j]; {
			case !d.others:
			case d.rail != nil:
				if measure(); f == nil {
					f = p.newFitting(at, func(d *destination) { p.take(at.at, d) })
				}
				p.placeLostOfRail(at.at, d, f)
			default:
				if p.lost.count(d.lid) > fewLost {
					measure()
				}
				p.placeLostOf(at.at, d, measured)
			}
		}
	}
	return nil
}

// fewLost is up to how many switches without a port it is faster to look at the ways of these alone.
const fewLost = 16

// eachLost calls do for each switch without a port to a LID, and for each such switch before the ones that its packets
// go on to.
func (p *placer) eachLost(lid mad.LID, do func(s topo.SwitchIdx)) {
	words := p.lost.of(lid)
	each(words, func(height int) {
		if s := p.byHeight[height]; !p.falls[s] {
			do(s)
		}
	})
	for i, word := range slices.Backward(words) {
		for word != 0 {
			last := 63 - bits.LeadingZeros64(word)
			word &^= 1 << last
			if s := p.byHeight[i*64+last]; p.falls[s] {
				do(s)
			}
		}
	}
}

// placeLostOf has the tables say where packets go on from other switches.
func (p *placer) placeLostOf(at topo.SwitchIdx, d *destination, measured bool) {
	if !measured {
		each(p.lost.of(d.lid), func(height int) { p.look(p.byHeight[height], at) })
	}
	p.inRows = true
	defer func() { p.inRows = false }()
	p.eachLost(d.lid, func(s topo.SwitchIdx) {
		p.chooseAt(s, at, d, p.tiers[p.level[s]].index(d))
		p.rows[s][d.lid] = p.by[s]
	})
	p.eachLost(d.lid, func(s topo.SwitchIdx) {
		if p.next[s] != topo.None {
			p.settleLost(s, at, d)
		}
	})
}

// settleLost gives a switch its port: the best if it need not be that of the digit.
func (p *placer) settleLost(s, at topo.SwitchIdx, d *destination) {
	if p.free[s] {
		moved := p.movedNear(s, at)
		if !p.fixed[s] {
			p.improve(s, d, moved)
		}
		moved[p.by[s]]++
	}
	p.rows[s][d.lid] = p.by[s]
	if d.host {
		p.load[int(s)<<8|int(p.by[s])]++
	}
}

// look measures the paths to a switch from one other switch and its neighbours, as measureWays does from all.
func (p *placer) look(s, at topo.SwitchIdx) {
	see := func(s topo.SwitchIdx) {
		links := p.ways.from(s)[at]
		if p.cost[s], p.falls[s] = int32(links&noWay), links&downOnly != 0; links == noWay {
			p.cost[s] = unreachable
		}
	}
	see(s)
	for i := range p.up[s] {
		see(p.up[s][i].to)
	}
	p.onlyBy[s] = nil
	count := 0
	for i := range p.down[s] {
		g := &p.down[s][i]
		if see(g.to); p.falls[s] && p.isWay(s, g) {
			p.onlyBy[s] = g
			count++
		}
	}
	if count > 1 {
		p.onlyBy[s] = nil
	}
}

// take takes the ports to a destination from the tables. Those of switches without one are free.
func (p *placer) take(at topo.SwitchIdx, d *destination) {
	for s, row := range p.rows {
		port := row[d.lid]
		if p.by[s], p.next[s], p.free[s] = port, topo.None, port == routing.NoPath; topo.SwitchIdx(s) != at &&
			port != routing.NoPath {
			p.next[s] = p.beyond.next(topo.SwitchIdx(s), port)
		}
	}
}

func (p *placer) placeLostOfRail(at topo.SwitchIdx, d *destination, f *fitting) {
	p.choose(at, d)
	for s, row := range p.rows {
		if port := row[d.lid]; port != routing.NoPath && topo.SwitchIdx(s) != at {
			p.by[s], p.next[s], p.free[s] = port, p.beyond.next(topo.SwitchIdx(s), port), false
		}
	}
	p.fitLost(at, d, f)
	defer clear(p.fixed)
	p.inOrder(func(s topo.SwitchIdx) {
		if p.next[s] != topo.None && p.rows[s][d.lid] == routing.NoPath {
			p.settleLost(s, at, d)
		}
	})
}
