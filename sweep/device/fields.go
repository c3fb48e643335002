package device

import (
	"encoding/binary"

	"ibsm/mad"
)

// Data is a block.
type Data = [mad.DataSize]byte

// Managed says which bits of an attribute a manager decides about.
type Managed struct {
	ID       mad.AttrID
	Bits     Data
	Insisted Data  // of Bits: those that are sent again however often a device loses them
	Words    []int // the first bytes of fields of two bytes whose halves are nothing by themselves
}

// Differs are the managed bits in which two values differ. Every port of the subnet comes by
// here in every sweep, so it goes by words.
func (m *Managed) Differs(a, b *Data) (d Data, any bool) {
	order := binary.NativeEndian
	for i := 0; i < len(d); i += 8 {
		if x := (order.Uint64(a[i:]) ^ order.Uint64(b[i:])) & order.Uint64(m.Bits[i:]); x != 0 {
			order.PutUint64(d[i:], x)
			any = true
		}
	}
	return d, any
}

// Unsupported are the fields that devices do not hold although they were sent, by place. A
// field is not sent again until another value is wanted; insisted ones are, every time.
type Unsupported map[Place]*unsupported

type unsupported struct {
	bits  Data  // ones where the device does not hold sent
	sent  Data  // what it was sent last
	tries uint8 // times in a row that the device was given sent, though that should have lasted
}

// maxTries is how many sweeps send a device the same before it is believed that it
// acknowledges what it does not keep.
const maxTries = 2

// Clone is a copy for a task.
func (u Unsupported) Clone() Unsupported {
	c := make(Unsupported, len(u))
	for p, e := range u {
		copied := *e
		c[p] = &copied
	}
	return c
}

// Learn compares what a device was sent with what it answered to hold, and returns the
// bits that it was not known not to support.
func (u Unsupported) Learn(m *Managed, p Place, sent, held *Data) (bits Data, found bool) {
	d, any := m.Differs(sent, held)
	if !any && u[p] == nil {
		return bits, false
	}
	e := u.entry(p)
	e.wanted(m, sent)
	return e.refuse(m, &d)
}

// Tried notes that a device was given what is wanted: what it lacks in the next sweep it
// does not keep.
func (u Unsupported) Tried(p Place) {
	if e := u[p]; e != nil && e.tries < maxTries {
		e.tries++
	}
}

// Tries is how often in a row a device was given what is wanted in vain.
func (u Unsupported) Tries(p Place) int {
	if u[p] == nil {
		return 0
	}
	return int(u[p].tries)
}

// Wants reports whether anything of a difference d from what is wanted has to be sent. lasts
// says that what was sent before should have lasted.
func (u Unsupported) Wants(m *Managed, p Place, wanted, d *Data, lasts bool) bool {
	known := u[p]
	if known == nil && *d == (Data{}) {
		return false
	}
	if known != nil {
		known.wanted(m, wanted)
		for i := range d {
			d[i] &^= known.bits[i]
		}
	}
	must, may := false, false // anything that is insisted upon, and anything else
	for i := range d {
		must = must || d[i]&m.Insisted[i] != 0
		may = may || d[i]&^m.Insisted[i] != 0
	}
	switch {
	case may && lasts:
		e := u.entry(p)
		e.wanted(m, wanted)
		if e.tries >= maxTries {
			e.refuse(m, d)
			may = false
		}
	case known != nil:
		known.tries = 0
	}
	return must || may
}

// Refuses are the bits of a value that a device does not support: it was sent the same.
func (u Unsupported) Refuses(m *Managed, p Place, wanted *Data) Data {
	if u[p] == nil {
		return Data{}
	}
	e := *u[p]
	e.wanted(m, wanted)
	return e.bits
}

func (u Unsupported) entry(p Place) *unsupported {
	e := u[p]
	if e == nil {
		e = &unsupported{}
		u[p] = e
	}
	return e
}

// wanted notes what the device is sent. Where that is news, all is open again: by whole
// bytes, since a field that is sent another value may differ from it in other bits.
func (e *unsupported) wanted(m *Managed, w *Data) {
	news := func(i int) bool { return (w[i]^e.sent[i])&m.Bits[i] != 0 }
	for _, i := range m.Words {
		if news(i) || news(i+1) {
			e.bits[i], e.bits[i+1] = 0, 0
		}
	}
	for i := range w {
		if news(i) {
			e.bits[i], e.tries = 0, 0
		}
	}
	e.sent = *w
}

// refuse notes the bits d of what was sent as unsupported, and returns those that were not
// known to be.
func (e *unsupported) refuse(m *Managed, d *Data) (bits Data, found bool) {
	for i := range d {
		refused := d[i] &^ m.Insisted[i]
		bits[i] = refused &^ e.bits[i]
		found = found || bits[i] != 0
		e.bits[i] |= refused
	}
	return bits, found
}
