package smp

import "ibsm/mad"

// The accessors of fields that no program needs so far. With them the tables of
// fields_test.go cover each layout whole; one that becomes needed moves to its attribute.

// IS4Mode says that the device works as an InfiniScale IV does.
func (a *ARInfo) IS4Mode() bool { return a[0]&0x02 != 0 }

// GlobalGroups says that the device has global groups.
func (a *ARInfo) GlobalGroups() bool { return a[0]&0x04 != 0 }

// BySLSupported says that the switch can go by SLMask.
func (a *ARInfo) BySLSupported() bool { return a[0]&0x08 != 0 }

// BySLEnabled says that it goes by SLMask.
func (a *ARInfo) BySLEnabled() bool { return a[0]&0x10 != 0 }

// ByTransportSupported says that it can go by TransportDisableMask.
func (a *ARInfo) ByTransportSupported() bool { return a[0]&0x20 != 0 }

// DynamicCapSupported says that the capacities can change.
func (a *ARInfo) DynamicCapSupported() bool { return a[0]&0x40 != 0 }

// GroupTableCopySupported is not 0 when groups can be copied.
func (a *ARInfo) GroupTableCopySupported() uint8 { return get(a[2], 0xf0) }

// SubGroupsActive is the subgroups in use, in the device's count.
func (a *ARInfo) SubGroupsActive() uint8 { return get(a[2], 0x0f) }

// ARNSupported says that it has adaptive-routing notifications.
func (a *ARInfo) ARNSupported() bool { return a[3]&0x02 != 0 }

// FRNSupported says that it has fault-routing notifications.
func (a *ARInfo) FRNSupported() bool { return a[3]&0x04 != 0 }

// FRSupported says that it has fast recovery.
func (a *ARInfo) FRSupported() bool { return a[3]&0x08 != 0 }

// FREnabled says that fast recovery is on.
func (a *ARInfo) FREnabled() bool { return a[3]&0x10 != 0 }

// RNXmitEnabled says that it sends routing notifications.
func (a *ARInfo) RNXmitEnabled() bool { return a[3]&0x20 != 0 }

// StringWidthCap is a capacity of the device's tables, in its own count.
func (a *ARInfo) StringWidthCap() uint8 { return get(a[4], 0xf0) }

// GroupTableCap is how many group tables there are, in the device's count.
func (a *ARInfo) GroupTableCap() uint8 { return get(a[4], 0x0f) }

// GroupTop is the highest group in use, 12 bits.
func (a *ARInfo) GroupTop() uint16 { return get16(a[5:]) >> 4 }

// GroupCap is the number of groups, 12 bits.
func (a *ARInfo) GroupCap() uint16 { return get16(a[6:]) & 0x0fff }

// SLMask is the SLs that are routed adaptively when BySLEnabled.
func (a *ARInfo) SLMask() uint16 { return get16(a[8:]) }

// SubGroupsSupported is the subgroups there are, in the device's count.
func (a *ARInfo) SubGroupsSupported() uint8 { return a[10] }

// TransportDisableMask is the transports that are not routed adaptively: UD,
// RC, UC, DC.
func (a *ARInfo) TransportDisableMask() uint8 { return a[15] }

// AgeingTime is in microseconds.
func (a *ARInfo) AgeingTime() uint32 { return get32(a[16:]) }

// PFRNSupported says that it has packet-based fault-routing notifications.
func (a *ARInfo) PFRNSupported() bool { return a[20]&0x02 != 0 }

// WHBFSupported says that it has weighted hash-based forwarding.
func (a *ARInfo) WHBFSupported() bool { return a[20]&0x40 != 0 }

// HBFSupported says that it has hash-based forwarding.
func (a *ARInfo) HBFSupported() bool { return a[20]&0x80 != 0 }

// PFRNEnabled says that pFRN is on.
func (a *ARInfo) PFRNEnabled() bool { return a[22]&0x10 != 0 }

// HBFSLMask is the SLs with hash-based forwarding.
func (a *ARInfo) HBFSLMask() uint16 { return get16(a[26:]) }

// AMESupported says that the port has advanced retransmission and FEC modes.
func (e *ExtendedPortInfo) AMESupported() bool { return e[0]&0x80 != 0 }

// SHARPEnabled says that the aggregation node behind the port is on.
func (e *ExtendedPortInfo) SHARPEnabled() bool { return e[0]&0x40 != 0 }

// RouterLIDEnabled says that the port takes router LIDs.
func (e *ExtendedPortInfo) RouterLIDEnabled() bool { return e[0]&0x20 != 0 }

// PortRecovered says that the port came back from an error by itself.
func (e *ExtendedPortInfo) PortRecovered() bool { return e[0]&0x10 != 0 }

