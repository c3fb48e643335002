package fabric

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
)

// SMA is how fast agents handle SMPs, unless Caps make one faster or slower. The zero value is
// agents that need no time.
type SMA struct {
	// Time is how long an agent takes for one SMP. It handles one at a time.
	Time time.Duration
	// Buffer is how many SMPs may wait for it, in its port's VL15 buffer. More are dropped.
	Buffer int
	// Transit says that switches handle SMPs that only pass, on a directed route, in the same
	// way.
	Transit bool
}

// pass is the way of a directed-route SMP through the agents: to the one after so many hops.
type pass struct {
	back bool
	hop  int
}

// encode puts a pass into the serial of an event.
func (p pass) encode() uint64 {
	s := uint64(p.hop) << 1
	if p.back {
		s |= 1
	}
	return s
}

func decodePass(s uint64) pass { return pass{s&1 != 0, int(s >> 1)} }

// takesTime reports whether a packet is handled by agents that need time for it.
func (f *Fabric) takesTime(d *mad.Datagram) bool {
	return f.agentsTakeTime && d.Packet.MgmtClass() == mad.ClassDirected && d.Packet.HopCount() <= mad.MaxHops
}

// toAgent has an SMP of the end port from handled by the agent after hop hops of its route,
// and by those after that, and lets it arrive. On its way back, port is where it arrives.
func (f *Fabric) toAgent(port int32, w pass, d *mad.Datagram) {
	p := &d.Packet
	hops := int(p.HopCount())
	switch {
	case w.back && (w.hop < 1 || !f.cfg.SMA.Transit):
		f.onWire(evDeliver, port, d)
		return
	case !w.back && w.hop > hops:
		f.arrived(port, nil, d)
		return
	case !w.back && !f.cfg.SMA.Transit:
		w.hop = hops
	}
	at := port
	for h := 1; h <= w.hop; h++ {
		next, why := f.hop(port, at, p.InitialPath()[h])
		if why != Delivered {
			f.drop(why, d)
			return
		}
		if at = next; !w.back && f.nodeOf(at).liar != nil {
			f.arrived(port, nil, d)
			return
		}
	}
	done, ok := f.serve(f.ports[at].node)
	if !ok {
		f.count(at, pma.VL15Dropped, 1)
		f.drop(DropVL15, d)
		return
	}
	if w.hop++; w.back {
		w.hop -= 2
	}
	e := f.queue.push(done)
	e.kind, e.port, e.serial, e.d = evPass, port, w.encode(), *d
}

// serve is when a node's agent is done with an SMP that comes now; ok is false when its buffer
// is full.
func (f *Fabric) serve(node int32) (done time.Duration, ok bool) {
	n := &f.nodes[node]
	begin := max(f.now, n.busy)
	if begin-f.now > time.Duration(n.caps.SMABuffer)*n.caps.SMATime {
		return 0, false
	}
	n.busy = begin + n.caps.SMATime
	return n.busy, true
}

// SetAgentTime has the agent of a node take so long for each SMP from now on, and so many wait for it.
func (f *Fabric) SetAgentTime(node int32, each time.Duration, buffer int) {
	c := &f.nodes[node].caps
	c.SMATime, c.SMABuffer = each, buffer
	f.agentsTakeTime = f.agentsTakeTime || each > 0
}
