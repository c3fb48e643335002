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

	"ibsm/routing"
	"ibsm/topo"
)

// Route is the engine with the defaults of all settings.
func Route(ctx context.Context, in routing.In) (*routing.Tables, error) {
	return New(routing.Balancing{})(ctx, in)
}

// New is the engine. It works on as many switches at a time as there are
// processors; the tables do not depend on how many.
//
// In.Prev keeps its entries that lead a shortest way unless In.Keep is KeepNone. What is kept is
// counted before anything is placed, so new entries go where there is room. Rows that
// come out as they were are those of In.Prev themselves.
func New(s routing.Balancing) routing.Engine {
	return func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		p, err := newProblem(ctx, in, s)
		if err != nil {
			return nil, err
		}
		tables := &routing.Tables{LFT: make([][]uint8, p.Graph.Len()), Top: in.LIDs.Top, Findings: p.Findings()}
		if err := p.routeAll(ctx, tables.LFT); err != nil {
			return nil, err
		}
		return tables, nil
	}
}

// problem is what all switches have in common.
type problem struct {
	*routing.Balance
	hops      *routing.Hops
	newPlacer func() *routing.Placer
}

func newProblem(ctx context.Context, in routing.In, s routing.Balancing) (*problem, error) {
	p := &problem{Balance: routing.NewBalance(in, s)}
	var err error
	if p.hops, err = routing.NewHops(ctx, p.Workers, p.Graph); err != nil {
		return nil, err
	}
	p.newPlacer, err = p.Placers(ctx, p.nearest)
	return p, err
}

func (p *problem) nearest(s topo.SwitchIdx, into *routing.PortSets) { p.hops.Nearest(p.Graph, s, into) }

// routeAll fills every row by itself: afresh, or around the minimal entries there
// were.
func (p *problem) routeAll(ctx context.Context, rows [][]uint8) error {
	return routing.Parallel(ctx, p.Workers, len(rows), func() func(int) {
		pl := p.newPlacer()
		st := newStanding(p)
		var row []uint8
		return func(i int) {
			s := topo.SwitchIdx(i)
			if p.Keep != routing.KeepNone && st.stands(s) {
				rows[s] = p.PrevRow(s)
				return
			}
			if row == nil {
				row = make([]uint8, routing.RowLen(p.LIDs.Top))
			}
			fill(row, routing.NoPath)
			pl.Begin(s)
			if p.Keep != routing.KeepNone {
				pl.Keep(row)
			}
			pl.Place(row)
			if prev := p.PrevRow(s); bytes.Equal(prev, row) {
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
