// Package tree is the routing engine tree: fat trees of any number of levels, complete or damaged, without a file of
// roots. Packets go up, and then down. A destination is reached by the same upward port at all switches of a level,
// given by a digit of its number in the tree (D-mod-K, Zahavi): in a complete tree with as many uplinks as hosts on
// each leaf, no two packets of a shift among the hosts share a link. If a link is missing, its destinations take
// another cable: the one to which the fewest neighbouring destinations have moved, and of several the one whose path
// has the least loaded busiest link. Then routes are moved away from the busiest links.
//
// In a tree of two levels with rails (package rails), shifts within rails take precedence: the ports of a rail are
// numbered consecutively, and if a link is missing, destinations of the same rail take the link on which the fewest
// flows of such shifts meet. Only other routes are moved away from the busiest links.
//
// No packet goes up after it has come down, so one lane has no credit loop. Only packets between switches without an
// up-down path turn, once or several times: for example, a pod of management nodes reaches only one group of roots, and
// a leaf that has lost its cable to that group reaches only others. These packets have a lane of their own if there is
// one.
package tree

import (
	"context"
	"fmt"

	"ibsm/routing"
)

func (s *Settings) route(ctx context.Context, in routing.In) (*routing.Tables, error) {
	if len(in.Topo.Switches) == 0 {
		return &routing.Tables{Top: in.LIDs.Top}, ctx.Err()
	}
	if in.Tenants != nil {
		return s.routeFor(ctx, in)
	}
	return s.routeOnce(ctx, in)
}

func (s *Settings) routeOnce(ctx context.Context, in routing.In) (*routing.Tables, error) {
	n := newNetwork(ctx, in, s)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := n.refusal(); err != nil {
		return nil, err
	}
	rows := make([][]uint8, len(in.Topo.Switches)) // those of In.Base, where they stay
	if in.Base == nil {
		var err error
		if rows, err = routing.EmptyRows(ctx, len(in.Topo.Switches), in.LIDs.Top); err != nil {
			return nil, err
		}
	}
	routing.Spend(ctx, int(routing.MinHopWork(in.Topo, in.LIDs)/2))
	all := n.destinations()
	turner, err := place(ctx, n, all, rows)
	if err != nil {
		return nil, err
	}
	ranks := make([]int32, len(n.height))
	for s, height := range n.height {
		ranks[s] = -height
	}
	tables := &routing.Tables{LFT: rows, Top: in.LIDs.Top, Ranks: ranks}
	if turner != nil {
		tables.SLs, tables.Notes = turner.sls, []string{turner.note()}
	}
	if in.Base == nil {
		origin, err := n.newOrigin(ctx, all, rows)
		if err != nil {
			return nil, err
		}
		tables.Origin = origin
	}
	return tables, nil
}

// refusal is the reason why the subnet is not a tree, or nil.
func (n *network) refusal() error {
	cables, level := 0, 0
	for s := range n.level {
		for _, g := range n.up[s] {
			cables += len(g.ports)
			if n.level[s] == n.level[g.to] {
				level += len(g.ports)
			}
		}
	}
	if level*100 > cables*3 {
		return fmt.Errorf("not a fat tree: of %d cables between switches, %d connect two switches of one level", cables, level)
	}
	return nil
}
