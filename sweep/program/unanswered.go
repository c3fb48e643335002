package program

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// maxTimeOuts is how many Sets of one attribute a node may leave unanswered before the rest of the sweep skips them:
// each costs all its retries.
const maxTimeOuts = 2

// maxOfModel is the number of Sets of one optional attribute that the devices of a model may leave unanswered before
// the other devices of the model are skipped, because defects depend on the model. It applies as long as none of them
// has answered one.
const maxOfModel = 16

// attrOfNode are the Sets of an attribute to a node.
type attrOfNode struct {
	node topo.NodeIdx
	attr mad.AttrID // 0 for all that are needed
}

// attrOfModel are the Sets of an attribute to devices of a model.
type attrOfModel struct {
	model device.Model
	attr  mad.AttrID
}

// unansweredModel is how many Sets they have left unanswered, and whether one was answered.
type unansweredModel struct {
	count    int
	answered bool
}

// needed are the attributes without which a node is of no use: if it does not answer to Sets of them, nothing more is
// sent to it. Others, such as the tables of lanes, cost only themselves.
var needed = []mad.AttrID{smp.AttrPortInfo, smp.AttrSwitchInfo, smp.AttrLinearForwardingTable}

// skips reports whether a step is skipped because its node, or others of its model, have left Sets unanswered. It notes
// that the port does not take the attribute, if that was the reason.
func (p *Program) skips(st plan.Step) bool {
	node, attr := p.Topo.Ports[st.Port].Node, st.Op.Attr()
	switch {
	case p.isGivenUp(node), p.late[node]:
		return true
	case len(p.timeOuts) == 0 || p.timeOuts[attrOfNode{node, attr}] < maxTimeOuts &&
		(outcomes[st.Op].required || !p.skipsModel(node, attr)):
		return false
	}
	p.tried(st, device.NotTaken)
	return true
}

func (p *Program) skipsModel(node topo.NodeIdx, attr mad.AttrID) bool {
	of := p.ofModels[p.modelOf(node, attr)]
	// a sound device would be excluded for the P_Keys of others
	return attr != smp.AttrPKeyTable && !of.answered && of.count >= maxOfModel
}

func (p *Program) modelOf(node topo.NodeIdx, attr mad.AttrID) attrOfModel {
	return attrOfModel{device.ModelOf(&p.Topo.Nodes[node].Info), attr}
}

// isGivenUp reports whether nothing more is sent to a node.
func (p *Program) isGivenUp(node topo.NodeIdx) bool {
	return p.timeOuts[attrOfNode{node: node}] >= maxTimeOuts
}

// giveUp has nothing more sent to a node.
func (p *Program) giveUp(node topo.NodeIdx) { p.timeOuts[attrOfNode{node: node}] = maxTimeOuts }

// countTimeOut counts a Set without an answer. One that is required ends all else that is sent to the node.
func (p *Program) countTimeOut(node topo.NodeIdx, op plan.Op, required bool) {
	attr := op.Attr()
	if slices.Contains(needed, attr) {
		attr = 0
	} else {
		p.unanswered = min(p.unanswered, maxUnanswered-1) // the device may not know the attribute: others are sent on
		of := p.ofModels[p.modelOf(node, attr)]
		of.count++
		p.ofModels[p.modelOf(node, attr)] = of
	}
	if p.timeOuts[attrOfNode{node, attr}]++; required {
		p.giveUp(node)
	}
}

// answeredByModel notes that a device has answered a Set of an attribute that is not needed.
func (p *Program) answeredByModel(node topo.NodeIdx, attr mad.AttrID) {
	if !slices.Contains(needed, attr) {
		of := p.ofModels[p.modelOf(node, attr)]
		of.answered = true
		p.ofModels[p.modelOf(node, attr)] = of
	}
}

// triedSet notes how a Set of an attribute went that a subnet can do without. A device that is busy may take it later.
func (p *Program) triedSet(r request, o *txn.Outcome, taken bool) {
	switch {
	case taken:
		p.tried(r.Step, device.Taken)
	case o.Result == txn.OutOfTime:
	case o.Result != txn.Replied || o.Status&mad.StatusBusy == 0:
		p.tried(r.Step, device.NotTaken)
	}
}

// tried notes a trial of an attribute that a subnet can do without.
func (p *Program) tried(st plan.Step, trial device.Trial) {
	if attr := st.Op.Attr(); slices.Contains(device.OptionalAttributes, attr) {
		p.trials[p.Plan.Place(attr, st.Port)] |= trial
	}
}

// tallyOptional gives up the attributes that devices do not accept. If the walk lost many answers, Sets and Gets may
// have been lost too.
func (p *Program) tallyOptional() {
	if !p.Conclusive {
		return
	}
	optional := p.Devices.Optional
	optional.SweepEnds(p.trials)
	for at, all := range p.OptionalRead {
		optional.WalkRead(at, all)
	}
}

// plainTrial is how far a program has come with Sets of PortInfo without bit 31 to a node that did not accept one with
// it.
type plainTrial uint8

const (
	notTried plainTrial = iota
	tryingPlain
	plainFailed // it accepts those no better
)

// bit31 takes the outcome of a Set of PortInfo, for what the device makes of the modifier's bit 31. It reports whether
// the Set is sent once more, without the bit: any error and any silence may be due to it.
func (p *Program) bit31(r request, o *txn.Outcome, good bool) (again bool) {
	n := p.Topo.Ports[r.Port].Node
	node := &p.Topo.Nodes[n]
	switch with := o.Mod&smp.ExtendedSpeedsMod != 0; {
	case with && good:
		p.Features.Learn(device.ExtendedSets, &node.Info, device.Works)
	case with && o.Status&mad.StatusBusy == 0 && p.plain[n] != plainFailed:
		p.plain[n], node.SetsExtended = tryingPlain, false
		p.more = append(p.more, r.Step)
		return true
	case with, p.plain[n] != tryingPlain:
	case good:
		delete(p.plain, n)
		p.Features.Learn(device.ExtendedSets, &node.Info, device.Fails)
		p.spread()
	default:
		p.plain[n], node.SetsExtended = plainFailed, true
	}
	return false
}

// spread has devices sent no bit 31 whose model does not accept it.
func (p *Program) spread() {
	for i := range p.Topo.Nodes {
		if node := &p.Topo.Nodes[i]; p.Features.Of(device.ExtendedSets, &node.Info) == device.Fails {
			node.SetsExtended = false
		}
	}
}
