package mad

import "encoding/binary"

// PacketSize is the length of every MAD in bytes (IBA 13.4.2).
const PacketSize = 256

// Packet is one MAD in wire order. The length is in the type, so no offset
// below can be out of range whatever arrived.
//
//	 0 BaseVersion  MgmtClass     ClassVersion  Method
//	 4 Status                     ClassSpecific
//	 8 TransactionID
//	16 AttributeID                reserved
//	20 AttributeModifier
type Packet [PacketSize]byte

// BaseVersion is 1 in every MAD of 256 bytes.
func (p *Packet) BaseVersion() uint8 { return p[0] }

// MgmtClass is the class of the agent that is meant: subnet management, administration, performance.
func (p *Packet) MgmtClass() Class { return Class(p[1]) }

// ClassVersion is 1 for subnet management and 2 for subnet administration.
func (p *Packet) ClassVersion() uint8 { return p[2] }

// Method is the verb with its response bit.
func (p *Packet) Method() Method { return Method(p[3]) }

// SetMethod replaces the method.
func (p *Packet) SetMethod(m Method) { p[3] = byte(m) }

// Status is the 16-bit status without the D bit that directed-route SMPs keep
// in its place.
func (p *Packet) Status() Status {
	s := Status(binary.BigEndian.Uint16(p[4:]))
	if p.MgmtClass() == ClassDirected {
		s &^= statusD
	}
	return s
}

// SetStatus replaces the status and keeps the D bit of a directed-route SMP.
func (p *Packet) SetStatus(s Status) {
	if p.MgmtClass() == ClassDirected {
		s = s&^statusD | Status(binary.BigEndian.Uint16(p[4:]))&statusD
	}
	binary.BigEndian.PutUint16(p[4:], uint16(s))
}

// TID is the transaction ID.
func (p *Packet) TID() TID { return TID(binary.BigEndian.Uint64(p[8:])) }

// SetTID replaces the transaction ID.
func (p *Packet) SetTID(t TID) { binary.BigEndian.PutUint64(p[8:], uint64(t)) }

// AttrID is the attribute the method acts upon.
func (p *Packet) AttrID() AttrID { return AttrID(binary.BigEndian.Uint16(p[16:])) }

// AttrMod is the attribute modifier; its meaning is the attribute's.
func (p *Packet) AttrMod() uint32 { return binary.BigEndian.Uint32(p[20:]) }

// SetAttrMod replaces the attribute modifier.
func (p *Packet) SetAttrMod(m uint32) { binary.BigEndian.PutUint32(p[20:], m) }

// SetAttrID replaces the AttributeID.
func (p *Packet) SetAttrID(a AttrID) { binary.BigEndian.PutUint16(p[16:], uint16(a)) }

// SetHeader clears the packet and writes the common header of a request.
func (p *Packet) SetHeader(c Class, m Method, a AttrID, mod uint32) {
	*p = Packet{}
	p[0] = 1
	p[1] = byte(c)
	p[2] = c.Version()
	p[3] = byte(m)
	binary.BigEndian.PutUint16(p[16:], uint16(a))
	binary.BigEndian.PutUint32(p[20:], mod)
}

// IsResponse reports whether the packet answers a request: the response bit is
// set, or it is a TrapRepress, which lacks it (IBA 13.4.5).
func (p *Packet) IsResponse() bool { return p.Method().IsResponse() }
