package sarec

import (
	"encoding/binary"
	"ibsm/mad"
	"ibsm/mad/smp"
)

// The accessors of fields that no program needs so far. With them the tables of
// fields_test.go cover each layout whole; one that becomes needed moves to its attribute.

// BaseVersion is 1.
func (c *ClassPortInfo) BaseVersion() uint8 { return c[0] }

// ClassVersion is 2 for subnet administration.
func (c *ClassPortInfo) ClassVersion() uint8 { return c[1] }

// TrapGID is where traps of the class go; 0 for nowhere.
func (c *ClassPortInfo) TrapGID() mad.GID { return mad.GID(c[40:56]) }

// TrapLID goes with TrapGID.
func (c *ClassPortInfo) TrapLID() mad.LID { return mad.LID(binary.BigEndian.Uint16(c[60:])) }

// TrapQP goes with TrapGID.
func (c *ClassPortInfo) TrapQP() uint32 { return binary.BigEndian.Uint32(c[64:]) & 0xffffff }

// TrapQKey goes with TrapQP.
func (c *ClassPortInfo) TrapQKey() uint32 { return binary.BigEndian.Uint32(c[68:]) }

// RespTimeValue is how long the subscriber takes to answer a Report, 4.096 us x 2^n.
func (r *InformInfo) RespTimeValue() uint8 { return r[31] & 0x1f }

// Enum distinguishes the subscriptions of a port.
func (r *InformInfoRecord) Enum() uint16 { return binary.BigEndian.Uint16(r[16:]) }

// BlockNum is the first LID of the block by smp.LFTBlockSize.
func (r *LinearForwardingTableRecord) BlockNum() uint16 { return binary.BigEndian.Uint16(r[2:]) }

// FromPort is the port number of the near end.
func (r *LinkRecord) FromPort() uint8 { return r[2] }

// ToPort is the port number of the far end.
func (r *LinkRecord) ToPort() uint8 { return r[3] }

// SetRawTraffic replaces RawTraffic.
func (r *MultiPathRecord) SetRawTraffic(raw bool) { r[0] = r[0]&0x7f | bit7(raw) }

// FlowLabel is the 20 bits for the GRH.
func (r *MultiPathRecord) FlowLabel() uint32 { return binary.BigEndian.Uint32(r[0:]) >> 8 & 0xfffff }

// SetFlowLabel replaces FlowLabel; bits above the lower 20 are dropped.
func (r *MultiPathRecord) SetFlowLabel(l uint32) { putFlowLabel(r[0:], l) }

// HopLimit is that of the GRH.
func (r *MultiPathRecord) HopLimit() uint8 { return r[3] }

// SetHopLimit replaces HopLimit.
func (r *MultiPathRecord) SetHopLimit(h uint8) { r[3] = h }

// TClass is the traffic class for the GRH.
func (r *MultiPathRecord) TClass() uint8 { return r[4] }

// SetTClass replaces TClass.
func (r *MultiPathRecord) SetTClass(c uint8) { r[4] = c }

// SetReversible replaces Reversible.
func (r *MultiPathRecord) SetReversible(rev bool) { r[5] = r[5]&0x7f | bit7(rev) }

// SetQoSClass replaces QoSClass; bits above the lower 12 are dropped.
func (r *MultiPathRecord) SetQoSClass(c uint16) {
	binary.BigEndian.PutUint16(r[8:], c<<4|uint16(r[9]&0x0f))
}

// SetSL replaces SL; bits above the lower four are dropped.
func (r *MultiPathRecord) SetSL(sl uint8) { r[9] = r[9]&0xf0 | sl&0x0f }

// SetServiceIDHigh replaces ServiceIDHigh.
func (r *MultiPathRecord) SetServiceIDHigh(b uint8) { r[13] = b }

// SetServiceIDLow replaces ServiceIDLow; bits above the lower 56 are dropped.
func (r *MultiPathRecord) SetServiceIDLow(id uint64) {
	binary.BigEndian.PutUint64(r[16:], uint64(r[16])<<56|id&(1<<56-1))
}

// IndependenceSelector is 1 for paths that share as few parts as can be.
func (r *MultiPathRecord) IndependenceSelector() uint8 { return r[14] >> 6 }

// SetIndependenceSelector replaces IndependenceSelector; bits above the lower two
// are dropped.
func (r *MultiPathRecord) SetIndependenceSelector(v uint8) { r[14] = v<<6 | r[14]&0x3f }

