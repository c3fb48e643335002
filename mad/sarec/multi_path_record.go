package sarec

import (
	"encoding/binary"

	"ibsm/mad"
)

// MultiPathMaxGIDs is the number of GIDs for which a MultiPathRecord of one packet
// has room.
const MultiPathMaxGIDs = 11

// MultiPathRecord is attribute 0x003A: a request for paths from each of some ports
// to each of others (IBA 15.2.5.20). The answer is in PathRecords.
//
//	 0 RawTraffic:1 reserved:3 FlowLabel:20 HopLimit:8
//	 4 TClass  Reversible:1 NumbPath:7  P_Key
//	 8 QoSClass:12 SL:4  MTUSelector:2 MTU:6  RateSelector:2 Rate:6
//	12 PacketLifeTimeSelector:2 PacketLifeTime:6  ServiceID's high byte
//	14 IndependenceSelector:2 reserved:6  SGIDCount
//	16 DGIDCount  ServiceID's low 7 bytes
//	24 SGIDs, then DGIDs
type MultiPathRecord [24 + 16*MultiPathMaxGIDs]byte

// Components of a MultiPathRecord.
const (
	MultiPathRawTraffic             mad.ComponentMask = 1 << 0
	MultiPathReversible             mad.ComponentMask = 1 << 5
	MultiPathNumbPath               mad.ComponentMask = 1 << 6
	MultiPathPKey                   mad.ComponentMask = 1 << 7
	MultiPathQoSClass               mad.ComponentMask = 1 << 8
	MultiPathSL                     mad.ComponentMask = 1 << 9
	MultiPathMTUSelector            mad.ComponentMask = 1 << 10
	MultiPathMTU                    mad.ComponentMask = 1 << 11
	MultiPathRateSelector           mad.ComponentMask = 1 << 12
	MultiPathRate                   mad.ComponentMask = 1 << 13
	MultiPathPacketLifeTimeSelector mad.ComponentMask = 1 << 14
	MultiPathPacketLifeTime         mad.ComponentMask = 1 << 15
	MultiPathServiceIDHigh          mad.ComponentMask = 1 << 16
	MultiPathSGIDCount              mad.ComponentMask = 1 << 19
	MultiPathDGIDCount              mad.ComponentMask = 1 << 20
	MultiPathServiceIDLow           mad.ComponentMask = 1 << 21
)

// RawTraffic is set for raw packets, which carry no P_Key.
func (r *MultiPathRecord) RawTraffic() bool { return r[0]&0x80 != 0 }

// Reversible says that the paths back must have the same properties.
func (r *MultiPathRecord) Reversible() bool { return r[5]&0x80 != 0 }

// NumbPath is how many paths the answer may have, 0..127.
func (r *MultiPathRecord) NumbPath() uint8 { return r[5] & 0x7f }

// SetNumbPath replaces NumbPath; bit 7 is dropped.
func (r *MultiPathRecord) SetNumbPath(n uint8) { r[5] = r[5]&0x80 | n&0x7f }

// PKey is a partition that the ends must share.
func (r *MultiPathRecord) PKey() mad.PKey { return mad.PKey(binary.BigEndian.Uint16(r[6:])) }

// SetPKey replaces PKey.
func (r *MultiPathRecord) SetPKey(k mad.PKey) { binary.BigEndian.PutUint16(r[6:], uint16(k)) }

// SL is the service level, 0..15.
func (r *MultiPathRecord) SL() uint8 { return r[9] & 0x0f }

// MTU is the payload asked for and how it binds.
func (r *MultiPathRecord) MTU() (Selector, mad.MTU) {
	return Selector(r[10] >> 6), mad.MTU(r[10] & 0x3f)
}

// SetMTU replaces selector and MTU.
func (r *MultiPathRecord) SetMTU(s Selector, m mad.MTU) { r[10] = byte(s)<<6 | byte(m)&0x3f }

// Rate is the rate asked for and how it binds.
func (r *MultiPathRecord) Rate() (Selector, mad.Rate) {
	return Selector(r[11] >> 6), mad.Rate(r[11] & 0x3f)
}

// SetRate replaces selector and rate.
func (r *MultiPathRecord) SetRate(s Selector, v mad.Rate) { r[11] = byte(s)<<6 | byte(v)&0x3f }

// PacketLifeTime is the longest time of a packet under way, 4.096 us x 2^n, and
// how it binds.
func (r *MultiPathRecord) PacketLifeTime() (Selector, uint8) {
	return Selector(r[12] >> 6), r[12] & 0x3f
}

// SetPacketLifeTime replaces selector and lifetime.
func (r *MultiPathRecord) SetPacketLifeTime(s Selector, v uint8) { r[12] = byte(s)<<6 | v&0x3f }

// QoSClass is the class of service asked for, 12 bits.
func (r *MultiPathRecord) QoSClass() uint16 { return binary.BigEndian.Uint16(r[8:]) >> 4 }

// ServiceIDHigh is the high byte of what the paths are for.
func (r *MultiPathRecord) ServiceIDHigh() uint8 { return r[13] }

// ServiceIDLow is the low 56 bits of what the paths are for.
func (r *MultiPathRecord) ServiceIDLow() uint64 { return binary.BigEndian.Uint64(r[16:]) & (1<<56 - 1) }

// SGIDCount is the number of sources; more than there is room for may stand here.
func (r *MultiPathRecord) SGIDCount() uint8 { return r[15] }

// SetSGIDCount replaces SGIDCount.
func (r *MultiPathRecord) SetSGIDCount(n uint8) { r[15] = n }

// DGIDCount is the number of destinations; more than there is room for may stand
// here.
func (r *MultiPathRecord) DGIDCount() uint8 { return r[16] }

// SetDGIDCount replaces DGIDCount.
func (r *MultiPathRecord) SetDGIDCount(n uint8) { r[16] = n }

// GID is entry i of the list, the sources first, 0 <= i < MultiPathMaxGIDs.
func (r *MultiPathRecord) GID(i int) mad.GID { return mad.GID(r[24+16*i:]) }

// SetGID replaces entry i, counted as in GID.
func (r *MultiPathRecord) SetGID(i int, g mad.GID) { copy(r[24+16*i:], g[:]) }
