package manager

import (
	"maps"
	"slices"
	"sync"
	"time"

	"ibsm/mad"
	"ibsm/sa"
)

// Limits of an inbox. What goes beyond them is dropped and counted: silence makes
// clients try again.
const (
	maxWrites       = 1 << 15 // requests that wait for the registrar
	maxClientWrites = 256     // of one LID
	maxReceived     = 1 << 12 // packets of each source that are no requests of clients
	maxNotices      = 1 << 10 // traps
	maxWriteBatch   = 64      // requests that are taken at a time
)

// source is a user of QP1 that is a part of the registrar, and has a bounded queue in its
// inbox. The order is that in which the queues are emptied.
type source uint8

const (
	forReports source = iota // responses to Reports
	forClient                // from the SA of a master of another kind
	forMirror                // from other managers of our kind
	sources
)

// inbox is what waits for the registrar. Events of the manager itself take precedence over
// requests of clients, and these have turns, so that no client delays the others.
type inbox struct {
	wake  chan struct{} // has room for one
	stats *sa.Stats
	start time.Time // of the registrar's time

	mu       sync.Mutex // guards the rest
	events   []sa.Event // of the manager
	notices  int        // of events
	durable  uint64
	grh      map[mad.GUID]bool // ports that demand a GRH, as the registrar does not know yet
	received [sources][]mad.Datagram
	clients  map[mad.LID]*clientWrites
	turn     []*clientWrites // those with something, the next first
	waiting  int
	came     []time.Duration // of the requests that were taken last
}

// clientWrites are the requests of one client that wait, oldest first.
type clientWrites struct {
	lid   mad.LID
	queue []clientWrite
}

// clientWrite is a request and when it came.
type clientWrite struct {
	mad.Datagram
	came time.Duration
}

func newInbox(stats *sa.Stats, start time.Time) *inbox {
	return &inbox{wake: make(chan struct{}, 1), stats: stats, start: start, clients: map[mad.LID]*clientWrites{},
		grh: map[mad.GUID]bool{}}
}

// ring wakes the registrar.
func (b *inbox) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// notify adds an event of the manager. It does not wait.
func (b *inbox) notify(ev sa.Event) {
	if !b.addEvent(ev) {
		b.stats.Drop(sa.DropNoRoom)
		return
	}
	b.ring()
}

// addEvent reports whether there is room for the event.
func (b *inbox) addEvent(ev sa.Event) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, is := ev.(sa.TrapReceived); is {
		if b.notices >= maxNotices {
			return false
		}
		b.notices++
	}
	b.events = append(b.events, ev)
	return true
}

// isDurable says that changes up to a number are on disk.
func (b *inbox) isDurable(seq uint64) {
	b.mu.Lock()
	b.durable = max(b.durable, seq)
	b.mu.Unlock()
	b.ring()
}

// demandGRH adds ports that demand a GRH. It does not wait.
func (b *inbox) demandGRH(ports []mad.GUID) {
	b.mu.Lock()
	for _, port := range ports {
		b.grh[port] = true
	}
	b.mu.Unlock()
	b.ring()
}

// take adds packets that are not requests of clients. It does not wait, and returns the number of packets for which
// there was no room.
func (b *inbox) take(from source, ds []mad.Datagram) (dropped int) {
	b.mu.Lock()
	n := min(len(ds), maxReceived-len(b.received[from]))
	b.received[from] = append(b.received[from], ds[:n]...)
	b.mu.Unlock()
	for range len(ds) - n {
		b.stats.Drop(sa.DropNoRoom)
	}
	b.ring()
	return len(ds) - n
}

// takeRequests adds requests of clients. It does not wait, and returns how many were
// dropped.
func (b *inbox) takeRequests(ds []mad.Datagram) (dropped int) {
	b.mu.Lock()
	for i := range ds {
		if reason := b.queue(&ds[i]); reason != 0 {
			b.stats.Drop(reason)
			dropped++
		}
	}
	b.mu.Unlock()
	b.ring()
	return dropped
}

// queue adds a request, unless it says why not.
func (b *inbox) queue(d *mad.Datagram) sa.Drop {
	c := b.clients[d.LID]
	if c == nil {
		c = &clientWrites{lid: d.LID}
	}
	for i := range c.queue {
		if q := &c.queue[i]; q.QPN == d.QPN && q.Packet.TID() == d.Packet.TID() && q.RemoteGID() == d.RemoteGID() {
			return sa.DropDuplicate
		}
	}
	switch {
	case len(c.queue) >= maxClientWrites:
		return sa.DropClientFull
	case b.waiting >= maxWrites:
		return sa.DropNoRoom
	}
	if len(c.queue) == 0 {
		b.clients[d.LID] = c
		b.turn = append(b.turn, c)
	}
	c.queue = append(c.queue, clientWrite{*d, time.Since(b.start)})
	b.waiting++
	return 0
}

// next takes out the next event; ok is false when there is nothing. Datagrams
// are appended to batch.
func (b *inbox) next(batch []mad.Datagram) (ev sa.Event, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case len(b.events) > 0:
		ev = b.events[0]
		b.events[0] = nil
		if b.events = b.events[1:]; len(b.events) == 0 {
			b.events = nil
		}
		if _, is := ev.(sa.TrapReceived); is {
			b.notices--
		}
	case b.durable > 0:
		ev, b.durable = sa.Durable{Seq: b.durable}, 0
	case len(b.grh) > 0:
		ev = sa.GRHDemanded{Ports: slices.Sorted(maps.Keys(b.grh))}
		clear(b.grh)
	case b.takeReceived(&batch):
		ev = sa.Received{Datagrams: batch}
	case len(b.turn) > 0:
		ev = b.takeTurns(batch)
	default:
		return ev, false
	}
	return ev, true
}

// takeReceived empties the first queue that has something, into batch.
func (b *inbox) takeReceived(batch *[]mad.Datagram) bool {
	for from := range b.received {
		if q := &b.received[from]; len(*q) > 0 {
			*batch = append(*batch, *q...)
			*q = (*q)[:0]
			return true
		}
	}
	return false
}

// takeTurns takes one request of each client in turn.
func (b *inbox) takeTurns(batch []mad.Datagram) sa.Received {
	b.came = b.came[:0]
	for len(b.turn) > 0 && len(batch) < maxWriteBatch {
		c := b.turn[0]
		b.turn[0] = nil
		b.turn = b.turn[1:]
		batch, b.came = append(batch, c.queue[0].Datagram), append(b.came, c.queue[0].came)
		b.waiting--
		if c.queue = c.queue[1:]; len(c.queue) > 0 {
			b.turn = append(b.turn, c)
		} else {
			delete(b.clients, c.lid)
		}
	}
	return sa.Received{Datagrams: batch, Came: b.came}
}
