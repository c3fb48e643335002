package playback

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/capture"
)

// maxTape bounds the exchanges about one attribute: a Set looks for its data among them.
const maxTape = 4096

// tape is what was asked of one attribute, in order, and how far that is played back.
type tape struct {
	exchanges []exchange
	next      int
	value     *exchange // a Get has its response unless next is a Get; nil where no response is known
	left      bool      // a Set that is not on the tape has succeeded: nothing of it applies any more
}

// get is what was recorded of a Get, nil for nothing.
func (t *tape) get() *exchange {
	if t.left {
		return nil
	}
	if t.next < len(t.exchanges) && !t.exchanges[t.next].isSet() {
		t.value = &t.exchanges[t.next]
		t.next++
	}
	return t.value
}

// set is what was recorded of a Set, nil for nothing.
func (t *tape) set(p *mad.Packet) *exchange {
	if t.left {
		return nil
	}
	asked := *p
	capture.Blank(&asked)
	found := -1
	for i := range t.exchanges {
		if e := &t.exchanges[i]; e.isSet() && sameData(&asked, &e.request.Packet) {
			if found = i; i >= t.next {
				break
			}
		}
	}
	if found < 0 {
		e := t.refusal()
		t.left = e == nil
		return e
	}
	t.next = found + 1
	e := &t.exchanges[found]
	if e.succeeded() {
		t.value = e
	}
	return e
}

// refusal is how the device refuses Sets of the attribute: the first exchange if no Set, or without Sets no Get,
// has succeeded; nil where that is not known.
func (t *tape) refusal() (first *exchange) {
	anySet := slices.ContainsFunc(t.exchanges, func(e exchange) bool { return e.isSet() })
	for i := range t.exchanges {
		switch e := &t.exchanges[i]; {
		case e.isSet() != anySet:
		case e.succeeded():
			return nil
		case first == nil:
			first = e
		}
	}
	return first
}

// sameData reports whether two requests of a class have the same attribute.
func sameData(a, b *mad.Packet) bool {
	if a.MgmtClass().IsSubnet() {
		return *a.Data() == *b.Data()
	}
	return *a.PerfData() == *b.PerfData()
}