// Position is the first port of the block by smp.MFTPositionSize.
func (r *MulticastForwardingTableRecord) Position() uint8 { return r[2] >> 4 }

// BlockNum counts the blocks of smp.MFTBlockSize LIDs from 0, the block of 0xC000.
func (r *MulticastForwardingTableRecord) BlockNum() uint16 {
	return binary.BigEndian.Uint16(r[2:]) & 0x1ff
}

// LocalPortNum is the number of the port of the record, 0 for a switch.
func (r *NodeRecord) LocalPortNum() uint8 { return r[40] }

// BlockNum counts the blocks of smp.PKeysPerBlock P_Keys from 0.
func (r *PKeyTableRecord) BlockNum() uint16 { return binary.BigEndian.Uint16(r[2:]) }

// PortNum is the number of the port.
func (r *PKeyTableRecord) PortNum() uint8 { return r[4] }

// InputPortNum is the port where packets come in, 0 on nodes that are not switches.
func (r *SLtoVLMappingTableRecord) InputPortNum() uint8 { return r[2] }

// OutputPortNum is the port where they go out, 0 on nodes that are not switches.
func (r *SLtoVLMappingTableRecord) OutputPortNum() uint8 { return r[3] }

// SLtoVLMappingTable is the virtual lane of each service level.
func (r *SLtoVLMappingTableRecord) SLtoVLMappingTable() (t smp.SLtoVLMappingTable) {
	copy(t[:], r[8:16])
	return t
}

// LID is the base LID of the manager's port.
func (r *SMInfoRecord) LID() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[0:])) }

// SMKey is 0 in every answer.
func (r *SMInfoRecord) SMKey() uint64 { return binary.BigEndian.Uint64(r[12:]) }

// ActCount rises while the manager is at work.
func (r *SMInfoRecord) ActCount() uint32 { return binary.BigEndian.Uint32(r[20:]) }

// Priority is 0..15, the higher wins.
func (r *SMInfoRecord) Priority() uint8 { return r[24] >> 4 }

// SMState is the state as SMInfo has it.
func (r *SMInfoRecord) SMState() uint8 { return r[24] & 0x0f }

// SwitchInfoMask has ones in the fields whose components are given, for Match.
func SwitchInfoMask(comps mad.ComponentMask) (mask SwitchInfoRecord) {
	fillMask(mask[:], switchInfoFields[:], comps)
	return mask
}

// OutputPortNum is the port, 0 on nodes that are not switches.
func (r *VLArbitrationTableRecord) OutputPortNum() uint8 { return r[2] }

// BlockNum is smp.VLArbLow0 to smp.VLArbHigh1.
func (r *VLArbitrationTableRecord) BlockNum() uint8 { return r[3] }

var switchInfoFields = [...]field{{0, 16}}

