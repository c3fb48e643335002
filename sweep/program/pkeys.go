package program

import (
	"fmt"

	"ibsm/finding"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
)

// maxHeldRemovals is how many sweeps in a row remove no P_Keys because others could not be
// added. Then keys that are no longer allowed are removed, even if some ports do not answer.
const maxHeldRemovals = 2

// removals says what a sweep has made of P_Keys that it should remove.
type removals uint8

const (
	notHeld     removals = iota
	areHeld              // new keys wait
	heldTooLong          // likewise, and they are removed all the same
)

// after is In.RemovalsHeld of the next sweep.
func (r removals) after(held uint8) uint8 {
	switch r {
	case notHeld:
		return 0
	case areHeld:
		return held + 1
	}
	return held
}

func (p *Program) sendingPKeys(st plan.Step) {
	p.Devices.Take(p.block(st, smp.AttrPKeyTable), device.Sent)
}

// pkeysSettled notes what comes of a Set of a block, whatever it is.
func (p *Program) pkeysSettled(r request, o *txn.Outcome) {
	sent := p.Plan.PKeysSent(r.Step)
	p.Devices.Take(p.block(r.Step, o.Attr), p.event(r, o, sent[:]))
}

// pkeys takes the response to a step of a P_Key table: what the port holds now.
func (p *Program) pkeys(st request, o *txn.Outcome) {
	p.Plan.PKeysHeld(st.Step, (*smp.PKeyTable)(&o.Data))
	if p.Devices.State(p.block(st.Step, o.Attr)) != device.Known {
		p.Plan.PKeysFailed(st.Step)
		p.fail(st.Step, finding.Refused, fmt.Sprintf("the response to Set of P_Key block %d has other values",
			st.Block))
		return
	}
	p.check(st.Step, o)
}

// pkeysFailed notes that a step of a P_Key table was skipped or failed.
func (p *Program) pkeysFailed(st plan.Step) { p.Plan.PKeysFailed(st) }

// holdRemovals removes no P_Key while new ones wait: two ports that will share one might otherwise lose the old one
// first. After maxHeldRemovals sweeps it does not wait for ports that do not accept their new keys.
func (p *Program) holdRemovals() {
	if !p.Plan.Removing() || p.Plan.Removals() == 0 {
		return
	}
	switch ports := p.Plan.NotAdded(); {
	case len(ports) == 0:
	case p.RemovalsHeld >= maxHeldRemovals:
		p.removals = heldTooLong
	default:
		p.removals = areHeld
		p.Plan.HoldRemovals()
		p.fail(plan.Step{Op: plan.SetPKeys, Port: ports[0]}, finding.Refused,
			fmt.Sprintf("no P_Key is removed from any port yet: %d ports did not get their new ones", len(ports)))
	}
}
