// Package creditloop proves that forwarding tables are free of credit loops. A channel is one
// direction of a link between switches. A packet that holds a buffer at the end of a channel waits
// for credits of the channel that it takes next: it depends on it. Where the dependencies
// form a circle, packets can wait for each other for ever. Where the channels can be numbered so
// that each dependency leads to a higher number, they cannot (Dally and Seitz, 1987).
//
// Each lane has buffers of its own: a channel counts once for each lane. Links to hosts are left
// out: nothing waits for a packet that a host has not sent yet, and a host takes every packet that
// comes to it.
package creditloop

import (
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Traffic says which packets count.
type Traffic uint8

// Traffic between hosts is from and to channel adapters and routers. All traffic is also from and
// to port 0 of switches, such as that of performance management.
const (
	BetweenHosts Traffic = iota
	All
)

// Report is what Find found. It is immutable.
type Report struct {
	// Loop is a credit loop: packets that hold one of its channels wait for the next, and for the
	// first those that hold the last. It is nil if there is none.
	Loop []Channel

	graph  *graph
	number []int32 // by lane * channels + channel; nil with a loop
}

// Channel is the direction of a link that leaves a switch by a port, on one lane, in a credit
// loop.
type Channel struct {
	Switch topo.SwitchIdx
	Port   uint8
	Lane   uint8
	// Packets from Source to Dest take this channel, and then the next one of the loop. Source is
	// a switch where such packets start.
	Source topo.SwitchIdx
	Dest   mad.LID
}

// Number is the place of a channel in an order in which packets pass channels; 0 if the
// report has a loop. It is what proves that there is none: anybody can follow the routes and see
// that the numbers ascend.
func (r *Report) Number(s topo.SwitchIdx, port, lane uint8) int32 {
	if r.number == nil || int(port) >= r.graph.ports || int(lane) >= r.graph.lanes {
		return 0
	}
	return r.number[int(lane)*len(r.graph.next)+int(s)*r.graph.ports+int(port)]
}

// In is what a search is about.
type In struct {
	Topo       *topo.Topo
	LIDs       *topo.LIDs
	Forwarding *routing.Forwarding // by the tables, in the subnet
	SLs        *routing.SLs        // of the tables; the lane has the number of the SL
	Traffic    Traffic
	// Since is an earlier report, nil for none. Where it has no loop, only routes that have
	// changed since are followed.
	Since *Report
}

// Find looks for a credit loop. The error is that of ctx.
func Find(ctx context.Context, in In) (*Report, error) {
	g := newGraph(in)
	defer func() { g.deps = nil }() // large, and not needed after this
	keeps, err := g.keepsOrder(ctx, in.Since)
	if err != nil {
		return nil, err
	}
	if keeps {
		return &Report{graph: g, number: in.Since.number}, nil
	}
	if err := g.follow(ctx, g.Changed(nil)); err != nil {
		return nil, err
	}
	r := &Report{graph: g}
	var waiting []int32
	if r.number, waiting = g.order(); waiting != nil {
		r.Loop = g.loop(waiting)
	}
	return r, nil
}

// graph is the channels and their dependencies. A channel is a number: switch * ports + port; on
// a lane it is lane * len(next) more.
type graph struct {
	*routing.Forwarding
	sls     *routing.SLs
	lanes   int
	ports   int       // of the switch with the most, port 0 included
	next    []int32   // by channel: the switch that it leads to, None if it leads to no switch
	dests   []bool    // by LID: packets come there
	sources []int32   // ascending: switches where packets start
	rows    [][]int32 // by index of sources: rows of sls that have SLs of their packets
	// deps has, by channel on a lane * words, a bit for each port of the switch that the channel
	// leads to: packets go on by that port, on the same lane.
	deps  []uint64
	words int
}

func newGraph(in In) *graph {
	t := in.Topo
	g := &graph{Forwarding: in.Forwarding, sls: in.SLs, lanes: 1, dests: make([]bool, len(in.LIDs.Owner))}
	if in.SLs != nil {
		g.lanes = in.SLs.Count
	}
	for _, n := range t.Switches {
		g.ports = max(g.ports, int(t.Nodes[n].NumPorts)+1)
	}
	g.next = make([]int32, len(t.Switches)*g.ports)
	for c := range g.next {
		g.next[c] = int32(g.Tracer.Next(topo.SwitchIdx(c/g.ports), uint8(c%g.ports)))
	}
	rows := make([][]int32, len(t.Switches))
	for lid, p := range in.LIDs.Owner {
		s := g.Home(mad.LID(lid))
		if s == topo.None || in.Traffic != All && t.Nodes[t.Ports[p].Node].Type == mad.Switch {
			continue
		}
		g.dests[lid] = true
		row := int32(0)
		if g.sls != nil && lid < len(g.sls.From) {
			row = g.sls.From[lid]
		}
		if !slices.Contains(rows[s], row) {
			rows[s] = append(rows[s], row)
		}
	}
	for s := range rows {
		if rows[s] != nil {
			g.sources, g.rows = append(g.sources, int32(s)), append(g.rows, rows[s])
		}
	}
	g.words = (g.ports + 63) / 64
	g.deps = make([]uint64, g.lanes*len(g.next)*g.words)
	return g
}

// channel is the channel that packets to a LID take from a switch, None if they take none.
func (g *graph) channel(s int32, lid int) int {
	row := g.Rows[s]
	if lid >= len(row) || int(row[lid]) >= g.ports {
		return topo.None
	}
	if c := int(s)*g.ports + int(row[lid]); g.next[c] >= 0 {
		return c
	}
	return topo.None
}
