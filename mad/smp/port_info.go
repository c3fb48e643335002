package smp

import "ibsm/mad"

// PortInfo is attribute 0x0015 (IBA 14.2.5.6).
//
//	 0 M_Key
//	 8 GidPrefix
//	16 LID                            MasterSMLID
//	20 CapabilityMask
//	24 DiagCode                       M_KeyLeasePeriod
//	28 LocalPortNum                   LinkWidthEnabled, Supported, Active
//	32 LinkSpeedSupported, PortState  PortPhysicalState, LinkDownDefaultState
//	34 M_KeyProtectBits 2, 3, LMC 3   LinkSpeedActive, LinkSpeedEnabled
//	36 NeighborMTU, MasterSMSL        VLCap, InitType
//	38 VLHighLimit                    VLArbitrationHighCap
//	40 VLArbitrationLowCap            InitTypeReply, MTUCap
//	42 VLStallCount 3, HOQLife 5      OperationalVLs, enforcement and filters 1 each
//	44 M_KeyViolations                P_KeyViolations
//	48 Q_KeyViolations                GUIDCap
//	51 ClientReregister 1, McastPKeyTrapSuppressionEnabled 2, SubnetTimeOut 5
//	52 3, RespTimeValue 5             LocalPhyErrors, OverrunErrors
//	54 MaxCreditHint
//	56 1, LinkSpeedExtActive2 2, Supported2 2, Enabled2 3    LinkRoundTripLatency
//	60 CapabilityMask2                LinkSpeedExtActive, Supported
//	63 3, LinkSpeedExtEnabled 5
//
// A Set writes the whole attribute: start from what the last Get answered, call
// KeepStates, then change what is meant.
type PortInfo [mad.DataSize]byte

// KeepStates sets to "no change" all that a Set of PortInfo would otherwise do to
// the link by writing back what was read: states and enabled widths and speeds.
func (p *PortInfo) KeepStates() {
	p.SetPortState(PortNoChange)
	p.SetPortPhysicalState(PhysNoChange)
	p.SetLinkDownDefaultState(PhysNoChange)
	p.SetLinkWidthEnabled(0)
	p.SetLinkSpeedEnabled(0)
	p.SetLinkSpeedExtEnabled(0)
	p.SetLinkSpeedExtEnabled2(0)
}

// DataVLs is the number of data VLs that a code of VLCap or OperationalVLs stands
// for, 0 for a code that is not defined.
func DataVLs(code uint8) int {
	switch {
	case code >= 1 && code <= 4:
		return 1 << (code - 1)
	case code == 5:
		return 15
	}
	return 0
}

// ExtendedSpeedsMod is bit 31 of PortInfo's attribute modifier: the sender understands extended link speeds.
const ExtendedSpeedsMod = 1 << 31

// PortInfoMod is the attribute modifier of PortInfo. extended says that the
// sender understands extended link speeds; without it a port faster than QDR may
// answer as to a manager that does not. Port 0 is the receiving port of a channel
// adapter.
func PortInfoMod(port uint8, extended bool) uint32 {
	mod := uint32(port)
	if extended {
		mod |= ExtendedSpeedsMod
	}
	return mod
}

// MKey guards the port's attributes; 0 means no protection.
func (p *PortInfo) MKey() mad.MKey { return mad.MKey(get64(p[0:])) }

// SetMKey sets MKey.
func (p *PortInfo) SetMKey(v mad.MKey) { put64(p[0:], uint64(v)) }

// GidPrefix is the subnet prefix of the port's GIDs.
func (p *PortInfo) GidPrefix() mad.Prefix { return mad.Prefix(get64(p[8:])) }

// SetGidPrefix sets GidPrefix.
func (p *PortInfo) SetGidPrefix(v mad.Prefix) { put64(p[8:], uint64(v)) }

// LID is the base LID; its low LMC bits are 0.
func (p *PortInfo) LID() mad.LID { return mad.LID(get16(p[16:])) }

// SetLID sets LID.
func (p *PortInfo) SetLID(v mad.LID) { put16(p[16:], uint16(v)) }

// MasterSMLID is where the port sends its traps.
func (p *PortInfo) MasterSMLID() mad.LID { return mad.LID(get16(p[18:])) }

