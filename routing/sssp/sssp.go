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
	"ibsm/routing/heap"
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
		for i := range n.LIDs.Count(p) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			n.search(p)
			if v := slices.Index(n.distance, infinite); v >= 0 {
				node := &n.Topo.Nodes[n.Topo.Switches[n.switches[v]]]
				return nil, fmt.Errorf("%w: switch %v %q cannot be reached from all others", ErrSplit, node.GUID, node.Desc.String())
			}
			n.fill(rows, n.LIDs.Base[p]+mad.LID(i))
			n.weigh()
		}
	}
	return &routing.Tables{LFT: rows, Top: n.LIDs.Top}, nil
}

// network is the switches, in the order in which OpenSM walks them, and the links between them.
type network struct {
	routing.In
	switches []topo.SwitchIdx // by vertex
	vertex   []int32          // by SwitchIdx
	lids     []uint64         // by vertex: of the switch and of what hangs on it
	edges    []edge           // of vertex v: first[v] .. first[v+1]-1
	first    []int32
	weight   []uint64 // by edge

	// What the last search found, by vertex.
	distance []uint64
	by       []int32 // the edge by which it was reached, or one of these
	taken    []int32 // vertices in the order of their distance
	egress   uint8   // the port by which the switch of the destination was reached
	heap     heap.Heap
	behind   []uint64 // scratch of weigh
}

// edge is a link from one switch to the next, in the direction away from destinations.
type edge struct {
	to   int32 // vertex
	from int32
	port uint8 // of the switch that it leads to
}

// In place of an edge.
const (
	unreached int32 = -1
	fromPort  int32 = -2 // the destination is an end port of this switch
	itself    int32 = -3
)

const infinite = uint64(1) << 62

func newNetwork(in routing.In, s Settings) *network {
	t := in.Topo
	g := routing.NewGraphOf(t, func(p topo.PortIdx) bool {
		return !t.Ports[p].Unhealthy && !(s.AvoidThrottled && routing.Throttled(t, p))
	})
	n := &network{In: in, switches: routing.SwitchesByGUID(t), vertex: make([]int32, g.Len()), lids: make([]uint64, g.Len()),
		distance: make([]uint64, g.Len()), by: make([]int32, g.Len()), behind: make([]uint64, g.Len())}
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
	for v, s := range n.switches {
		n.first = append(n.first, int32(len(n.edges)))
		peers, ports := g.Edges(s)
		for i, r := range peers {
			far := t.Ports[t.Port(t.Switches[s], ports[i])].Peer
			n.edges = append(n.edges, edge{to: n.vertex[r], from: int32(v), port: t.Ports[far].Num})
			n.weight = append(n.weight, all*all) // more than all routes together: no way is longer than it must be
		}
	}
	n.first = append(n.first, int32(len(n.edges)))
	n.heap = heap.New(g.Len() + 1)
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

// search finds the lightest ways from all switches to a port (Dijkstra). Among equals the order of the
// heap decides, as it does in OpenSM.
func (n *network) search(p topo.PortIdx) {
	h := &n.heap
	h.Clear()
	for v := range n.distance {
		n.distance[v], n.by[v] = infinite, unreached
		h.Push(int32(v), infinite)
	}
	n.taken = n.taken[:0]
	home, port := routing.Home(n.Topo, p)
	start := int32(len(n.distance)) // of an end port: a vertex of its own
	if n.egress = port; port != 0 {
		h.Push(start, infinite)
	} else {
		start = n.vertex[home]
		n.distance[start], n.by[start] = 0, itself
	}
	h.Lower(start, 0)
	for h.Len() > 0 {
		v, d := h.Pop()
		if int(v) == len(n.distance) {
			to := n.vertex[home]
			n.distance[to], n.by[to] = 1, fromPort
			h.Lower(to, 1)
			continue
		}
		if d == infinite {
			return
		}
		n.taken = append(n.taken, v)
		for e := n.first[v]; e < n.first[v+1]; e++ {
			if to := n.edges[e].to; d+n.weight[e] < n.distance[to] { // never of one that was taken before
				n.distance[to], n.by[to] = d+n.weight[e], e
				h.Lower(to, d+n.weight[e])
			}
		}
	}
}

// fill puts what a search found into the tables.
func (n *network) fill(rows [][]uint8, lid mad.LID) {
	for v, e := range n.by {
		switch e {
		case itself:
			rows[n.switches[v]][lid] = 0
		case fromPort:
			rows[n.switches[v]][lid] = n.egress
		default:
			rows[n.switches[v]][lid] = n.edges[e].port
		}
	}
}

// weigh adds to the weight of each link the LIDs of all switches whose way the last search led over it.
func (n *network) weigh() {
	copy(n.behind, n.lids)
	for i := len(n.taken) - 1; i >= 0; i-- {
		if v := n.taken[i]; n.by[v] >= 0 {
			n.weight[n.by[v]] += n.behind[v]
			n.behind[n.edges[n.by[v]].from] += n.behind[v]
		}
	}
}
