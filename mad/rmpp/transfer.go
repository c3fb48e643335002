package rmpp

import (
	"time"

	"ibsm/mad"
)

// key identifies a transfer, as in Linux, and by the GID: hosts behind a router share a LID here. The keys of the two
// sides never collide.
type key struct {
	tid     mad.TID
	peer    peer
	class   mad.Class
	version uint8
	method  mad.Method // of the message
	sending bool
}

// peer is a queue pair elsewhere.
type peer struct {
	lid mad.LID
	qpn uint32
	gid mad.GID // 0 without a GRH
}

// keyOf is the key of the transfer that a packet from or to a is a segment of.
func keyOf(a *mad.Addr, p *mad.Packet, sending bool) key {
	return key{p.TID(), peer{a.LID, a.QPN, a.RemoteGID()}, p.MgmtClass(), p.ClassVersion(), p.Method(), sending}
}

// withoutGID is the key as it is without a GRH.
func (k key) withoutGID() key {
	k.peer.gid = mad.GID{}
	return k
}

// responseBit is what an ACK's method has the other way round than the message's.
const responseBit = 0x80

// state of a transfer.
type state uint8

const (
	active    state = 1
	lingering state = 2 // over, but known
	forgotten state = 3 // not known any more, but still in Machine.lingering
	gone      state = 4 // neither; perhaps still in Machine.ready
)

// transfer is one message on its way, out or in.
type transfer struct {
	key    key
	addr   mad.Addr
	head   mad.Packet // the first segment
	data   []byte
	state  state
	queued bool          // in Machine.ready
	ends   time.Duration // when it has taken too long
	due    time.Duration // when something must happen; in the heap by this
	index  int           // in the heap, -1 when not there

	window uint32 // last segment that may be sent
	have   uint32 // last segment up to which all have arrived

	// Of a sender.
	next    uint32 // segment to send
	count   uint32 // of segments
	retries int    // in a row

	// Of a receiver.
	last    uint32 // segment, 0 while not known
	size    int    // of the message, when last is known
	claimed uint32 // PayloadLength of the first segment
	early   uint64 // bit i: segment have+2+i has arrived
}

// heap has the transfers that are active, the one that is due first in front.
type heap []*transfer

func (h *heap) add(t *transfer, due time.Duration) {
	t.due, t.index = due, len(*h)
	*h = append(*h, t)
	h.up(t.index)
}

func (h *heap) move(t *transfer, due time.Duration) {
	t.due = due
	h.down(t.index)
	h.up(t.index)
}

func (h *heap) remove(t *transfer) {
	i, end := t.index, len(*h)-1
	h.swap(i, end)
	(*h)[end] = nil
	*h = (*h)[:end]
	t.index = -1
	if i < end {
		h.move((*h)[i], (*h)[i].due)
	}
}

func (h heap) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h heap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].due <= h[i].due {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h heap) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1].due < h[child].due {
			child++
		}
		if h[i].due <= h[child].due {
			return
		}
		h.swap(i, child)
		i = child
	}
}

// queue is first in, first out. It keeps its room.
type queue[T any] struct {
	items []T
	first int
}

func (q *queue[T]) len() int { return len(q.items) - q.first }

func (q *queue[T]) push(v T) {
	if len(q.items) == cap(q.items) && q.first > len(q.items)/2 {
		n := copy(q.items, q.items[q.first:])
		clear(q.items[n:])
		q.items, q.first = q.items[:n], 0
	}
	q.items = append(q.items, v)
}

func (q *queue[T]) front() *T { return &q.items[q.first] }

func (q *queue[T]) pop() (v T) {
	var zero T
	v, q.items[q.first] = q.items[q.first], zero
	if q.first++; q.first == len(q.items) {
		q.items, q.first = q.items[:0], 0
	}
	return v
}
