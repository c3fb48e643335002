package mcast

import (
	"context"
	"slices"
	"sync"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Use says what a link between two switches is good for.
type Use uint8

// Uses, each of which allows what those before it do.
const (
	Shun   Use = 0 // nothing: a tree that leads over it is changed
	Keep   Use = 1 // trees that lead over it go on
	Extend Use = 2 // trees are grown over it
)

// Graph is what trees grow on: the switches of a subnet and the links that may be
// used. It is for any number of goroutines.
type Graph struct {
	t      *topo.Topo
	ranks  []int32
	use    []Use // by port; Shun where there is no link between switches
	planes []plane
}

// plane is the part of the graph where switches can forward the multicast LIDs below a
// number.
type plane struct {
	cap    int // of the multicast LIDs, counted from the first
	made   sync.Once
	part   []int32
	any    ways
	upward ways // where switches have ranks
}

// ways are links along which a switch can have its parent in a tree, and the number of them
// from each switch to each other.
type ways struct {
	graph *routing.Graph
	hops  *routing.Hops
}

// newWays are the ways over the links that may be used.
func newWays(t *topo.Topo, use func(topo.PortIdx) bool) (w ways) {
	w.graph = routing.NewGraphOf(t, use)
	w.hops, _ = routing.NewHops(context.Background(), 0, w.graph)
	return w
}

// maxPlanes bounds what a subnet of switches with many different MulticastFDBCaps costs.
// Where there are more, some switches count as having less than they have.
const maxPlanes = 8

// NewGraph is the graph of a subnet. use is asked about each port that leads to
// another switch; the lesser of what it says of the two ends counts. ranks are those of
// routing.Tables, nil for none.
func NewGraph(t *topo.Topo, ranks []int32, use func(topo.PortIdx) Use) *Graph {
	g := &Graph{t: t, ranks: ranks, use: make([]Use, len(t.Ports))}
	var caps []int
	for _, n := range t.Switches {
		for num := 1; num <= int(t.Nodes[n].NumPorts); num++ {
			p := t.Port(n, uint8(num))
			if peer := t.Ports[p].Peer; peer != topo.None && t.IsSwitchPort(peer) && t.Ports[peer].Node != n {
				g.use[p] = min(use(p), use(peer))
			}
		}
		if c := int(t.Nodes[n].SwitchInfo.MulticastFDBCap()); c > 0 && !slices.Contains(caps, c) {
			caps = append(caps, c)
		}
	}
	slices.Sort(caps)
	if len(caps) > maxPlanes { // multicast LIDs are given from the lowest on
		caps = append(caps[:maxPlanes-1], caps[len(caps)-1])
	}
	g.planes = make([]plane, len(caps))
	for i, c := range caps {
		g.planes[i].cap = c
	}
	return g
}

// Topo is the subnet.
func (g *Graph) Topo() *topo.Topo { return g.t }

// plane is the part where an MLID can be forwarded, nil when no switch can.
func (g *Graph) plane(mlid mad.LID) *plane {
	for i := range g.planes {
		p := &g.planes[i]
		if p.cap <= int(mlid-mad.MinMulticastLID) {
			continue
		}
		p.made.Do(func() {
			usable := func(port topo.PortIdx) bool {
				return g.use[port] == Extend && g.capable(port, p.cap) && g.capable(g.t.Ports[port].Peer, p.cap)
			}
			p.any = newWays(g.t, usable)
			p.part = p.any.graph.Components()
			if g.ranks != nil {
				p.upward = newWays(g.t, func(port topo.PortIdx) bool {
					return usable(port) && g.ranks[g.t.SwitchOf(g.t.Ports[port].Peer)] < g.ranks[g.t.SwitchOf(port)]
				})
			}
		})
		return p
	}
	return nil
}

// capable reports whether the switch of a port can forward so many multicast LIDs.
func (g *Graph) capable(p topo.PortIdx, count int) bool {
	return int(g.t.Nodes[g.t.Ports[p].Node].SwitchInfo.MulticastFDBCap()) >= count
}

// link follows a port of a switch to the switch behind it and the port there; None where
// there is no switch.
func (g *Graph) link(s topo.SwitchIdx, port uint8) (topo.SwitchIdx, uint8) {
	peer := g.t.Ports[g.t.Port(g.t.Switches[s], port)].Peer
	if peer == topo.None || !g.t.IsSwitchPort(peer) {
		return topo.None, 0
	}
	return g.t.SwitchOf(peer), g.t.Ports[peer].Num
}

// At is where a port hangs on a tree: a switch and the port of it that leads there, 0
// where the port is the switch's own; None when it hangs on no switch.
func At(t *topo.Topo, p topo.PortIdx) (topo.SwitchIdx, uint8) {
	s := t.SwitchOf(p)
	if s == topo.None || t.Nodes[t.Ports[p].Node].Switch != topo.None {
		return s, 0
	}
	return s, t.Ports[t.Ports[p].Peer].Num
}