// SetMasterSMLID sets MasterSMLID.
func (p *PortInfo) SetMasterSMLID(v mad.LID) { put16(p[18:], uint16(v)) }

// CapabilityMask says what the port can do; of a switch port 0's counts for all
// ports.
func (p *PortInfo) CapabilityMask() CapMask { return CapMask(get32(p[20:])) }

// SetCapabilityMask sets CapabilityMask.
func (p *PortInfo) SetCapabilityMask(v CapMask) { put32(p[20:], uint32(v)) }

// MKeyLeasePeriod is in seconds; 0 never ends.
func (p *PortInfo) MKeyLeasePeriod() uint16 { return get16(p[26:]) }

// SetMKeyLeasePeriod sets MKeyLeasePeriod.
func (p *PortInfo) SetMKeyLeasePeriod(v uint16) { put16(p[26:], v) }

// LocalPortNum is the port on which the SMP arrived.
func (p *PortInfo) LocalPortNum() uint8 { return p[28] }

// SetLocalPortNum sets LocalPortNum.
func (p *PortInfo) SetLocalPortNum(v uint8) { p[28] = v }

// LinkWidthEnabled is a mask of widths; in a Set 0 leaves it and 0xFF means all
// supported.
func (p *PortInfo) LinkWidthEnabled() mad.LinkWidth { return mad.LinkWidth(p[29]) }

// SetLinkWidthEnabled sets LinkWidthEnabled.
func (p *PortInfo) SetLinkWidthEnabled(v mad.LinkWidth) { p[29] = uint8(v) }

// LinkWidthSupported is a mask of widths.
func (p *PortInfo) LinkWidthSupported() mad.LinkWidth { return mad.LinkWidth(p[30]) }

// SetLinkWidthSupported sets LinkWidthSupported.
func (p *PortInfo) SetLinkWidthSupported(v mad.LinkWidth) { p[30] = uint8(v) }

// LinkWidthActive is the width in use.
func (p *PortInfo) LinkWidthActive() mad.LinkWidth { return mad.LinkWidth(p[31]) }

// SetLinkWidthActive sets LinkWidthActive.
func (p *PortInfo) SetLinkWidthActive(v mad.LinkWidth) { p[31] = uint8(v) }

// LinkSpeedSupported is a mask: 1 SDR, 2 DDR, 4 QDR. See SpeedsSupported.
func (p *PortInfo) LinkSpeedSupported() uint8 { return get(p[32], 0xf0) }

// SetLinkSpeedSupported sets LinkSpeedSupported.
func (p *PortInfo) SetLinkSpeedSupported(v uint8) { put(&p[32], 0xf0, v) }

// PortState is the logical state of the link.
func (p *PortInfo) PortState() PortState { return PortState(get(p[32], 0x0f)) }

// SetPortState sets PortState.
func (p *PortInfo) SetPortState(v PortState) { put(&p[32], 0x0f, uint8(v)) }

// PortPhysicalState is the state of the link's training.
func (p *PortInfo) PortPhysicalState() PortPhysicalState { return PortPhysicalState(get(p[33], 0xf0)) }

// SetPortPhysicalState sets PortPhysicalState.
func (p *PortInfo) SetPortPhysicalState(v PortPhysicalState) { put(&p[33], 0xf0, uint8(v)) }

// LinkDownDefaultState is where the port goes when its link falls: PhysSleep or
// PhysPolling; in a Set 0 leaves it.
func (p *PortInfo) LinkDownDefaultState() PortPhysicalState {
	return PortPhysicalState(get(p[33], 0x0f))
}

// SetLinkDownDefaultState sets LinkDownDefaultState.
func (p *PortInfo) SetLinkDownDefaultState(v PortPhysicalState) { put(&p[33], 0x0f, uint8(v)) }

// MKeyProtectBits is how far MKey protects (IBA 14.2.4.1): 0 others may read
// the port and the key, 1 the port, 2 and 3 nothing.
func (p *PortInfo) MKeyProtectBits() uint8 { return get(p[34], 0xc0) }

// SetMKeyProtectBits sets MKeyProtectBits.
func (p *PortInfo) SetMKeyProtectBits(v uint8) { put(&p[34], 0xc0, v) }

