package sarec

import (
	"encoding/binary"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// GUIDInfoRecord is attribute 0x0030: a block of the GUIDs of an end port (IBA
// 15.2.5.18).
//
//	0 LID  BlockNum  reserved
//	8 GUIDInfo
type GUIDInfoRecord [72]byte

// Components of a GUIDInfoRecord.
const (
	GUIDInfoLID      mad.ComponentMask = 1 << 0
	GUIDInfoBlockNum mad.ComponentMask = 1 << 1
	GUIDInfoGUID0    mad.ComponentMask = 1 << 4 // GUIDInfoGUID0 << i is entry i
)

var guidInfoFields = [...]field{
	0: {0, 16}, 1: {16, 8}, 2: {}, 3: {}, 4: {64, 64}, 5: {128, 64}, 6: {192, 64}, 7: {256, 64}, 8: {320, 64},
	9: {384, 64}, 10: {448, 64}, 11: {512, 64},
}

// GUIDInfoMask has ones in the fields whose components are given, for Match.
func GUIDInfoMask(comps mad.ComponentMask) (mask GUIDInfoRecord) {
	fillMask(mask[:], guidInfoFields[:], comps)
	return mask
}

// LID is the base LID of the end port.
func (r *GUIDInfoRecord) LID() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[0:])) }

// SetLID replaces the LID.
func (r *GUIDInfoRecord) SetLID(l mad.LID) { binary.BigEndian.PutUint16(r[0:], uint16(l)) }

// BlockNum counts the blocks of smp.GUIDsPerBlock GUIDs from 0.
func (r *GUIDInfoRecord) BlockNum() uint8 { return r[2] }

// SetBlockNum replaces BlockNum.
func (r *GUIDInfoRecord) SetBlockNum(n uint8) { r[2] = n }

// GUIDInfo is the block, as a view.
func (r *GUIDInfoRecord) GUIDInfo() *smp.GUIDInfo { return (*smp.GUIDInfo)(r[8:72]) }
