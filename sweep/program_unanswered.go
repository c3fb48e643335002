package sweep

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// maxTimeOuts is how many Sets of one attribute a node may leave unanswered before the rest of the sweep skips them: each
// costs all its retries.
const maxTimeOuts = 2

// attrOfNode are the Sets of an attribute to a node.
type attrOfNode struct {
	node topo.NodeIdx // None for all nodes
	attr mad.AttrID   // 0 for all that are needed
}

// needed are the attributes without which a node is of no use: if it does not answer to Sets of them, nothing more is
// sent to it. Others, such as the tables of lanes, cost only themselves.
var needed = []mad.AttrID{smp.AttrPortInfo, smp.AttrSwitchInfo, smp.AttrLinearForwardingTable}

// givenUp reports whether a step is skipped because its node has left others unanswered.
func (p *Program) givenUp(st plan.Step) bool {
	if len(p.timeOuts) == 0 {
		return false
	}
	node, attr := p.c.Topo.Ports[st.Port].Node, st.Op.Attr()
	return p.timeOuts[attrOfNode{node, attr}] >= maxTimeOuts || p.timeOuts[attrOfNode{topo.None, attr}] > 0 || p.isGivenUp(node)
}

// isGivenUp reports whether nothing more is sent to a node.
func (p *Program) isGivenUp(node topo.NodeIdx) bool {
	return p.timeOuts[attrOfNode{node: node}] >= maxTimeOuts
}

// giveUp has nothing more sent to a node.
func (p *Program) giveUp(node topo.NodeIdx) { p.timeOuts[attrOfNode{node: node}] = maxTimeOuts }

// countTimeOut counts a Set without an answer. One that is required ends all else that is sent to the node. If too many
// in a row have none and their attribute is not needed, this attribute alone is left to the next sweep.
func (p *Program) countTimeOut(node topo.NodeIdx, attr mad.AttrID, required bool) {
	if slices.Contains(needed, attr) {
		attr = 0
	} else if p.unanswered >= maxUnanswered {
		p.timeOuts[attrOfNode{topo.None, attr}]++
		p.unanswered = 0
	}
	if p.timeOuts[attrOfNode{node, attr}]++; required {
		p.giveUp(node)
	}
}

// plainTrial is how far a program has come with Sets of PortInfo without bit 31 to a node that did not accept one with it.
type plainTrial uint8

const (
	notTried plainTrial = iota
	tryingPlain
	plainFailed // it accepts those no better
)

// bit31 takes the outcome of a Set of PortInfo, for what the device makes of the modifier's bit 31. It reports whether
// the Set is sent once more, without the bit: any error and any silence may be due to it.
func (p *Program) bit31(r request, o *txn.Outcome, good bool) (again bool) {
	n := p.c.Topo.Ports[r.Port].Node
	node := &p.c.Topo.Nodes[n]
	switch with := o.Mod&smp.ExtendedSpeedsMod != 0; {
	case with && good:
		p.s.walks.speeds.LearnSet(&node.Info, device.Bit31Accepted)
	case with && o.Status&mad.StatusBusy == 0 && p.plain[n] != plainFailed:
		p.plain[n], node.SetsExtended = tryingPlain, false
		p.more = append(p.more, r.Step)
		return true
	case with, p.plain[n] != tryingPlain:
	case good:
		delete(p.plain, n)
		p.s.walks.speeds.LearnSet(&node.Info, device.Bit31Refused)
		p.spread()
	default:
		p.plain[n], node.SetsExtended = plainFailed, true
	}
	return false
}

// spread has devices sent no bit 31 whose model does not accept it.
func (p *Program) spread() {
	for i := range p.c.Topo.Nodes {
		if node := &p.c.Topo.Nodes[i]; p.s.walks.speeds.Set(&node.Info) == device.Bit31Refused {
			node.SetsExtended = false
		}
	}
}