// HidesMKey reports whether a port has an M_Key that it did not show: the request had another one (IBA 14.2.4.1).
func HidesMKey(p *PortInfo) bool { return p.MKey() == 0 && p.MKeyProtectBits() != 0 }

// LMC is 0..7: the port owns 2^LMC LIDs.
func (p *PortInfo) LMC() uint8 { return get(p[34], 0x07) }

// SetLMC sets LMC.
func (p *PortInfo) SetLMC(v uint8) { put(&p[34], 0x07, v) }

// LinkSpeedActive is one bit as in LinkSpeedSupported, 0 when an extended speed
// is in use. See LinkSpeed.
func (p *PortInfo) LinkSpeedActive() uint8 { return get(p[35], 0xf0) }

// SetLinkSpeedActive sets LinkSpeedActive.
func (p *PortInfo) SetLinkSpeedActive(v uint8) { put(&p[35], 0xf0, v) }

// LinkSpeedEnabled is a mask; in a Set 0 leaves it and 15 means all supported.
func (p *PortInfo) LinkSpeedEnabled() uint8 { return get(p[35], 0x0f) }

// SetLinkSpeedEnabled sets LinkSpeedEnabled.
func (p *PortInfo) SetLinkSpeedEnabled(v uint8) { put(&p[35], 0x0f, v) }

// NeighborMTU is the MTU that the port may send.
func (p *PortInfo) NeighborMTU() mad.MTU { return mad.MTU(get(p[36], 0xf0)) }

// SetNeighborMTU sets NeighborMTU.
func (p *PortInfo) SetNeighborMTU(v mad.MTU) { put(&p[36], 0xf0, uint8(v)) }

// MasterSMSL is the SL of what the port sends to MasterSMLID.
func (p *PortInfo) MasterSMSL() uint8 { return get(p[36], 0x0f) }

// SetMasterSMSL sets MasterSMSL.
func (p *PortInfo) SetMasterSMSL(v uint8) { put(&p[36], 0x0f, v) }

// VLCap is a code for the data VLs that the port has. See DataVLs.
func (p *PortInfo) VLCap() uint8 { return get(p[37], 0xf0) }

// SetVLCap sets VLCap.
func (p *PortInfo) SetVLCap(v uint8) { put(&p[37], 0xf0, v) }

// VLHighLimit bounds what the high-priority table sends before the low one gets
// a turn: in 4096 bytes, 255 unbounded.
func (p *PortInfo) VLHighLimit() uint8 { return p[38] }

// SetVLHighLimit sets VLHighLimit.
func (p *PortInfo) SetVLHighLimit(v uint8) { p[38] = v }

// VLArbitrationHighCap is the number of entries of the high-priority table.
func (p *PortInfo) VLArbitrationHighCap() uint8 { return p[39] }

// SetVLArbitrationHighCap sets VLArbitrationHighCap.
func (p *PortInfo) SetVLArbitrationHighCap(v uint8) { p[39] = v }

// VLArbitrationLowCap is the number of entries of the low-priority table.
func (p *PortInfo) VLArbitrationLowCap() uint8 { return p[40] }

// SetVLArbitrationLowCap sets VLArbitrationLowCap.
func (p *PortInfo) SetVLArbitrationLowCap(v uint8) { p[40] = v }

// InitTypeReply is what of InitType the manager did.
func (p *PortInfo) InitTypeReply() uint8 { return get(p[41], 0xf0) }

// SetInitTypeReply sets InitTypeReply.
func (p *PortInfo) SetInitTypeReply(v uint8) { put(&p[41], 0xf0, v) }

// MTUCap is the largest MTU that the port can take.
func (p *PortInfo) MTUCap() mad.MTU { return mad.MTU(get(p[41], 0x0f)) }

// SetMTUCap sets MTUCap.
func (p *PortInfo) SetMTUCap(v mad.MTU) { put(&p[41], 0x0f, uint8(v)) }

// VLStallCount is the number of packets dropped in a row after which a VL
// counts as stalled.
func (p *PortInfo) VLStallCount() uint8 { return get(p[42], 0xe0) }

// SetVLStallCount sets VLStallCount.
func (p *PortInfo) SetVLStallCount(v uint8) { put(&p[42], 0xe0, v) }

