// Package updn is the routing engine updn: switches are ranked by their distance from root switches,
// and routes go up towards roots and then down, never up again. Of the shortest such ways each switch
// by itself spreads the destinations over its ports, as minhop does. The tables are OpenSM's.
//
// On fabrics whose links lead from rank to rank there is no credit loop. Where links connect switches
// of one rank OpenSM's search can join ways that turn up after down, and so does this one: the
// proof of the tables shows it.
package updn

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Settings are the operator's settings of the engine.
type Settings struct {
	// Roots are the node GUIDs of root switches (root_guid_file); those that are not in the subnet do
	// not count. One that is named twice counts as two roots for ConnectRoots, as with OpenSM. Without any,
	// switches are roots that have nearly all hosts at one distance.
	Roots []mad.GUID
	// IDs replace the node GUIDs of switches where the direction between two of one rank is decided:
	// up is to the lower one (ids_guid_file).
	IDs map[mad.GUID]uint64
	// ConnectRoots gives root switches shortest ways to each other, which may turn (connect_roots).
	ConnectRoots bool
}

// New is the engine. It refuses a subnet without roots. In.Prev keeps the entries that lead the
// shortest way that is allowed, whatever In.Keep says except KeepNone.
func New(s Settings, spread routing.Balancing) routing.Engine {
	return func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		n, err := newNetwork(ctx, in, &s, spread)
		if err != nil {
			return nil, err
		}
		ways, err := routing.NewRankedWays(ctx, in.Workers, in.Topo, n.Graph, n.rule())
		if err != nil {
			return nil, err
		}
		tables, err := n.Route(ctx, ways.Ports)
		if err != nil {
			return nil, err
		}
		tables.Findings = &routing.Findings{Roots: n.roots()}
		tables.Rules = n.rules()
		tables.Ranks = routing.Ranks(len(n.rank), func(a, b topo.SwitchIdx) int {
			return cmp.Or(cmp.Compare(n.rank[a], n.rank[b]), cmp.Compare(n.id[a], n.id[b]))
		})
		return tables, nil
	}
}

// network is the ranked switches, and the ways between them.
type network struct {
	*routing.Balance
	order
	direct bool // ways to roots may turn
	hops   *routing.Hops
}

// order ranks switches.
type order struct {
	rank []uint32 // by SwitchIdx; unranked for those that no root reaches
	id   []uint64 // by SwitchIdx
}

const unranked = ^uint32(0)

// ErrNoRoots refuses a subnet in which no switch is a root.
var ErrNoRoots = errors.New("no root switch was found")

// noRoots is ErrNoRoots with its reason.
func (s *Settings) noRoots() error {
	if s.Roots == nil {
		return fmt.Errorf(
			"%w: none has more than 90 %% of the end ports at one distance; name the roots in root_guid_file",
			ErrNoRoots)
	}
	return fmt.Errorf("%w: none of the %d GUIDs in root_guid_file is that of a switch in this subnet", ErrNoRoots,
		len(s.Roots))
}

func newNetwork(ctx context.Context, in routing.In, s *Settings, spread routing.Balancing) (*network, error) {
	n := &network{Balance: routing.NewBalance(in, spread),
		order: order{make([]uint32, len(in.Topo.Switches)), make([]uint64, len(in.Topo.Switches))}}
	var queue []topo.SwitchIdx
	for i, node := range in.Topo.Switches {
		n.rank[i], n.id[i] = unranked, uint64(in.Topo.Nodes[node].GUID)
		if id, is := s.IDs[in.Topo.Nodes[node].GUID]; is {
			n.id[i] = id
		}
	}
	var err error
	if s.Roots == nil || s.ConnectRoots {
		if n.hops, err = routing.NewHops(ctx, in.Workers, n.Graph); err != nil {
			return nil, err
		}
	}
	if s.Roots == nil {
		queue = n.detectRoots()
		if err = ctx.Err(); err != nil {
			return nil, err
		}
	}
	for _, guid := range s.Roots {
		if node := in.Topo.FindNode(guid); node != topo.None && in.Topo.Nodes[node].Switch != topo.None {
			queue = append(queue, in.Topo.Nodes[node].Switch)
		}
	}
	if len(queue) == 0 {
		return nil, s.noRoots()
	}
	n.direct = s.ConnectRoots && (s.Roots == nil || len(queue) > 1)
	for _, root := range queue {
		n.rank[root] = 0
	}
	for i := 0; i < len(queue); i++ {
		peers, _ := n.Graph.Edges(queue[i])
		for _, r := range peers {
			if far := n.rank[queue[i]] + 1; far < n.rank[r] {
				n.rank[r] = far
				queue = append(queue, r)
			}
		}
	}
	return n, nil
}

// roots are the switches of rank 0.
func (n *network) roots() (roots []topo.SwitchIdx) {
	for _, s := range routing.SwitchesByGUID(n.Topo) {
		if n.rank[s] == 0 {
			roots = append(roots, s)
		}
	}
	return roots
}

// detectRoots are the switches that have more than 90 % of the end ports at one distance, and no
// more than 5 % at any other.
func (n *network) detectRoots() (roots []topo.SwitchIdx) {
	hosts, all := make([]int, n.Graph.Len()), 0
	for _, p := range n.Topo.EndPorts {
		if s := n.Topo.SwitchOf(p); s != topo.None && n.Topo.Nodes[n.Topo.Ports[p].Node].Switch == topo.None {
			hosts[s]++
			all++
		}
	}
	for s := range hosts {
		var at [mad.MaxHops + 1]int
		for d, hop := range n.hops.From(topo.SwitchIdx(s)) {
			if int(hop) < len(at) {
				at[hop] += hosts[d]
			}
		}
		most, some := 0, 0
		for _, count := range at {
			if float64(count) > float64(all)*0.9 {
				most++
			}
			if float64(count) > float64(all)*0.05 {
				some++
			}
		}
		if most == 1 && some == 1 {
			roots = append(roots, topo.SwitchIdx(s))
		}
	}
	return roots
}

// rule is that of the engine: backwards from the destination a way that has led down must not lead up.
func (n *network) rule() routing.Rule {
	r := routing.Rule{Leads: n.leads, Start: routing.Up, Last: routing.Down, Never: routing.Up, Hops: n.hops}
	if n.direct {
		r.Direct = make([]bool, len(n.rank))
		for s, rank := range n.rank {
			r.Direct[s] = rank == 0
		}
	}
	return r
}

// rules are the ways that the engine permits, without the distances that the search needs. With connect_roots ways to
// roots may turn.
func (n *network) rules() *routing.Rules {
	rule := n.rule()
	rule.Leads, rule.Hops = n.order.leads, nil
	r := &routing.Rules{Permitted: rule.Permitted}
	if rank := n.rank; !n.direct {
		r.Connects = func(_, to topo.SwitchIdx, _ bool) bool { return rank[to] == 0 }
	}
	return r
}

// leads is where the link from a switch to one next to it leads.
func (n order) leads(s, to topo.SwitchIdx) routing.Direction {
	switch {
	case n.rank[s] == 0 && n.rank[to] == 0, n.rank[s] > n.rank[to], n.rank[s] == n.rank[to] && n.id[s] > n.id[to]:
		return routing.Up
	}
	return routing.Down
}