// BandwidthUtilization is the port's load.
func (e *ExtendedPortInfo) BandwidthUtilization() uint16 { return get16(e[4:]) }

// UnhealthyReason is why the device holds the port unhealthy, in NVIDIA's numbers.
func (e *ExtendedPortInfo) UnhealthyReason() uint8 { return e[6] }

// AdminState is the state that the administrator wants the port in.
func (e *ExtendedPortInfo) AdminState() uint8 { return get(e[17], 0x0e) }

// CapabilityMask is what the port can do of this.
func (e *ExtendedPortInfo) CapabilityMask() uint16 { return get16(e[18:]) }

// SpecialPortType is what else than an ordinary port it is, in NVIDIA's numbers.
func (e *ExtendedPortInfo) SpecialPortType() uint8 { return e[47] }

// AdaptiveTimeoutSLMask is the SLs with adaptive time-outs.
func (e *ExtendedPortInfo) AdaptiveTimeoutSLMask() uint16 { return get16(e[52:]) }

// OutOfOrderSLMask is the SLs on which the port takes packets out of order.
func (e *ExtendedPortInfo) OutOfOrderSLMask() uint16 { return get16(e[54:]) }

// Port is the output port of a LID of this block: 0 for the switch itself,
// LFTDrop for none.
func (t *LinearForwardingTable) Port(l mad.LID) uint8 { return t[l%LFTBlockSize] }

// BaseVersion is 1.
func (n *NodeInfo) BaseVersion() uint8 { return n[0] }

// ClassVersion is 1.
func (n *NodeInfo) ClassVersion() uint8 { return n[1] }

// NoticeToggle alternates between notices that are logged.
func (n *Notice) NoticeToggle() bool { return n[8]&0x80 != 0 }

// SetNoticeToggle sets NoticeToggle.
func (n *Notice) SetNoticeToggle(v bool) { putBool(&n[8], 0x80, v) }

// NoticeCount is the number of notices that are logged, 15 bits.
func (n *Notice) NoticeCount() uint16 { return get16(n[8:]) & 0x7fff }

// SetNoticeCount sets NoticeCount.
func (n *Notice) SetNoticeCount(v uint16) { put16(n[8:], get16(n[8:])&0x8000|v&0x7fff) }

// Has reports whether all of the given bits are set.
func (f ChangeFlags) Has(bits ChangeFlags) bool { return f&bits == bits }

// SetLID sets LID.
func (d *SystemImageDetails) SetLID(v mad.LID) { put16(d[2:], uint16(v)) }

// SetSystemImageGUID sets SystemImageGUID.
func (d *SystemImageDetails) SetSystemImageGUID(v mad.GUID) { put64(d[6:], uint64(v)) }

// SetDRReturnPath sets the path with its length and whether it was truncated.
func (d *BadMKeyDetails) SetDRReturnPath(ports []uint8) {
	room := d[24:]
	clear(room)
	n := copy(room, ports)
	d.SetDRHopCount(uint8(n))
	d.SetDRPathTruncated(n < len(ports))
}

// SetGID1 sets GID1.
func (d *BadKeyDetails) SetGID1(g mad.GID) { copy(d[18:34], g[:]) }

// SetGID2 sets GID2.
func (d *BadKeyDetails) SetGID2(g mad.GID) { copy(d[34:50], g[:]) }

// SetDataValid sets DataValid.
func (d *SwitchBadPKeyDetails) SetDataValid(v uint16) { put16(d[0:], v) }

// SetGID1 sets GID1.
func (d *SwitchBadPKeyDetails) SetGID1(g mad.GID) { copy(d[16:32], g[:]) }

// SetGID2 sets GID2.
func (d *SwitchBadPKeyDetails) SetGID2(g mad.GID) { copy(d[32:48], g[:]) }

// DiagCode is the result of the port's diagnosis; 0 is good.
func (p *PortInfo) DiagCode() uint16 { return get16(p[24:]) }

// SetDiagCode sets DiagCode.
func (p *PortInfo) SetDiagCode(v uint16) { put16(p[24:], v) }

// InitType is what the port asks for when it is initialized: 1 no load, 2
// preserve content, 4 preserve presence, 8 do not resuscitate.
func (p *PortInfo) InitType() uint8 { return get(p[37], 0x0f) }

// SetInitType sets InitType.
func (p *PortInfo) SetInitType(v uint8) { put(&p[37], 0x0f, v) }

// RespTimeValue is how long the port may take to answer: 4.096 us x 2^n.
func (p *PortInfo) RespTimeValue() uint8 { return get(p[52], 0x1f) }

