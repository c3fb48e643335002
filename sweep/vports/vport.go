package vports

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// vPort is one of a port.
type vPort struct {
	p     *port
	index uint16
	state smp.PortState // as VPortState or VPortInfo has shown it last
	has   known
	info  smp.VPortInfo
	node  mad.GUID
	slots uint16          // PartitionCap
	more  []mad.GUID      // behind the first of VPortGUIDInfo
	keys  *topo.PKeyTable // nil: not known
	row   []byte          // of the table that is read
	desc  *smp.NodeDescription

	came       time.Duration // when it was seen to come up; 0: it was up when it was read first
	claims     mad.GUID      // the GUID that it is among the owners with
	downAt     time.Duration // since when it is down, while it has that GUID; 0: it is up, or has not been
	goneFrom   bool          // it is not there any more
	open       bool          // a request about it has no outcome
	recheck    bool          // it is read again in the next visit
	registers  bool          // its clients have to register again
	saidReset  bool          // it was reported by Reset, and has been in INIT since
	check      int           // the next block of P_Keys to be read again before it becomes ACTIVE
	wanted     bool          // want is by its present table, and the present policy
	want       *topo.PKeyTable
	tries      int
	left       string // why it is left as it was found
	short      string // P_Keys for which its table has no room
	waits      topo.VPortWait
	sweepAsked bool // a sweep was asked for because of what it waits for
}

// known is what of a vPort has been read.
type known uint8

const (
	hasInfo known = 1 << iota
	hasNode
	hasGUIDs
	hasKeys
	hasDesc
)

const (
	firstUp = smp.PortInit // the lowest state of a vPort that is up
	// recheckAfter is when a vPort is read again to which several copies of a Set were sent.
	recheckAfter = 2 * time.Second
)

func (v *vPort) isUp() bool     { return v.state >= firstUp }
func (v *vPort) guid() mad.GUID { return v.info.PortGUID() }

// isPhysical reports whether it is that of the physical function: it has the LID and the P_Keys of the port.
func (v *vPort) isPhysical() bool { return v.index == 0 && v.guid() == v.p.guid }

// waitsForSweep reports whether only a sweep can have it go on.
func (v *vPort) waitsForSweep() bool {
	switch v.waits {
	case topo.WaitsForLID, topo.WaitsForSwitch, topo.WaitsForPort, topo.WaitsForPKeys:
		return true
	}
	return false
}

func (v *vPort) forgive() { v.tries, v.left = 0, "" }

// state takes the state of a vPort.
func (m *Machine) state(now time.Duration, p *port, index uint16, state smp.PortState) {
	at, found := slices.BinarySearchFunc(p.vPorts, index, func(v *vPort, i uint16) int { return int(v.index) - int(i) })
	if state == smp.PortNoChange { // there is none
		if found {
			v := p.vPorts[at]
			p.vPorts, p.shown, m.changed = slices.Delete(p.vPorts, at, at+1), nil, true
			m.gone(now, v)
		}
		return
	}
	if !found {
		p.vPorts = slices.Insert(p.vPorts, at, &vPort{p: p, index: index, state: smp.PortDown, registers: p.registers})
	}
	v := p.vPorts[at]
	if v.recheck {
		v.recheck, v.has, v.wanted = false, v.has&hasDesc, false
	}
	switch {
	case found && state == v.state:
		if v.isUp() && state != smp.PortActive {
			v.has &^= hasInfo // its function may have been down meanwhile
		}
	case found && p.lags && state <= smp.PortActive:
		v.has &^= hasInfo // VPortInfo decides
	default:
		m.shift(now, v, state)
	}
}

// shift notes that a vPort has come to another state.
func (m *Machine) shift(now time.Duration, v *vPort, state smp.PortState) {
	p, was := v.p, v.state
	p.shown, p.moved, m.changed = nil, true, true
	v.state, v.saidReset = state, false
	switch {
	case state > smp.PortActive:
		v.left = fmt.Sprintf("VPortState says that it is in state %d", state)
	case state == smp.PortDown && was > smp.PortDown:
		v.has, v.wanted, v.registers = v.has&hasInfo, false, false
		v.forgive()
		m.release(now, v)
	case was == smp.PortDown || state < was || state == smp.PortActive: // not by a Set of ours
		if v.has, v.wanted = 0, false; (was == smp.PortDown || state == smp.PortInit) && p.wasRead {
			v.came = now
		}
		v.forgive()
	}
}

