package fabric

import (
	"ibsm/mad"
	"ibsm/mad/smp"
)

// virtualization answers for the attributes of the vPorts of an end port.
func (f *Fabric) virtualization(at int32, set bool, attr mad.AttrID, mod uint32, d *[mad.DataSize]byte) mad.Status {
	v, c := f.virtual[at], f.nodeOf(at).caps.VPorts
	if v == nil || c == nil {
		return mad.StatusBadMethodAttr
	}
	readOnly := attr == smp.AttrVPortState || attr == smp.AttrVNodeInfo || attr == smp.AttrVNodeDescription
	off := !v.enabled && attr != smp.AttrVirtualizationInfo
	if set && (readOnly || off) || off && c.OffUntilEnabled {
		return mad.StatusBadMethodAttr
	}
	index, block, ok := c.Layout.Addressed(attr, mod)
	if !ok && !c.AnyModifier || index > f.indexTop(v) {
		return mad.StatusBadField
	}
	var p *vport
	if index > 0 {
		p = v.functions[index-1]
	}
	switch attr {
	case smp.AttrVirtualizationInfo:
		return f.answerVirtualizationInfo(v, set, (*smp.VirtualizationInfo)(d))
	case smp.AttrVPortInfo:
		return f.answerVPortInfo(v, p, set, (*smp.VPortInfo)(d))
	case smp.AttrVPortState:
		return f.answerVPortState(v, block, (*smp.VPortState)(d))
	case smp.AttrVNodeInfo:
		*d = f.vNodeInfo(v, p)
	case smp.AttrVNodeDescription:
		if *d = f.nodeOf(at).desc; p != nil {
			*d = p.desc
		}
	case smp.AttrVPortGUIDInfo:
		return f.vPortGUIDInfo(v, p, set, block, (*smp.GUIDInfo)(d))
	case smp.AttrVPortPKeyTable:
		return f.vPortPKeyTable(v, p, set, block, (*smp.PKeyTable)(d))
	}
	return mad.StatusOK
}

// virtualizationInfo is what a port holds.
func (f *Fabric) virtualizationInfo(v *virtual) (info smp.VirtualizationInfo) {
	c := f.nodeOf(v.at).caps.VPorts
	info.SetVPortCap(c.top() + 1)
	info.SetVPortIndexTop(f.indexTop(v))
	info.SetVirtualizationEnable(v.enabled)
	info.SetVPortStateChange(v.changed)
	info.SetVirtualizationRevision(c.Revision)
	return info
}

// indexTop is VPortIndexTop.
func (f *Fabric) indexTop(v *virtual) uint16 {
	n := len(v.functions)
	for f.nodeOf(v.at).caps.VPorts.TopOfUp && n > 0 && v.functions[n-1].info.PortState() == smp.PortDown {
		n--
	}
	return uint16(n)
}

// answerVirtualizationInfo ignores the documented read-only fields of a Set, and refuses one with a reserved field that
// is not as it is held.
func (f *Fabric) answerVirtualizationInfo(v *virtual, set bool, d *smp.VirtualizationInfo) mad.Status {
	if set {
		c := f.nodeOf(v.at).caps.VPorts
		want := *d
		if *d = f.virtualizationInfo(v); !c.AnyReadOnly && !sameReserved(&want, d) {
			return mad.StatusBadField
		}
		if want.VPortStateChange() == c.ClearedByOne {
			v.changed = false
		}
		if v.enabled != want.VirtualizationEnable() {
			f.enableVPorts(v, want.VirtualizationEnable())
		}
		if want.ClientReregister() {
			f.ports[v.at].askToReregister()
			for _, p := range v.functions {
				p.askToReregister()
			}
		}
	}
	*d = f.virtualizationInfo(v)
	return mad.StatusOK
}

// sameReserved reports whether two attributes agree in what has no meaning: bits 4..0 of byte 4, byte 5, and all from
// byte 8 on.
func sameReserved(a, b *smp.VirtualizationInfo) bool {
	return a[4]&0x1f == b[4]&0x1f && a[5] == b[5] && [56]byte(a[8:]) == [56]byte(b[8:])
}

