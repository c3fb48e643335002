// Package tree is the routing engine tree: fat trees of any number of levels, whole or damaged, without a file of
// roots. Packets go up, and then down. A destination takes the same way up at all switches of a level, by a digit of
// its number in the tree (D-mod-K, Zahavi): in a whole tree with as many uplinks as hosts on each leaf no two packets
// of a shift among the hosts meet on a link. Where a link is missing, the destinations that would have used it go
// elsewhere: by the cable by which the fewest of those next to them go elsewhere, and of several by the way whose
// fullest link has the fewest routes. Then routes are moved away from the fullest links.
//
// In a tree of two levels with rails (package rails) shifts within rails go first: the ports of a rail are numbered one
// after the other, and where a link is missing, destinations of the same rail go by the link on which the fewest flows
// of such shifts meet. Only other routes are moved away from the fullest links.
//
// No packet goes up after it has come down, so there is no credit loop, on one lane. Only packets between switches
// without such a way turn once or several times: a pod of management nodes may reach one group of roots only, and a
// leaf without the cable to that group another one. They have a lane of their own where there is one.
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

// refusal is why the subnet is no tree, if it is none.
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