// LinkRoundTripLatency is in 4 ns.
func (p *PortInfo) LinkRoundTripLatency() uint32 { return get24((*[3]byte)(p[57:])) }

// SetLinkRoundTripLatency sets LinkRoundTripLatency.
func (p *PortInfo) SetLinkRoundTripLatency(v uint32) { put24((*[3]byte)(p[57:]), v) }

// CapabilityMask has bit 0 set where FEC modes are supported.
func (p *PortInfoExtended) CapabilityMask() uint32 { return get32(p[0:]) }

// FECModeActive is the FEC in use: 0 none, 1 Firecode, 2 RS-FEC, 3 low-latency
// RS-FEC.
func (p *PortInfoExtended) FECModeActive() uint16 { return get16(p[4:]) }

// SetFECModeActive sets FECModeActive.
func (p *PortInfoExtended) SetFECModeActive(v uint16) { put16(p[4:], v) }

// FDRFECModeSupported is the mask of FEC modes that the port has at FDR.
func (p *PortInfoExtended) FDRFECModeSupported() uint16 { return get16(p[6:]) }

// EDRFECModeSupported is the mask of FEC modes that the port has at EDR.
func (p *PortInfoExtended) EDRFECModeSupported() uint16 { return get16(p[10:]) }

// RandomFDBCap is the number of entries of the random forwarding table.
func (s *SwitchInfo) RandomFDBCap() uint16 { return get16(s[2:]) }

// SetRandomFDBCap sets RandomFDBCap.
func (s *SwitchInfo) SetRandomFDBCap(v uint16) { put16(s[2:], v) }

// LIDsPerPort belongs to the random forwarding table.
func (s *SwitchInfo) LIDsPerPort() uint16 { return get16(s[12:]) }

// SetLIDsPerPort sets LIDsPerPort.
func (s *SwitchInfo) SetLIDsPerPort(v uint16) { put16(s[12:], v) }

// InboundEnforcementCap says that the switch can check P_Keys of what comes in.
func (s *SwitchInfo) InboundEnforcementCap() bool { return s[16]&0x80 != 0 }

// OutboundEnforcementCap says that the switch can check P_Keys of what goes out.
func (s *SwitchInfo) OutboundEnforcementCap() bool { return s[16]&0x40 != 0 }

// FilterRawInboundCap says that the switch can drop raw packets that come in.
func (s *SwitchInfo) FilterRawInboundCap() bool { return s[16]&0x20 != 0 }

// FilterRawOutboundCap says that the switch can drop raw packets that go out.
func (s *SwitchInfo) FilterRawOutboundCap() bool { return s[16]&0x10 != 0 }

// Bits and components that no program names.
const (
	CapAggregationNode                  GeneralCap  = 18
	CapCongestionControl                GeneralCap  = 44
	CapLinkAutoRetrain                  GeneralCap  = 81
	ChangedLinkWidthEnabled             ChangeFlags = 0x0002
	ChangedLinkSpeedEnabled             ChangeFlags = 0x0004
	ChangedHierarchyInfo                ChangeFlags = 0x0010
	ChangedCapabilityMask2              ChangeFlags = 0x0020
	IsOptionalIPDSupported              CapMask     = 1 << 4
	IsAutomaticMigrationSupported       CapMask     = 1 << 5
	IsMKeyNVRAM                         CapMask     = 1 << 7
	IsPKeyNVRAM                         CapMask     = 1 << 8
	IsLEDInfoSupported                  CapMask     = 1 << 9
	IsSMdisabled                        CapMask     = 1 << 10
	IsCableInfoSupported                CapMask     = 1 << 13
	IsSNMPTunnelingSupported            CapMask     = 1 << 17
	IsReinitSupported                   CapMask     = 1 << 18
	IsVendorClassSupported              CapMask     = 1 << 20
	IsDRNoticeSupported                 CapMask     = 1 << 21
	IsBootManagementSupported           CapMask     = 1 << 23
	IsLinkRoundTripLatencySupported     CapMask     = 1 << 24
	IsLinkSpeedWidthPairsTableSupported CapMask     = 1 << 27
	IsVendorSpecificMadsTableSupported  CapMask     = 1 << 28
	IsMcastPkeyTrapSuppressionSupported CapMask     = 1 << 29
	IsHierarchyInfoSupported            CapMask     = 1 << 31
	IsMKeyProtectBitsExtSupported       CapMask2    = 1 << 6
	IsEnhancedTrap128Supported          CapMask2    = 1 << 7
	IsPartitionTopSupported             CapMask2    = 1 << 8
	IsEnhancedQoSArbiterSupported       CapMask2    = 1 << 9
)
