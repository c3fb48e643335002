package txn

import (
	"time"

	"ibsm/mad"
)

// passing finds out whether switches pass directed-route SMPs on in hardware, or have their agents
// do it. Agents take about as long for an SMP that passes as for one that they answer, one at a
// time; so all that goes farther than one hop waits in the VL15 buffer of the switch next to
// the manager, there and back, and that decides how many may be on the wire.
//
// It compares round trips of different numbers of hops. The least ones have not waited for
// other SMPs. Where devices differ so much that those do not show hardware, a trial compares one with itself.
type passing struct {
	needed     bool // a request has gone farther than one hop
	inHardware bool
	undecided  bool // round trips over some number of hops show an agent, or slow devices, or a long cable
	proven     int  // hops within which a trial has shown hardware
	hops       [mad.MaxHops + 1]least
}

// least is the least of some round trips.
type least struct {
	rtt time.Duration
	n   int
}

const (
	// pathWindow is the window while switches may pass SMPs on in their agents: what OpenSM has
	// on the wire. VL15 buffers of all switches hold that.
	pathWindow = 4
	// nearSamples is how many round trips over the least number of hops are compared: an
	// inflated one would make others appear to be short.
	nearSamples = 4
	// farSamples is how many round trips over more hops say that an agent passed them on: fewer
	// may have waited all.
	farSamples = 16
	// passTime is the longest that a switch and a cable of a few hundred metres take to pass an SMP on
	// in hardware. An agent takes longer.
	passTime = 4 * time.Microsecond
)

// answered takes the round trip of a request over so many hops, of which only a few samples
// matter once the answer is known.
func (p *passing) answered(hops int, rtt time.Duration) {
	if hops < 1 || hops > mad.MaxHops {
		return
	}
	at := &p.hops[hops]
	if at.n++; at.n > farSamples && rtt >= at.rtt {
		return
	}
	if at.n == 1 || rtt < at.rtt {
		at.rtt = rtt
	}
	p.decide()
}

// decide compares: each hop but the first is a switch to pass, twice. What the manager's own host takes
// for a round trip is in all of them. Hardware is believed when some round trips are short enough
// and none shows an agent: switches next to the manager may pass SMPs on in hardware, and those beyond not.
func (p *passing) decide() {
	p.inHardware, p.undecided = false, false
	near, quick := 0, p.proven > 0
	for h := 1; h <= mad.MaxHops; h++ {
		at := &p.hops[h]
		switch {
		case at.n == 0:
		case near == 0:
			if near = h; at.n < nearSamples {
				return
			}
		case h <= p.proven:
		case at.rtt-p.hops[near].rtt <= time.Duration(2*(h-near))*passTime:
			quick = true
		case at.n >= farSamples:
			p.undecided = true
		}
	}
	if only := p.hops[near]; !quick && near > 1 && only.n >= farSamples {
		p.undecided = true // nothing nearer to compare with
	}
	p.inHardware = quick && !p.undecided
}

// prove takes the result of a trial: switches pass SMPs on in hardware within so many hops.
func (p *passing) prove(hops int) {
	p.proven = hops
	p.decide()
}

// refute takes a loss where only a trial shows hardware.
func (p *passing) refute() {
	p.proven = 0
	p.decide()
}
