package sarec

import (
	"encoding/binary"

	"ibsm/mad"
)

// InformInfoRecord is attribute 0x00F3: a subscription (IBA 15.2.5.12).
//
//	 0 SubscriberGID
//	16 Enum  reserved
//	24 InformInfo
//	60 padding to the stride of a table
type InformInfoRecord [64]byte

// Components of an InformInfoRecord. Those from InformGID on are InformInfo's
// fields in their order.
const (
	InformSubscriberGID mad.ComponentMask = 1 << 0
	InformEnum          mad.ComponentMask = 1 << 1
	InformTrapNumber    mad.ComponentMask = 1 << 10
	InformQPN           mad.ComponentMask = 1 << 11
)

var informInfoFields = [...]field{
	0: {0, 128}, 1: {128, 16}, 2: {}, 3: {192, 128}, 4: {320, 16}, 5: {336, 16}, 6: {}, 7: {368, 8}, 8: {376, 8},
	9: {384, 16}, 10: {400, 16}, 11: {416, 24}, 12: {}, 13: {443, 5}, 14: {}, 15: {456, 24},
}

// InformInfoMask has ones in the fields whose components are given, for Match.
func InformInfoMask(comps mad.ComponentMask) (mask InformInfoRecord) {
	fillMask(mask[:], informInfoFields[:], comps)
	return mask
}

// SubscriberGID is the port that subscribed.
func (r *InformInfoRecord) SubscriberGID() mad.GID { return mad.GID(r[0:16]) }

// SetSubscriberGID replaces SubscriberGID.
func (r *InformInfoRecord) SetSubscriberGID(g mad.GID) { copy(r[0:16], g[:]) }

// SetEnum replaces Enum.
func (r *InformInfoRecord) SetEnum(n uint16) { binary.BigEndian.PutUint16(r[16:], n) }

// InformInfo is what was subscribed to, as a view.
func (r *InformInfoRecord) InformInfo() *InformInfo { return (*InformInfo)(r[24:60]) }
