// Package creditloop proves that forwarding tables are free of credit loops. A channel is one
// direction of a link between switches. A packet that holds a buffer at the end of a channel waits
// for credits of the channel that it takes next: it depends on it. Where the dependencies
// form a circle, packets can wait for each other for ever. Where the channels can be numbered so
// that each dependency leads to a higher number, they cannot (Dally and Seitz, 1987).
//
// All packets are taken to use one lane. Links to hosts are left out: nothing waits for a packet
// that a host has not sent yet, and a host takes every packet that comes to it.
package creditloop

import (
	"context"

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
	number []int32 // by channel; nil with a loop
}

// Channel is the direction of a link that leaves a switch by a port, in a credit loop.
type Channel struct {
	Switch topo.SwitchIdx
	Port   uint8
	// Packets from Source to Dest take this channel, and then the next one of the loop. Source is
	// a switch where such packets start.
	Source topo.SwitchIdx
	Dest   mad.LID
}

// Find looks for a credit loop in tables, whose forwarding in the subnet is f. Of routes that have
// not changed since a report without a loop nothing is followed; since may be nil, or of
// another subnet. The error is that of ctx.
func Find(ctx context.Context, t *topo.Topo, l *topo.LIDs, f *routing.Forwarding, traffic Traffic, since *Report) (*Report, error) {
	g := newGraph(t, l, f, traffic)
	if unchanged, err := g.keepsOrder(ctx, since); unchanged || err != nil {
		return &Report{graph: g, number: since.number}, err
	}
	if err := g.follow(ctx, f.Changed(nil)); err != nil {
		return nil, err
	}
	r := &Report{graph: g}
	var waiting []int32
	if r.number, waiting = g.order(); waiting != nil {
		r.number, r.Loop = nil, g.loop(waiting)
	}
	g.deps = nil // large, and not needed after this
	return r, nil
}

// graph is the channels and their dependencies. A channel is a number: switch * ports + port.
type graph struct {
	*routing.Forwarding
	ports   int     // of the switch with the most, port 0 included
	next    []int32 // by channel: the switch that it leads to, None if it leads to no switch
	dests   []bool  // by LID: packets come there
	sources []int32 // ascending: switches where packets start
	// deps has, by channel * words, a bit for each port of the switch that the channel leads
	// to: packets go on by that port.
	deps  []uint64
	words int
}

func newGraph(t *topo.Topo, l *topo.LIDs, f *routing.Forwarding, traffic Traffic) *graph {
	g := &graph{Forwarding: f, dests: make([]bool, len(l.Owner))}
	for _, n := range t.Switches {
		g.ports = max(g.ports, int(t.Nodes[n].NumPorts)+1)
	}
	g.next = make([]int32, len(t.Switches)*g.ports)
	for c := range g.next {
		g.next[c] = int32(f.Tracer.Next(topo.SwitchIdx(c/g.ports), uint8(c%g.ports)))
	}
	starts := make([]bool, len(t.Switches))
	for lid, p := range l.Owner {
		if s := f.Home(mad.LID(lid)); s != topo.None {
			g.dests[lid] = traffic == All || t.Nodes[t.Ports[p].Node].Type != mad.Switch
			starts[s] = starts[s] || g.dests[lid]
		}
	}
	for s, is := range starts {
		if is {
			g.sources = append(g.sources, int32(s))
		}
	}
	g.words = (g.ports + 63) / 64
	g.deps = make([]uint64, len(g.next)*g.words)
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
