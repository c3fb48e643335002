package sarec

import (
	"encoding/binary"

	"ibsm/mad"
)

// SMInfoRecord is attribute 0x0018: a subnet manager and its port.
//
//	 0 LID  reserved
//	 4 GUID
//	12 SM_Key
//	20 ActCount
//	24 Priority SMState, 4 bits each
//	25 padding to the stride of a table
type SMInfoRecord [32]byte

// Components of an SMInfoRecord.
const (
	SMInfoLID      mad.ComponentMask = 1 << 0
	SMInfoGUID     mad.ComponentMask = 1 << 2
	SMInfoSMKey    mad.ComponentMask = 1 << 3
	SMInfoActCount mad.ComponentMask = 1 << 4
	SMInfoPriority mad.ComponentMask = 1 << 5
	SMInfoSMState  mad.ComponentMask = 1 << 6
)

var smInfoFields = [...]field{
	0: {0, 16}, 1: {}, 2: {32, 64}, 3: {96, 64}, 4: {160, 32}, 5: {192, 4}, 6: {196, 4},
}

// SMInfoMask has ones in the fields whose components are given, for Match.
func SMInfoMask(comps mad.ComponentMask) (mask SMInfoRecord) {
	fillMask(mask[:], smInfoFields[:], comps)
	return mask
}

// SetLID replaces the LID.
func (r *SMInfoRecord) SetLID(l mad.LID) { binary.BigEndian.PutUint16(r[0:], uint16(l)) }

// GUID is that of the manager's port.
func (r *SMInfoRecord) GUID() mad.GUID { return mad.GUID(binary.BigEndian.Uint64(r[4:])) }

// SetGUID replaces the GUID.
func (r *SMInfoRecord) SetGUID(g mad.GUID) { binary.BigEndian.PutUint64(r[4:], uint64(g)) }

// SetSMKey replaces the SM_Key.
func (r *SMInfoRecord) SetSMKey(k uint64) { binary.BigEndian.PutUint64(r[12:], k) }

// SetActCount replaces ActCount.
func (r *SMInfoRecord) SetActCount(n uint32) { binary.BigEndian.PutUint32(r[20:], n) }

// SetPriority replaces Priority; bits above the lower four are dropped.
func (r *SMInfoRecord) SetPriority(p uint8) { r[24] = p<<4 | r[24]&0x0f }

// SetSMState replaces SMState.
func (r *SMInfoRecord) SetSMState(s uint8) { r[24] = r[24]&0xf0 | s&0x0f }
