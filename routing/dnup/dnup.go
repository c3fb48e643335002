// Package dnup is the routing engine dnup: switches are ranked by their distance from the switches that
// have end ports, and routes go away from end ports and then back, never away again. Of the shortest
// such ways each switch by itself spreads the destinations over its ports, as minhop does. The
// tables are OpenSM's.
//
// On fabrics whose links lead from rank to rank there is no credit loop. Ways between switches of one
// rank are allowed everywhere, so that on others there may be: the proof of the tables shows it.
package dnup

import (
	"cmp"
	"context"
	"errors"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Settings are the operator's settings of the engine.
type Settings struct {
	// ConnectRoots permits ways that turn where there is no other (connect_roots).
	ConnectRoots bool
}

var errNoLeaves = errors.New("no switch has an end port, so that switches cannot be ranked")

// unranked is the rank of switches from which there is no way to one with end ports.
const unranked = ^uint32(0)

// New is the engine. It refuses a subnet in which no switch has an end port. In.Prev keeps the entries
// that lead the shortest way that is allowed, whatever In.Keep says except KeepNone.
func New(s Settings, spread routing.Balancing) routing.Engine {
	return func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		b := routing.NewBalance(in, spread)
		rank, err := rankSwitches(in.Topo, b.Graph)
		if err != nil {
			return nil, err
		}
		rule := routing.Rule{Start: routing.Down, Last: routing.Up, Never: routing.Down,
			Leads: func(s, to topo.SwitchIdx) routing.Direction {
				switch {
				case rank[s] < rank[to]:
					return routing.Down
				case rank[s] > rank[to]:
					return routing.Up
				}
				return routing.Level
			}}
		ways, err := routing.NewRankedWays(ctx, in.Workers, in.Topo, b.Graph, rule)
		if err == nil && s.ConnectRoots {
			rule.Penalty = ways.Longest + 1
			ways, err = routing.NewRankedWays(ctx, in.Workers, in.Topo, b.Graph, rule)
		}
		if err != nil {
			return nil, err
		}
		tables, err := b.Route(ctx, ways.Ports)
		if err != nil {
			return nil, err
		}
		tables.Rules = &routing.Rules{Permitted: rule.Permitted}
		if !s.ConnectRoots {
			tables.Rules.Connects = func(topo.SwitchIdx, topo.SwitchIdx, bool) bool { return true }
		}
		tables.Ranks = routing.Ranks(len(rank), func(a, b topo.SwitchIdx) int { return cmp.Compare(rank[b], rank[a]) })
		return tables, nil
	}
}

// rankSwitches are the links to the next switch that has end ports, by SwitchIdx.
func rankSwitches(t *topo.Topo, g *routing.Graph) ([]uint32, error) {
	rank := make([]uint32, g.Len())
	for s := range rank {
		rank[s] = unranked
	}
	var queue []topo.SwitchIdx
	for i := range t.Ports {
		p := topo.PortIdx(i)
		if t.Nodes[t.Ports[p].Node].Type == mad.Switch || t.Ports[p].Peer == topo.None {
			continue
		}
		if s := t.SwitchOf(p); s != topo.None && rank[s] != 0 {
			rank[s] = 0
			queue = append(queue, s)
		}
	}
	if len(queue) == 0 {
		return nil, errNoLeaves
	}
	for i := 0; i < len(queue); i++ {
		peers, _ := g.Edges(queue[i])
		for _, r := range peers {
			if far := rank[queue[i]] + 1; far < rank[r] {
				rank[r] = far
				queue = append(queue, r)
			}
		}
	}
	return rank, nil
}
