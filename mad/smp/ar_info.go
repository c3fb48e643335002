package smp

import "ibsm/mad"

// ARInfo is NVIDIA's attribute 0xFF20, adaptive routing of a switch. Ask it only
// of a switch whose GeneralInfo has CapAdaptiveRouting.
//
//	 0 capabilities 1 each
//	 2 GroupTableCopySupported 4, SubGroupsActive 4
//	 3 Enabled and others 1 each
//	 4 StringWidthCap 4, GroupTableCap 4, GroupTop 12, GroupCap 12
//	 8 SLMask 16
//	10 SubGroupsSupported
//	15 TransportDisableMask
//	16 AgeingTime 32
//	20 capabilities, 22 enables 1 each
//	26 HBFSLMask 16
//
// A manager reads it, and may only switch it off: SetEnabled in what was read.
type ARInfo [mad.DataSize]byte

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

// Enabled says that the switch forwards by its AR tables, whatever its linear
// forwarding table holds.
func (a *ARInfo) Enabled() bool { return a[3]&0x01 != 0 }

// SetEnabled sets Enabled.
func (a *ARInfo) SetEnabled(v bool) { putBool(&a[3], 0x01, v) }

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

// WHBFEnabled says that weighted hash-based forwarding is on.
func (a *ARInfo) WHBFEnabled() bool { return a[22]&0x40 != 0 }

// HBFEnabled says that hash-based forwarding is on.
func (a *ARInfo) HBFEnabled() bool { return a[22]&0x80 != 0 }

// HBFSLMask is the SLs with hash-based forwarding.
func (a *ARInfo) HBFSLMask() uint16 { return get16(a[26:]) }
