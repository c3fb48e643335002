package sa

import (
	"time"

	"ibsm/mad"
)

// pending are replies that wait. Those of one queue are in order both of the change
// that they wait for and of the time at which they leave anyway.
type pending struct {
	durable, forwarded uint64 // numbers of changes that have got there
	disk, tables       []pendingReply
	asked              map[transaction]time.Duration // when each came
	clients            map[mad.LID]int               // how many of asked each has
}

// transaction identifies a request. Hosts behind a router share a LID here, but no SGID.
type transaction struct {
	lid mad.LID
	qpn uint32
	gid mad.GID // 0 without a GRH
	tid mad.TID
}

func transactionOf(d *mad.Datagram) transaction {
	return transaction{d.LID, d.QPN, d.RemoteGID(), d.Packet.TID()}
}

type pendingReply struct {
	out mad.Datagram
	seq uint64 // the change that it waits for
	due time.Duration
}

func newPending() pending {
	return pending{asked: map[transaction]time.Duration{}, clients: map[mad.LID]int{}}
}

// admit decides whether a request may be served, whose reply may have to wait.
func (p *pending) admit(in *mad.Datagram) Drop {
	switch _, asked := p.asked[transactionOf(in)]; {
	case asked:
		return DropDuplicate
	case len(p.asked) >= maxPending:
		return DropNoRoom
	case p.clients[in.LID] >= maxClientPending:
		return DropClientFull
	}
	return answered
}

// hold remembers that a reply waits, to a request that came at a time.
func (p *pending) hold(out *mad.Datagram, came time.Duration) {
	p.asked[transactionOf(out)] = came
	p.clients[out.LID]++
}

// release forgets it.
func (p *pending) release(out *mad.Datagram) (came time.Duration) {
	came = p.asked[transactionOf(out)]
	delete(p.asked, transactionOf(out))
	if p.clients[out.LID]--; p.clients[out.LID] == 0 {
		delete(p.clients, out.LID)
	}
	return came
}

// add has a reply wait for a change.
func (p *pending) add(out *mad.Datagram, seq uint64, tables bool, came, due time.Duration) {
	p.hold(out, came)
	queue := &p.disk
	if tables {
		queue = &p.tables
	}
	*queue = append(*queue, pendingReply{*out, seq, due})
}

// settle appends to send the replies that need not wait any longer.
func (p *pending) settle(now time.Duration, send []mad.Datagram, count *RegistrarStats, stats *Stats) []mad.Datagram {
	for i, queue := range []*[]pendingReply{&p.disk, &p.tables} {
		there := p.durable
		if i == 1 {
			there = min(there, p.forwarded)
		}
		n := 0
		for ; n < len(*queue); n++ {
			reply := &(*queue)[n]
			if reply.seq > there {
				if reply.due > now {
					break
				}
				count.Late++
			}
			stats.Took(Recording, now-p.release(&reply.out), 1)
			send = append(send, reply.out)
		}
		if *queue = (*queue)[n:]; len(*queue) == 0 {
			*queue = nil
		}
	}
	return send
}

// deadline is when the next reply leaves whether its change has got there or not.
func (p *pending) deadline() (at time.Duration, ok bool) {
	for _, queue := range [][]pendingReply{p.disk, p.tables} {
		if len(queue) > 0 && (!ok || queue[0].due < at) {
			at, ok = queue[0].due, true
		}
	}
	return at, ok
}

// clear drops all: there are no answers any more.
func (p *pending) clear() {
	durable, forwarded := p.durable, p.forwarded
	*p = newPending()
	p.durable, p.forwarded = durable, forwarded
}
