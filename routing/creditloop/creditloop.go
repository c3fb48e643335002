// Package creditloop proves that forwarding tables are free of credit loops. A channel is one
// direction of a link between switches, on one lane: each lane has buffers of its own. A packet that
// holds a buffer at the end of a channel waits for credits of the channel that it takes next: it
// depends on it. Where the dependencies form a circle, packets can wait for each other for ever.
// Where the channels can be numbered so that each dependency leads to a higher number, they cannot
// (Dally and Seitz, 1987).
//
// Links to hosts are left out: nothing waits for a packet that a host has not sent yet, and a host
// takes every packet that comes to it. But the lanes of these links are checked too: a lane that a
// link does not have, or that gets no turn, stops packets as well.
package creditloop

import (
	"context"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

// Traffic says which packets count.
type Traffic uint8

// Traffic between hosts is from and to channel adapters and routers; aggregation nodes are sent to, but
// send only along the links of their own tree. All traffic is also from those, and from and to port 0
// of switches, such as that of performance management.
const (
	BetweenHosts Traffic = iota
	All
)

// Report is what Find found. It is immutable.
type Report struct {
	// Loop is a credit loop: packets that hold one of its channels wait for the next channel, and those that hold the
	// last wait for the first. It is nil if there is none.
	Loop []Channel
	// Findings are ports that stop packets in other ways, up to MaxFindings, in order of switches and
	// ports; end ports come last.
	Findings []Finding

	graph  *graph  // its dependencies may be more than those of the packets
	number []int32 // by lane * channels + channel; nil with a loop
}

// Channel is the direction of a link that leaves a switch by a port, on one lane, in a credit
// loop.
type Channel struct {
	Switch topo.SwitchIdx
	Port   uint8
	Lane   uint8
	Flow
}

// Flow is packets that meet a finding. Of a credit loop they take one channel, and then the next
// one.
type Flow struct {
	Source    topo.SwitchIdx // where they start; None at an end port
	SourceLID mad.LID        // a LID of an end port there that sends them
	Dest      mad.LID        // may be a multicast LID
	SL        uint8
}

// Number is the place of a channel in an order in which packets pass the channels, or 0 if the report has a loop. The
// numbers prove that there is no loop: follow the routes, and the numbers ascend.
func (r *Report) Number(s topo.SwitchIdx, port, lane uint8) int32 {
	if r.number == nil || int(port) >= r.graph.ports || int(lane) >= r.graph.lanes {
		return 0
	}
	return r.number[int(lane)*len(r.graph.next)+int(s)*r.graph.ports+int(port)]
}

// Channels is the number of channels of the report's subnet, each on as many lanes as there can be packets
// on.
func (r *Report) Channels() (n int) {
	for _, to := range r.graph.next {
		if to != topo.None {
			n += r.graph.lanes
		}
	}
	return n
}

// In is what a search is about.
type In struct {
	Topo       *topo.Topo
	LIDs       *topo.LIDs
	Forwarding *routing.Forwarding // by the tables, in the subnet
	SLs        *routing.SLs        // of the tables
	Maps       *routing.Maps       // from SLs to lanes
	Multicast  []mcast.Group
	Traffic    Traffic
	// Lanes is, by PortIdx, the number of data VLs that a link has. Ports for which it has 0 are like
	// their peer; of links for which both have 0, and of all if it is nil, no lane is missing.
	Lanes []uint8
	// Turns are, by PortIdx, a bit for each VL that gets turns by the VL arbitration tables of the
	// port. Nil gives all of them turns.
	Turns []uint16
	// Before are the previous rules: each switch follows these or the new ones. Nil means the new rules everywhere.
	Before *Rules
	// Since is an earlier report, or nil. If it has neither a loop nor a finding, only routes that have changed since
	// are followed.
	Since   *Report
	Workers routing.Workers
}

// Rules are the tables that switches follow; the fields are like those of In.
type Rules struct {
	Forwarding *routing.Forwarding
	SLs        *routing.SLs
	Maps       *routing.Maps
}

// Find looks for a credit loop, and for ports that stop packets. The error is that of ctx.
func Find(ctx context.Context, in In) (*Report, error) {
	g := newGraph(in)
	defer func() { g.used = nil }() // large, and not needed after this
	descents, since, err := g.descents(ctx, in.Since)
	if err != nil {
		return nil, err
	}
	r := &Report{graph: g}
	if since != nil {
		// Packets to LIDs whose routes have not changed depend on channels as before.
		g.add(since)
		if r.number = since.number; descents != nil {
			r.number, _ = g.order(ctx)
		}
		if r.number != nil {
			r.Findings = g.findings()
			return r, nil
		}
		clear(g.deps) // some that are no more may be what closes a circle
	}
	if err := g.follow(ctx, g.Changed(nil)); err != nil {
		return nil, err
	}
	var waiting []int32
	if r.number, waiting = g.order(ctx); waiting != nil {
		r.Loop = g.loop(waiting)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.Findings = g.findings()
	return r, nil
}
