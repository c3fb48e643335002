package fabric

import (
	"ibsm/mad"
	"ibsm/mad/smp"
)

// extendedBit of PortInfo's modifier says that the sender understands extended
// link speeds.
const extendedBit = 1 << 31

// portInfo answers Get and Set of PortInfo. On an end node modifier 0 is the port
// that the request came in by.
func (f *Fabric) portInfo(at int32, set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	n := f.nodeOf(at)
	num, extended := mod&^extendedBit, mod&extendedBit != 0
	if num > uint32(n.numPorts) || extended && n.caps.Extended == ExtendedRefused {
		return mad.StatusBadField
	}
	i := n.first + int32(num)
	if n.sw == nil && num == 0 {
		i = at
	}
	extended = extended || n.caps.Extended != ExtendedWhenAsked
	status := mad.StatusOK
	if set {
		status = f.setPortInfo(i, (*smp.PortInfo)(d), extended)
	}
	f.expireLease(f.mgmt(i))
	pi := (*smp.PortInfo)(d)
	*pi = f.ports[i].info
	pi.SetLocalPortNum(f.ports[at].num)
	if !extended {
		hideExtended(pi)
	}
	return status
}

// hideExtended shows a port to a manager that knows no speed above QDR.
func hideExtended(pi *smp.PortInfo) {
	if pi.LinkSpeedExtActive() != 0 || pi.LinkSpeedExtActive2() != 0 {
		pi.SetLinkSpeedActive(4)
	}
	pi.SetLinkSpeedExtActive(0)
	pi.SetLinkSpeedExtSupported(0)
	pi.SetLinkSpeedExtEnabled(0)
	pi.SetLinkSpeedExtActive2(0)
	pi.SetLinkSpeedExtSupported2(0)
	pi.SetLinkSpeedExtEnabled2(0)
}

// setPortInfo takes over what want may change, all or nothing: with one field out
// of range the port stays as it is.
func (f *Fabric) setPortInfo(i int32, want *smp.PortInfo, extended bool) mad.Status {
	p := &f.ports[i]
	n := &f.nodes[p.node]
	next := p.info
	basePort0 := n.basePort0(p)
	ok := f.legalStates(i, want, basePort0)
	if i == f.mgmt(i) {
		ok = ok && setEndPort(&next, want, basePort0)
	}
	if !basePort0 {
		ok = ok && setLink(&next, want) && setSpeeds(&next, want, extended)
	}
	if !ok {
		return mad.StatusBadField
	}
	if n.sw != nil && p.num > 0 && n.caps.PartitionEnforcementCap > 0 {
		next.SetPartitionEnforcementInbound(want.PartitionEnforcementInbound())
		next.SetPartitionEnforcementOutbound(want.PartitionEnforcementOutbound())
	}
	p.info = next
	if i == f.mgmt(i) && want.ClientReregister() && next.CapabilityMask().Has(smp.IsClientReregistrationSupported) {
		p.askToReregister()
	}
	if !basePort0 {
		f.changeState(i, want.PortState(), want.PortPhysicalState())
	}
	return mad.StatusOK
}

// setEndPort takes over the fields that end ports and switch port 0 have.
func setEndPort(next, want *smp.PortInfo, basePort0 bool) (ok bool) {
	lid, lmc := want.LID(), want.LMC()
	size := mad.LID(1) << lmc
	switch {
	case !lid.IsUnicast() || lid&(size-1) != 0 || lid+size-1 > mad.MaxUnicastLID:
		return false
	case basePort0 && lmc != 0:
		return false
	case !want.MasterSMLID().IsUnicast():
		return false
	}
	next.SetMKey(want.MKey())
	next.SetGidPrefix(want.GidPrefix())
	next.SetLID(lid)
	next.SetLMC(lmc)
	next.SetMasterSMLID(want.MasterSMLID())
	next.SetMasterSMSL(want.MasterSMSL())
	next.SetMKeyLeasePeriod(want.MKeyLeasePeriod())
	next.SetMKeyProtectBits(want.MKeyProtectBits())
	next.SetSubnetTimeOut(want.SubnetTimeOut())
	next.SetMcastPKeyTrapSuppressionEnabled(want.McastPKeyTrapSuppressionEnabled())
	next.SetInitTypeReply(want.InitTypeReply())
	if want.MKeyViolations() == 0 {
		next.SetMKeyViolations(0)
	}
	if want.QKeyViolations() == 0 {
		next.SetQKeyViolations(0)
	}
	return true
}

