package sarec

import (
	"encoding/binary"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// SLtoVLMappingTableRecord is attribute 0x0013: the virtual lanes of
// packets from one port of a node to another.
//
//	0 LID  InputPortNum  OutputPortNum
//	4 reserved
//	8 SLtoVLMappingTable
type SLtoVLMappingTableRecord [16]byte

// Components of a SLtoVLMappingTableRecord.
const (
	SLtoVLLID           mad.ComponentMask = 1 << 0
	SLtoVLInputPortNum  mad.ComponentMask = 1 << 1
	SLtoVLOutputPortNum mad.ComponentMask = 1 << 2
)

var slToVLFields = [...]field{{0, 16}, {16, 8}, {24, 8}}

// SLtoVLMask has ones in the fields whose components are given, for Match.
func SLtoVLMask(comps mad.ComponentMask) (mask SLtoVLMappingTableRecord) {
	fillMask(mask[:], slToVLFields[:], comps)
	return mask
}

// LID is the base LID of the end port, or of the switch.
func (r *SLtoVLMappingTableRecord) LID() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[0:])) }

// SetLID replaces the LID.
func (r *SLtoVLMappingTableRecord) SetLID(l mad.LID) { binary.BigEndian.PutUint16(r[0:], uint16(l)) }

// SetInputPortNum replaces InputPortNum.
func (r *SLtoVLMappingTableRecord) SetInputPortNum(n uint8) { r[2] = n }

// SetOutputPortNum replaces OutputPortNum.
func (r *SLtoVLMappingTableRecord) SetOutputPortNum(n uint8) { r[3] = n }

// SetSLtoVLMappingTable replaces the mapping.
func (r *SLtoVLMappingTableRecord) SetSLtoVLMappingTable(t *smp.SLtoVLMappingTable) {
	copy(r[8:16], t[:])
}