// HOQLife is how long a packet may be first in a queue: 4.096 us x 2^n, 20..31
// for ever.
func (p *PortInfo) HOQLife() uint8 { return get(p[42], 0x1f) }

// SetHOQLife sets HOQLife.
func (p *PortInfo) SetHOQLife(v uint8) { put(&p[42], 0x1f, v) }

// OperationalVLs is a code for the data VLs in use; in a Set 0 leaves it. See
// DataVLs.
func (p *PortInfo) OperationalVLs() uint8 { return get(p[43], 0xf0) }

// SetOperationalVLs sets OperationalVLs.
func (p *PortInfo) SetOperationalVLs(v uint8) { put(&p[43], 0xf0, v) }

// PartitionEnforcementInbound makes a switch external port check P_Keys of what
// comes in.
func (p *PortInfo) PartitionEnforcementInbound() bool { return p[43]&0x08 != 0 }

// SetPartitionEnforcementInbound sets PartitionEnforcementInbound.
func (p *PortInfo) SetPartitionEnforcementInbound(v bool) { putBool(&p[43], 0x08, v) }

// PartitionEnforcementOutbound makes it check P_Keys of what goes out.
func (p *PortInfo) PartitionEnforcementOutbound() bool { return p[43]&0x04 != 0 }

// SetPartitionEnforcementOutbound sets PartitionEnforcementOutbound.
func (p *PortInfo) SetPartitionEnforcementOutbound(v bool) { putBool(&p[43], 0x04, v) }

// FilterRawInbound makes it drop raw packets that come in.
func (p *PortInfo) FilterRawInbound() bool { return p[43]&0x02 != 0 }

// SetFilterRawInbound sets FilterRawInbound.
func (p *PortInfo) SetFilterRawInbound(v bool) { putBool(&p[43], 0x02, v) }

// FilterRawOutbound makes it drop raw packets that go out.
func (p *PortInfo) FilterRawOutbound() bool { return p[43]&0x01 != 0 }

// SetFilterRawOutbound sets FilterRawOutbound.
func (p *PortInfo) SetFilterRawOutbound(v bool) { putBool(&p[43], 0x01, v) }

// MKeyViolations counts packets with a wrong M_Key; a Set of 0 clears it.
func (p *PortInfo) MKeyViolations() uint16 { return get16(p[44:]) }

// SetMKeyViolations sets MKeyViolations.
func (p *PortInfo) SetMKeyViolations(v uint16) { put16(p[44:], v) }

// PKeyViolations counts packets with a wrong P_Key; a Set of 0 clears it.
func (p *PortInfo) PKeyViolations() uint16 { return get16(p[46:]) }

// SetPKeyViolations sets PKeyViolations.
func (p *PortInfo) SetPKeyViolations(v uint16) { put16(p[46:], v) }

// QKeyViolations counts packets with a wrong Q_Key; a Set of 0 clears it.
func (p *PortInfo) QKeyViolations() uint16 { return get16(p[48:]) }

// SetQKeyViolations sets QKeyViolations.
func (p *PortInfo) SetQKeyViolations(v uint16) { put16(p[48:], v) }

// GUIDCap is the number of entries of GUIDInfo.
func (p *PortInfo) GUIDCap() uint8 { return p[50] }

// SetGUIDCap sets GUIDCap.
func (p *PortInfo) SetGUIDCap(v uint8) { p[50] = v }

// ClientReregister makes the port's host register anew with subnet
// administration: groups, services, subscriptions.
func (p *PortInfo) ClientReregister() bool { return p[51]&0x80 != 0 }

// SetClientReregister sets ClientReregister.
func (p *PortInfo) SetClientReregister(v bool) { putBool(&p[51], 0x80, v) }

// McastPKeyTrapSuppressionEnabled is 1 when a multicast packet with a wrong
// P_Key raises no trap.
func (p *PortInfo) McastPKeyTrapSuppressionEnabled() uint8 { return get(p[51], 0x60) }

// SetMcastPKeyTrapSuppressionEnabled sets McastPKeyTrapSuppressionEnabled.
func (p *PortInfo) SetMcastPKeyTrapSuppressionEnabled(v uint8) { put(&p[51], 0x60, v) }

