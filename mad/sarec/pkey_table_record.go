package sarec

import (
	"encoding/binary"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// PKeyTableRecord is attribute 0x0033: a block of a port's P_Keys.
//
//	0 LID  BlockNum
//	4 PortNum  reserved
//	8 P_KeyTable
type PKeyTableRecord [72]byte

// Components of a PKeyTableRecord.
const (
	PKeyTableLID      mad.ComponentMask = 1 << 0
	PKeyTableBlockNum mad.ComponentMask = 1 << 1
)

var pkeyTableFields = [...]field{{0, 16}, {16, 16}, {32, 8}}

// PKeyTableMask has ones in the fields whose components are given, for Match.
func PKeyTableMask(comps mad.ComponentMask) (mask PKeyTableRecord) {
	fillMask(mask[:], pkeyTableFields[:], comps)
	return mask
}

// LID is the base LID of the end port, or of the switch.
func (r *PKeyTableRecord) LID() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[0:])) }

// SetLID replaces the LID.
func (r *PKeyTableRecord) SetLID(l mad.LID) { binary.BigEndian.PutUint16(r[0:], uint16(l)) }

// SetBlockNum replaces BlockNum.
func (r *PKeyTableRecord) SetBlockNum(n uint16) { binary.BigEndian.PutUint16(r[2:], n) }

// SetPortNum replaces PortNum.
func (r *PKeyTableRecord) SetPortNum(n uint8) { r[4] = n }

// PKeyTable is the block, as a view.
func (r *PKeyTableRecord) PKeyTable() *smp.PKeyTable { return (*smp.PKeyTable)(r[8:72]) }