// setLink takes over the fields of a port's link but speeds and states.
func setLink(next, want *smp.PortInfo) (ok bool) {
	mtu, vls := want.NeighborMTU(), want.OperationalVLs()
	if mtu.Bytes() == 0 || mtu > next.MTUCap() || vls > next.VLCap() {
		return false
	}
	switch w := want.LinkWidthEnabled(); {
	case w == 0:
	case w == smp.LinkWidthAll:
		next.SetLinkWidthEnabled(next.LinkWidthSupported())
	case w&^next.LinkWidthSupported() != 0:
		return false
	default:
		next.SetLinkWidthEnabled(w)
	}
	switch s := want.LinkDownDefaultState(); s {
	case smp.PhysNoChange:
	case smp.PhysSleep, smp.PhysPolling:
		next.SetLinkDownDefaultState(s)
	default:
		return false
	}
	next.SetNeighborMTU(mtu)
	if vls != 0 {
		next.SetOperationalVLs(vls)
	}
	next.SetVLHighLimit(want.VLHighLimit())
	next.SetVLStallCount(want.VLStallCount())
	next.SetHOQLife(want.HOQLife())
	next.SetFilterRawInbound(want.FilterRawInbound())
	next.SetFilterRawOutbound(want.FilterRawOutbound())
	next.SetLocalPhyErrors(want.LocalPhyErrors())
	next.SetOverrunErrors(want.OverrunErrors())
	next.SetMaxCreditHint(want.MaxCreditHint())
	if want.PKeyViolations() == 0 {
		next.SetPKeyViolations(0)
	}
	return true
}

// setSpeeds takes over the enabled speeds; they count from the next training on.
func setSpeeds(next, want *smp.PortInfo, extended bool) (ok bool) {
	speed, ok := enable(want.LinkSpeedEnabled(), next.LinkSpeedEnabled(), next.LinkSpeedSupported(), smp.LinkSpeedAll)
	if !ok {
		return false
	}
	next.SetLinkSpeedEnabled(speed)
	if !extended {
		return true
	}
	if want.LinkSpeedExtEnabled() == smp.LinkSpeedExtNone {
		next.SetLinkSpeedExtEnabled(smp.LinkSpeedExtNone)
	} else {
		ext, ok := enable(want.LinkSpeedExtEnabled(), next.LinkSpeedExtEnabled(), next.LinkSpeedExtSupported(),
			smp.LinkSpeedExtAll)
		if !ok {
			return false
		}
		next.SetLinkSpeedExtEnabled(ext)
	}
	ext2, ok := enable(want.LinkSpeedExtEnabled2(), next.LinkSpeedExtEnabled2(), next.LinkSpeedExtSupported2(),
		smp.LinkSpeedExt2All)
	next.SetLinkSpeedExtEnabled2(ext2)
	return ok
}

// enable is the new value of an Enabled field: 0 leaves it, all stands for what is
// supported, and anything else must be.
func enable(want, now, supported, all uint8) (mask uint8, ok bool) {
	switch {
	case want == 0:
		return now, true
	case want == all:
		return supported, true
	}
	return want, want&^supported == 0
}

// legalStates checks the states that a Set asks for (IBA 7.2.7): Armed only from
// Initialize, Active only from Armed and towards a port that takes data, Down
// always; physical states only beside Down or no change.
func (f *Fabric) legalStates(i int32, want *smp.PortInfo, basePort0 bool) bool {
	if basePort0 {
		return true // has no link; its state is not looked at
	}
	p := &f.ports[i]
	port0 := f.nodes[p.node].sw != nil && p.num == 0
	phys := want.PortPhysicalState()
	if phys > smp.PhysDisabled || port0 && phys != smp.PhysNoChange {
		return false
	}
	switch state := want.PortState(); state {
	case smp.PortNoChange:
		return true
	case smp.PortDown:
		return true
	case smp.PortArmed:
		return phys == smp.PhysNoChange && p.info.PortState() == smp.PortInit
	case smp.PortActive:
		if phys != smp.PhysNoChange || p.info.PortState() != smp.PortArmed {
			return false
		}
		peer := f.across(i)
		return port0 || peer >= 0 && f.ports[peer].info.PortState() >= smp.PortArmed
	}
	return false
}

// changeState carries out legal states.
func (f *Fabric) changeState(i int32, state smp.PortState, phys smp.PortPhysicalState) {
	p := &f.ports[i]
	port0 := f.nodes[p.node].sw != nil && p.num == 0
	switch {
	case phys == smp.PhysDisabled:
		f.fall(i)
		p.info.SetPortPhysicalState(smp.PhysDisabled)
	case phys != smp.PhysNoChange:
		f.fall(i)
		p.info.SetPortPhysicalState(phys)
		f.settle(i)
	case state == smp.PortDown && port0:
		p.info.SetPortState(smp.PortInit)
	case state == smp.PortDown:
		f.retrain(i)
	case state != smp.PortNoChange:
		p.info.SetPortState(state)
	}
}
