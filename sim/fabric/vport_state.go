package fabric

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// linkState is the state of the physical port, by which those of its vPorts are bounded.
func (f *Fabric) linkState(v *virtual) smp.PortState {
	if f.nodeOf(v.at).gone {
		return smp.PortDown
	}
	return f.ports[v.at].info.PortState()
}

// mayBeUp reports whether all is there that a function needs to leave Down.
func (f *Fabric) mayBeUp(v *virtual, p *vport) bool {
	return v.enabled && f.linkState(v) > smp.PortDown && !p.unloaded && !p.heldDown && p.guid != 0 && p.vnode != 0
}

// settleVPort brings a function to Down, or from Down to Initialize, as its host, the port and the manager's enabling
// ask for.
func (f *Fabric) settleVPort(v *virtual, p *vport) {
	switch up := f.mayBeUp(v, p); {
	case up && p.info.PortState() == smp.PortDown:
		f.moveVPort(v, p, smp.PortInit)
	case !up && p.info.PortState() != smp.PortDown:
		f.moveVPort(v, p, smp.PortDown)
	default:
		return
	}
	f.vPortMoved(v)
}

// settleVPorts does so for all vPorts of a port, when its link has come or gone or virtualization was enabled or
// disabled.
func (f *Fabric) settleVPorts(at int32) {
	v := f.virtual[at]
	if v == nil {
		return
	}
	own := f.nodeOf(at).caps.VPorts.OwnVPort0
	switch up := v.enabled && f.linkState(v) > smp.PortDown; {
	case own && up && v.state0 == smp.PortDown:
		v.state0 = smp.PortInit
		f.vPortMoved(v)
	case own && !up && v.state0 != smp.PortDown:
		v.state0 = smp.PortDown
		f.vPortMoved(v)
	}
	for _, p := range v.functions {
		f.settleVPort(v, p)
	}
}

// moveVPort puts a function into a state. VPortState shows it later, where it lags.
func (f *Fabric) moveVPort(v *virtual, p *vport, s smp.PortState) {
	p.before, p.showsAt = f.shownState(p), f.now+f.nodeOf(v.at).caps.VPorts.Lag
	p.info.SetPortState(s)
}

// shownState is what VPortState shows of a function.
func (f *Fabric) shownState(p *vport) smp.PortState {
	if f.now < p.showsAt {
		return p.before
	}
	return p.info.PortState()
}

// vPortMoved notes that a vPort changed its state by itself: in VPortStateChange, and by trap 1146. States that a Set
// asks for do not count, as with PortStateChange of a switch.
func (f *Fabric) vPortMoved(v *virtual) {
	v.changed = true
	if !v.enabled {
		return
	}
	t := f.vPortNotice(v, smp.NoticeUrgent, smp.TrapVPortStateChange)
	t.VPortStateChange().SetLID(f.ports[v.at].info.LID())
	f.raise(v.at, &t)
}

// vPortNotice begins a notice about vPorts of a port. Such notices are not generic.
func (f *Fabric) vPortNotice(v *virtual, typ smp.NoticeType, number smp.TrapNumber) smp.Notice {
	t := f.notice(v.at, typ, number)
	t.SetIsGeneric(false)
	t.SetVendorID(nvidia)
	return t
}

// raiseVPortChange reports by trap 1144 that the capabilities of a function changed, or what flags says.
func (f *Fabric) raiseVPortChange(v *virtual, p *vport, flags smp.ChangeFlags) {
	if !v.enabled || p.info.PortState() == smp.PortDown {
		return
	}
	t := f.vPortNotice(v, smp.NoticeInformational, smp.TrapVPortLocalChange)
	c := t.VPortLocalChange()
	c.SetLID(f.ports[v.at].info.LID())
	c.SetLocalChanges(flags != 0)
	c.SetCapabilityMask(p.mask)
	c.SetChangeFlags(flags)
	c.SetVPortIndex(p.index)
	f.raise(v.at, &t)
}