// SubnetTimeOut bounds the way through the subnet: 4.096 us x 2^n.
func (p *PortInfo) SubnetTimeOut() uint8 { return get(p[51], 0x1f) }

// SetSubnetTimeOut sets SubnetTimeOut.
func (p *PortInfo) SetSubnetTimeOut(v uint8) { put(&p[51], 0x1f, v) }

// SetRespTimeValue sets RespTimeValue.
func (p *PortInfo) SetRespTimeValue(v uint8) { put(&p[52], 0x1f, v) }

// LocalPhyErrors is the threshold of trap 129.
func (p *PortInfo) LocalPhyErrors() uint8 { return get(p[53], 0xf0) }

// SetLocalPhyErrors sets LocalPhyErrors.
func (p *PortInfo) SetLocalPhyErrors(v uint8) { put(&p[53], 0xf0, v) }

// OverrunErrors is the threshold of trap 130.
func (p *PortInfo) OverrunErrors() uint8 { return get(p[53], 0x0f) }

// SetOverrunErrors sets OverrunErrors.
func (p *PortInfo) SetOverrunErrors(v uint8) { put(&p[53], 0x0f, v) }

// MaxCreditHint is the credit a sender needs for full bandwidth.
func (p *PortInfo) MaxCreditHint() uint16 { return get16(p[54:]) }

// SetMaxCreditHint sets MaxCreditHint.
func (p *PortInfo) SetMaxCreditHint(v uint16) { put16(p[54:], v) }

// LinkSpeedExtActive2 is 1 for XDR.
func (p *PortInfo) LinkSpeedExtActive2() uint8 { return get(p[56], 0x60) }

// SetLinkSpeedExtActive2 sets LinkSpeedExtActive2.
func (p *PortInfo) SetLinkSpeedExtActive2(v uint8) { put(&p[56], 0x60, v) }

// LinkSpeedExtSupported2 is a mask: 1 XDR.
func (p *PortInfo) LinkSpeedExtSupported2() uint8 { return get(p[56], 0x18) }

// SetLinkSpeedExtSupported2 sets LinkSpeedExtSupported2.
func (p *PortInfo) SetLinkSpeedExtSupported2(v uint8) { put(&p[56], 0x18, v) }

// LinkSpeedExtEnabled2 is a mask; in a Set 0 leaves it and 7 means all
// supported.
func (p *PortInfo) LinkSpeedExtEnabled2() uint8 { return get(p[56], 0x07) }

// SetLinkSpeedExtEnabled2 sets LinkSpeedExtEnabled2.
func (p *PortInfo) SetLinkSpeedExtEnabled2(v uint8) { put(&p[56], 0x07, v) }

// CapabilityMask2 counts where CapabilityMask has IsCapabilityMask2Supported.
func (p *PortInfo) CapabilityMask2() CapMask2 { return CapMask2(get16(p[60:])) }

// SetCapabilityMask2 sets CapabilityMask2.
func (p *PortInfo) SetCapabilityMask2(v CapMask2) { put16(p[60:], uint16(v)) }

// LinkSpeedExtActive is one bit as in LinkSpeedExtSupported, 0 when no extended
// speed is in use.
func (p *PortInfo) LinkSpeedExtActive() uint8 { return get(p[62], 0xf0) }

// SetLinkSpeedExtActive sets LinkSpeedExtActive.
func (p *PortInfo) SetLinkSpeedExtActive(v uint8) { put(&p[62], 0xf0, v) }

// LinkSpeedExtSupported is a mask: 1 FDR, 2 EDR, 4 HDR, 8 NDR.
func (p *PortInfo) LinkSpeedExtSupported() uint8 { return get(p[62], 0x0f) }

// SetLinkSpeedExtSupported sets LinkSpeedExtSupported.
func (p *PortInfo) SetLinkSpeedExtSupported(v uint8) { put(&p[62], 0x0f, v) }

// LinkSpeedExtEnabled is a mask; in a Set 0 leaves it, 30 means none and 31 all
// supported.
func (p *PortInfo) LinkSpeedExtEnabled() uint8 { return get(p[63], 0x1f) }

// SetLinkSpeedExtEnabled sets LinkSpeedExtEnabled.
func (p *PortInfo) SetLinkSpeedExtEnabled(v uint8) { put(&p[63], 0x1f, v) }
