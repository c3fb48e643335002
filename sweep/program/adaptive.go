package program

import (
	"fmt"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// A switch with adaptive routing on takes a Set of LinearForwardingTable and turns it off by
// that, or refuses the Set (ARInfo's NoFallback). Where it refuses, adaptive routing is turned
// off by a Set of ARInfo, and the blocks are sent again. Either way ARInfo is read afterwards:
// only what the switch says is believed.

// fallback is what is under way at a switch whose table is written while it has, or may have,
// adaptive routing on.
type fallback struct {
	asked   bool               // a Get of ARInfo, and what follows from it
	refused []plan.Step        // blocks to be sent again
	again   map[plan.Step]bool // blocks that have been
}

func (p *Program) fallbackOf(n topo.NodeIdx) *fallback {
	f := p.fallbacks[n]
	if f == nil {
		f = &fallback{again: map[plan.Step]bool{}}
		p.fallbacks[n] = f
	}
	return f
}

// askAR has the ARInfo of a switch read, once.
func (p *Program) askAR(n topo.NodeIdx) {
	if f := p.fallbackOf(n); !f.asked {
		f.asked = true
		p.again = append(p.again, request{plan.Step{Op: plan.DisableAR, Port: p.Topo.Nodes[n].First}, wasRefused})
	}
}

// refusedLFT notes that a switch has refused a block, and reports whether adaptive routing may be the reason: the block
// is then sent again when adaptive routing is off. A switch that is said to have none may have said so only while it
// started: the next walk asks it again.
func (p *Program) refusedLFT(st plan.Step) bool {
	n := p.Topo.Ports[st.Port].Node
	node := &p.Topo.Nodes[n]
	if node.AR != topo.AROn && node.AR != topo.AROff {
		node.AR, node.PrivateLFT = topo.ARUnknown, topo.PrivateLFTUnknown
		return false
	}
	f := p.fallbackOf(n)
	if f.again[st] {
		return false
	}
	f.again[st] = true
	if f.asked && f.refused == nil {
		p.more = append(p.more, st)
		return true
	}
	f.refused = append(f.refused, st)
	p.askAR(n)
	return true
}

// confirmAR has the ARInfo read of each switch that had adaptive routing on, or what depends on it, when its table was
// written.
func (p *Program) confirmAR() {
	for _, s := range p.Plan.Switches() {
		n := p.Topo.Switches[s]
		if p.Topo.Nodes[n].AdaptiveSomehow() && !p.isGivenUp(n) {
			p.askAR(n)
		}
	}
}

// arInfo handles the ARInfo of a switch, the response to a Get or to a Set that turns adaptive
// routing off. While adaptive routing is on, the switch does not forward by its table. A Set of that has
// turned off adaptive routing alone: what depends on it follows.
func (p *Program) arInfo(r request, o *txn.Outcome) {
	n := p.Topo.Ports[r.Port].Node
	node := &p.Topo.Nodes[n]
	f := p.fallbackOf(n)
	if o.Status == mad.StatusOK {
		info := smp.ARInfo(o.Data)
		node.ARInfo, node.AR = &info, topo.AROf(&info)
	}
	if o.Status == mad.StatusOK && node.AR == topo.AROff {
		p.more = append(p.more, f.refused...)
		f.refused = nil
	}
	switch {
	case o.Status == mad.StatusOK && !node.AdaptiveSomehow():
	case o.Status == mad.StatusOK && r.asked == wasRefused:
		p.more = append(p.more, r.Step)
	case r.asked == wasRefused && len(f.refused) == 0: // the next walk asks again
	case node.AR == topo.AROff:
		p.fail(r.Step, finding.Refused,
			fmt.Sprintf("what depends on adaptive routing stays on though it was turned off: %v", o.Status))
	default:
		p.fail(r.Step, finding.Refused, fmt.Sprintf("adaptive routing stays on though it was turned off: %v", o.Status))
		if p.DisablesAR {
			p.giveUp(n)
		}
	}
}