// Bits and components that no program names.
const (
	IsTrapSupported               uint16            = 1 << 0
	IsGetSetNoticeSupported       uint16            = 1 << 1
	IsOptionalRecordsSupported    uint16            = 1 << 8
	IsQoSSupported                uint32            = 1 << 1
	GUIDInfoAllGUIDs              mad.ComponentMask = 0xff << 4
	InformGID                     mad.ComponentMask = 1 << 3
	InformLIDRangeBegin           mad.ComponentMask = 1 << 4
	InformLIDRangeEnd             mad.ComponentMask = 1 << 5
	InformIsGeneric               mad.ComponentMask = 1 << 7
	InformSubscribe               mad.ComponentMask = 1 << 8
	InformType                    mad.ComponentMask = 1 << 9
	InformRespTimeValue           mad.ComponentMask = 1 << 13
	InformProducerType            mad.ComponentMask = 1 << 15
	MultiPathFlowLabel            mad.ComponentMask = 1 << 2
	MultiPathHopLimit             mad.ComponentMask = 1 << 3
	MultiPathTClass               mad.ComponentMask = 1 << 4
	MultiPathIndependenceSelector mad.ComponentMask = 1 << 17
	NodeBaseVersion               mad.ComponentMask = 1 << 2
	NodeClassVersion              mad.ComponentMask = 1 << 3
	NodeNumPorts                  mad.ComponentMask = 1 << 5
	NodeSystemImageGUID           mad.ComponentMask = 1 << 6
	NodePartitionCap              mad.ComponentMask = 1 << 9
	NodeDeviceID                  mad.ComponentMask = 1 << 10
	NodeRevision                  mad.ComponentMask = 1 << 11
	NodeVendorID                  mad.ComponentMask = 1 << 13
	PathPreference                mad.ComponentMask = 1 << 22
	PKeyTablePortNum              mad.ComponentMask = 1 << 2
	PortInfoGidPrefix             mad.ComponentMask = 1 << 4
	PortInfoMasterSMLID           mad.ComponentMask = 1 << 6
	PortInfoDiagCode              mad.ComponentMask = 1 << 8
	PortInfoMKeyLeasePeriod       mad.ComponentMask = 1 << 9
	PortInfoLinkWidthEnabled      mad.ComponentMask = 1 << 11
	PortInfoLinkWidthSupported    mad.ComponentMask = 1 << 12
	PortInfoLinkWidthActive       mad.ComponentMask = 1 << 13
	PortInfoLinkSpeedSupported    mad.ComponentMask = 1 << 14
	PortInfoPortState             mad.ComponentMask = 1 << 15
	PortInfoPortPhysicalState     mad.ComponentMask = 1 << 16
	PortInfoLinkDownDefaultState  mad.ComponentMask = 1 << 17
	PortInfoMKeyProtectBits       mad.ComponentMask = 1 << 18
	PortInfoLMC                   mad.ComponentMask = 1 << 20
	PortInfoLinkSpeedActive       mad.ComponentMask = 1 << 21
	PortInfoLinkSpeedEnabled      mad.ComponentMask = 1 << 22
	PortInfoNeighborMTU           mad.ComponentMask = 1 << 23
	PortInfoMasterSMSL            mad.ComponentMask = 1 << 24
	PortInfoVLCap                 mad.ComponentMask = 1 << 25
	PortInfoInitType              mad.ComponentMask = 1 << 26
	PortInfoVLHighLimit           mad.ComponentMask = 1 << 27
	PortInfoVLArbitrationHighCap  mad.ComponentMask = 1 << 28
	PortInfoVLArbitrationLowCap   mad.ComponentMask = 1 << 29
	PortInfoMTUCap                mad.ComponentMask = 1 << 31
	PortInfoVLStallCount          mad.ComponentMask = 1 << 32
	PortInfoHOQLife               mad.ComponentMask = 1 << 33
	PortInfoOperationalVLs        mad.ComponentMask = 1 << 34
	PortInfoFilterRawIn           mad.ComponentMask = 1 << 37
	PortInfoFilterRawOut          mad.ComponentMask = 1 << 38
	PortInfoMKeyViolations        mad.ComponentMask = 1 << 39
	PortInfoPKeyViolations        mad.ComponentMask = 1 << 40
	PortInfoQKeyViolations        mad.ComponentMask = 1 << 41
	PortInfoGUIDCap               mad.ComponentMask = 1 << 42
	PortInfoSubnetTimeOut         mad.ComponentMask = 1 << 45
	PortInfoRespTimeValue         mad.ComponentMask = 1 << 47
	PortInfoMaxCreditHint         mad.ComponentMask = 1 << 50
	PortInfoLinkRoundTripLatency  mad.ComponentMask = 1 << 52
	PortInfoLinkSpeedExtActive    mad.ComponentMask = 1 << 54
	PortInfoLinkSpeedExtSupported mad.ComponentMask = 1 << 55
	PortInfoLinkSpeedExtEnabled   mad.ComponentMask = 1 << 57
	ServiceServiceData16          mad.ComponentMask = 1 << 23 // the first of 8
	ServiceServiceData32          mad.ComponentMask = 1 << 31 // the first of 4
	ServiceServiceData64          mad.ComponentMask = 1 << 35 // the first of 2
)

// RedirectGID is where requests should go instead.
func (c *ClassPortInfo) RedirectGID() mad.GID { return mad.GID(c[8:24]) }

// SetRedirectGID replaces RedirectGID.
func (c *ClassPortInfo) SetRedirectGID(g mad.GID) { copy(c[8:24], g[:]) }

// RedirectPKey goes with RedirectLID.
func (c *ClassPortInfo) RedirectPKey() mad.PKey { return mad.PKey(binary.BigEndian.Uint16(c[30:])) }

// SetRedirectPKey replaces RedirectPKey.
func (c *ClassPortInfo) SetRedirectPKey(k mad.PKey) { binary.BigEndian.PutUint16(c[30:], uint16(k)) }

// RedirectQKey goes with RedirectQP.
func (c *ClassPortInfo) RedirectQKey() uint32 { return binary.BigEndian.Uint32(c[36:]) }
