package device

import (
	"ibsm/mad"
	"ibsm/mad/smp"
)

// PortInfo has all bits that a plan may change but for states, which are commands.
var PortInfo = func() Managed {
	var m, insisted smp.PortInfo
	for _, p := range []*smp.PortInfo{&m, &insisted} {
		p.SetGidPrefix(^mad.Prefix(0))
		p.SetLID(0xffff)
		p.SetMasterSMLID(0xffff)
	}
	m.SetLinkDownDefaultState(0xff)
	m.SetMKey(^mad.MKey(0))
	m.SetMKeyLeasePeriod(0xffff)
	m.SetMKeyProtectBits(0xff)
	m.SetLMC(0xff)
	m.SetMasterSMSL(0xff)
	m.SetSubnetTimeOut(0xff)
	m.SetNeighborMTU(0xff)
	m.SetOperationalVLs(0xff)
	m.SetVLHighLimit(0xff)
	m.SetLocalPhyErrors(0xff)
	m.SetOverrunErrors(0xff)
	m.SetLinkWidthEnabled(0xff)
	m.SetLinkSpeedEnabled(0xff)
	m.SetLinkSpeedExtEnabled(0xff)
	m.SetHOQLife(0xff)
	m.SetVLStallCount(0xff)
	m.SetPartitionEnforcementInbound(true)
	m.SetPartitionEnforcementOutbound(true)
	return Managed{ID: smp.AttrPortInfo, Bits: m, Insisted: insisted}
}()

// MKeys are the fields of PortInfo that are about its M_Key. Where they are set apart from the others, what a port does
// not hold of them is known apart as well: ID is no attribute.
var MKeys = func() Managed {
	var m smp.PortInfo
	m.SetMKey(^mad.MKey(0))
	m.SetMKeyLeasePeriod(0xffff)
	m.SetMKeyProtectBits(0xff)
	return Managed{ID: 0xffff, Bits: m}
}()

// SwitchInfo has the fields that a subnet can do without. LinearFDBTop is sent every time.
var SwitchInfo = func() Managed {
	var m smp.SwitchInfo
	m.SetLifeTimeValue(0xff)
	m.SetMulticastFDBTop(0xffff)
	m.SetDefaultMulticastPrimaryPort(0xff)
	m.SetDefaultMulticastNotPrimaryPort(0xff)
	const multicastFDBTop = 18
	return Managed{ID: smp.AttrSwitchInfo, Bits: m, Words: []int{multicastFDBTop}}
}()

// ExtendedPortInfo has FDR10 alone.
var ExtendedPortInfo = func() Managed {
	var m smp.ExtendedPortInfo
	m.SetLinkSpeedEnabled(smp.SpeedFDR10)
	return Managed{ID: smp.AttrExtendedPortInfo, Bits: m}
}()
