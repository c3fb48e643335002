package tree

import (
	"context"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// connect gives switches that have no way to a destination the one to the first leaf, if that has, and otherwise a port to a switch
// that has. There packets go up again: hosts send none of them.
func (p *placer) connect(ctx context.Context, all []destinations) error {
	first := &all[0]
	for _, at := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !at.cut {
			continue
		}
		for _, d := range at.ports {
			for _, t := range []*routing.Tables{p.Base, p.Prev} {
				if p.Base != nil && t != nil {
					p.connectAs(t, d.lid)
				}
			}
			if len(first.ports) > 0 && p.rows[first.at][d.lid] != routing.NoPath {
				for _, row := range p.rows {
					if row[d.lid] == routing.NoPath {
						row[d.lid] = row[first.ports[0].lid]
					}
				}
			}
			p.connectNear(d.lid)
		}
	}
	return nil
}

// connectAs gives switches that have no port for a LID that of other tables, where it leads to one that has.
func (p *placer) connectAs(t *routing.Tables, lid mad.LID) {
	p.repeat(lid, func(s topo.SwitchIdx) uint8 {
		port := portOf(rowOf(t, s), lid)
		if to := p.beyond.next(s, port); to != topo.None && p.rows[to][lid] != routing.NoPath {
			return port
		}
		return routing.NoPath
	})
}

// connectNear gives switches that have no port for a LID one to a switch that has, until none is next to such a switch.
func (p *placer) connectNear(lid mad.LID) {
	p.repeat(lid, func(s topo.SwitchIdx) uint8 {
		peers, ports := p.graph.Edges(s)
		for i, r := range peers {
			if p.rows[r][lid] != routing.NoPath {
				return ports[i]
			}
		}
		return routing.NoPath
	})
}

// repeat asks for a port of each switch that has none for a LID, until there is no more.
func (p *placer) repeat(lid mad.LID, find func(topo.SwitchIdx) uint8) {
	for more := true; more; {
		more = false
		for s, row := range p.rows {
			if row[lid] == routing.NoPath {
				row[lid] = find(topo.SwitchIdx(s))
				more = more || row[lid] != routing.NoPath
			}
		}
	}
}
