package smp

import "ibsm/mad"

// PrivateLFTInfo is NVIDIA's attribute 0xFF10, private linear forwarding tables of a switch.
// Ask it only of a switch whose GeneralInfo has CapPrivateLFT.
//
//	1 NumPLFTs, 0 for 36
//	2 ModeCap
//	3 ActiveMode
//
// A manager only reads it.
type PrivateLFTInfo [mad.DataSize]byte

// ActiveMode is the mode in use. 0 is none: the switch forwards by its linear forwarding
// table. In another mode it selects a private table by input port and SL.
func (p *PrivateLFTInfo) ActiveMode() uint8 { return p[3] }

// SetActiveMode sets ActiveMode.
func (p *PrivateLFTInfo) SetActiveMode(mode uint8) { p[3] = mode }
