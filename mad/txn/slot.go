package txn

import (
	"time"

	"ibsm/mad"
)

// Transaction IDs. Linux and ibsim overwrite the upper 32 bits of a request's, so
// those are zero and never looked at. The attempt counts from 1: no ID is 0, and
// each attempt has its own, since the kernel refuses a second request whose ID
// it still holds.
//
//	31    28 27         12 11      0
//	attempt  generation    slot
const (
	slotBits       = 12
	generationBits = 16
	maxSlots       = 1 << slotBits // slot 0 is never used
	maxAttempts    = 1<<(32-slotBits-generationBits) - 1
)

// rotateSlots is how many slots take turns at least. A slot's generation comes
// round after rotateSlots<<generationBits requests: minutes at any speed, long
// after the last late reply.
const rotateSlots = 1024

func makeTID(attempt uint8, generation uint16, slot int32) mad.TID {
	return mad.TID(uint32(attempt)<<(slotBits+generationBits) | uint32(generation)<<slotBits | uint32(slot))
}

func splitTID(t mad.TID) (attempt uint8, generation uint16, slot int32) {
	low := uint32(t)
	return uint8(low >> (slotBits + generationBits)), uint16(low >> slotBits), int32(low & (maxSlots - 1))
}

// state says which list a slot is in.
type state uint8

const (
	free   state = 0
	parked state = 1 // its device has as many requests under way as it may
	ready  state = 2 // waits for the window
	again  state = 3 // an attempt was lost; the next waits for the window
	exempt state = 4 // the next attempt leaves with the next Output
	sent   state = 5 // waits for a reply, and counts in the window
	late   state = 6 // has waited for longer than patience, and still waits
	// awaited is late of a device that is known to take longer than a time-out.
	awaited state = 7
)

// slot is one request and, while free, the memory of the last one.
type slot struct {
	d          mad.Datagram
	tag        uint64
	firstSent  time.Duration
	lastSent   time.Duration
	patience   time.Duration // how long the last attempt is awaited
	device     int32         // an index into Table.devices, -1 for none
	next, prev int32
	generation uint16
	attempt    uint8 // the last that was sent, 0 before the first
	state      state
	owner      Owner
	exempt     bool   // Request.Exempt
	unknown    bool   // its device was not known
	repeat     bool   // a trial's, without an owner
	measured   bool   // its first attempt belongs to a measurement of the window's
	busy       bool   // the last attempt was answered, with mad.StatusBusy
	lost       bool   // an attempt ran out without any answer
	ended      Result // how the generation before ended
}

// retries is 1 for a request whose last attempt is not its first, else 0.
func (s *slot) retries() int32 {
	if s.attempt > 1 {
		return 1
	}
	return 0
}

// list is a queue of slots, linked through them; 0 ends it. A slot is in exactly
// one list.
type list struct{ head, tail, n int32 }

func (t *Table) push(l *list, i int32, st state) {
	s := &t.slots[i]
	s.state, s.prev, s.next = st, l.tail, 0
	t.tally(s, 1)
	if l.tail != 0 {
		t.slots[l.tail].next = i
	} else {
		l.head = i
	}
	l.tail = i
	l.n++
}

// unlink takes a slot out of its list, wherever in it it is.
func (t *Table) unlink(i int32) {
	s := &t.slots[i]
	l := t.listOf(s)
	t.tally(s, -1)
	if s.state == sent {
		t.retrying -= s.retries()
	}
	if s.prev != 0 {
		t.slots[s.prev].next = s.next
	} else {
		l.head = s.next
	}
	if s.next != 0 {
		t.slots[s.next].prev = s.prev
	} else {
		l.tail = s.prev
	}
	l.n--
}

// tally counts a request that enters a list, or leaves it, for its owner.
func (t *Table) tally(s *slot, by int32) {
	if s.state == free || s.repeat {
		return
	}
	o := &t.owners[s.owner]
	o.open += by
	if s.state == ready || s.state == exempt || s.state == sent && s.attempt == 1 {
		o.prompt += by
	}
}

func (t *Table) listOf(s *slot) *list {
	switch s.state {
	case parked:
		return &t.devices[s.device].parked
	case ready:
		return &t.ready
	case again:
		return &t.again
	case exempt:
		return &t.exempt
	case sent:
		return &t.sent
	case late:
		return &t.late
	case awaited:
		return &t.slow
	}
	return &t.free
}

// allocate gives a slot that is in no list, 0 when there is none.
func (t *Table) allocate() int32 {
	n := int32(len(t.slots))
	if n < maxSlots && (n <= rotateSlots || t.free.n == 0) {
		t.slots = append(t.slots, slot{})
		return n
	}
	i := t.free.head
	if i != 0 {
		t.unlink(i)
	}
	return i
}
