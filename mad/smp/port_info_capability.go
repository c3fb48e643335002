package smp

// CapMask is PortInfo.CapabilityMask. On a switch only port 0's counts, for its
// external ports too.
type CapMask uint32

// Bits of CapMask.
const (
	IsSM                                  CapMask = 1 << 1
	IsNoticeSupported                     CapMask = 1 << 2
	IsTrapSupported                       CapMask = 1 << 3
	IsSLMappingSupported                  CapMask = 1 << 6
	IsSystemImageGUIDSupported            CapMask = 1 << 11
	IsPKeySwitchExternalPortTrapSupported CapMask = 1 << 12
	IsExtendedSpeedsSupported             CapMask = 1 << 14
	IsCapabilityMask2Supported            CapMask = 1 << 15
	IsCommunicationManagementSupported    CapMask = 1 << 16
	IsDeviceManagementSupported           CapMask = 1 << 19
	IsCapabilityMaskNoticeSupported       CapMask = 1 << 22
	IsClientReregistrationSupported       CapMask = 1 << 25
	IsOtherLocalChangesNoticeSupported    CapMask = 1 << 26
	IsMulticastFDBTopSupported            CapMask = 1 << 30
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
	IsLinkSpeedNDRSupported         CapMask2 = 1 << 10
	IsExtendedSpeeds2Supported      CapMask2 = 1 << 11
	IsLinkSpeedXDRSupported         CapMask2 = 1 << 12
)

// Has reports whether all of the given bits are set.
func (m CapMask2) Has(bits CapMask2) bool { return m&bits == bits }