// enableVPorts enables virtualization, or disables it, which is the end of what managers wrote to functions.
func (f *Fabric) enableVPorts(v *virtual, on bool) {
	v.enabled = on
	f.settleVPorts(v.at)
	for _, p := range v.functions {
		if !on && !f.nodeOf(v.at).caps.VPorts.Remembers {
			f.forgetVPort(p)
		}
	}
}

// askToReregister has the clients at a port register again.
func (p *port) askToReregister() {
	if p.station != nil {
		p.station.reregister = true
	}
}

// profileOf is a function's PortProfile: something that a Set has to give back as it was read.
func profileOf(p *vport) uint64 { return 0x5a<<56 | uint64(p.index) }

// vPortInfo is what a vPort holds; p is nil for vPort 0.
func (f *Fabric) vPortInfo(v *virtual, p *vport) (info smp.VPortInfo) {
	c, pi := f.nodeOf(v.at).caps.VPorts, &f.ports[v.at].info
	if p == nil {
		info.SetVPortState(f.state0(v))
		info.SetGUIDCap(pi.GUIDCap())
		info.SetCapabilityMask(smp.VPortHasCM)
		info.SetPKeyViolations(pi.PKeyViolations())
		info.SetQKeyViolations(pi.QKeyViolations())
		info.SetPortGUID(f.ports[v.at].guid)
		return info
	}
	info.SetVPortState(p.info.PortState())
	info.SetLIDRequired(p.ownLID)
	info.SetGUIDCap(c.guidCap())
	info.SetCapabilityMask(p.mask)
	info.SetPKeyViolations(p.info.PKeyViolations())
	info.SetQKeyViolations(p.info.QKeyViolations())
	if p.ownLID {
		info.SetVPortLID(p.info.LID())
	} else {
		info.SetLIDByVPortIndex(p.shares)
	}
	info.SetPortGUID(p.guid)
	info.SetPortProfile(profileOf(p))
	return info
}

func (c *VPorts) guidCap() uint8 {
	if c.GUIDCap == 0 {
		return vPortGUIDCap
	}
	return c.GUIDCap
}

// state0 is the state of vPort 0.
func (f *Fabric) state0(v *virtual) smp.PortState {
	if v.enabled && f.nodeOf(v.at).caps.VPorts.OwnVPort0 {
		return v.state0
	}
	return f.linkState(v)
}

func (f *Fabric) answerVPortInfo(v *virtual, p *vport, set bool, d *smp.VPortInfo) mad.Status {
	status := mad.StatusOK
	if set {
		status = f.setVPortInfo(v, p, *d)
	}
	*d = f.vPortInfo(v, p)
	return status
}

// setVPortInfo takes over what a Set may change, all or nothing.
func (f *Fabric) setVPortInfo(v *virtual, p *vport, want smp.VPortInfo) mad.Status {
	held := f.vPortInfo(v, p)
	same := want
	same.SetVPortState(held.VPortState())
	same.SetClientReregister(held.ClientReregister())
	same.SetPKeyViolations(held.PKeyViolations())
	same.SetQKeyViolations(held.QKeyViolations())
	if held.LIDRequired() {
		same.SetVPortLID(held.VPortLID())
	}
	c, lid := f.nodeOf(v.at).caps.VPorts, want.VPortLID()
	switch {
	case same != held && !c.AnyReadOnly,
		p != nil && p.ownLID && lid != held.VPortLID() && !lid.IsUnicast(),
		!f.legalVPortState(v, p, &want):
		return mad.StatusBadField
	}
	holder := &f.ports[v.at]
	if p != nil {
		holder = &p.port
		if p.ownLID {
			p.info.SetLID(lid)
		}
	}
	if want.PKeyViolations() == 0 {
		holder.info.SetPKeyViolations(0)
	}
	if want.QKeyViolations() == 0 {
		holder.info.SetQKeyViolations(0)
	}
	if want.ClientReregister() {
		holder.askToReregister()
	}
	f.setVPortState(v, p, want.VPortState())
	return mad.StatusOK
}

