package fabric

import (
	"time"

	"ibsm/mad"
)

// eventKind says what is due.
type eventKind uint8

const (
	evArrive  eventKind = iota // a packet sent from port has crossed the fabric
	evDeliver                  // an agent's reply has come back to port
	evTrap                     // an unrepressed trap of port is due (again)
	evTrain                    // the link at port has finished training
	evPass                     // an agent is done with a packet of port
	evSick                     // the link at port fails to recover
)

// event is one scheduled action.
type event struct {
	kind eventKind
	port int32
	// serial is which one in evTrap, evTrain, evSick: an overtaken event is ignored; a pass in evPass; in evArrive and
	// evDeliver the index of the vPort that the packet is from or for.
	serial uint64
	d      mad.Datagram
}

// due is an event's place in the queue. The order is total, so that equal times
// do not make the run depend on the heap's shape.
type due struct {
	at   time.Duration
	seq  uint64
	slot int32
}

func (a due) before(b due) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// queue is a binary heap over slots that are used again, so that a steady run
// does not allocate.
type queue struct {
	heap  []due
	slots []event
	free  []int32
	seq   uint64
}

// push returns the event to be filled in, valid until the next push.
func (q *queue) push(at time.Duration) *event {
	var slot int32
	if n := len(q.free); n > 0 {
		slot = q.free[n-1]
		q.free = q.free[:n-1]
	} else {
		slot = int32(len(q.slots))
		q.slots = append(q.slots, event{})
	}
	q.seq++
	q.heap = append(q.heap, due{at, q.seq, slot})
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.heap[i].before(q.heap[up]) {
			break
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
	return &q.slots[slot]
}

// next is the time of the earliest event.
func (q *queue) next() (time.Duration, bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}

// pop copies the earliest event out and frees its slot.
func (q *queue) pop(e *event) time.Duration {
	first := q.heap[0]
	*e = q.slots[first.slot]
	q.free = append(q.free, first.slot)
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < last; c++ {
			if q.heap[c].before(q.heap[least]) {
				least = c
			}
		}
		if least == i {
			return first.at
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}
