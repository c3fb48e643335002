package tree

import (
	"context"
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// relieve moves routes from the fullest links to others, also those of digits, as long as that makes the fullest emptier.
func (p *placer) relieve(ctx context.Context, all []destinations) error {
	bound := p.bound() * 17 / 16
	most := slices.Max(p.load)
	if most <= bound {
		return nil
	}
	p.tracer = routing.NewTracer(p.Topo, p.LIDs)
	for most > bound {
		limit := max(bound, most-most/16)
		over := p.over(ctx, limit)
		for _, at := range all {
			if err := ctx.Err(); err != nil {
				return err
			}
			measured := false
			for i := range at.ports {
				if d := &at.ports[i]; d.host && over[d.lid] {
					if !measured {
						p.measureWays(at.at)
						measured = true
					}
					p.relieveOf(d, limit)
				}
			}
		}
		now := slices.Max(p.load)
		if now >= most {
			break
		}
		most = now
	}
	return nil
}

// bound is what the links of some leaf must carry, whatever the routes are, or, where it has more links than hosts, all routes to one
// of these.
func (p *placer) bound() (most uint32) {
	all := uint32(0)
	for _, hosts := range p.hosts {
		all += hosts
	}
	for s, hosts := range p.hosts {
		cables := uint32(0)
		for _, g := range p.up[s] {
			cables += uint32(len(g.ports))
		}
		if cables > 0 && p.leaf[s] {
			most = max(most, max(hosts, cables)*(all-hosts)/cables)
		}
	}
	return most
}

// over are the LIDs to which routes lead over links with more routes than a limit; some of them when ctx is done.
func (p *placer) over(ctx context.Context, limit uint32) []bool {
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
				lids[lid] = lids[lid] || full[port]
			}
		}
	}
	return lids
}

// relieveOf moves routes to a destination away from links with more routes than a limit.
func (p *placer) relieveOf(d *destination, limit uint32) {
	for s, row := range p.rows {
		p.by[s], p.next[s] = row[d.lid], topo.None
		if p.cost[s] > 0 && p.by[s] != routing.NoPath {
			p.next[s] = p.tracer.Next(topo.SwitchIdx(s), p.by[s])
		}
	}
	copy(p.flow, p.hosts)
	for _, s := range p.byHeight {
		if p.falls[s] || p.next[s] == topo.None {
			continue
		}
		if flow := p.flow[s]; flow > 0 && p.fullest(s) > limit && !d.within(s) {
			p.carry(s, -flow)
			p.improve(s, nil)
			p.carry(s, flow)
			p.rows[s][d.lid] = p.by[s]
		}
		p.flow[p.next[s]] += p.flow[s]
	}
}

// carry adds so many routes to each link of the way from a switch.
func (p *placer) carry(s topo.SwitchIdx, routes uint32) {
	for ; p.next[s] != topo.None; s = p.next[s] {
		p.load[int(s)<<8|int(p.by[s])] += routes
	}
}
