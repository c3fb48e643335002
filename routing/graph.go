package routing

import (
	"ibsm/mad"
	"ibsm/topo"
)

// maxPort is the highest port that a table can name.
const maxPort = NoPath - 1

// Graph is how the switches of a subnet are cabled to each other, as flat lists.
// Links of a switch to itself are left out, for no route gains by them, and so are
// unhealthy ones.
type Graph struct {
	start []int32 // edges of switch s are start[s] .. start[s+1]-1
	peer  []topo.SwitchIdx
	port  []uint8
	cost  []uint8 // of each edge; nil: 1
}

// NewGraph is the graph of a subnet.
func NewGraph(t *topo.Topo) *Graph {
	return NewGraphOf(t, func(p topo.PortIdx) bool { return !t.Ports[p].Unhealthy })
}

// NewGraphOf is the graph of the links that may be used: use is asked about each port
// that leads to another switch. A link of which it says yes at one end only leads one way, from there.
func NewGraphOf(t *topo.Topo, use func(topo.PortIdx) bool) *Graph {
	g := &Graph{start: make([]int32, len(t.Switches)+1)}
	most := 0
	for _, n := range t.Switches {
		most += ports(t, n)
	}
	g.peer, g.port = make([]topo.SwitchIdx, 0, most), make([]uint8, 0, most)
	for s, n := range t.Switches {
		for num := 1; num <= ports(t, n); num++ {
			p := t.Port(n, uint8(num))
			peer := t.Ports[p].Peer
			if peer == topo.None || t.Ports[peer].Node == n {
				continue
			}
			if r := t.Nodes[t.Ports[peer].Node].Switch; r != topo.None && use(p) {
				g.peer = append(g.peer, r)
				g.port = append(g.port, uint8(num))
			}
		}
		g.start[s+1] = int32(len(g.peer))
	}
	return g
}

// Weigh gives edges what they cost: 1 where there is no weight.
func (g *Graph) Weigh(t *topo.Topo, weights map[SwitchPort]uint8) {
	if len(weights) == 0 {
		return
	}
	g.cost = make([]uint8, len(g.peer))
	for s, n := range t.Switches {
		for e := g.start[s]; e < g.start[s+1]; e++ {
			g.cost[e] = max(1, weights[SwitchPort{t.Nodes[n].GUID, g.port[e]}])
		}
	}
}

// Cost is what an edge of a switch costs, given by its place in Edges: 1 unless weights are set.
func (g *Graph) Cost(s topo.SwitchIdx, edge int) uint8 {
	if g.cost == nil {
		return 1
	}
	return g.cost[int(g.start[s])+edge]
}

// ports is the number of ports of a switch that tables can name.
func ports(t *topo.Topo, n topo.NodeIdx) int { return min(int(t.Nodes[n].NumPorts), maxPort) }

// Len is the number of switches.
func (g *Graph) Len() int { return len(g.start) - 1 }

// Edges are the links from a switch to others in ascending order of the port they
// leave by: neighbours and ports, as views that must not be written.
func (g *Graph) Edges(s topo.SwitchIdx) (peers []topo.SwitchIdx, ports []uint8) {
	from, to := g.start[s], g.start[s+1]
	return g.peer[from:to], g.port[from:to]
}

// Components numbers the connected parts of the graph: two switches can reach each
// other when their numbers are equal.
func (g *Graph) Components() []int32 {
	return g.ComponentsOf(func(topo.SwitchIdx) bool { return true })
}

// ComponentsOf numbers the parts in which some switches are connected without others, which have None.
func (g *Graph) ComponentsOf(has func(topo.SwitchIdx) bool) []int32 {
	part := make([]int32, g.Len())
	for s := range part {
		part[s] = topo.None
	}
	var queue []topo.SwitchIdx
	for s := range part {
		if part[s] != topo.None || !has(topo.SwitchIdx(s)) {
			continue
		}
		part[s] = int32(s)
		for queue = append(queue[:0], topo.SwitchIdx(s)); len(queue) > 0; {
			last := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			peers, _ := g.Edges(last)
			for _, r := range peers {
				if part[r] == topo.None && has(r) {
					part[r] = int32(s)
					queue = append(queue, r)
				}
			}
		}
	}
	return part
}

// Dest is a port that packets are routed to.
type Dest struct {
	Port   topo.PortIdx
	Switch topo.SwitchIdx // the switch it belongs to or hangs on
	Egress uint8          // the port of Switch that leads to it; 0 for switch port 0
	// paths to it are expected to carry load: not to switches, unless chosen, and aggregation nodes
	Weighs  bool
	Scatter bool // its first LID takes one of several ports at random
	Base    mad.LID
	LMC     uint8
}
