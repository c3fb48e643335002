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

// Enabled says that the switch forwards by its AR tables, whatever its linear
// forwarding table holds.
func (a *ARInfo) Enabled() bool { return a[3]&0x01 != 0 }

// SetEnabled sets Enabled.
func (a *ARInfo) SetEnabled(v bool) { putBool(&a[3], 0x01, v) }
