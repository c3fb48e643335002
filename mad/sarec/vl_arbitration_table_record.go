package sarec

import (
	"encoding/binary"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// VLArbitrationTableRecord is attribute 0x0036: a block of the list by which
// a port gives its lanes their turns.
//
//	0 LID  OutputPortNum  BlockNum
//	4 reserved
//	8 VLArbitrationTable
type VLArbitrationTableRecord [72]byte

// Components of a VLArbitrationTableRecord.
const (
	VLArbLID           mad.ComponentMask = 1 << 0
	VLArbOutputPortNum mad.ComponentMask = 1 << 1
	VLArbBlockNum      mad.ComponentMask = 1 << 2
)

var vlArbFields = [...]field{{0, 16}, {16, 8}, {24, 8}}

// VLArbMask has ones in the fields whose components are given, for Match.
func VLArbMask(comps mad.ComponentMask) (mask VLArbitrationTableRecord) {
	fillMask(mask[:], vlArbFields[:], comps)
	return mask
}

// LID is the base LID of the end port, or of the switch.
func (r *VLArbitrationTableRecord) LID() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[0:])) }

// SetLID replaces the LID.
func (r *VLArbitrationTableRecord) SetLID(l mad.LID) { binary.BigEndian.PutUint16(r[0:], uint16(l)) }

// SetOutputPortNum replaces OutputPortNum.
func (r *VLArbitrationTableRecord) SetOutputPortNum(n uint8) { r[2] = n }

// SetBlockNum replaces BlockNum.
func (r *VLArbitrationTableRecord) SetBlockNum(n uint8) { r[3] = n }

// VLArbitrationTable is the block, as a view.
func (r *VLArbitrationTableRecord) VLArbitrationTable() *smp.VLArbitrationTable {
	return (*smp.VLArbitrationTable)(r[8:72])
}
