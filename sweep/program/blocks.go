package program

import (
	"fmt"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
)

func (p *Program) sendingLFT(st plan.Step) {
	p.Devices.Switches[p.Topo.SwitchOf(st.Port)].LFT.Take(int(st.Block), device.Sent)
}

// lftSettled notes what comes of a Set of a block, whatever it is.
func (p *Program) lftSettled(st request, o *txn.Outcome) {
	held := p.Devices.Switches[p.Topo.SwitchOf(st.Port)].LFT
	held.Take(int(st.Block), device.Answered(o, held.Block(int(st.Block))))
}

func (p *Program) lft(st request, o *txn.Outcome) {
	if p.Devices.Switches[p.Topo.SwitchOf(st.Port)].LFT.State(int(st.Block)) != device.Known {
		p.fail(st.Step, finding.Refused,
			fmt.Sprintf("the response to Set of forwarding table block %d has other values", st.Block))
		return
	}
	p.check(st.Step, o)
}

// block names the block of a request.
func (p *Program) block(st plan.Step, attr mad.AttrID) device.Block {
	return device.Block{Place: p.Plan.Place(attr, st.Port), Index: st.Block}
}

// event is what the outcome of a Set says of the block that it sent, as far as the port has that block.
func (p *Program) event(r request, o *txn.Outcome, sent []byte) device.Event {
	port := &p.Topo.Ports[r.Port]
	at := *o
	at.Data, _ = device.Of(o.Attr).Cut(&p.Topo.Nodes[port.Node], port.Num, &port.Info, r.Block, &o.Data)
	return device.Answered(&at, sent)
}

func (p *Program) sendingPort(st plan.Step) {
	p.Devices.Take(p.block(st, smp.AttrPortInfo), device.Sent)
	p.hear(st.Port, false)
}

func (p *Program) sendingFDR10(st plan.Step) {
	p.Devices.Take(p.block(st, smp.AttrExtendedPortInfo), device.Sent)
}

// fdr10Settled is valueSettled; it also notes whether the port has taken the setting.
func (p *Program) fdr10Settled(r request, o *txn.Outcome) {
	p.valueSettled(r, o)
	p.triedSet(r, o, o.Result == txn.Replied && o.Status == mad.StatusOK &&
		p.Plan.TakesFDR10((*smp.ExtendedPortInfo)(&o.Data)))
}

func (p *Program) sendingAR(st plan.Step) {
	p.Devices.Take(p.block(st, smp.AttrARInfo), device.Sent)
}

// valueSettled notes what comes of a Set, or of the Get after it, of an attribute of one block. The Topo gets the value
// of a response, whether it is the one that was sent or not.
func (p *Program) valueSettled(r request, o *txn.Outcome) {
	e := device.Got
	if o.Result != txn.Replied || o.Status != mad.StatusOK {
		e = device.Answered(o, nil)
	}
	p.Devices.Take(p.block(r.Step, o.Attr), e)
}

// check has a block read by the next light sweep, if it was sent more than once.
func (p *Program) check(st plan.Step, o *txn.Outcome) {
	if o.Attempts > 1 {
		p.Devices.Check(p.block(st, o.Attr))
	}
}
