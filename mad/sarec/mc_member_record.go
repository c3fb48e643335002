package sarec

import (
	"encoding/binary"

	"ibsm/mad"
)

// MCMemberRecord is attribute 0x0038: a multicast group and, where the asker may
// know, one member of it (IBA 15.2.5.17).
//
//	 0 MGID
//	16 PortGID
//	32 Q_Key
//	36 MLID  MTUSelector:2 MTU:6  TClass
//	40 P_Key  RateSelector:2 Rate:6  PacketLifeTimeSelector:2 PacketLifeTime:6
//	44 SL:4 FlowLabel:20 HopLimit:8
//	48 Scope:4 JoinState:4  ProxyJoin:1 reserved
//	52 padding to the stride of a table
type MCMemberRecord [56]byte

// Components of an MCMemberRecord.
const (
	MCMemberMGID                   mad.ComponentMask = 1 << 0
	MCMemberPortGID                mad.ComponentMask = 1 << 1
	MCMemberQKey                   mad.ComponentMask = 1 << 2
	MCMemberMLID                   mad.ComponentMask = 1 << 3
	MCMemberMTUSelector            mad.ComponentMask = 1 << 4
	MCMemberMTU                    mad.ComponentMask = 1 << 5
	MCMemberTClass                 mad.ComponentMask = 1 << 6
	MCMemberPKey                   mad.ComponentMask = 1 << 7
	MCMemberRateSelector           mad.ComponentMask = 1 << 8
	MCMemberRate                   mad.ComponentMask = 1 << 9
	MCMemberPacketLifeTimeSelector mad.ComponentMask = 1 << 10
	MCMemberPacketLifeTime         mad.ComponentMask = 1 << 11
	MCMemberSL                     mad.ComponentMask = 1 << 12
	MCMemberFlowLabel              mad.ComponentMask = 1 << 13
	MCMemberHopLimit               mad.ComponentMask = 1 << 14
	MCMemberScope                  mad.ComponentMask = 1 << 15
	MCMemberJoinState              mad.ComponentMask = 1 << 16
	MCMemberProxyJoin              mad.ComponentMask = 1 << 17
)

var mcMemberFields = [...]field{
	0: {0, 128}, 1: {128, 128}, 2: {256, 32}, 3: {288, 16}, 4: {304, 2}, 5: {306, 6}, 6: {312, 8}, 7: {320, 16},
	8: {336, 2}, 9: {338, 6}, 10: {344, 2}, 11: {346, 6}, 12: {352, 4}, 13: {356, 20}, 14: {376, 8}, 15: {384, 4},
	16: {388, 4}, 17: {392, 1},
}

// MCMemberMask has ones in the fields whose components are given, for Match.
func MCMemberMask(comps mad.ComponentMask) (mask MCMemberRecord) {
	fillMask(mask[:], mcMemberFields[:], comps)
	return mask
}

// MGID is the group; 0 in a request to create one whose MGID the SA makes.
func (r *MCMemberRecord) MGID() mad.GID { return mad.GID(r[0:16]) }

// SetMGID replaces the MGID.
func (r *MCMemberRecord) SetMGID(g mad.GID) { copy(r[0:16], g[:]) }

// PortGID is the member; 0 where the asker may not know.
func (r *MCMemberRecord) PortGID() mad.GID { return mad.GID(r[16:32]) }

// SetPortGID replaces PortGID.
func (r *MCMemberRecord) SetPortGID(g mad.GID) { copy(r[16:32], g[:]) }

// QKey is that of the group's packets.
func (r *MCMemberRecord) QKey() uint32 { return binary.BigEndian.Uint32(r[32:]) }

// SetQKey replaces the Q_Key.
func (r *MCMemberRecord) SetQKey(k uint32) { binary.BigEndian.PutUint32(r[32:], k) }

// MLID is the LID of the group.
func (r *MCMemberRecord) MLID() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[36:])) }

// SetMLID replaces the MLID.
func (r *MCMemberRecord) SetMLID(l mad.LID) { binary.BigEndian.PutUint16(r[36:], uint16(l)) }

