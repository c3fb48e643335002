package sarec

import (
	"encoding/binary"

	"ibsm/mad"
)

// InformInfo is attribute 0x0003: which notices a client subscribes to, or no
// more (IBA 13.4.8.3).
//
//	 0 GID
//	16 LIDRangeBegin  LIDRangeEnd
//	20 reserved  IsGeneric  Subscribe
//	24 Type  TrapNumber or DeviceID
//	28 QPN:24 reserved:3 RespTimeValue:5
//	32 reserved  ProducerType or VendorID:24
type InformInfo [36]byte

// GID is the issuer of the notices wanted; 0 to go by the range of LIDs.
func (r *InformInfo) GID() mad.GID { return mad.GID(r[0:16]) }

// SetGID replaces the GID.
func (r *InformInfo) SetGID(g mad.GID) { copy(r[0:16], g[:]) }

// LIDRangeBegin is the lowest LID of the issuers wanted; 0xffff for all.
func (r *InformInfo) LIDRangeBegin() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[16:])) }

// SetLIDRangeBegin replaces LIDRangeBegin.
func (r *InformInfo) SetLIDRangeBegin(l mad.LID) { binary.BigEndian.PutUint16(r[16:], uint16(l)) }

// LIDRangeEnd is the highest LID of the issuers wanted; 0 for LIDRangeBegin alone.
func (r *InformInfo) LIDRangeEnd() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[18:])) }

// SetLIDRangeEnd replaces LIDRangeEnd.
func (r *InformInfo) SetLIDRangeEnd(l mad.LID) { binary.BigEndian.PutUint16(r[18:], uint16(l)) }

// IsGeneric is 1 for the architecture's notices, 0 for a vendor's. Requests may
// carry other values.
func (r *InformInfo) IsGeneric() uint8 { return r[22] }

// SetIsGeneric replaces IsGeneric.
func (r *InformInfo) SetIsGeneric(v uint8) { r[22] = v }

// Subscribe is 1 to subscribe, 0 to end it. Requests may carry other values.
func (r *InformInfo) Subscribe() uint8 { return r[23] }

// SetSubscribe replaces Subscribe.
func (r *InformInfo) SetSubscribe(v uint8) { r[23] = v }

// Type is how grave the notices wanted are; 0xffff for all.
func (r *InformInfo) Type() uint16 { return binary.BigEndian.Uint16(r[24:]) }

// SetType replaces Type.
func (r *InformInfo) SetType(v uint16) { binary.BigEndian.PutUint16(r[24:], v) }

// TrapNumber is which notices are wanted, the DeviceID where IsGeneric is 0;
// 0xffff for all.
func (r *InformInfo) TrapNumber() uint16 { return binary.BigEndian.Uint16(r[26:]) }

// SetTrapNumber replaces TrapNumber or DeviceID.
func (r *InformInfo) SetTrapNumber(v uint16) { binary.BigEndian.PutUint16(r[26:], v) }

// QPN is the queue pair that subscribed, where a subscription ends.
func (r *InformInfo) QPN() uint32 { return binary.BigEndian.Uint32(r[28:]) >> 8 }

// SetQPN replaces the QPN; bits above the lower 24 are dropped.
func (r *InformInfo) SetQPN(qpn uint32) {
	binary.BigEndian.PutUint32(r[28:], qpn<<8|uint32(r[31]))
}

// SetRespTimeValue replaces RespTimeValue; bits above the lower five are dropped.
func (r *InformInfo) SetRespTimeValue(v uint8) { r[31] = r[31]&0xe0 | v&0x1f }

// ProducerType is what issues the notices wanted, the VendorID where IsGeneric is
// 0; 0xffffff for all.
func (r *InformInfo) ProducerType() uint32 { return binary.BigEndian.Uint32(r[32:]) & 0xffffff }

// SetProducerType replaces ProducerType or VendorID; bits above the lower 24 are
// dropped.
func (r *InformInfo) SetProducerType(v uint32) {
	binary.BigEndian.PutUint32(r[32:], uint32(r[32])<<24|v&0xffffff)
}
