package sarec

import (
	"encoding/binary"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// MulticastForwardingTableRecord is attribute 0x0017: a block of a
// switch's multicast table.
//
//	0 LID  Position:4 reserved:3 BlockNum:9
//	4 reserved
//	8 MulticastForwardingTable
type MulticastForwardingTableRecord [72]byte

// Components of a MulticastForwardingTableRecord.
const (
	MFTLID      mad.ComponentMask = 1 << 0
	MFTPosition mad.ComponentMask = 1 << 1
	MFTBlockNum mad.ComponentMask = 1 << 3
)

var mftFields = [...]field{0: {0, 16}, 1: {16, 4}, 2: {}, 3: {23, 9}}

// MFTMask has ones in the fields whose components are given, for Match.
func MFTMask(comps mad.ComponentMask) (mask MulticastForwardingTableRecord) {
	fillMask(mask[:], mftFields[:], comps)
	return mask
}

// LID is the base LID of the switch.
func (r *MulticastForwardingTableRecord) LID() mad.LID {
	return mad.LID(binary.BigEndian.Uint16(r[0:]))
}

// SetLID replaces the LID.
func (r *MulticastForwardingTableRecord) SetLID(l mad.LID) {
	binary.BigEndian.PutUint16(r[0:], uint16(l))
}

// SetPosition replaces Position; bits above the lower four are dropped.
func (r *MulticastForwardingTableRecord) SetPosition(p uint8) { r[2] = p<<4 | r[2]&0x0f }

// SetBlockNum replaces BlockNum; bits above the lower nine are dropped.
func (r *MulticastForwardingTableRecord) SetBlockNum(n uint16) {
	binary.BigEndian.PutUint16(r[2:], binary.BigEndian.Uint16(r[2:])&0xfe00|n&0x1ff)
}

// MulticastForwardingTable is the block, as a view.
func (r *MulticastForwardingTableRecord) MulticastForwardingTable() *smp.MulticastForwardingTable {
	return (*smp.MulticastForwardingTable)(r[8:72])
}