// todo is the next request about a vPort; ok is false when there is none now.
func (m *Machine) todo(now time.Duration, v *vPort) (r *request, ok bool) {
	switch {
	case v.open || v.goneFrom || v.left != "":
		return nil, false
	case v.has&hasInfo == 0:
		return &request{p: v.p, v: v, op: getInfo}, true
	case !v.isUp() || v.guid() == 0:
		v.wait(m, m.idle(v))
		return nil, false
	}
	if r, ok = m.toRead(v); ok {
		return r, true
	}
	if r, ok = m.toWrite(v); ok {
		return r, true
	}
	if v.has&hasDesc == 0 {
		return &request{p: v.p, v: v, op: getDesc}, true
	}
	return nil, false
}

// idle is why a vPort that is down, or has no GUID, is not brought up.
func (m *Machine) idle(v *vPort) topo.VPortWait {
	switch {
	case v.guid() == 0:
		return topo.WaitsForGUID
	case m.subnet.Topo.Ports[v.p.at].Info.PortState() != smp.PortActive:
		return topo.WaitsForPort
	}
	return topo.WaitsForDriver
}

// wait notes what a vPort waits for.
func (v *vPort) wait(m *Machine, for_ topo.VPortWait) {
	if v.waits != for_ {
		v.sweepAsked = false
		m.asksSweep = m.asksSweep || for_ == topo.WaitsForLID || for_ == topo.WaitsForSwitch
		v.waits, v.p.shown, m.changed = for_, nil, true
	}
}

// toRead is what of a vPort that is up has not been read.
func (m *Machine) toRead(v *vPort) (r *request, ok bool) {
	switch {
	case v.has&hasNode == 0:
		return &request{p: v.p, v: v, op: getNode}, true
	case v.isPhysical():
	case v.has&hasGUIDs == 0 && v.info.GUIDCap() > 1:
		return &request{p: v.p, v: v, op: getGUIDs, block: uint16((len(v.more) + 1) / smp.GUIDsPerBlock)}, true
	case v.has&hasKeys == 0:
		return &request{p: v.p, v: v, op: getKeys, block: uint16(len(v.row) / mad.DataSize)}, true
	}
	return nil, false
}

// toWrite is the next Set that a vPort needs.
func (m *Machine) toWrite(v *vPort) (r *request, ok bool) {
	t := m.subnet.Topo
	switch {
	case t.Ports[v.p.at].Info.PortState() != smp.PortActive || !t.Answers(v.p.at):
		v.wait(m, topo.WaitsForPort)
		return nil, false
	case v.isPhysical():
		return m.toActivate(v)
	case v.p.layout.of == v && v.p.layout.state >= readsOwn:
		return m.toProve(v)
	case m.isElsewhere(v):
		v.wait(m, topo.WaitsForOwner)
		return nil, false
	case !v.wanted:
		v.wait(m, topo.WaitsForManager)
		v.p.awaits = true
		return nil, false
	}
	if v.info.LIDRequired() {
		own, ok := m.subnet.LIDs.VPort(v.guid())
		if !ok || own.Port != v.p.at {
			v.wait(m, topo.WaitsForLID)
			return nil, false
		}
		if v.info.VPortLID() != own.LID {
			set := v.command()
			set.SetVPortLID(own.LID)
			return &request{p: v.p, v: v, op: setLID, sent: device.Data(set)}, true
		}
	}
	if v.want != nil && !v.want.Equal(v.keys) {
		return m.toSetKeys(v)
	}
	if v.want != nil && !m.pass(v) {
		v.wait(m, topo.WaitsForSwitch)
		return nil, false
	}
	return m.toActivate(v)
}

// command is VPortInfo as it was read, for a Set that changes nothing.
func (v *vPort) command() smp.VPortInfo {
	set := v.info
	set.SetVPortState(smp.PortNoChange)
	set.SetClientReregister(false)
	return set
}

// toActivate is the Set of the next state, or the one that has clients register again.
func (m *Machine) toActivate(v *vPort) (r *request, ok bool) {
	set := v.command()
	switch v.state {
	case smp.PortInit: // what its clients had registered was dropped when it went down
		set.SetVPortState(smp.PortArmed)
		set.SetClientReregister(!m.subnet.Reregister.None)
	case smp.PortArmed:
		if block, ok := v.toCheck(); ok {
			return &request{p: v.p, v: v, op: checkKeys, block: block}, true
		}
		set.SetVPortState(smp.PortActive)
	default:
		if v.wait(m, topo.WaitsForNothing); !v.registers || m.subnet.Reregister.None {
			v.registers = false
			return nil, false
		}
		set.SetClientReregister(true)
		return &request{p: v.p, v: v, op: reregister, sent: device.Data(set)}, true
	}
	v.wait(m, topo.WaitsForManager)
	return &request{p: v.p, v: v, op: setState, sent: device.Data(set)}, true
}

