// Package torus is the routing engine torus-2QoS: it finds the place of each switch in a torus or mesh of up
// to three dimensions, and routes along x, then y, then z. The SL of a path says where it leads over
// the end of a ring, so that two lanes are enough; a missing switch takes two more, and a second level
// of service as many again. Tables, SLs and lanes are OpenSM's, entry for entry.
package torus

import (
	"context"
	"errors"

	"ibsm/routing"
)

// New is the engine. It computes everything afresh each time: In.Keep does not matter. It refuses a
// subnet that is not the torus of its settings, or so damaged that there would be credit loops, and any without
// settings.
func New(s *Settings) routing.Engine {
	return func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		if s == nil {
			return nil, errors.New(
				"no file describes the torus (torus_config): write one, or choose auto, which needs none")
		}
		switches, ends := lanes(in)
		if err := enough(switches); err != nil {
			return nil, err
		}
		g, err := discover(s, in.Topo)
		if err != nil {
			return nil, err
		}
		if faults := g.faults(); len(faults) > 0 {
			return nil, &Unroutable{faults}
		}
		rows, err := g.rows(ctx, in.Workers, in.Topo, in.LIDs)
		if err != nil {
			return nil, err
		}
		list := g.hang()
		g.fill(in.Topo, in.LIDs, list, rows)
		trunk, err := g.trunk(in.Topo)
		if err != nil {
			return nil, err
		}
		for _, h := range list {
			trunk.Up[h.sw] = routing.TrunkLink{To: h.on, Down: []uint8{h.down}, Up: []uint8{h.up}}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sls, err := g.sls(ctx, in.Topo, in.LIDs, list)
		if err != nil {
			return nil, err
		}
		sls.Maps = g.maps(in.Topo, switches, ends)
		return &routing.Tables{LFT: rows, Top: in.LIDs.Top, SLs: sls, Trunk: trunk,
			Notes: g.notes(in.Topo, list, switches, ends), Places: g.placed()}, nil
	}
}
