package sarec

import (
	"encoding/binary"

	"ibsm/mad"
)

// PathRecord is attribute 0x0035: a path between two end ports (IBA 15.2.5.16).
//
//	 0 ServiceID
//	 8 DGID
//	24 SGID
//	40 DLID  SLID
//	44 RawTraffic:1 reserved:3 FlowLabel:20 HopLimit:8
//	48 TClass  Reversible:1 NumbPath:7  P_Key
//	52 QoSClass:12 SL:4  MTUSelector:2 MTU:6  RateSelector:2 Rate:6
//	56 PacketLifeTimeSelector:2 PacketLifeTime:6  Preference  reserved
type PathRecord [64]byte

// Components of a PathRecord. A request gives both halves of ServiceID or none.
const (
	PathServiceIDHigh          mad.ComponentMask = 1 << 0
	PathServiceIDLow           mad.ComponentMask = 1 << 1
	PathDGID                   mad.ComponentMask = 1 << 2
	PathSGID                   mad.ComponentMask = 1 << 3
	PathDLID                   mad.ComponentMask = 1 << 4
	PathSLID                   mad.ComponentMask = 1 << 5
	PathRawTraffic             mad.ComponentMask = 1 << 6
	PathFlowLabel              mad.ComponentMask = 1 << 8
	PathHopLimit               mad.ComponentMask = 1 << 9
	PathTClass                 mad.ComponentMask = 1 << 10
	PathReversible             mad.ComponentMask = 1 << 11
	PathNumbPath               mad.ComponentMask = 1 << 12
	PathPKey                   mad.ComponentMask = 1 << 13
	PathQoSClass               mad.ComponentMask = 1 << 14
	PathSL                     mad.ComponentMask = 1 << 15
	PathMTUSelector            mad.ComponentMask = 1 << 16
	PathMTU                    mad.ComponentMask = 1 << 17
	PathRateSelector           mad.ComponentMask = 1 << 18
	PathRate                   mad.ComponentMask = 1 << 19
	PathPacketLifeTimeSelector mad.ComponentMask = 1 << 20
	PathPacketLifeTime         mad.ComponentMask = 1 << 21
)

var pathFields = [...]field{
	0: {0, 32}, 1: {32, 32}, 2: {64, 128}, 3: {192, 128}, 4: {320, 16}, 5: {336, 16}, 6: {352, 1}, 7: {}, 8: {356, 20},
	9: {376, 8}, 10: {384, 8}, 11: {392, 1}, 12: {393, 7}, 13: {400, 16}, 14: {416, 12}, 15: {428, 4}, 16: {432, 2},
	17: {434, 6}, 18: {440, 2}, 19: {442, 6}, 20: {448, 2}, 21: {450, 6}, 22: {456, 8},
}

// PathMask has ones in the fields whose components are given, for Match.
func PathMask(comps mad.ComponentMask) (mask PathRecord) {
	fillMask(mask[:], pathFields[:], comps)
	return mask
}

// ServiceID is what the path is for; quality of service may depend on it.
func (r *PathRecord) ServiceID() uint64 { return binary.BigEndian.Uint64(r[0:]) }

// SetServiceID replaces ServiceID.
func (r *PathRecord) SetServiceID(id uint64) { binary.BigEndian.PutUint64(r[0:], id) }

// DGID is the destination port or multicast group.
func (r *PathRecord) DGID() mad.GID { return mad.GID(r[8:24]) }

// SetDGID replaces DGID.
func (r *PathRecord) SetDGID(g mad.GID) { copy(r[8:24], g[:]) }

// SGID is the source port.
func (r *PathRecord) SGID() mad.GID { return mad.GID(r[24:40]) }

// SetSGID replaces SGID.
func (r *PathRecord) SetSGID(g mad.GID) { copy(r[24:40], g[:]) }

// DLID is the LID to send to.
func (r *PathRecord) DLID() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[40:])) }

// SetDLID replaces DLID.
func (r *PathRecord) SetDLID(l mad.LID) { binary.BigEndian.PutUint16(r[40:], uint16(l)) }

// SLID is the LID to send from.
func (r *PathRecord) SLID() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[42:])) }

// SetSLID replaces SLID.
func (r *PathRecord) SetSLID(l mad.LID) { binary.BigEndian.PutUint16(r[42:], uint16(l)) }

// RawTraffic is set for raw packets, which carry no P_Key.
func (r *PathRecord) RawTraffic() bool { return r[44]&0x80 != 0 }

