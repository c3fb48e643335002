// Package hyperx is the routing engine hyperx: grids in which each switch has a cable to every other of its row in each
// dimension, and hypercubes, which have two switches in each row. A packet goes to its place in one dimension after the
// other, with one cable for each, so that all links of a whole HyperX have as many routes, and there is no credit loop,
// on one lane.
//
// Where a cable is missing packets go over a third switch of the row, that is higher than both in an order of all
// switches: the channels of a row that lead up are passed before those that lead down. Where that cannot be, because a
// switch is missing, they take dimensions in another order. Where a credit loop would close, the lane is raised as
// packets go back to an earlier dimension, by the port that they come in by; the last resort of package detour are SLs,
// as far as there are lanes.
package hyperx

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ibsm/routing"
	"ibsm/routing/detour"
	"ibsm/routing/shape"
	"ibsm/routing/spread"
	"ibsm/topo"
)

// Route is the engine, for the coordinates found in the subnet. It computes everything afresh: In.Keep does not matter.
// It refuses a subnet whose links have too few lanes to route it without credit loops.
func Route(ctx context.Context, in routing.In, h *shape.HyperX) (*routing.Tables, error) {
	if len(in.Topo.Switches) == 0 {
		return &routing.Tables{Top: in.LIDs.Top}, ctx.Err()
	}
	n, err := newNetwork(in, h)
	if err != nil {
		return nil, err
	}
	p, err := spread.NewPlacer(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := n.place(ctx, p); err != nil {
		return nil, err
	}
	tables := &routing.Tables{LFT: p.Rows, Top: in.LIDs.Top}
	if err := n.complete(ctx, tables, p.Load()); err != nil {
		return nil, err
	}
	return tables, nil
}

// complete finds the ways around what is missing, and the SLs of paths. It tries to do without SLs, and without a
// second lane.
func (n *network) complete(ctx context.Context, tables *routing.Tables, load []uint32) error {
	lanes, before := int(routing.LeastLanes(n.Lanes)), tables.LFT
	tables.LFT = make([][]uint8, len(before))
	for s, row := range before {
		tables.LFT[s] = slices.Clone(row)
	}
	in := detour.In{Topo: n.Topo, LIDs: n.LIDs, Rows: tables.LFT, SLs: 1, Load: load, Trunks: n.trunks}
	found, err := detour.Complete(ctx, in)
	if lanes > 1 && (err == nil && found.Unproved || errors.Is(err, detour.ErrNoRoom)) {
		tables.LFT = before
		in.Rows, in.SLs, in.Maps = before, lanes, n.maps(lanes)
		found, err = detour.Complete(ctx, in)
	}
	if errors.Is(err, detour.ErrNoRoom) {
		return fmt.Errorf(
			"the ways around missing cables and switches need more lanes than the %d that links between switches have: %w", lanes, err)
	}
	if err != nil {
		return err
	}
	tables.Trunk = found.Trunk
	if in.Maps != nil {
		tables.SLs = routing.SLsBySwitch(n.Topo, n.LIDs, found.SLs)
		tables.SLs.Maps = n.maps(tables.SLs.Count)
	}
	if found.Unproved {
		tables.Notes = []string{detour.Note}
	}
	return nil
}

// place gives switches their ways to all LIDs.
func (n *network) place(ctx context.Context, p *spread.Placer) error {
	w, dests := newSearch(n), spread.Destinations(n.In)
	var rest []topo.SwitchIdx
	for t := range topo.SwitchIdx(len(n.at)) {
		w.find(t)
		p.Begin(t, dests[t])
		rest = rest[:0]
		for _, s := range w.order {
			if !p.Fix(s, w.ways[s]) {
				rest = append(rest, s)
			}
		}
		for i := range dests[t] {
			d := &dests[t][i]
			for lid := d.Base; lid < d.Base+1<<d.LMC; lid++ {
				if err := ctx.Err(); err != nil {
					return err
				}
				p.Turn(d, lid)
				for _, s := range rest {
					p.Place(s, w.ways[s])
				}
			}
		}
	}
	return ctx.Err()
}
