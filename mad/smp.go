package mad

import "encoding/binary"

// MaxHops is the longest directed route: path entry 0 is not a hop (IBA 14.2.2).
const MaxHops = 63

// DataSize is the size of a subnet-management attribute in bytes.
const DataSize = 64

// The header of a subnet-management packet behind the common one (IBA 14.2.1):
//
//	  6 HopPointer HopCount   directed route only
//	 24 M_Key
//	 32 DrSLID DrDLID         directed route only
//	 64 attribute data
//	128 InitialPath           directed route only
//	192 ReturnPath            directed route only

// MKey is the key the sender shows.
func (p *Packet) MKey() MKey { return MKey(binary.BigEndian.Uint64(p[24:])) }

// SetMKey replaces the key the sender shows.
func (p *Packet) SetMKey(k MKey) { binary.BigEndian.PutUint64(p[24:], uint64(k)) }

// Returning is the D bit: the directed-route SMP is on its way back.
func (p *Packet) Returning() bool { return p[4]&0x80 != 0 }

// SetReturning sets the D bit.
func (p *Packet) SetReturning() { p[4] |= 0x80 }

// HopPointer is the hop the SMP is at.
func (p *Packet) HopPointer() uint8 { return p[6] }

// SetHopPointer moves the SMP along its path.
func (p *Packet) SetHopPointer(h uint8) { p[6] = h }

// HopCount is the number of valid entries of InitialPath. What arrives may
// claim up to 255; InitialPath has 64.
func (p *Packet) HopCount() uint8 { return p[7] }

// DrSLID is 0xFFFF when no LID-routed part comes before the directed one.
func (p *Packet) DrSLID() LID { return LID(binary.BigEndian.Uint16(p[32:])) }

// DrDLID is 0xFFFF when no LID-routed part follows the directed one.
func (p *Packet) DrDLID() LID { return LID(binary.BigEndian.Uint16(p[34:])) }

// Data is the attribute of a subnet-management packet, as a view.
func (p *Packet) Data() *[DataSize]byte { return (*[DataSize]byte)(p[64:128]) }

// InitialPath holds the output port of each hop from entry 1 on, as a view.
func (p *Packet) InitialPath() *[64]byte { return (*[64]byte)(p[128:192]) }

// ReturnPath holds the port on which each hop received the SMP, as a view.
func (p *Packet) ReturnPath() *[64]byte { return (*[64]byte)(p[192:256]) }

// SetDirected clears the packet and makes it a request along a pure directed
// route: DrSLID and DrDLID permissive, HopPointer 0 as the originator leaves it.
func (p *Packet) SetDirected(r *Route, m Method, a AttrID, mod uint32) {
	p.SetHeader(ClassDirected, m, a, mod)
	p[7] = r.n
	binary.BigEndian.PutUint16(p[32:], uint16(PermissiveLID))
	binary.BigEndian.PutUint16(p[34:], uint16(PermissiveLID))
	copy(p[129:192], r.port[:r.n])
}

// Route is a directed route: the output port of each hop from the manager's own
// node. The zero value leads to that node itself. Routes can be compared with ==.
type Route struct {
	n    uint8
	port [MaxHops]uint8
}

// MakeRoute makes a route of at most MaxHops ports; further ones are cut.
func MakeRoute(ports ...uint8) (r Route) {
	r.n = uint8(copy(r.port[:], ports))
	return r
}

// Hops is the number of hops, 0..MaxHops.
func (r *Route) Hops() int { return int(r.n) }

// Ports are the output ports in order, as a view that must not be written.
func (r *Route) Ports() []uint8 { return r.port[:r.n] }

// Then is the route one hop further out of port. ok is false when the route has
// no room for another hop.
func (r *Route) Then(port uint8) (longer Route, ok bool) {
	if r.n == MaxHops {
		return *r, false
	}
	longer = *r
	longer.port[r.n] = port
	longer.n++
	return longer, true
}

// String prints the ports as OpenSM logs them, with the leading 0: "0,1,7".
func (r Route) String() string {
	b := []byte{'0'}
	for _, p := range r.port[:r.n] {
		b = append(b, ',')
		if p >= 100 {
			b = append(b, '0'+p/100)
		}
		if p >= 10 {
			b = append(b, '0'+p/10%10)
		}
		b = append(b, '0'+p%10)
	}
	return string(b)
}
