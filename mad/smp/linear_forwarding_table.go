package smp

import "ibsm/mad"

// LFTBlockSize is the number of LIDs in one block of a linear forwarding table.
// The attribute modifier is the block, LID / LFTBlockSize.
const LFTBlockSize = 64

// LFTDrop is the entry of a LID that the switch does not forward.
const LFTDrop uint8 = 0xff

// LinearForwardingTable is attribute 0x0019, a block of a switch's table: one
// output port for each LID (IBA 14.2.5.10).
type LinearForwardingTable [mad.DataSize]byte

// SetPort sets the output port of a LID of this block.
func (t *LinearForwardingTable) SetPort(l mad.LID, port uint8) { t[l%LFTBlockSize] = port }