// badVPortPKey counts and reports by trap 1257 a data packet that a function has no P_Key for.
func (f *Fabric) badVPortPKey(v *virtual, p *vport, t *flight) {
	if n := p.info.PKeyViolations(); n < 0xffff {
		p.info.SetPKeyViolations(n + 1)
	}
	f.raiseVPortBadKey(v, p, t, smp.TrapVPortBadPKey, uint32(t.pkey))
}

func (f *Fabric) raiseVPortBadKey(v *virtual, p *vport, t *flight, number smp.TrapNumber, key uint32) {
	if !v.enabled {
		return
	}
	notice := f.vPortNotice(v, smp.NoticeSecurity, number)
	b := notice.VPortBadKey()
	b.SetLID1(t.slid)
	b.SetLID2(t.dlid)
	b.SetKey(key)
	b.SetSL(t.sl)
	b.SetQP1(1)
	b.SetQP2(1)
	if t.global {
		b.SetGID1(t.sgid)
		b.SetGID2(t.dgid)
	}
	b.SetVPortIndex(p.index)
	f.raise(v.at, &notice)
}

// sameTrap reports whether a notice takes the place of another one that waits at the same port: it has the same number,
// and is about the same vPort where one is named.
func sameTrap(a, b *smp.Notice) bool {
	return a.TrapNumber() == b.TrapNumber() && (a.TrapNumber() != smp.TrapVPortLocalChange ||
		a.VPortLocalChange().VPortIndex() == b.VPortLocalChange().VPortIndex())
}

// lidOf is the LID by which a function is reached, 0 for none.
func (f *Fabric) lidOf(v *virtual, p *vport) mad.LID {
	switch {
	case p.ownLID:
		return p.info.LID()
	case p.shares == 0 || int(p.shares) > len(v.functions):
		return f.ports[v.at].info.LID()
	}
	return v.functions[p.shares-1].info.LID()
}

// What follows is the truth about vPorts that tests compare a manager's picture with.

// NumFunctions is the number of functions that a port has, 0 for a port without vPorts.
func (f *Fabric) NumFunctions(at net.End) int {
	if v := f.virtual[f.must(at)]; v != nil {
		return len(v.functions)
	}
	return 0
}

// VirtualizationInfo is what a port holds; zero for a port without vPorts.
func (f *Fabric) VirtualizationInfo(at net.End) (info smp.VirtualizationInfo) {
	if v := f.virtual[f.must(at)]; v != nil {
		info = f.virtualizationInfo(v)
	}
	return info
}

// VPortInfo is what a vPort holds.
func (f *Fabric) VPortInfo(at VPort) smp.VPortInfo {
	return f.vPortInfo(f.virtualAt(at.At), f.indexed(at))
}

// VPortPKeys is the partition table of a vPort up to its last valid entry, a copy.
func (f *Fabric) VPortPKeys(at VPort) []mad.PKey {
	if p := f.indexed(at); p != nil {
		return p.pkeysHeld()
	}
	return f.PKeys(at.At)
}

// VPortLID is the LID by which a vPort is reached: its own, or that of the vPort whose LID it shares.
func (f *Fabric) VPortLID(at VPort) mad.LID {
	if p := f.indexed(at); p != nil {
		return f.lidOf(f.virtualAt(at.At), p)
	}
	return f.ports[f.must(at.At)].info.LID()
}

// VPortGID is the first GID of a vPort.
func (f *Fabric) VPortGID(at VPort) mad.GID {
	i := f.must(at.At)
	guid := f.ports[i].guid
	if p := f.indexed(at); p != nil {
		guid = p.guid
	}
	return mad.MakeGID(f.ports[i].info.GidPrefix(), guid)
}

// FindVPort returns the function with a port GUID, the first one where several have it.
func (f *Fabric) FindVPort(guid mad.GUID) (at VPort, ok bool) {
	for end := range f.EndPorts() {
		if v := f.virtual[f.must(end)]; v != nil && guid != 0 {
			for _, p := range v.functions {
				if p.guid == guid {
					return VPort{end, p.index}, true
				}
			}
		}
	}
	return at, false
}

// indexed is a vPort's function, nil for the physical one.
func (f *Fabric) indexed(at VPort) *vport {
	if at.Index == 0 {
		return nil
	}
	_, p := f.function(at)
	return p
}
