package plan

import (
	"ibsm/mad"
	"ibsm/mad/smp"
)

// Key names a port across sweeps.
type Key struct {
	Node mad.GUID
	Port uint8
}

// Refusals remembers the fields that ports do not hold although they were told
// to. It outlives a plan. A field that is refused is not sent again until another
// value is wanted; LIDs and the subnet prefix are sent every time all the same.
type Refusals map[Key]*Refusal

// Refusal is what one port does not hold.
type Refusal struct {
	Bits  smp.PortInfo // ones where the port does not hold Sent
	Sent  smp.PortInfo // what it was told last
	Asked uint8        // plans in a row that wanted Sent of a port that is up
}

// maxAsked is how many sweeps tell an ACTIVE port the same before it is believed
// that the port acknowledges what it does not keep.
const maxAsked = 2

// Learn compares what a port was told with what it answered to hold, and returns
// the bits that it was not known to refuse.
func (r Refusals) Learn(k Key, sent, held *smp.PortInfo) (bits smp.PortInfo, found bool) {
	d, any := differs(sent, held)
	if !any && r[k] == nil {
		return bits, false
	}
	return r.refuse(k, sent, &d)
}

// refuse notes the bits d of sent as refused.
func (r Refusals) refuse(k Key, sent, d *smp.PortInfo) (bits smp.PortInfo, found bool) {
	e := r.entry(k)
	for i := range d {
		refused := d[i] &^ insisted[i]
		bits[i] = refused &^ e.Bits[i]
		found = found || bits[i] != 0
		e.Bits[i] = e.Bits[i]&^(sent[i]^e.Sent[i]) | refused
	}
	e.Sent = *sent
	return bits, found
}

func (r Refusals) entry(k Key) *Refusal {
	e := r[k]
	if e == nil {
		e = &Refusal{}
		r[k] = e
	}
	return e
}

// wants takes from a difference the bits that the port is known to refuse, and
// tells whether any is left to be sent. up says that the port is not in INIT, so
// that what it was told before should have lasted.
func (r Refusals) wants(k Key, w, d *smp.PortInfo, up bool) bool {
	if known := r[k]; known != nil {
		for i := range d {
			d[i] &^= known.Bits[i] &^ (w[i] ^ known.Sent[i])
		}
	}
	left, ours := false, false // anything, and anything that is not insisted upon
	for i := range d {
		left = left || d[i] != 0
		ours = ours || d[i]&^insisted[i] != 0
	}
	if !up || !ours {
		return left
	}
	e := r.entry(k)
	if _, changed := differs(&e.Sent, w); changed {
		e.Sent, e.Asked, e.Bits = *w, 0, smp.PortInfo{}
	}
	if e.Asked++; e.Asked > maxAsked {
		r.refuse(k, w, d)
		left = false
		for i := range d {
			left = left || d[i]&insisted[i] != 0
		}
	}
	return left
}
