package tree

import (
	"context"
	"math/bits"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// relieveWork is the approximate work of examining the routes from one switch to one destination, in units of
// routing.Budget.
const relieveWork = 3

// relieve moves routes from the busiest links to others, including routes by digits, as long as this lowers the load of
// the busiest link. If there are hosts of several types, it moves routes to compute nodes, for which shifts matter,
// only from links whose load exceeds the bound by a quarter.
func (p *placer) relieve(ctx context.Context, all []destinations) error {
	bound, one := p.bound(all)
	if !slices.ContainsFunc(all, func(at destinations) bool { return at.mixed() }) {
		return p.relieveTo(ctx, all, max(bound*17/16, one), true)
	}
	if err := p.relieveTo(ctx, all, max(bound*17/16, one), false); err != nil {
		return err
	}
	return p.relieveTo(ctx, all, max(bound*5/4, one), true)
}

// mixed reports whether a leaf has hosts of other types than compute nodes.
func (d *destinations) mixed() bool {
	return d.count[storage]+d.count[service]+d.count[router] > 0
}

// passed are the switches through which packets to a LID come, a bit for each; nil where that is not known yet.
type passed []uint64

func (p passed) has(s int) bool { return p == nil || p[s/64]>>(s%64)&1 != 0 }

// note sets it to the switches that have packets.
func (p *passed) note(flow []uint32) {
	if *p == nil {
		*p = make(passed, (len(flow)+63)/64)
	}
	clear(*p)
	for s, n := range flow {
		if n > 0 {
			(*p)[s/64] |= 1 << (s % 64)
		}
	}
}

// relieveTo moves routes until no link has more than a bound, or that makes the fullest emptier no more.
func (p *placer) relieveTo(ctx context.Context, all []destinations, bound uint32, computeNodes bool) error {
	most := slices.Max(p.load)
	if most <= bound {
		return nil
	}
	if p.tracer == nil {
		p.tracer = routing.NewTracer(p.Topo, p.LIDs)
	}
	through := make([]passed, routing.RowLen(p.LIDs.Top))
	for stuck := false; most > bound; {
		limit := max(bound, most-most/16)
		switch {
		case stuck:
			limit = bound // room for them on other links
		case most > 2*bound:
			limit = most - most/4
		}
		over := p.over(ctx, limit, through)
		for _, at := range all {
			if err := ctx.Err(); err != nil {
				return err
			}
			measured := false
			for i := range at.ports {
				if d := &at.ports[i]; d.host && over[d.lid] && (computeNodes || d.kind != compute) &&
					p.isOver(d.lid, limit, through[d.lid]) {
					if !measured {
						p.measureWays(at.at)
						measured = true
					}
					p.relieveOf(at.at, d, limit)
					through[d.lid].note(p.flow)
					routing.Spend(ctx, relieveWork*len(p.rows))
				}
			}
		}
		now := slices.Max(p.load)
		if now >= most && (stuck || p.turner == nil) {
			break
		}
		stuck = now >= most
		most = now
	}
	return nil
}

// bound is the load that the links of some leaf must carry with any routes. one is the load of a link by which all
// routes lead to one host.
func (p *placer) bound(all []destinations) (most, one uint32) {
	// by class: ports, by switch, and all that send to one
	here, sum := make([][]uint32, len(p.sources)), make([]uint32, len(p.sources))
	for class := range here {
		here[class] = make([]uint32, len(p.hosts))
		for _, hosts := range p.sources[class] {
			sum[class] += hosts
		}
	}
	for _, at := range all {
		for i := range at.ports {
			if d := &at.ports[i]; d.host && d.nth == 0 {
				here[d.class][at.at]++
			}
		}
	}
	for s := range p.hosts {
		cables := uint32(0)
		for _, g := range p.up[s] {
			cables += uint32(len(g.ports))
		}
		if cables > 0 && p.leaf[s] {
			routes := uint32(0)
			for class := range here {
				if count := here[class][s]; count > 0 {
					others := sum[class] - p.sources[class][s]
					one = max(one, others)
					routes += count * others
				}
			}
			most = max(most, routes/cables)
		}
	}
	return most, one
}

// over are the LIDs whose packets pass links with more routes than a limit, as far as their switches are known; only
// some of them if ctx is done.
func (p *placer) over(ctx context.Context, limit uint32, through []passed) []bool {
	lids := make([]bool, routing.RowLen(p.LIDs.Top))
	for s, row := range p.rows {
		if ctx.Err() != nil {
			break
		}
		var full [256]bool
		any := false
		for port, n := range p.load[s<<8:][:256] {
			full[port] = n > limit
			any = any || full[port]
		}
		if any {
			for lid, port := range row {
				lids[lid] = lids[lid] || full[port] && through[lid].has(s)
			}
		}
	}
	return lids
}

// isOver reports whether packets to a LID still pass a link with more routes than a limit, as far as their switches are
// known.
func (p *placer) isOver(lid mad.LID, limit uint32, through passed) bool {
	for i, word := range through {
		for ; word != 0; word &= word - 1 {
			s := i*64 + bits.TrailingZeros64(word)
			if p.load[s<<8|int(p.rows[s][lid])] > limit {
				return true
			}
		}
	}
	return through == nil
}

// relieveOf moves routes to a destination away from links with more routes than a limit, and from the way that all
// others to its host take.
func (p *placer) relieveOf(at topo.SwitchIdx, d *destination, limit uint32) {
	for s, row := range p.rows {
		p.by[s], p.next[s] = row[d.lid], topo.None
		if p.cost[s] > 0 && p.by[s] != routing.NoPath {
			p.next[s] = p.tracer.Next(topo.SwitchIdx(s), p.by[s])
		}
	}
	copy(p.flow, p.sources[d.class])
	p.turner.arrive(at, d, p.flow)
	p.inOrder(func(s topo.SwitchIdx) {
		flow := p.flow[s]
		if p.next[s] == topo.None || flow == 0 || p.cost[s] == unreachable {
			return
		}
		full := p.fullest(s, d.lid) > limit
		if p.falls[s] && full && d.rail == nil || !p.falls[s] && (full && !d.within(s) || p.shares(s, d)) {
			p.carry(s, -flow)
			p.improve(s, d, nil)
			p.carry(s, flow)
			p.rows[s][d.lid] = p.by[s]
		}
		p.flow[p.next[s]] += flow
	})
}

// carry adds so many routes to each link of the way from a switch.
func (p *placer) carry(s topo.SwitchIdx, routes uint32) {
	for ; p.next[s] != topo.None; s = p.next[s] {
		p.load[int(s)<<8|int(p.by[s])] += routes
	}
}
