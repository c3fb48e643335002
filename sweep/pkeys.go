package sweep

import (
	"fmt"

	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/partitions"
	"ibsm/sweep/plan"
	"ibsm/view"
)

// pkeyMemory is what lasts of partition tables from sweep to sweep.
type pkeyMemory struct {
	indexes partitions.Indexes // of keys that were removed
	waited  uint8              // sweeps in a row in which no key was taken away, because one could not be added
}

// maxWaited is how many sweeps in a row leave P_Keys where they are because others could
// not be added. Then what is not allowed any more ends, whoever else does not answer.
const maxWaited = 2

// enforced reports whether switches are to check P_Keys.
func (p *Partitions) enforced() bool {
	return p.Policy != nil && p.Settings.Enforce != partitions.EnforceOff
}

// tally ends a sweep. held says that it took no key away.
func (m *pkeyMemory) tally(held bool) {
	if m.waited++; !held {
		m.waited = 0
	}
}

// pkeys takes the answer to a step of a partition table: what the port holds now.
func (p *Program) pkeys(st request, o *txn.Outcome) {
	if !p.c.Plan.PKeysWritten(st.Step, (*smp.PKeyTable)(&o.Data)) {
		p.c.Plan.PKeysFailed(st.Step)
		p.fail(st.Step, view.Refused, fmt.Sprintf("P_Key block %d is not held as it was set", st.Block))
		return
	}
	p.check(st.Step, o)
}

// pkeysFailed notes that a step of a partition table was not taken, or failed.
func (p *Program) pkeysFailed(st plan.Step) { p.c.Plan.PKeysFailed(st) }

// holdRemovals decides, when all that can be added has been, whether P_Keys may be taken
// away: two ports that are to meet by a new key might else lose the old one before. A port
// that does not take its new keys is not waited for long.
func (p *Program) holdRemovals() {
	if !p.c.Plan.Removing() || p.c.Plan.Removals() == 0 || p.state.pkeys.waited >= maxWaited {
		return
	}
	if ports := p.c.Plan.NotAdded(); len(ports) > 0 {
		p.held = true
		p.c.Plan.HoldRemovals()
		p.fail(plan.Step{Op: plan.SetPKeys, Port: ports[0]}, view.Refused, fmt.Sprintf("P_Keys are not taken from any port yet: %d ports did not get theirs", len(ports)))
	}
}
