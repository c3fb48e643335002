// Package dragonfly is the routing engine dragonfly: groups of switches, and cables between the groups. A packet goes
// to a switch of its group that has a cable to the group of the destination, over that cable, and to the destination:
// it has the least number of cables between groups, one. In a dragonfly+ it goes up to a spine, over such a cable, and
// down.
//
// The lane is raised at the cable between groups: a packet that has come in by one and leaves by a cable inside the
// group is on VL 1, and all others are on VL 0, so that no credit loop closes, whatever SL hosts use. The SL to VL
// mapping tables depend on the port that packets come in by. A dragonfly+ without gaps has no credit loop between hosts
// on one lane either.
//
// Destinations are spread over the cables between two groups, and over the ways inside a group. Where cables or
// switches are missing packets go over another switch of the group, over a third group, or any other way, the shortest.
// A few of these ways keep the order of channels no longer: package detour gives them SLs, where they would close a
// credit loop, as far as there are lanes. Packets between switches without hosts can be left in such a loop; the tables
// have a note then.
package dragonfly

import (
	"context"
	"errors"
	"fmt"

	"ibsm/routing"
	"ibsm/routing/detour"
	"ibsm/routing/shape"
	"ibsm/routing/spread"
	"ibsm/topo"
)

// Route is the engine, for the groups found in the subnet. It computes everything afresh: In.Keep does not matter. It
// refuses a subnet whose links have too few lanes to route it without credit loops.
func Route(ctx context.Context, in routing.In, d *shape.Dragonfly) (*routing.Tables, error) {
	count := len(in.Topo.Switches)
	if len(d.Of) != count {
		return nil, fmt.Errorf("the dragonfly has %d switches, but the subnet has %d", len(d.Of), count)
	}
	if count == 0 {
		return &routing.Tables{Top: in.LIDs.Top}, ctx.Err()
	}
	n := newNetwork(in, d)
	if n.lanes < 2 && !n.plus {
		return nil, errors.New(
			"the lane of packets cannot be raised where they come into a group: that takes two lanes, and links between switches have one")
	}
	p, err := spread.NewPlacer(ctx, in)
	if err != nil {
		return nil, err
	}
	odd, err := n.place(ctx, p)
	if err != nil {
		return nil, err
	}
	maps := n.maps(n.lanes)
	found, err := detour.Complete(ctx, detour.In{
		Topo: in.Topo, LIDs: in.LIDs, Rows: p.Rows, Maps: maps, SLs: n.lanes, Odd: odd, Load: p.Load(),
		Trunks: n.trunks,
	})
	if errors.Is(err, detour.ErrNoRoom) {
		return nil, fmt.Errorf(
			"the ways around missing cables need more lanes than the %d that links between switches have: %w", n.lanes,
			err)
	}
	if err != nil {
		return nil, err
	}
	sls := routing.SLsBySwitch(in.Topo, in.LIDs, found.SLs)
	if sls.Maps = maps; sls.Count < n.lanes {
		sls.Maps = n.maps(sls.Count)
	}
	tables := &routing.Tables{LFT: p.Rows, Top: in.LIDs.Top, SLs: sls, Trunk: found.Trunk}
	if found.Unproved {
		tables.Notes = []string{detour.Note}
	}
	return tables, nil
}

// place gives all switches their ways to all LIDs, and returns which paths are odd, by source * switches + destination.
func (n *network) place(ctx context.Context, p *spread.Placer) (odd []bool, err error) {
	count := len(n.group)
	odd = make([]bool, count*count)
	w, dests := newSearch(n), spread.Destinations(n.In)
	var rest []topo.SwitchIdx
	for t := range topo.SwitchIdx(count) {
		w.find(t)
		p.Begin(t, dests[t])
		rest = rest[:0]
		for _, s := range w.order {
			odd[int(s)*count+int(t)] = n.lanes < 2 && !w.onOneLane(s)
		}
		for _, s := range w.order[1:] {
			if !p.Fix(s, w.only(s, p)) {
				rest = append(rest, s)
			}
		}
		for i := range dests[t] {
			d := &dests[t][i]
			for lid := d.Base; lid < d.Base+1<<d.LMC; lid++ {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				p.Turn(d, lid)
				for _, s := range rest {
					ways := w.ways[s]
					if w.kind[s] == bypass {
						if ways = w.regular(s, p); len(ways) == 0 {
							ways, odd[int(s)*count+int(t)] = w.ways[s], true
						}
					}
					p.Place(s, ways)
				}
			}
		}
	}
	return odd, ctx.Err()
}
