package sarec

import (
	"encoding/binary"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// LinearForwardingTableRecord is attribute 0x0015: a block of a switch's
// unicast table.
//
//	0 LID  BlockNum
//	4 reserved
//	8 LinearForwardingTable
type LinearForwardingTableRecord [72]byte

// Components of a LinearForwardingTableRecord.
const (
	LFTLID      mad.ComponentMask = 1 << 0
	LFTBlockNum mad.ComponentMask = 1 << 1
)

var lftFields = [...]field{{0, 16}, {16, 16}}

// LFTMask has ones in the fields whose components are given, for Match.
func LFTMask(comps mad.ComponentMask) (mask LinearForwardingTableRecord) {
	fillMask(mask[:], lftFields[:], comps)
	return mask
}

// LID is the base LID of the switch.
func (r *LinearForwardingTableRecord) LID() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[0:])) }

// SetLID replaces the LID.
func (r *LinearForwardingTableRecord) SetLID(l mad.LID) { binary.BigEndian.PutUint16(r[0:], uint16(l)) }

// SetBlockNum replaces BlockNum.
func (r *LinearForwardingTableRecord) SetBlockNum(n uint16) { binary.BigEndian.PutUint16(r[2:], n) }

// LinearForwardingTable is the block, as a view.
func (r *LinearForwardingTableRecord) LinearForwardingTable() *smp.LinearForwardingTable {
	return (*smp.LinearForwardingTable)(r[8:72])
}