// MTU is the largest payload of the group and how it binds.
func (r *MCMemberRecord) MTU() (Selector, mad.MTU) {
	return Selector(r[38] >> 6), mad.MTU(r[38] & 0x3f)
}

// SetMTU replaces selector and MTU.
func (r *MCMemberRecord) SetMTU(s Selector, m mad.MTU) { r[38] = byte(s)<<6 | byte(m)&0x3f }

// TClass is the traffic class for the GRH.
func (r *MCMemberRecord) TClass() uint8 { return r[39] }

// SetTClass replaces TClass.
func (r *MCMemberRecord) SetTClass(c uint8) { r[39] = c }

// PKey is the partition of the group.
func (r *MCMemberRecord) PKey() mad.PKey { return mad.PKey(binary.BigEndian.Uint16(r[40:])) }

// SetPKey replaces the P_Key.
func (r *MCMemberRecord) SetPKey(k mad.PKey) { binary.BigEndian.PutUint16(r[40:], uint16(k)) }

// Rate is the rate that senders keep to and how it binds.
func (r *MCMemberRecord) Rate() (Selector, mad.Rate) {
	return Selector(r[42] >> 6), mad.Rate(r[42] & 0x3f)
}

// SetRate replaces selector and rate.
func (r *MCMemberRecord) SetRate(s Selector, v mad.Rate) { r[42] = byte(s)<<6 | byte(v)&0x3f }

// PacketLifeTime is the longest time of a packet under way, 4.096 us x 2^n, and
// how it binds.
func (r *MCMemberRecord) PacketLifeTime() (Selector, uint8) {
	return Selector(r[43] >> 6), r[43] & 0x3f
}

// SetPacketLifeTime replaces selector and lifetime.
func (r *MCMemberRecord) SetPacketLifeTime(s Selector, v uint8) { r[43] = byte(s)<<6 | v&0x3f }

// SL is the service level, 0..15.
func (r *MCMemberRecord) SL() uint8 { return r[44] >> 4 }

// SetSL replaces the SL; bits above the lower four are dropped.
func (r *MCMemberRecord) SetSL(sl uint8) { r[44] = sl<<4 | r[44]&0x0f }

// FlowLabel is the 20 bits for the GRH.
func (r *MCMemberRecord) FlowLabel() uint32 { return binary.BigEndian.Uint32(r[44:]) >> 8 & 0xfffff }

// SetFlowLabel replaces FlowLabel; bits above the lower 20 are dropped.
func (r *MCMemberRecord) SetFlowLabel(l uint32) { putFlowLabel(r[44:], l) }

// HopLimit is that of the GRH.
func (r *MCMemberRecord) HopLimit() uint8 { return r[47] }

// SetHopLimit replaces HopLimit.
func (r *MCMemberRecord) SetHopLimit(h uint8) { r[47] = h }

// Scope is how far the group reaches, as the MGID's fourth nibble has it.
func (r *MCMemberRecord) Scope() uint8 { return r[48] >> 4 }

// SetScope replaces Scope; bits above the lower four are dropped.
func (r *MCMemberRecord) SetScope(s uint8) { r[48] = s<<4 | r[48]&0x0f }

// JoinState is the set of ways to be a member: 1 FullMember, 2 NonMember,
// 4 SendOnlyNonMember, 8 SendOnlyFullMember.
func (r *MCMemberRecord) JoinState() uint8 { return r[48] & 0x0f }

// SetJoinState replaces JoinState; bits above the lower four are dropped.
func (r *MCMemberRecord) SetJoinState(j uint8) { r[48] = r[48]&0xf0 | j&0x0f }

// ProxyJoin says that another port made this one a member.
func (r *MCMemberRecord) ProxyJoin() bool { return r[49]&0x80 != 0 }

// SetProxyJoin replaces ProxyJoin.
func (r *MCMemberRecord) SetProxyJoin(proxy bool) { r[49] = r[49]&0x7f | bit7(proxy) }
