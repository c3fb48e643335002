package program

import (
	"strings"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// mkeyRack is the rack whose M_Keys are set.
type mkeyRack struct {
	sent   map[topo.PortIdx]bool // ports that have got a Set, and whether they have acknowledged it
	proved int                   // ports that have answered to their new one
}

// endRack leaves the other racks as they are where no port of one has taken its M_Key: the first shows whether it
// works.
func (p *Program) endRack() {
	if !p.Plan.ReadsMKey() {
		return
	}
	if len(p.mkeys.sent) > 1 && p.mkeys.proved == 0 {
		p.Plan.StopMKeys()
	}
	p.mkeys = mkeyRack{}
}

func (p *Program) sendingMKey(st plan.Step) {
	if p.mkeys.sent == nil {
		p.mkeys.sent = map[topo.PortIdx]bool{}
	}
	p.mkeys.sent[st.Port] = false
	p.sendingPort(st)
}

// mkeySettled notes that what the port holds is not known. A response alone, which may hide the M_Key, does not say it.
func (p *Program) mkeySettled(r request, o *txn.Outcome) {
	if o.Result != txn.Replied || o.Status != mad.StatusOK {
		p.valueSettled(r, o)
	}
}

// mkeySet takes the response to a Set of an M_Key. It shows what the port has taken of it, and proves nothing: what the
// port holds is read with the new one.
func (p *Program) mkeySet(r request, o *txn.Outcome) {
	p.mkeys.sent[r.Port] = true
	if held := (*smp.PortInfo)(&o.Data); o.Status == mad.StatusOK && !smp.HidesMKey(held) {
		sent := p.Plan.WithMKey(r.Port)
		at := p.Plan.Place(device.MKeys.ID, r.Port)
		if bits, found := p.Devices.Unsupported.Learn(&device.MKeys, at, (*device.Data)(&sent), &o.Data); found {
			p.ignores(at.Node, at.Port, p.fieldNames((*smp.PortInfo)(&bits)))
		}
	}
}

// mkeyRead takes the PortInfo of a port that has answered to its new M_Key. What it has lost since the response to the
// Set another manager may have written: so it is sent again, and not taken for a field that the port does not support
// before that was in vain twice.
func (p *Program) mkeyRead(r request, o *txn.Outcome) {
	sent := p.Plan.WithMKey(r.Port)
	info := (*smp.PortInfo)(&o.Data)
	if smp.HidesMKey(info) { // it has answered to any
		p.mkeyUnread(r.Step)
		return
	}
	p.holds(r, info)
	switch {
	case info.MKey() == sent.MKey():
		p.mkeys.proved++
	case !p.mkeys.sent[r.Port]: // it was shown a wrong one, and is open
		p.fail(r.Step, finding.Refused, "it has another M_Key than it was shown")
		return
	}
	at, unsupported := p.Plan.Place(device.MKeys.ID, r.Port), p.Devices.Unsupported
	lost, _ := device.MKeys.Differs((*device.Data)(&sent), (*device.Data)(info))
	for i, refused := range unsupported.Refuses(&device.MKeys, at, (*device.Data)(&sent)) {
		lost[i] &^= refused
	}
	if lost == (device.Data{}) || p.IsOpen(p.Topo.Ports[r.Port].GUID) {
		return // where it was opened to another manager, for a moment: see Sweeper.Knock
	}
	if p.mkeys.sent[r.Port] {
		unsupported.Tried(at)
	}
	p.fail(r.Step, finding.Refused, "it has lost fields that were sent with its M_Key: "+
		strings.Join(p.fieldNames((*smp.PortInfo)(&lost)), ", "))
}

// mkeyUnread has a port asked with the M_Key that it had, which it has kept where the Set was lost.
func (p *Program) mkeyUnread(st plan.Step) {
	p.more = append(p.more, plan.Step{Op: plan.ReadHeldMKey, Port: st.Port})
}

func (p *Program) mkeyHeld(r request, o *txn.Outcome) {
	info := (*smp.PortInfo)(&o.Data)
	p.holds(r, info)
	p.fail(r.Step, finding.Refused, "it keeps the M_Key that it had")
}

// holds notes the PortInfo that a port has been read with.
func (p *Program) holds(r request, info *smp.PortInfo) {
	info.SetClientReregister(false)
	p.Topo.Ports[r.Port].Info = *info
	p.Devices.Take(p.block(r.Step, smp.AttrPortInfo), device.Got)
	p.hear(r.Port, true)
}
