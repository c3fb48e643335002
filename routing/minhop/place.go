package minhop

import (
	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// placer fills the rows of one switch after the other. It belongs to one goroutine.
type placer struct {
	*problem
	s     topo.SwitchIdx
	cand  *candidates
	count [256]uint32 // destinations of weight that each port of s serves so far
	lids  *memory     // nil when no port has several LIDs
}

func newPlacer(p *problem) *placer {
	pl := &placer{problem: p, cand: newCandidates(p.graph.Len())}
	if p.lmc > 0 {
		pl.lids = newMemory(p)
	}
	return pl
}

// begin turns to a switch.
func (pl *placer) begin(s topo.SwitchIdx) {
	pl.s = s
	pl.cand.of(pl.graph, pl.hops, s)
	clear(pl.count[:])
	if pl.lids != nil {
		pl.lids.begin(s)
	}
}

// keepMinimal puts into the row the previous entries of LIDs without one, where they
// lead a shortest way. only restricts it to some LIDs, nil to none.
func (pl *placer) keepMinimal(row []uint8, only []bool) {
	prev := pl.prev(pl.s)
	for i := range mad.LID(1) << pl.lmc {
		for k := range pl.order {
			d := &pl.order[k]
			lid := d.Base + i
			if i>>d.LMC != 0 || int(lid) >= len(prev) || row[lid] != routing.NoPath || only != nil && !only[lid] {
				continue
			}
			if d.Switch != pl.s && pl.cand.to(d.Switch).has(prev[lid]) {
				row[lid] = prev[lid]
				pl.use(k, prev[lid])
			}
		}
	}
}

// place gives every LID that has no entry yet the port that is used least. only
// restricts it to some LIDs, nil to none.
func (pl *placer) place(row []uint8, only []bool) {
	for i := range mad.LID(1) << pl.lmc {
		for k := range pl.order {
			d := &pl.order[k]
			lid := d.Base + i
			if i>>d.LMC != 0 || row[lid] != routing.NoPath || only != nil && !only[lid] {
				continue
			}
			if d.Switch == pl.s {
				row[lid] = d.Egress
				continue
			}
			set := pl.cand.to(d.Switch)
			switch {
			case len(set.ports) == 0:
				continue
			case pl.lids == nil:
				row[lid] = set.least(&pl.count)
			case i == 0:
				row[lid] = pl.lids.choose(k, set.ports, 0, &pl.count)
			default:
				row[lid] = pl.lids.choose(k, set.ports, row[lid-1]+1, &pl.count)
			}
			pl.use(k, row[lid])
		}
	}
}

// use counts a path to destination k through a port.
func (pl *placer) use(k int, port uint8) {
	if !pl.order[k].Weighs {
		return
	}
	pl.count[port]++
	if pl.lids != nil {
		pl.lids.remember(k, port)
	}
}
