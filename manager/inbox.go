package manager

import (
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
	maxAnswers      = 1 << 12 // answers to Reports, and packets of other managers
	maxNotices      = 1 << 10 // traps
	maxWriteBatch   = 64      // requests that are taken at a time
)

// inbox is what waits for the registrar. What the manager itself has to say comes
// before what clients ask for, and of these each has its turn, so that none keeps the
// others from theirs.
type inbox struct {
	wake  chan struct{} // has room for one
	stats *sa.Stats
	start time.Time // of the registrar's time

	mu      sync.Mutex // guards the rest
	told    []sa.Event
	notices int // of told
	durable uint64
	answers []mad.Datagram // to Reports, and packets of other managers
	clients map[mad.LID]*clientWrites
	turn    []*clientWrites // those with something, the next first
	waiting int
	came    []time.Duration // of the requests that were taken last
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
	return &inbox{wake: make(chan struct{}, 1), stats: stats, start: start, clients: map[mad.LID]*clientWrites{}}
}

// ring wakes the registrar.
func (b *inbox) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// tell adds something that the manager has to say. It does not wait.
func (b *inbox) tell(ev sa.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ev.Trap != nil {
		if b.notices >= maxNotices {
			b.stats.Drop(sa.DropNoRoom)
			return
		}
		b.notices++
	}
	b.told = append(b.told, ev)
	b.ring()
}

// isDurable says that changes up to a number are on disk.
func (b *inbox) isDurable(seq uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.durable = max(b.durable, seq)
	b.ring()
}

// receive adds a request, an answer to a Report, or a packet of another manager. It does
// not wait.
func (b *inbox) receive(d *mad.Datagram) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d.TimedOut || d.Packet.IsResponse() || d.Packet.MgmtClass() == mad.ClassMirror {
		if len(b.answers) >= maxAnswers {
			b.stats.Drop(sa.DropNoRoom)
			return
		}
		b.answers = append(b.answers, *d)
	} else if reason := b.queue(d); reason != 0 {
		b.stats.Drop(reason)
		return
	}
	b.ring()
}

// queue adds a request, unless it says why not.
func (b *inbox) queue(d *mad.Datagram) sa.Drop {
	c := b.clients[d.LID]
	if c == nil {
		c = &clientWrites{lid: d.LID}
	}
	for i := range c.queue {
		if c.queue[i].QPN == d.QPN && c.queue[i].Packet.TID() == d.Packet.TID() {
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

// next takes out what is to be done next; ok is false when there is nothing. Datagrams
// are appended to batch.
func (b *inbox) next(batch []mad.Datagram) (ev sa.Event, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case len(b.told) > 0:
		ev = b.told[0]
		b.told[0] = sa.Event{}
		if b.told = b.told[1:]; len(b.told) == 0 {
			b.told = nil
		}
		if ev.Trap != nil {
			b.notices--
		}
	case b.durable > 0:
		ev.Durable, b.durable = b.durable, 0
	case len(b.answers) > 0:
		ev.Received = append(batch, b.answers...)
		b.answers = b.answers[:0]
	case len(b.turn) > 0:
		ev.Received, ev.Came = b.takeTurns(batch)
	default:
		return ev, false
	}
	return ev, true
}

// takeTurns takes one request of each client in turn.
func (b *inbox) takeTurns(batch []mad.Datagram) ([]mad.Datagram, []time.Duration) {
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
	return batch, b.came
}
