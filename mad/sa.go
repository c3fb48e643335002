package mad

import "encoding/binary"

// SADataSize is the room for records in one subnet-administration packet.
const SADataSize = 200

// The header of a subnet-administration packet behind the common one (IBA 15.2.1):
//
//	24 RMPP header
//	36 SM_Key
//	44 AttributeOffset  reserved
//	48 ComponentMask
//	56 records

// SMKey is the key that makes a request trusted; 0 when the sender shows none.
func (p *Packet) SMKey() uint64 { return binary.BigEndian.Uint64(p[36:]) }

// SetSMKey replaces the key.
func (p *Packet) SetSMKey(k uint64) { binary.BigEndian.PutUint64(p[36:], k) }

// AttributeOffset is the distance from one record to the next in units of 8
// bytes, 0 when there are no records.
func (p *Packet) AttributeOffset() uint16 { return binary.BigEndian.Uint16(p[44:]) }

// SetAttributeOffset replaces the distance between records.
func (p *Packet) SetAttributeOffset(o uint16) { binary.BigEndian.PutUint16(p[44:], o) }

// ComponentMask says which components of the record a request gives.
func (p *Packet) ComponentMask() ComponentMask {
	return ComponentMask(binary.BigEndian.Uint64(p[48:]))
}

// SetComponentMask replaces the component mask.
func (p *Packet) SetComponentMask(m ComponentMask) { binary.BigEndian.PutUint64(p[48:], uint64(m)) }

// SAData is the room for records, as a view.
func (p *Packet) SAData() *[SADataSize]byte { return (*[SADataSize]byte)(p[56:256]) }

// IsRMPP reports whether the packet is part of a transfer by RMPP (IBA 13.6.2).
func (p *Packet) IsRMPP() bool { return p[26]&1 != 0 }

// ClearRMPP makes the packet one that RMPP has no part in.
func (p *Packet) ClearRMPP() { clear(p[24:36]) }

// ComponentMask has a bit for each component of a record, the first in bit 0;
// mad/sarec has the names.
type ComponentMask uint64

// Has reports whether all components of c are given.
func (m ComponentMask) Has(c ComponentMask) bool { return m&c == c }
