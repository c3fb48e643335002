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
// Its modifier is not in NVIDIA's header. 0 is a guess: a switch that refuses it counts as one without adaptive
// routing.
//
// A manager reads it, and may only switch it off: TurnOff in what was read.
type ARInfo [mad.DataSize]byte

// TurnOff clears adaptive routing and all that depends on its groups: fast recovery, routing
// notifications, pFRN, and hash-based forwarding. Other fields stay.
func (a *ARInfo) TurnOff() {
	a.SetEnabled(false)
	a[3] &^= 0x10 | 0x20
	a[22] &^= 0x10 | 0x40 | 0x80
}

// NoFallback says what the switch does with a Set of LinearForwardingTable while adaptive
// routing is on: it returns an error; otherwise it turns adaptive routing off.
func (a *ARInfo) NoFallback() bool { return a[0]&0x01 != 0 }

// SetNoFallback sets NoFallback.
func (a *ARInfo) SetNoFallback(v bool) { putBool(&a[0], 0x01, v) }

// Enabled says that the switch forwards by its AR tables, whatever its linear
// forwarding table holds.
func (a *ARInfo) Enabled() bool { return a[3]&0x01 != 0 }

// SetEnabled sets Enabled.
func (a *ARInfo) SetEnabled(v bool) { putBool(&a[3], 0x01, v) }

// WHBFEnabled says that weighted hash-based forwarding is on.
func (a *ARInfo) WHBFEnabled() bool { return a[22]&0x40 != 0 }

// HBFEnabled says that hash-based forwarding is on.
func (a *ARInfo) HBFEnabled() bool { return a[22]&0x80 != 0 }
