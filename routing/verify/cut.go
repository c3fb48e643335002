package verify

import (
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// CutLoops is the tables without the loops that the report on them shows: for each
// LID that loops, the switches in the circle drop its packets. What is said of other
// LIDs and by other switches stays, and rows without change are shared. So a part
// that cannot be routed rightly never keeps the rest from being written.
func CutLoops(t *topo.Topo, l *topo.LIDs, tables *routing.Tables, r *Report) *routing.Tables {
	if r.Count[Loop] == 0 {
		return tables
	}
	cut := new(*tables)
	cut.LFT = slices.Clone(tables.LFT)
	own := make([]bool, len(cut.LFT)) // rows that are no longer shared
	c := circles{tracer: routing.NewTracer(t, l), rows: tables.LFT, visit: make([]int32, len(cut.LFT))}
	for lid := range l.Owner {
		if !r.Loops(mad.LID(lid)) {
			continue
		}
		c.each(mad.LID(lid), func(s topo.SwitchIdx) {
			if !own[s] {
				cut.LFT[s], own[s] = slices.Clone(cut.LFT[s]), true
			}
			cut.LFT[s][lid] = routing.NoPath
		})
	}
	return cut
}

// circles finds the switches that form a circle towards a LID.
type circles struct {
	tracer *routing.Tracer
	rows   [][]uint8
	visit  []int32 // by SwitchIdx: 1 + the start of the walk that came by last; 0 none
}

// each calls do for every switch in a circle, once.
func (c *circles) each(lid mad.LID, do func(topo.SwitchIdx)) {
	clear(c.visit)
	for start := range c.rows {
		s, walk := topo.SwitchIdx(start), int32(start+1)
		for s != topo.None && c.visit[s] == 0 {
			c.visit[s] = walk
			s = c.next(s, lid)
		}
		if s == topo.None || c.visit[s] != walk {
			continue // out, or where an earlier walk has been
		}
		for first := s; ; {
			do(s)
			if s = c.next(s, lid); s == first {
				break
			}
		}
	}
}

func (c *circles) next(s topo.SwitchIdx, lid mad.LID) topo.SwitchIdx {
	if int(lid) >= len(c.rows[s]) {
		return topo.None
	}
	return c.tracer.Next(s, c.rows[s][lid])
}
