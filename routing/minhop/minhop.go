// Package minhop is the routing engine minhop: every packet takes a way of the
// fewest links, and each switch by itself spreads the destinations evenly over the
// ports that lie on one. On a fabric routed afresh the tables are OpenSM's, entry
// for entry; only aggregation nodes differ, which have no weight here.
//
// The engine promises no freedom from credit loops.
package minhop

import (
	"bytes"
	"context"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Route is a routing.Engine. It works on as many switches at a time as there are
// processors; the tables do not depend on how many.
//
// KeepMinimal keeps the entries of In.Prev that lead a shortest way, and KeepWorking
// all by which packets arrive. What is kept is counted before anything is placed, so
// new entries go where there is room. Rows that come out as they were are those of
// In.Prev themselves.
func Route(ctx context.Context, in routing.In) (*routing.Tables, error) {
	p, err := newProblem(ctx, in)
	if err != nil {
		return nil, err
	}
	tables := &routing.Tables{LFT: make([][]uint8, p.graph.Len()), Top: in.LIDs.Top}
	if in.Keep == routing.KeepWorking && p.hasPrev() {
		err = p.repairPrev(ctx, tables.LFT)
	} else {
		err = p.routeAll(ctx, tables.LFT)
	}
	if err != nil {
		return nil, err
	}
	return tables, nil
}

// problem is what all switches have in common.
type problem struct {
	routing.In
	graph  *routing.Graph
	hops   *routing.Hops
	order  []routing.Dest
	lmc    uint8   // greatest of any port, as OpenSM's option lmc
	system []int32 // by SwitchIdx: equal for switches with one SystemImageGUID
}

func newProblem(ctx context.Context, in routing.In) (*problem, error) {
	p := &problem{In: in, graph: routing.NewGraph(in.Topo), order: routing.Order(in.Topo, in.LIDs)}
	for _, d := range p.order {
		p.lmc = max(p.lmc, d.LMC)
	}
	p.system = make([]int32, p.graph.Len())
	first := map[mad.GUID]int32{}
	for s, n := range in.Topo.Switches {
		guid := in.Topo.Nodes[n].Info.SystemImageGUID()
		if _, ok := first[guid]; !ok {
			first[guid] = int32(s)
		}
		p.system[s] = first[guid]
	}
	var err error
	p.hops, err = routing.NewHops(ctx, p.graph)
	return p, err
}

// prev is the previous row of a switch, nil when there is none.
func (p *problem) prev(s topo.SwitchIdx) []uint8 {
	if p.Prev == nil || int(s) >= len(p.Prev.LFT) {
		return nil
	}
	return p.Prev.LFT[s]
}

// hasPrev reports whether there is any previous row.
func (p *problem) hasPrev() bool {
	for s := range p.graph.Len() {
		if p.prev(topo.SwitchIdx(s)) != nil {
			return true
		}
	}
	return false
}

// routeAll fills every row by itself: afresh, or around the minimal entries there
// were.
func (p *problem) routeAll(ctx context.Context, rows [][]uint8) error {
	return routing.Parallel(ctx, len(rows), func() func(int) {
		pl := newPlacer(p)
		st := newStanding(p)
		var row []uint8
		return func(i int) {
			s := topo.SwitchIdx(i)
			if p.Keep == routing.KeepMinimal && st.stands(s) {
				rows[s] = p.prev(s)
				return
			}
			if row == nil {
				row = make([]uint8, routing.RowLen(p.LIDs.Top))
			}
			fill(row, routing.NoPath)
			pl.begin(s)
			if p.Keep != routing.KeepNone {
				pl.keepMinimal(row, nil)
			}
			pl.place(row, nil)
			if prev := p.prev(s); bytes.Equal(prev, row) {
				rows[s] = prev
			} else {
				rows[s], row = row, nil
			}
		}
	})
}

func fill(row []uint8, port uint8) {
	for i := range row {
		row[i] = port
	}
}