// toCheck is the next block of P_Keys to be read again: its function may have been reset since they were written, and
// then be in INIT with others when it was armed. One that is reset later cannot become ACTIVE.
func (v *vPort) toCheck() (block uint16, ok bool) {
	if v.want == nil || v.isPhysical() {
		return 0, false
	}
	for blocks := topo.PKeyBlocks(len(v.want.Keys())); v.check < blocks; v.check++ {
		if v.want.Block(v.check) != (smp.PKeyTable{}) {
			return uint16(v.check), true
		}
	}
	return 0, false
}

// toSetKeys is the Set of the first block of the P_Key table that is not as wanted. It waits until the switch lets the
// keys pass.
func (m *Machine) toSetKeys(v *vPort) (r *request, ok bool) {
	if !m.pass(v) {
		v.wait(m, topo.WaitsForSwitch)
		return nil, false
	}
	if !m.mayWriteKeys(v) {
		return nil, false
	}
	for block := range topo.PKeyBlocks(int(v.slots)) {
		if want := v.want.Block(block); want != v.keys.Block(block) {
			v.wait(m, topo.WaitsForManager)
			return &request{p: v.p, v: v, op: setKeys, block: uint16(block), sent: device.Data(want)}, true
		}
	}
	return nil, false
}

// pass reports whether the switch in front lets all wanted P_Keys of a vPort pass.
func (m *Machine) pass(v *vPort) bool {
	t := m.subnet.Topo
	at := t.Ports[v.p.at].Peer
	if at == topo.None || !t.IsSwitchPort(at) {
		return true
	}
	front := &t.Ports[at]
	if front.PKeys == nil || !front.Info.PartitionEnforcementInbound() && !front.Info.PartitionEnforcementOutbound() {
		return true
	}
	return !slices.ContainsFunc(v.want.Keys(), func(k mad.PKey) bool { return k.Valid() && !front.PKeys.LetsIn(k) })
}

// vPortRefused takes an error.
func (m *Machine) vPortRefused(r *request, status mad.Status) {
	v := r.v
	switch r.op {
	case getDesc:
		v.has |= hasDesc
	case getGUIDs:
		v.has |= hasGUIDs
	case readPortKeys, undoPortKeys:
		m.portKeysUndone(v)
	default:
		m.trouble(v, fmt.Sprintf("%s is answered with status %v", r.op.name(), status))
		return
	}
	v.p.ready = append(v.p.ready, v)
}

// trouble notes that a vPort has not taken a request. It is sent again in another visit, a few times.
func (m *Machine) trouble(v *vPort, what string) {
	m.notWritten(v)
	if v.tries++; v.tries >= maxTries {
		v.left = what
		v.wait(m, topo.LeftAsFound)
		return
	}
	v.p.retry = max(v.p.retry, firstRetry<<(v.tries-1))
	v.has &^= hasInfo
}

// vPortAnswered takes a response without error, and goes on.
func (m *Machine) vPortAnswered(now time.Duration, r *request, data *device.Data) {
	v := r.v
	switch r.op {
	case getInfo:
		m.infoRead(now, v, (*smp.VPortInfo)(data))
	case getNode:
		node := (*smp.VNodeInfo)(data)
		v.has |= hasNode
		v.node, v.slots = node.VNodeGUID(), node.PartitionCap()
		if v.slots == 0 && !v.isPhysical() {
			m.trouble(v, "its VNodeInfo has PartitionCap 0: it cannot hold a P_Key")
			return
		}
		v.slots = uint16((&topo.VPort{PartitionCap: v.slots}).PKeyTableSize())
	case getGUIDs:
		m.guidsRead(v, int(r.block), (*smp.GUIDInfo)(data))
	case getKeys:
		m.keysRead(v, data)
	case getDesc:
		m.described(v, (*smp.NodeDescription)(data))
	case setLID, setState, reregister:
		if !m.infoSet(now, r, (*smp.VPortInfo)(data)) {
			return
		}
	case checkKeys:
		if v.check++; v.want == nil || *(*smp.PKeyTable)(data) != v.want.Block(int(r.block)) {
			v.has, v.wanted, v.row = v.has&^hasKeys, false, nil
			m.trouble(v, "it acknowledges Set(VPortP_KeyTable) and does not keep the P_Keys")
			return
		}
	case setKeys:
		if !m.keysSet(r, (*smp.PKeyTable)(data)) {
			return
		}
	case readPortKeys:
		m.portKeysRead(v, int(r.block), (*smp.PKeyTable)(data))
	case undoPortKeys:
		m.portKeysUndone(v)
	}
	v.p.ready = append(v.p.ready, v)
}

