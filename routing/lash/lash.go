// Package lash is the routing engine lash (layered shortest path): between each two switches packets
// take one shortest path, and each pair of switches has a lane, so that the paths of a lane
// form no credit loop. The tables are OpenSM's, entry for entry.
package lash

import (
	"context"
	"fmt"
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// Settings are the operator's settings of the engine.
type Settings struct {
	// StartVL is the lowest lane that paths get (lash_start_vl).
	StartVL uint8
	// MeshAnalysis orders paths by the dimensions of a mesh or torus, if the subnet is one, so that
	// fewer lanes are needed, and uses all of several cables between two switches (do_mesh_analysis).
	MeshAnalysis bool
	// Seed is that of the random numbers with which lanes are evened out (scatter_ports); 0 is 1.
	Seed uint32
}

// New is the engine. It computes everything afresh each time: In.Keep does not matter. It
// refuses a subnet in which two switches have no path between them, or that needs more lanes than
// each link between switches has.
func New(s Settings) routing.Engine {
	return func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		budget := int(routing.LeastLanes(in.Lanes))
		if int(s.StartVL) >= budget {
			return nil, &StartTooHigh{Start: int(s.StartVL), Lanes: budget}
		}
		n := newNetwork(ctx, in.Topo, s.MeshAnalysis)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var found routing.Findings
		if s.MeshAnalysis {
			found.Mesh = n.analyse()
		}
		for root := range n.links {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if missed := n.spread(int32(root)); missed >= 0 {
				return nil, fmt.Errorf("there is no path between switch %v and switch %v", name(in.Topo, root),
					name(in.Topo, missed))
			}
		}
		lane, use, err := n.assignLanes(ctx, budget, s)
		found.Lanes = use
		if err != nil {
			return nil, err
		}
		for _, row := range lane {
			for i := range row {
				row[i] += s.StartVL
			}
		}
		rows, err := n.rows(ctx, in.Topo, in.LIDs)
		if err != nil {
			return nil, err
		}
		return &routing.Tables{LFT: rows, Top: in.LIDs.Top, SLs: routing.SLsBySwitch(in.Topo, in.LIDs, lane),
			Findings: &found}, nil
	}
}

func name(t *topo.Topo, s int) string {
	n := &t.Nodes[t.Switches[s]]
	return fmt.Sprintf("%v %q", n.GUID, n.Desc.String())
}

// network is the switches in OpenSM's order of GUIDs, with the paths between them.
type network struct {
	order  []topo.SwitchIdx // by number here
	number []int32          // by SwitchIdx
	links  [][]link         // of each switch, in the order of ports
	first  [][]int32        // by switch, destination: index of the link by which packets leave; -1 for none yet

	parent, queue []int32 // scratch of spread
	by            []int32 // index of the first link from the parent
}

// link is a link to another switch, or several in one.
type link struct {
	to    int32
	ports []uint8
}

// newNetwork is that of a subnet. bundle makes one link of several between two switches. When ctx is done it is not
// whole.
func newNetwork(ctx context.Context, t *topo.Topo, bundle bool) *network {
	n := &network{order: routing.SwitchesByGUID(t)}
	n.number = make([]int32, len(n.order))
	for i, s := range n.order {
		n.number[s] = int32(i)
	}
	g := routing.NewGraph(t)
	n.links, n.first = make([][]link, len(n.order)), make([][]int32, len(n.order))
	for i, s := range n.order {
		if ctx.Err() != nil {
			break
		}
		peers, ports := g.Edges(s)
		for e, peer := range peers {
			to := n.number[peer]
			if at := slices.IndexFunc(n.links[i], func(l link) bool { return bundle && l.to == to }); at >= 0 {
				n.links[i][at].ports = append(n.links[i][at].ports, ports[e])
			} else {
				n.links[i] = append(n.links[i], link{to, []uint8{ports[e]}})
			}
		}
		n.first[i] = make([]int32, len(n.order))
		for d := range n.first[i] {
			n.first[i][d] = -1
		}
	}
	n.parent, n.by = make([]int32, len(n.order)), make([]int32, len(n.order))
	return n
}

// spread adds the paths along the tree of shortest paths from a root: from each switch to all
// below it, where it has none yet. It returns a switch that the tree does not reach, -1 if
// there is none.
func (n *network) spread(root int32) (missed int) {
	for i := range n.parent {
		n.parent[i] = -1
	}
	n.parent[root] = root
	n.queue = append(n.queue[:0], root)
	for i := 0; i < len(n.queue); i++ {
		s := n.queue[i]
		for e, l := range n.links[s] {
			if n.parent[l.to] < 0 {
				n.parent[l.to], n.by[l.to] = s, int32(e)
				n.queue = append(n.queue, l.to)
			}
		}
	}
	if len(n.queue) < len(n.order) {
		for s, p := range n.parent {
			if p < 0 {
				return int(n.order[s])
			}
		}
	}
	for _, d := range n.queue[1:] {
		for at := d; at != root; at = n.parent[at] {
			if from := n.first[n.parent[at]]; from[d] < 0 {
				from[d] = n.by[at]
			}
		}
	}
	return -1
}

// rows are the forwarding tables. The ports of one link take turns. The error is that of ctx.
func (n *network) rows(ctx context.Context, t *topo.Topo, l *topo.LIDs) ([][]uint8, error) {
	rows, err := routing.EmptyRows(ctx, len(n.order), l.Top)
	if err != nil {
		return nil, err
	}
	turns := make([][]int, len(n.order))
	for i := range turns {
		turns[i] = make([]int, len(n.links[i]))
	}
	for lid, p := range l.Owner {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		home, egress := routing.Home(t, p)
		if home == topo.None {
			continue
		}
		for i, s := range n.order {
			if s == home {
				rows[s][lid] = egress
				continue
			}
			link := n.first[i][n.number[home]]
			ports := n.links[i][link].ports
			rows[s][lid] = ports[turns[i][link]%len(ports)]
			turns[i][link]++
		}
	}
	return rows, nil
}
