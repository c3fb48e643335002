package smp

// CapMask is PortInfo.CapabilityMask. On a switch only port 0's counts, for its
// external ports too.
type CapMask uint32

// Bits of CapMask.
const (
	IsSM                                  CapMask = 1 << 1
	IsNoticeSupported                     CapMask = 1 << 2
	IsTrapSupported                       CapMask = 1 << 3
	IsOptionalIPDSupported                CapMask = 1 << 4
	IsAutomaticMigrationSupported         CapMask = 1 << 5
	IsSLMappingSupported                  CapMask = 1 << 6
	IsMKeyNVRAM                           CapMask = 1 << 7
	IsPKeyNVRAM                           CapMask = 1 << 8
	IsLEDInfoSupported                    CapMask = 1 << 9
	IsSMdisabled                          CapMask = 1 << 10
	IsSystemImageGUIDSupported            CapMask = 1 << 11
	IsPKeySwitchExternalPortTrapSupported CapMask = 1 << 12
	IsCableInfoSupported                  CapMask = 1 << 13
	IsExtendedSpeedsSupported             CapMask = 1 << 14
	IsCapabilityMask2Supported            CapMask = 1 << 15
	IsCommunicationManagementSupported    CapMask = 1 << 16
	IsSNMPTunnelingSupported              CapMask = 1 << 17
	IsReinitSupported                     CapMask = 1 << 18
	IsDeviceManagementSupported           CapMask = 1 << 19
	IsVendorClassSupported                CapMask = 1 << 20
	IsDRNoticeSupported                   CapMask = 1 << 21
	IsCapabilityMaskNoticeSupported       CapMask = 1 << 22
	IsBootManagementSupported             CapMask = 1 << 23
	IsLinkRoundTripLatencySupported       CapMask = 1 << 24
	IsClientReregistrationSupported       CapMask = 1 << 25
	IsOtherLocalChangesNoticeSupported    CapMask = 1 << 26
	IsLinkSpeedWidthPairsTableSupported   CapMask = 1 << 27
	IsVendorSpecificMadsTableSupported    CapMask = 1 << 28
	IsMcastPkeyTrapSuppressionSupported   CapMask = 1 << 29
	IsMulticastFDBTopSupported            CapMask = 1 << 30
	IsHierarchyInfoSupported              CapMask = 1 << 31
)

// Has reports whether all of the given bits are set.
func (m CapMask) Has(bits CapMask) bool { return m&bits == bits }

// CapMask2 is PortInfo.CapabilityMask2. It counts only beside a CapMask with
// IsCapabilityMask2Supported, and on a switch only port 0's.
type CapMask2 uint16

// Bits of CapMask2.
const (
	IsSetNodeDescriptionSupported   CapMask2 = 1 << 0
	IsPortInfoExtendedSupported     CapMask2 = 1 << 1
	IsVirtualizationSupported       CapMask2 = 1 << 2
	IsSwitchPortStateTableSupported CapMask2 = 1 << 3
	IsLinkWidth2xSupported          CapMask2 = 1 << 4
	IsLinkSpeedHDRSupported         CapMask2 = 1 << 5
	IsMKeyProtectBitsExtSupported   CapMask2 = 1 << 6
	IsEnhancedTrap128Supported      CapMask2 = 1 << 7
	IsPartitionTopSupported         CapMask2 = 1 << 8
	IsEnhancedQoSArbiterSupported   CapMask2 = 1 << 9
	IsLinkSpeedNDRSupported         CapMask2 = 1 << 10
	IsExtendedSpeeds2Supported      CapMask2 = 1 << 11
	IsLinkSpeedXDRSupported         CapMask2 = 1 << 12
)

// Has reports whether all of the given bits are set.
func (m CapMask2) Has(bits CapMask2) bool { return m&bits == bits }
