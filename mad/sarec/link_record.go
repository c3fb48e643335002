package sarec

import (
	"encoding/binary"

	"ibsm/mad"
)

// LinkRecord is attribute 0x0020: a link as seen from one of its ends. A link
// has two of them.
//
//	0 FromLID  FromPort  ToPort
//	4 ToLID    padding to the stride of a table
type LinkRecord [8]byte

// Components of a LinkRecord.
const (
	LinkFromLID  mad.ComponentMask = 1 << 0
	LinkFromPort mad.ComponentMask = 1 << 1
	LinkToPort   mad.ComponentMask = 1 << 2
	LinkToLID    mad.ComponentMask = 1 << 3
)

var linkFields = [...]field{0: {0, 16}, 1: {16, 8}, 2: {24, 8}, 3: {32, 16}}

// LinkMask has ones in the fields whose components are given, for Match.
func LinkMask(comps mad.ComponentMask) (mask LinkRecord) {
	fillMask(mask[:], linkFields[:], comps)
	return mask
}

// FromLID is the base LID of the end port, or of the switch, that is the near end.
func (r *LinkRecord) FromLID() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[0:])) }

// SetFromLID replaces FromLID.
func (r *LinkRecord) SetFromLID(l mad.LID) { binary.BigEndian.PutUint16(r[0:], uint16(l)) }

// SetFromPort replaces FromPort.
func (r *LinkRecord) SetFromPort(n uint8) { r[2] = n }

// SetToPort replaces ToPort.
func (r *LinkRecord) SetToPort(n uint8) { r[3] = n }

// ToLID is the base LID of the end port, or of the switch, that is the far end.
func (r *LinkRecord) ToLID() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[4:])) }

// SetToLID replaces ToLID.
func (r *LinkRecord) SetToLID(l mad.LID) { binary.BigEndian.PutUint16(r[4:], uint16(l)) }
