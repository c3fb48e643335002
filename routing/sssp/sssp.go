// Package sssp is the routing engine sssp (single source shortest path): every packet takes a way of
// the fewest links, and of those the one that carries the fewest routes to the destinations placed
// before. The tables are OpenSM's, entry for entry; routers, to which OpenSM's engine has no routes, get
// theirs last.
//
// The engine promises no freedom from credit loops.
package sssp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Settings are the operator's settings of the engine.
type Settings struct {
	// Compute and IO are the port GUIDs of compute nodes and of I/O nodes, whose routes are placed first
	// and second (cn_guid_file, io_guid_file); nil for none.
	Compute, IO map[mad.GUID]bool
	// AvoidThrottled leaves out links between switches that are slower or narrower than both ends have
	// enabled (avoid_throttled_links).
	AvoidThrottled bool
}

// ErrSplit refuses a subnet whose switches are not all connected.
var ErrSplit = errors.New("the subnet is split")

// New is the engine. It computes everything afresh each time: In.Keep does not matter. It refuses a
// subnet whose switches are not all connected.
func New(s Settings) routing.Engine {
	return func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		n := newNetwork(in, s)
		return n.place(ctx, n.destinations(s))
	}
}

// place fills the tables, one destination after the other.
func (n *network) place(ctx context.Context, list []topo.PortIdx) (*routing.Tables, error) {
	rows, err := routing.EmptyRows(ctx, len(n.switches), n.LIDs.Top)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		home, egress := routing.Home(n.Topo, p)
		for i := range n.LIDs.Count(p) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if v := n.search.find(n.vertex[home], egress != 0); v != unreached {
				node := &n.Topo.Nodes[n.Topo.Switches[n.switches[v]]]
				return nil, fmt.Errorf("%w: switch %v %q cannot be reached from all others", ErrSplit, node.GUID,
					node.Desc.String())
			}
			n.fill(rows, n.LIDs.Base[p]+mad.LID(i), egress)
			n.search.weigh(n.lids)
			routing.Spend(ctx, len(n.search.edges)/2+2*len(n.switches))
		}
	}
	return &routing.Tables{LFT: rows, Top: n.LIDs.Top}, nil
}

// network is the switches, in the order in which OpenSM walks them.
type network struct {
	routing.In
	switches []topo.SwitchIdx // by vertex
	vertex   []int32          // by SwitchIdx
	lids     []uint64         // by vertex: of the switch and of what hangs on it
	search   search
}

func newNetwork(in routing.In, s Settings) *network {
	t := in.Topo
	g := routing.NewGraphOf(t, func(p topo.PortIdx) bool {
		return !t.Ports[p].Unhealthy && !(s.AvoidThrottled && routing.Throttled(t, p))
	})
	n := &network{In: in, switches: routing.SwitchesByGUID(t), vertex: make([]int32, g.Len()),
		lids: make([]uint64, g.Len())}
	for v, s := range n.switches {
		n.vertex[s] = int32(v)
	}
	all := uint64(0)
	for _, p := range t.EndPorts {
		if s := t.SwitchOf(p); s != topo.None {
			n.lids[n.vertex[s]] += uint64(in.LIDs.Count(p))
		}
		if t.Nodes[t.Ports[p].Node].Type != mad.Router {
			all += uint64(in.LIDs.Count(p))
		}
	}
	var edges []edge
	for v, s := range n.switches {
		peers, ports := g.Edges(s)
		for i, r := range peers {
			far := t.Ports[t.Port(t.Switches[s], ports[i])].Peer
			edges = append(edges, edge{to: n.vertex[r], from: int32(v), port: t.Ports[far].Num})
		}
	}
	n.search = newSearch(g.Len(), edges, all*all) // more than routes over one link
	return n
}

// destinations are the ports to route to, in order: those on the switches with the most LIDs first,
// compute nodes before I/O nodes before others, then the switches themselves, then routers.
func (n *network) destinations(s Settings) (list []topo.PortIdx) {
	order := make([]int32, len(n.switches))
	for v := range order {
		order[v] = int32(v)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(n.lids[b], n.lids[a]) })
	t := n.Topo
	var routers []topo.PortIdx
	for pass := range 3 {
		for _, v := range order {
			node := t.Switches[n.switches[v]]
			for num := 1; num <= int(t.Nodes[node].NumPorts); num++ {
				p := t.Ports[t.Port(node, uint8(num))].Peer
				if p == topo.None || t.Nodes[t.Ports[p].Node].Type == mad.Switch {
					continue
				}
				compute, io := s.Compute[t.Ports[p].GUID], s.IO[t.Ports[p].GUID]
				switch {
				case pass == 2 && !compute && !io && t.Nodes[t.Ports[p].Node].Type == mad.Router:
					routers = append(routers, p)
				case pass == 0 && compute, pass == 1 && io && !compute, pass == 2 && !compute && !io:
					list = append(list, p)
				}
			}
		}
	}
	for _, v := range order {
		list = append(list, t.Nodes[t.Switches[n.switches[v]]].First)
	}
	return append(list, routers...)
}

// fill puts what a search found into the tables.
func (n *network) fill(rows [][]uint8, lid mad.LID, egress uint8) {
	for v, e := range n.search.by {
		port := egress
		if e >= 0 {
			port = n.search.edges[e].port
		}
		rows[n.switches[v]][lid] = port
	}
}
