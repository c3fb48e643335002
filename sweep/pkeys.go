package sweep

import (
	"fmt"

	"ibsm/finding"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/partitions"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
)

// pkeyState is the part of state that concerns P_Key tables.
type pkeyState struct {
	indexes      partitions.Indexes // of keys that were removed
	removalsHeld uint8              // sweeps in a row in which no key was removed, because one could not be added
}

// maxHeldRemovals is how many sweeps in a row remove no P_Keys because others could not be
// added. Then keys that are no longer allowed are removed, even if some ports do not answer.
const maxHeldRemovals = 2

// enforced reports whether switches should check P_Keys.
func (p *Partitions) enforced() bool {
	return p.Policy != nil && p.Settings.Enforce != partitions.EnforceOff
}

// removals says what a sweep has made of P_Keys that it should remove.
type removals uint8

const (
	notHeld     removals = iota
	areHeld              // new keys wait
	heldTooLong          // likewise, and they are removed all the same
)

// tally ends a sweep.
func (m *pkeyState) tally(r removals) {
	switch r {
	case notHeld:
		m.removalsHeld = 0
	case areHeld:
		m.removalsHeld++
	}
}

func (p *Program) sendingPKeys(st plan.Step) {
	p.state.devices.Take(p.block(st, smp.AttrPKeyTable), device.Sent)
}

// pkeysSettled notes what comes of a Set of a block, whatever it is.
func (p *Program) pkeysSettled(r request, o *txn.Outcome) {
	sent := p.c.Plan.PKeysSent(r.Step)
	p.state.devices.Take(p.block(r.Step, o.Attr), p.event(r, o, sent[:]))
}

// pkeys takes the response to a step of a P_Key table: what the port holds now.
func (p *Program) pkeys(st request, o *txn.Outcome) {
	p.c.Plan.PKeysHeld(st.Step, (*smp.PKeyTable)(&o.Data))
	if p.state.devices.State(p.block(st.Step, o.Attr)) != device.Known {
		p.c.Plan.PKeysFailed(st.Step)
		p.fail(st.Step, finding.Refused, fmt.Sprintf("the response to Set of P_Key block %d has other values",
			st.Block))
		return
	}
	p.check(st.Step, o)
}

// pkeysFailed notes that a step of a P_Key table was skipped or failed.
func (p *Program) pkeysFailed(st plan.Step) { p.c.Plan.PKeysFailed(st) }

// holdRemovals removes no P_Key while new ones wait: two ports that will share one might otherwise lose the old one
// first. After maxHeldRemovals sweeps it does not wait for ports that do not accept their new keys.
func (p *Program) holdRemovals() {
	if !p.c.Plan.Removing() || p.c.Plan.Removals() == 0 {
		return
	}
	switch ports := p.c.Plan.NotAdded(); {
	case len(ports) == 0:
	case p.state.pkeys.removalsHeld >= maxHeldRemovals:
		p.removals = heldTooLong
	default:
		p.removals = areHeld
		p.c.Plan.HoldRemovals()
		p.fail(plan.Step{Op: plan.SetPKeys, Port: ports[0]}, finding.Refused,
			fmt.Sprintf("no P_Key is removed from any port yet: %d ports did not get their new ones", len(ports)))
	}
}
