package sweep

import (
	"fmt"
	"maps"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/partitions"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/view"
)

// pkeyMemory is what lasts of partition tables from sweep to sweep.
type pkeyMemory struct {
	indexes partitions.Indexes // of keys that were removed
	resent  []pkeyBlock        // blocks that were sent more than once and not read since
	doubted map[plan.Key]int   // ports that may hold another table than is known, and the walk during or after which that was found
	walks   int
	waited  uint8 // sweeps in a row in which no key was taken away, because one could not be added
}

// maxWaited is how many sweeps in a row leave P_Keys where they are because others could
// not be added. Then what is not allowed any more ends, whoever else does not answer.
const maxWaited = 2

// pkeyBlock is a block of a port's partition table.
type pkeyBlock struct {
	port  plan.Key
	block uint16
}

// enforced reports whether switches are to check P_Keys.
func (p *Partitions) enforced() bool {
	return p.Policy != nil && p.Settings.Enforce != partitions.EnforceOff
}

// forgetMastership drops what another manager may change. Where keys were is worth knowing
// still.
func (m *pkeyMemory) forgetMastership() {
	m.resent, m.doubted, m.waited = nil, map[plan.Key]int{}, 0
}

// doubts reports whether a port may hold another partition table than is known.
func (m *pkeyMemory) doubts(node mad.GUID, num uint8) bool {
	_, doubted := m.doubted[plan.Key{Node: node, Port: num}]
	return doubted
}

// tally ends a sweep, whose walk has read the tables that were doubted before it. held
// says that it took no key away.
func (m *pkeyMemory) tally(held bool) {
	if m.waited++; !held {
		m.waited = 0
	}
	maps.DeleteFunc(m.doubted, func(_ plan.Key, walk int) bool { return walk < m.walks })
}

// pkeys takes the answer to a step of a partition table: what the port holds now.
func (p *program) pkeys(st plan.Step, o *txn.Outcome) {
	if !p.c.Plan.PKeysWritten(st, (*smp.PKeyTable)(&o.Data)) {
		p.c.Plan.PKeysFailed(st)
		p.fail(st, view.Refused, fmt.Sprintf("P_Key block %d is not held as it was set", st.Block))
		return
	}
	if m := &p.state.pkeys; o.Attempts > 1 && len(m.resent) < maxResent {
		port := &p.c.Topo.Ports[st.Port]
		m.resent = append(m.resent, pkeyBlock{plan.Key{Node: p.c.Topo.Nodes[port.Node].GUID, Port: port.Num}, st.Block})
	}
}

// skipPKeys notes that a step is not taken, if it is one of a partition table.
func (p *program) skipPKeys(st plan.Step) {
	if st.Op == plan.AddPKeys || st.Op == plan.SetPKeys {
		p.c.Plan.PKeysFailed(st)
	}
}

// holdRemovals decides, when all that can be added has been, whether P_Keys may be taken
// away: two ports that are to meet by a new key might else lose the old one before. A port
// that does not take its new keys is not waited for long.
func (p *program) holdRemovals() {
	if !p.c.Plan.Removing() || p.c.Plan.Removals() == 0 || p.state.pkeys.waited >= maxWaited {
		return
	}
	if ports := p.c.Plan.NotAdded(); len(ports) > 0 {
		p.held = true
		p.c.Plan.HoldRemovals()
		p.fail(plan.Step{Op: plan.SetPKeys, Port: ports[0]}, view.Refused, fmt.Sprintf("P_Keys are not taken from any port yet: %d ports did not get theirs", len(ports)))
	}
}

// contradictsPKeys reports whether a port that was believed to hold a block of its
// partition table holds something else, and does not believe it any more.
func (s *state) contradictsPKeys(t *topo.Topo, p topo.PortIdx, mod uint32, data *smp.PKeyTable) bool {
	port := &t.Ports[p]
	node := &t.Nodes[port.Node]
	from := int(uint16(mod)) * smp.PKeysPerBlock
	for i := range min(smp.PKeysPerBlock, node.PKeyTableSize(port.Num)-from) {
		if port.PKeys != nil && port.PKeys.Key(from+i) != data.PKey(i) {
			s.pkeys.doubted[plan.Key{Node: node.GUID, Port: port.Num}] = s.pkeys.walks
			return true
		}
	}
	return false
}
