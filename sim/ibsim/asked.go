package ibsim

import (
	"slices"
	"time"

	"ibsm/mad"
)

// maxAsked is how many requests of a client may be without an answer.
const maxAsked = 1 << 15

// asked are a client's requests that have no answer yet, by TID. The zero value is
// empty.
type asked struct {
	byTID map[mad.TID]int32 // index into slots
	slots []question
	free  []int32
	order []turn // by time; order[head:] is in use
	head  int
}

type question struct {
	serial uint64
	frame  [frameSize]byte // as the client sent it, with its slot in the TID
}

// turn is a question's place in the order of time. It is past when the slot has
// another serial.
type turn struct {
	slot   int32
	serial uint64
	at     time.Time
}

// add notes a request; ok is false when there are too many. One with a TID that is
// outstanding takes the other's place.
func (a *asked) add(tid mad.TID, frame *[frameSize]byte, now time.Time) (ok bool) {
	if a.byTID == nil {
		a.byTID = map[mad.TID]int32{}
	}
	a.take(tid)
	if len(a.byTID) >= maxAsked {
		return false
	}
	a.prune()
	var slot int32
	if n := len(a.free); n > 0 {
		slot, a.free = a.free[n-1], a.free[:n-1]
	} else {
		slot = int32(len(a.slots))
		a.slots = append(a.slots, question{})
	}
	q := &a.slots[slot]
	q.serial++
	q.frame = *frame
	a.byTID[tid] = slot
	a.order = append(a.order, turn{slot, q.serial, now})
	return true
}

// take ends a request: it is answered, or given back. The frame holds until the
// next add.
func (a *asked) take(tid mad.TID) (frame *[frameSize]byte, ok bool) {
	slot, ok := a.byTID[tid]
	if !ok {
		return nil, false
	}
	delete(a.byTID, tid)
	q := &a.slots[slot]
	q.serial++
	a.free = append(a.free, slot)
	return &q.frame, true
}

// expired ends the oldest request when it was made before then.
func (a *asked) expired(then time.Time) (frame *[frameSize]byte, ok bool) {
	a.prune()
	if a.head == len(a.order) || a.order[a.head].at.After(then) {
		return nil, false
	}
	frame = &a.slots[a.order[a.head].slot].frame
	return a.take(tidOf(frame))
}

// prune forgets the turns that are past: the oldest, and the others when they are
// most.
func (a *asked) prune() {
	for len(a.order) > a.head && a.isPast(a.order[a.head]) {
		a.head++
	}
	if len(a.order)-a.head > 2*len(a.byTID)+64 {
		a.order = slices.DeleteFunc(a.order[a.head:], a.isPast)
		a.head = 0
	} else if a.head > len(a.order)/2 {
		a.order = a.order[:copy(a.order, a.order[a.head:])]
		a.head = 0
	}
}

func (a *asked) isPast(t turn) bool { return a.slots[t.slot].serial != t.serial }

func tidOf(frame *[frameSize]byte) mad.TID {
	return (*mad.Packet)(frame[frameHeader:]).TID()
}