// infoRead takes VPortInfo.
func (m *Machine) infoRead(now time.Duration, v *vPort, info *smp.VPortInfo) {
	p := v.p
	p.shown, m.changed = nil, true
	if s := info.VPortState(); s >= smp.PortDown && s <= smp.PortActive && s != v.state {
		p.lags = true
		m.shift(now, v, s)
	}
	if v.has |= hasInfo; info.PortGUID() != v.info.PortGUID() {
		v.wanted = false
		v.has &^= hasNode | hasGUIDs | hasKeys | hasDesc
		v.keys, v.more, v.row = nil, nil, nil
	}
	v.info = *info
	if v.index != 0 && v.guid() == p.guid {
		v.left = "its VPortInfo is that of vPort 0: the device may use another virt_modifier_layout"
		v.wait(m, topo.LeftAsFound)
		return
	}
	m.claim(now, v)
	m.noteReset(v)
}

// guidsRead takes a block of VPortGUIDInfo. The first GUID is that of the vPort.
func (m *Machine) guidsRead(v *vPort, block int, guids *smp.GUIDInfo) {
	size := int(v.info.GUIDCap())
	for i := range smp.GUIDsPerBlock {
		if n := block*smp.GUIDsPerBlock + i; n > 0 && n < size {
			v.more = append(v.more, guids.GUID(i))
		}
	}
	if len(v.more)+1 >= size {
		v.has |= hasGUIDs
		v.more = slices.DeleteFunc(v.more, func(g mad.GUID) bool { return g == 0 })
		v.p.shown, m.changed = nil, true
	}
}

// keysRead takes the next block of the P_Key table.
func (m *Machine) keysRead(v *vPort, block *device.Data) {
	v.row = append(v.row, block[:]...)
	if len(v.row) < topo.PKeyBlocks(int(v.slots))*mad.DataSize {
		return
	}
	keys := make([]mad.PKey, v.slots)
	for i := range keys {
		keys[i] = mad.PKey(binary.BigEndian.Uint16(v.row[2*i:]))
	}
	v.keys, v.row, v.wanted = m.tables.Of(keys, nil), nil, false
	v.has |= hasKeys
	v.check = len(keys) // which have just been read
	v.p.shown, m.changed = nil, true
}

// described takes the description.
func (m *Machine) described(v *vPort, desc *smp.NodeDescription) {
	v.has |= hasDesc
	if v.desc != nil && *v.desc == *desc {
		return
	}
	v.p.shown, m.changed = nil, true
	for _, o := range v.p.vPorts { // mostly that of the host
		if o.desc != nil && *o.desc == *desc {
			v.desc = o.desc
			return
		}
	}
	kept := *desc
	v.desc = &kept
}

// infoSet takes the response to a Set of VPortInfo, and reports whether it shows what was set.
func (m *Machine) infoSet(now time.Duration, r *request, info *smp.VPortInfo) bool {
	v, sent := r.v, (*smp.VPortInfo)(&r.sent)
	if info.PortGUID() != v.guid() { // it is another function by now
		v.recheck, v.p.retry = true, max(v.p.retry, firstRetry)
		return false
	}
	v.info = *info
	v.p.shown, m.changed = nil, true
	switch r.op {
	case setLID:
		if info.VPortLID() != sent.VPortLID() {
			m.trouble(v, fmt.Sprintf("it acknowledges Set(VPortInfo) with VPortLID %v and keeps %v", sent.VPortLID(),
				info.VPortLID()))
			return false
		}
	case setState:
		if info.VPortState() < sent.VPortState() {
			m.trouble(v, fmt.Sprintf("it acknowledges Set(VPortInfo) with state %v and stays in %v", sent.VPortState(),
				info.VPortState()))
			return false
		}
		if v.state = info.VPortState(); v.state == smp.PortArmed {
			v.check = 0
		}
		v.registers = v.registers && !sent.ClientReregister()
	case reregister:
		v.registers = false
	}
	v.tries = 0
	return true
}

// keysSet takes the response to a Set of a block of the P_Key table, and reports whether it shows what was set.
func (m *Machine) keysSet(r *request, held *smp.PKeyTable) bool {
	v := r.v
	keys := make([]mad.PKey, v.slots)
	for i := range keys {
		if keys[i] = v.keys.Key(i); i/smp.PKeysPerBlock == int(r.block) {
			keys[i] = held.PKey(i % smp.PKeysPerBlock)
		}
	}
	v.keys = m.tables.Of(keys, v.want)
	v.p.shown, m.changed = nil, true
	if !bytes.Equal(held[:], r.sent[:]) {
		m.trouble(v, "it acknowledges Set(VPortP_KeyTable) and keeps other P_Keys")
		return false
	}
	v.check = 0
	m.keysWritten(v, int(r.block))
	return true
}
