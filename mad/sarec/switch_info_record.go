package sarec

import (
	"encoding/binary"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// SwitchInfoRecord is attribute 0x0014: SwitchInfo of a switch.
//
//	0 LID  reserved
//	4 SwitchInfo, the 20 bytes it uses
type SwitchInfoRecord [24]byte

// Components of a SwitchInfoRecord.
const (
	SwitchInfoLID mad.ComponentMask = 1 << 0
)

// LID is the base LID of the switch.
func (r *SwitchInfoRecord) LID() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[0:])) }

// SetLID replaces the LID.
func (r *SwitchInfoRecord) SetLID(l mad.LID) { binary.BigEndian.PutUint16(r[0:], uint16(l)) }

// SwitchInfo is the attribute of the switch.
func (r *SwitchInfoRecord) SwitchInfo() (si smp.SwitchInfo) {
	copy(si[:20], r[4:24])
	return si
}

// SetSwitchInfo replaces SwitchInfo.
func (r *SwitchInfoRecord) SetSwitchInfo(si *smp.SwitchInfo) { copy(r[4:24], si[:20]) }
