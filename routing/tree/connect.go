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

// connectNear gives switches that have no port for a LID one to a switch that has, until none is next to such a switch.
func (p *placer) connectNear(lid mad.LID) {
	for more := true; more; {
		more = false
		for s, row := range p.rows {
			if row[lid] != routing.NoPath {
				continue
			}
			peers, ports := p.graph.Edges(topo.SwitchIdx(s))
			for i, r := range peers {
				if p.rows[r][lid] != routing.NoPath {
					row[lid] = ports[i]
					break
				}
			}
			more = more || row[lid] != routing.NoPath
		}
	}
}