// legalVPortState checks the state that a Set asks for, as PortInfo has it (IBA 7.2.7): Armed only from Initialize,
// Active only from Armed, Down always; none above that of the physical port, nor without a LID that is required.
func (f *Fabric) legalVPortState(v *virtual, p *vport, want *smp.VPortInfo) bool {
	now := f.state0(v)
	if p != nil {
		now = p.info.PortState()
	}
	s := want.VPortState()
	switch {
	case s == smp.PortNoChange:
		return true
	case p == nil && !f.nodeOf(v.at).caps.VPorts.OwnVPort0:
		return false
	case s == smp.PortDown:
		return true
	case p != nil && p.ownLID && want.VPortLID() == 0:
		return false
	case s == smp.PortArmed:
		return now == smp.PortInit && f.linkState(v) >= smp.PortArmed
	case s == smp.PortActive:
		return now == smp.PortArmed && f.linkState(v) >= smp.PortActive
	}
	return false
}

// setVPortState carries out a legal state. Down is a restart of the state machine, as that of a port: it comes up at
// Initialize when all is there that it needs.
func (f *Fabric) setVPortState(v *virtual, p *vport, s smp.PortState) {
	switch {
	case s == smp.PortNoChange:
	case p == nil && s == smp.PortDown:
		if v.state0 = smp.PortDown; f.linkState(v) > smp.PortDown {
			v.state0 = smp.PortInit
		}
	case p == nil:
		v.state0 = s
	case s == smp.PortDown:
		if f.mayBeUp(v, p) {
			s = smp.PortInit
		}
		f.moveVPort(v, p, s)
	default:
		f.moveVPort(v, p, s)
	}
}

// answerVPortState shows a block of states, those above VPortIndexTop as 0.
func (f *Fabric) answerVPortState(v *virtual, block uint16, d *smp.VPortState) mad.Status {
	top := f.indexTop(v)
	if block > top/smp.VPortsPerBlock {
		return mad.StatusBadField
	}
	*d = smp.VPortState{}
	first := int(block) * smp.VPortsPerBlock
	for i := first; i <= min(int(top), first+smp.VPortsPerBlock-1); i++ {
		s := f.state0(v)
		if i > 0 {
			s = f.shownState(v.functions[i-1])
		}
		d.SetState(uint16(i), s)
	}
	return mad.StatusOK
}

func (f *Fabric) vNodeInfo(v *virtual, p *vport) (info smp.VNodeInfo) {
	n := f.nodeOf(v.at)
	info.SetPartitionCap(f.vPortPartitionCap(v, p))
	if p == nil {
		info.SetLocalPortNum(f.ports[v.at].num)
		info.SetNumPorts(n.numPorts)
		info.SetVNodeGUID(n.info.NodeGUID())
		return info
	}
	info.SetLocalPortNum(1)
	info.SetNumPorts(1)
	info.SetVNodeGUID(p.vnode)
	return info
}

// vPortPartitionCap is how many P_Keys a vPort holds.
func (f *Fabric) vPortPartitionCap(v *virtual, p *vport) uint16 {
	c := &f.nodeOf(v.at).caps
	if p == nil || c.VPorts.PartitionCap == 0 {
		return c.PartitionCap
	}
	return c.VPorts.PartitionCap
}

// vPortGUIDInfo answers for a block of a vPort's GUIDs; entry 0 cannot be changed.
func (f *Fabric) vPortGUIDInfo(v *virtual, p *vport, set bool, block uint16, d *smp.GUIDInfo) mad.Status {
	if p == nil {
		return f.guidInfo(v.at, set, uint32(block), (*[mad.DataSize]byte)(d))
	}
	guids := int(f.nodeOf(v.at).caps.VPorts.guidCap())
	from := int(block) * smp.GUIDsPerBlock
	if from >= guids {
		return mad.StatusBadField
	}
	p.blockOfGUIDs(set, from, guids, d)
	return mad.StatusOK
}

// vPortPKeyTable answers for a block of a vPort's partition table; that of vPort 0 is the port's.
func (f *Fabric) vPortPKeyTable(v *virtual, p *vport, set bool, block uint16, d *smp.PKeyTable) mad.Status {
	from := int(block) * smp.PKeysPerBlock
	if from >= int(f.vPortPartitionCap(v, p)) {
		return mad.StatusBadField
	}
	holder := &f.ports[v.at]
	if p != nil {
		holder = &p.port
	}
	holder.blockOfPKeys(set, from, d)
	return mad.StatusOK
}
