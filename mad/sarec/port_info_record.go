package sarec

import (
	"encoding/binary"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// PortInfoRecord is attribute 0x0012: PortInfo of a port of the node that owns
// the LID.
//
//	 0 EndportLID  PortNum  Options
//	 4 PortInfo
//	68 padding to the stride of a table
type PortInfoRecord [72]byte

// OptionFullPortInfo in Options says that the asker understands extended speeds,
// so that the classic speed fields need not pretend QDR.
const OptionFullPortInfo uint8 = 0x80

// Components of a PortInfoRecord. Those from PortInfoMKey on are PortInfo's fields
// in their order.
const (
	PortInfoEndportLID           mad.ComponentMask = 1 << 0
	PortInfoPortNum              mad.ComponentMask = 1 << 1
	PortInfoOptions              mad.ComponentMask = 1 << 2
	PortInfoMKey                 mad.ComponentMask = 1 << 3
	PortInfoLID                  mad.ComponentMask = 1 << 5
	PortInfoCapabilityMask       mad.ComponentMask = 1 << 7
	PortInfoLocalPortNum         mad.ComponentMask = 1 << 10
	PortInfoInitTypeReply        mad.ComponentMask = 1 << 30
	PortInfoPartEnforcementIn    mad.ComponentMask = 1 << 35
	PortInfoPartEnforcementOut   mad.ComponentMask = 1 << 36
	PortInfoClientReregister     mad.ComponentMask = 1 << 43
	PortInfoMcastPKeySuppression mad.ComponentMask = 1 << 44
	PortInfoLocalPhyErrors       mad.ComponentMask = 1 << 48
	PortInfoOverrunErrors        mad.ComponentMask = 1 << 49
	PortInfoCapabilityMask2      mad.ComponentMask = 1 << 53
)

// portInfoFields are the bits of the record: those of PortInfo plus 32.
var portInfoFields = [...]field{
	0: {0, 16}, 1: {16, 8}, 2: {24, 8},
	3: {32, 64}, 4: {96, 64}, 5: {160, 16}, 6: {176, 16}, 7: {192, 32}, 8: {224, 16}, 9: {240, 16}, 10: {256, 8},
	11: {264, 8}, 12: {272, 8}, 13: {280, 8}, 14: {288, 4}, 15: {292, 4}, 16: {296, 4}, 17: {300, 4}, 18: {304, 2},
	19: {}, 20: {309, 3}, 21: {312, 4}, 22: {316, 4}, 23: {320, 4}, 24: {324, 4}, 25: {328, 4}, 26: {332, 4},
	27: {336, 8}, 28: {344, 8}, 29: {352, 8}, 30: {360, 4}, 31: {364, 4}, 32: {368, 3}, 33: {371, 5}, 34: {376, 4},
	35: {380, 1}, 36: {381, 1}, 37: {382, 1}, 38: {383, 1}, 39: {384, 16}, 40: {400, 16}, 41: {416, 16}, 42: {432, 8},
	43: {440, 1}, 44: {441, 2}, 45: {443, 5}, 46: {}, 47: {451, 5}, 48: {456, 4}, 49: {460, 4}, 50: {464, 16},
	51: {}, 52: {488, 24}, 53: {512, 16}, 54: {528, 4}, 55: {532, 4}, 56: {}, 57: {539, 5},
}

// PortInfoMask has ones in the fields whose components are given, for Match.
func PortInfoMask(comps mad.ComponentMask) (mask PortInfoRecord) {
	fillMask(mask[:], portInfoFields[:], comps)
	return mask
}

// EndportLID is the base LID of the end port, or of the switch.
func (r *PortInfoRecord) EndportLID() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[0:])) }

// SetEndportLID replaces EndportLID.
func (r *PortInfoRecord) SetEndportLID(l mad.LID) { binary.BigEndian.PutUint16(r[0:], uint16(l)) }

// PortNum is the number of the port.
func (r *PortInfoRecord) PortNum() uint8 { return r[2] }

// SetPortNum replaces PortNum.
func (r *PortInfoRecord) SetPortNum(n uint8) { r[2] = n }

// Options is OptionFullPortInfo or 0.
func (r *PortInfoRecord) Options() uint8 { return r[3] }

// SetOptions replaces Options.
func (r *PortInfoRecord) SetOptions(o uint8) { r[3] = o }

// PortInfo is the attribute of the port, as a view.
func (r *PortInfoRecord) PortInfo() *smp.PortInfo { return (*smp.PortInfo)(r[4:68]) }
