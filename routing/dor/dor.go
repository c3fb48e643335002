// Package dor is the routing engine dor (dimension order routing): every packet takes a way of the
// fewest links, and of the switches that lie on one it goes to the one behind the lowest port, so that
// on a mesh whose dimensions are cabled to the same ports everywhere it goes along the first dimension
// first. Parallel cables to that switch share the destinations. The tables are OpenSM's.
//
// On such meshes there is no credit loop; on rings of more than three switches, and so on tori,
// there is.
package dor

import (
	"context"

	"ibsm/routing"
	"ibsm/topo"
)

// New is the engine. In.Prev keeps the entries that are as good, whatever In.Keep says except KeepNone.
// With s.Search packets go to the switch behind the first port of the order, so that dimensions need not have
// the same ports everywhere.
func New(s routing.Balancing) routing.Engine {
	return func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		b := routing.NewBalance(in, s)
		b.OneNeighbour = true
		hops, err := routing.NewHops(ctx, in.Workers, b.Graph)
		if err != nil {
			return nil, err
		}
		tables, err := b.Route(ctx, func(s topo.SwitchIdx, into *routing.PortSets) {
			hops.Nearest(b.Graph, s, into)
			peers, ports := b.Graph.Edges(s)
			var to [256]topo.SwitchIdx
			for i, r := range peers {
				to[ports[i]] = r
			}
			into.Narrow(b.Search(s), func(first, port uint8) bool { return to[first] == to[port] })
		})
		if err != nil {
			return nil, err
		}
		tables.Findings = b.Findings()
		return tables, nil
	}
}
