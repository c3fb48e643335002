package device

import (
	"encoding/binary"
	"maps"
	"unique"

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

// Differs are the managed bits in which two values differ. It runs for every port in every sweep, so it compares whole
// words.
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
type Unsupported map[Place]unsupported

type unsupported struct {
	fields unique.Handle[fields] // shared: the ports of a kind of device are alike
	tries  uint8                 // times in a row that the device was given sent, though that should have lasted
}

// fields are what a device does not hold.
type fields struct {
	bits Data // ones where the device does not hold sent
	sent Data // what it was sent last; the managed bits
}

// MaxTries is the number of sweeps that send a device the same value before it counts as acknowledging a value that it
// does not keep.
const MaxTries = 2

// Clone is a copy for a task.
func (u Unsupported) Clone() Unsupported { return maps.Clone(u) }

// Learn compares the value sent to a device with the one in its answer, and returns the bits newly known as
// unsupported.
func (u Unsupported) Learn(m *Managed, p Place, sent, held *Data) (bits Data, found bool) {
	d, any := m.Differs(sent, held)
	e, known := u[p]
	if !any && !known {
		return bits, false
	}
	f, tries := e.wanted(m, sent)
	bits, found = f.refuse(m, &d)
	u.put(p, f, tries)
	return bits, found
}

// Tried notes that a device was sent the wanted value: differences in the next sweep are values that it does not keep.
func (u Unsupported) Tried(p Place) {
	if e, known := u[p]; known && e.tries < MaxTries {
		e.tries++
		u[p] = e
	}
}

// Tries is the number of consecutive times that a device was sent the wanted value in vain.
func (u Unsupported) Tries(p Place) int { return int(u[p].tries) }

// Wants reports whether any part of a difference d from the wanted value has to be sent. lasts says that the value sent
// before should have lasted.
func (u Unsupported) Wants(m *Managed, p Place, wanted, d *Data, lasts bool) bool {
	e, known := u[p]
	if !known && *d == (Data{}) {
		return false
	}
	f, tries := e.wanted(m, wanted)
	for i := range d {
		d[i] &^= f.bits[i]
	}
	must, may := false, false // anything that is insisted upon, and anything else
	for i := range d {
		must = must || d[i]&m.Insisted[i] != 0
		may = may || d[i]&^m.Insisted[i] != 0
	}
	switch {
	case may && lasts:
		if known = true; tries >= MaxTries {
			f.refuse(m, d)
			may = false
		}
	default:
		tries = 0
	}
	if known {
		u.put(p, f, tries)
	}
	return must || may
}

// Refuses are the bits of a value that a device does not support: it was sent the same.
func (u Unsupported) Refuses(m *Managed, p Place, wanted *Data) Data {
	e, known := u[p]
	if !known {
		return Data{}
	}
	f, _ := e.wanted(m, wanted)
	return f.bits
}

// Lacks reports whether a device differs from the value sent to it in fields other than the known unsupported ones.
func (u Unsupported) Lacks(m *Managed, p Place, sent, held *Data) bool {
	d, any := m.Differs(sent, held)
	if !any {
		return false
	}
	known := u.Refuses(m, p, sent)
	for i := range d {
		if d[i]&^known[i] != 0 {
			return true
		}
	}
	return false
}

// Misses reports whether a device holds other values than it was sent in fields that are insisted upon.
func (m *Managed) Misses(sent, held *Data) bool {
	d, _ := m.Differs(sent, held)
	for i := range d {
		if d[i]&m.Insisted[i] != 0 {
			return true
		}
	}
	return false
}

// put notes the fields of a device.
func (u Unsupported) put(p Place, f fields, tries uint8) {
	e, known := u[p]
	if !known || e.fields.Value() != f {
		e.fields = unique.Make(f)
	}
	if e.tries = tries; !known || u[p] != e {
		u[p] = e
	}
}

// wanted is what is known of the device when it is sent w. Where that is news, all is open
// again: by whole bytes, since a field that is sent another value may differ from it in other
// bits.
func (e unsupported) wanted(m *Managed, w *Data) (f fields, tries uint8) {
	if tries = e.tries; e.fields != (unique.Handle[fields]{}) {
		f = e.fields.Value()
	}
	news := func(i int) bool { return (w[i]^f.sent[i])&m.Bits[i] != 0 }
	for _, i := range m.Words {
		if news(i) || news(i+1) {
			f.bits[i], f.bits[i+1] = 0, 0
		}
	}
	for i := range w {
		if news(i) {
			f.bits[i], tries = 0, 0
		}
		f.sent[i] = w[i] & m.Bits[i]
	}
	return f, tries
}

// refuse notes the bits d of the sent value as unsupported, and returns those that are newly known.
func (f *fields) refuse(m *Managed, d *Data) (bits Data, found bool) {
	for i := range d {
		refused := d[i] &^ m.Insisted[i]
		bits[i] = refused &^ f.bits[i]
		found = found || bits[i] != 0
		f.bits[i] |= refused
	}
	return bits, found
}
