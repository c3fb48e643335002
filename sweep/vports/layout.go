package vports

import (
	"ibsm/mad/smp"
	"ibsm/topo"
)

// Where the attribute modifier of VPortP_KeyTable has the index of the vPort and the block is not certain: by another
// layout than the device's, a Set for block 0 of vPort k goes to block k of vPort 0, which is the port itself. A Get by
// the wrong layout shows that block. So before the first Set at a port its answer is compared with the port's own
// table. Where both are the same, mostly because both are empty, the port's block is read after the Set, and put back
// if it has changed.

// proof is whether a port is known to use the layout of the settings.
type proof struct {
	state proofState
	of    *vPort // whose Set shows it
}

type proofState uint8

const (
	unproved proofState = iota
	trying              // the Set is under way
	readsOwn            // the port's own block is read
	undoes              // and put back
	proved
)

// mayWriteKeys reports whether the P_Keys of a vPort may be written now: the layout is proved, or this Set proves it.
func (m *Machine) mayWriteKeys(v *vPort) bool {
	l := &v.p.layout
	switch {
	case l.state == proved:
		return true
	case l.state != unproved:
		return l.of == v && l.state == trying
	}
	own := m.subnet.Topo.Ports[v.p.at].PKeys
	switch {
	case own == nil: // there would be nothing to put back
		v.wait(m, topo.WaitsForPKeys)
		return false
	case int(v.index) >= m.ownBlocks(v.p), v.keys.Block(0) != own.Block(int(v.index)):
		l.state = proved // the port has no such block, or what was read is not that
		return true
	}
	l.state, l.of = trying, v
	return true
}

// ownBlocks is how many blocks of P_Keys a port has.
func (m *Machine) ownBlocks(p *port) int {
	t := m.subnet.Topo
	return topo.PKeyBlocks(t.Nodes[t.Ports[p.at].Node].PKeyTableSize(t.Ports[p.at].Num))
}

// keysWritten goes on with the proof after the Set of a block.
func (m *Machine) keysWritten(v *vPort, block int) {
	if l := &v.p.layout; l.state == trying && l.of == v && block == 0 {
		l.state = readsOwn
	}
}

// notWritten takes it that the Set that should show the layout was not taken.
func (m *Machine) notWritten(v *vPort) {
	if l := &v.p.layout; l.of == v && l.state == trying {
		*l = proof{}
		m.wakeAll(v.p)
	}
}

// toProve is the request by which the proof goes on; ok is false where there is none.
func (m *Machine) toProve(v *vPort) (r *request, ok bool) {
	l := &v.p.layout
	if l.of != v {
		return nil, false
	}
	switch l.state {
	case readsOwn:
		return &request{p: v.p, v: v, op: readPortKeys, block: v.index}, true
	case undoes:
		own := m.subnet.Topo.Ports[v.p.at].PKeys.Block(int(v.index))
		return &request{p: v.p, v: v, op: undoPortKeys, block: v.index, sent: own}, true
	}
	return nil, false
}

// portKeysRead takes the port's own block.
func (m *Machine) portKeysRead(v *vPort, block int, held *smp.PKeyTable) {
	own := m.subnet.Topo.Ports[v.p.at].PKeys
	if own.Block(block) == *held || v.want == nil || *held != v.want.Block(0) {
		v.p.layout = proof{state: proved}
		m.wakeAll(v.p)
		return
	}
	v.p.layout.state = undoes
}

// portKeysUndone takes it that the port's block has been put back, or could not be read.
func (m *Machine) portKeysUndone(v *vPort) {
	v.p.layout, v.p.lasts = proof{}, true
	v.p.leave("a Set of the P_Keys of vPort %d went to the port's own, and was taken back:"+
		" the device uses another virt_modifier_layout", v.index)
}

// wakeAll has all vPorts of a port go on that waited for one.
func (m *Machine) wakeAll(p *port) {
	for _, v := range p.vPorts {
		if !v.open {
			p.ready = append(p.ready, v)
		}
	}
}
