// Package updown routes any connected subnet by up*/down* from one root: routes go towards the root, and then away from
// it, never towards it again, so that they have no credit loop on one lane. It takes about as long as min-hop. Links
// near the root have far more routes than others: such tables serve until better ones are computed.
package updown

import (
	"cmp"
	"context"
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// Route is the engine. The root is the switch that is nearest to all hosts; a part of the subnet that is not connected
// to it has one of its own. In.Prev keeps the entries that lead a shortest permitted way, unless In.Keep is KeepNone.
func Route(ctx context.Context, in routing.In) (*routing.Tables, error) {
	b := routing.NewBalance(in, routing.Balancing{})
	o, err := newOrder(ctx, b)
	if err != nil {
		return nil, err
	}
	w, err := newWays(ctx, b, o)
	if err != nil {
		return nil, err
	}
	tables, err := b.Route(ctx, w.ports)
	if err != nil {
		return nil, err
	}
	tables.Ranks = o.at
	return tables, nil
}

// order is the order of the switches: up is to the one that comes first.
type order struct {
	at   []int32 // by SwitchIdx
	list []topo.SwitchIdx
}

// newOrder is the order by the distance from the root, and of GUIDs.
func newOrder(ctx context.Context, b *routing.Balance) (*order, error) {
	hops, err := routing.NewHops(ctx, b.Workers, b.Graph)
	if err != nil {
		return nil, err
	}
	n := b.Graph.Len()
	hosts := make([]int, n)
	for _, p := range b.Topo.EndPorts {
		if s := b.Topo.SwitchOf(p); s != topo.None && b.Topo.IsHost(p) {
			hosts[s]++
		}
	}
	far := make([]int, n) // links to all hosts
	for s := range far {
		for d, hop := range hops.From(topo.SwitchIdx(s)) {
			far[s] += hosts[d] * int(hop)
		}
	}
	o := &order{at: make([]int32, n), list: make([]topo.SwitchIdx, n)}
	root := make([]topo.SwitchIdx, n) // of each part
	part := b.Graph.Components()
	for s := range root {
		root[s] = topo.None
	}
	for s := range topo.SwitchIdx(n) {
		o.list[s] = s
		if r := &root[part[s]]; *r == topo.None || far[s] < far[*r] {
			*r = s
		}
	}
	rank := func(s topo.SwitchIdx) uint8 { return hops.From(root[part[s]])[s] }
	slices.SortStableFunc(o.list, func(a, b topo.SwitchIdx) int { return cmp.Compare(rank(a), rank(b)) })
	for at, s := range o.list {
		o.at[s] = int32(at)
	}
	return o, nil
}

// ways are the lengths of the ways from each switch to each other: the shortest one down, if one leads there, else the
// shortest one up and then down.
type ways struct {
	*order
	graph *routing.Graph
	links []uint8 // from * n + to
	down  []bool  // likewise: it only leads down
}

func newWays(ctx context.Context, b *routing.Balance, o *order) (*ways, error) {
	n := b.Graph.Len()
	w := &ways{o, b.Graph, make([]uint8, n*n), make([]bool, n*n)}
	return w, routing.Parallel(ctx, b.Workers, n, func() func(int) {
		links, down := make([]uint8, n), make([]bool, n)
		return func(d int) {
			w.search(topo.SwitchIdx(d), links, down)
			for s := range n {
				w.links[s*n+d], w.down[s*n+d] = links[s], down[s]
			}
		}
	})
}

// search finds the ways to a switch.
func (w *ways) search(d topo.SwitchIdx, links []uint8, down []bool) {
	for s := range links {
		links[s], down[s] = routing.Unreachable, false
	}
	links[d], down[d] = 0, true
	for at := w.at[d] - 1; at >= 0; at-- {
		s := w.list[at]
		links[s] = w.nearest(s, links, func(next topo.SwitchIdx) bool { return w.at[next] > at && down[next] })
		down[s] = links[s] != routing.Unreachable
	}
	for at, s := range w.list {
		if !down[s] {
			links[s] = w.nearest(s, links, func(next topo.SwitchIdx) bool { return w.at[next] < int32(at) })
		}
	}
}

// nearest is the length of the shortest way from a switch over one of some switches next to it.
func (w *ways) nearest(s topo.SwitchIdx, links []uint8, leads func(next topo.SwitchIdx) bool) uint8 {
	least := uint8(routing.Unreachable)
	peers, _ := w.graph.Edges(s)
	for _, next := range peers {
		if n := links[next]; n < routing.Unreachable-1 && n+1 < least && leads(next) {
			least = n + 1
		}
	}
	return least
}

// ports adds the ports of a switch on the ways to each other.
func (w *ways) ports(s topo.SwitchIdx, into *routing.PortSets) {
	n := w.graph.Len()
	links, down := w.links[int(s)*n:][:n], w.down[int(s)*n:][:n]
	peers, egress := w.graph.Edges(s)
	for e, next := range peers {
		words, bit := into.Of(egress[e])
		goesDown := w.at[next] > w.at[s]
		there, onDown := w.links[int(next)*n:][:n], w.down[int(next)*n:][:n]
		for d, own := range links {
			if own != 0 && own != routing.Unreachable && there[d] == own-1 && down[d] == goesDown &&
				(!goesDown || onDown[d]) {
				words[d] |= bit
			}
		}
	}
}
