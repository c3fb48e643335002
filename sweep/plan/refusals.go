package plan

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
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
	Asked uint8        // times in a row that a port which is up has acknowledged Sent

	FDR10     uint8 // plans in a row that told the port FDR10Sent
	FDR10Sent topo.FDR10
}

// maxAsked is how many sweeps tell an ACTIVE port the same before it is believed
// that the port acknowledges what it does not keep.
const maxAsked = 2

// Clone is a copy that a plan can be made from without being remembered.
func (r Refusals) Clone() Refusals {
	c := make(Refusals, len(r))
	for k, e := range r {
		copied := *e
		c[k] = &copied
	}
	return c
}

// Learn compares what a port was told with what it answered to hold, and returns
// the bits that it was not known to refuse.
func (r Refusals) Learn(k Key, sent, held *smp.PortInfo) (bits smp.PortInfo, found bool) {
	d, any := differs(sent, held)
	if !any && r[k] == nil {
		return bits, false
	}
	e := r.entry(k)
	e.tell(sent)
	return e.refuse(&d)
}

// Acknowledged notes that a port which is up has taken what it was told: what it lacks
// afterwards it does not keep.
func (r Refusals) Acknowledged(k Key) {
	if e := r[k]; e != nil && e.Asked < maxAsked {
		e.Asked++
	}
}

func (r Refusals) entry(k Key) *Refusal {
	e := r[k]
	if e == nil {
		e = &Refusal{}
		r[k] = e
	}
	return e
}

// tell notes what the port is told. Where that is news, all is open again: by whole
// bytes, since a field that is told another value may differ from it in other bits.
func (e *Refusal) tell(w *smp.PortInfo) {
	for i := range w {
		if (w[i]^e.Sent[i])&managed[i] != 0 {
			e.Bits[i], e.Asked = 0, 0
		}
	}
	e.Sent = *w
}

// refuse notes the bits d of what was sent as refused, and returns those that were
// not known to be.
func (e *Refusal) refuse(d *smp.PortInfo) (bits smp.PortInfo, found bool) {
	for i := range d {
		refused := d[i] &^ insisted[i]
		bits[i] = refused &^ e.Bits[i]
		found = found || bits[i] != 0
		e.Bits[i] |= refused
	}
	return bits, found
}

// wants takes from a difference the bits that the port is known to refuse, and
// tells whether any is left to be sent. up says that the port is not in INIT, so
// that what it was told before should have lasted.
func (r Refusals) wants(k Key, w, d *smp.PortInfo, up bool) bool {
	known := r[k]
	if known == nil && *d == (smp.PortInfo{}) {
		return false
	}
	if known != nil {
		known.tell(w)
		for i := range d {
			d[i] &^= known.Bits[i]
		}
	}
	must, may := false, false // anything that is insisted upon, and anything else
	for i := range d {
		must = must || d[i]&insisted[i] != 0
		may = may || d[i]&^insisted[i] != 0
	}
	switch {
	case may && up:
		e := r.entry(k)
		e.tell(w)
		if e.Asked >= maxAsked {
			e.refuse(d)
			may = false
		}
	case known != nil:
		known.Asked = 0
	}
	return must || may
}