// SetRawTraffic replaces RawTraffic.
func (r *PathRecord) SetRawTraffic(raw bool) { r[44] = r[44]&0x7f | bit7(raw) }

// FlowLabel is the 20 bits for the GRH.
func (r *PathRecord) FlowLabel() uint32 { return binary.BigEndian.Uint32(r[44:]) >> 8 & 0xfffff }

// SetFlowLabel replaces FlowLabel; bits above the lower 20 are dropped.
func (r *PathRecord) SetFlowLabel(l uint32) { putFlowLabel(r[44:], l) }

// HopLimit is 0 within the subnet; above 0 Linux sends a GRH, kernels before 4.5 above 1.
func (r *PathRecord) HopLimit() uint8 { return r[47] }

// SetHopLimit replaces HopLimit.
func (r *PathRecord) SetHopLimit(h uint8) { r[47] = h }

// TClass is the traffic class for the GRH.
func (r *PathRecord) TClass() uint8 { return r[48] }

// SetTClass replaces TClass.
func (r *PathRecord) SetTClass(c uint8) { r[48] = c }

// Reversible says that the path back has the same properties, in a request that
// it must have.
func (r *PathRecord) Reversible() bool { return r[49]&0x80 != 0 }

// SetReversible replaces Reversible.
func (r *PathRecord) SetReversible(rev bool) { r[49] = r[49]&0x7f | bit7(rev) }

// NumbPath is how many paths for each pair of ports a table may have, 0..127.
func (r *PathRecord) NumbPath() uint8 { return r[49] & 0x7f }

// SetNumbPath replaces NumbPath; bit 7 is dropped.
func (r *PathRecord) SetNumbPath(n uint8) { r[49] = r[49]&0x80 | n&0x7f }

// PKey is a partition that both ends share.
func (r *PathRecord) PKey() mad.PKey { return mad.PKey(binary.BigEndian.Uint16(r[50:])) }

// SetPKey replaces PKey.
func (r *PathRecord) SetPKey(k mad.PKey) { binary.BigEndian.PutUint16(r[50:], uint16(k)) }

// QoSClass is the class of service asked for, 12 bits.
func (r *PathRecord) QoSClass() uint16 { return binary.BigEndian.Uint16(r[52:]) >> 4 }

// SetQoSClass replaces QoSClass; bits above the lower 12 are dropped.
func (r *PathRecord) SetQoSClass(c uint16) {
	binary.BigEndian.PutUint16(r[52:], c<<4|uint16(r[53]&0x0f))
}

// SL is the service level, 0..15.
func (r *PathRecord) SL() uint8 { return r[53] & 0x0f }

// SetSL replaces SL; bits above the lower four are dropped.
func (r *PathRecord) SetSL(sl uint8) { r[53] = r[53]&0xf0 | sl&0x0f }

// MTU is the largest payload and how it binds.
func (r *PathRecord) MTU() (Selector, mad.MTU) { return Selector(r[54] >> 6), mad.MTU(r[54] & 0x3f) }

// SetMTU replaces selector and MTU.
func (r *PathRecord) SetMTU(s Selector, m mad.MTU) { r[54] = byte(s)<<6 | byte(m)&0x3f }

// Rate is the rate of the slowest link and how it binds.
func (r *PathRecord) Rate() (Selector, mad.Rate) {
	return Selector(r[55] >> 6), mad.Rate(r[55] & 0x3f)
}

// SetRate replaces selector and rate.
func (r *PathRecord) SetRate(s Selector, v mad.Rate) { r[55] = byte(s)<<6 | byte(v)&0x3f }

// PacketLifeTime is the longest time of a packet under way, 4.096 us x 2^n, and
// how it binds.
func (r *PathRecord) PacketLifeTime() (Selector, uint8) { return Selector(r[56] >> 6), r[56] & 0x3f }

// SetPacketLifeTime replaces selector and lifetime.
func (r *PathRecord) SetPacketLifeTime(s Selector, v uint8) { r[56] = byte(s)<<6 | v&0x3f }

// Preference ranks the paths of a pair of ports, 0 the best.
func (r *PathRecord) Preference() uint8 { return r[57] }

// SetPreference replaces Preference.
func (r *PathRecord) SetPreference(p uint8) { r[57] = p }

func bit7(set bool) byte {
	if set {
		return 0x80
	}
	return 0
}

// putFlowLabel writes the lower 20 bits behind the first nibble and keeps what is
// around them.
func putFlowLabel(b []byte, l uint32) {
	binary.BigEndian.PutUint32(b, binary.BigEndian.Uint32(b)&^0x0fffff00|l&0xfffff<<8)
}
