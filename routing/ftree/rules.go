package ftree

import (
	"ibsm/routing"
	"ibsm/topo"
)

// rules are the ways that the engine permits to switches: up to the roots and down, and between switches of one rank.
// With connect_roots switches that are not leaves also have ways over the last leaf to all switches that it reaches.
func (t *tree) rules() *routing.Rules {
	rank := make([]int, len(t.at))
	for s, n := range t.at {
		rank[s] = n.rank
	}
	rule := routing.Rule{Start: routing.Up, Last: routing.Down, Never: routing.Up, KeepsDirection: true}
	rule.Leads = func(s, to topo.SwitchIdx) routing.Direction {
		switch {
		case rank[s] > rank[to]:
			return routing.Up
		case rank[s] < rank[to]:
			return routing.Down
		}
		return routing.Level
	}
	last, leafRank := t.leaves[len(t.leaves)-1].at, t.leafRank
	if !t.ConnectRoots {
		return &routing.Rules{Permitted: rule.Permitted, Connects: func(from, _ topo.SwitchIdx, own bool) bool {
			return own && rank[from] < leafRank
		}}
	}
	return &routing.Rules{Permitted: func(g *routing.Graph, to []topo.SwitchIdx, own uint64) []uint64 {
		from, toLast := rule.Permitted(g, to, own), rule.Permitted(g, []topo.SwitchIdx{last}, 1)
		for s := range from {
			if rank[s] < leafRank && toLast[s] != 0 {
				from[s] |= from[last] & own
			}
		}
		return from
	}}
}
