package txn

import (
	"bytes"
	"time"

	"ibsm/mad"
)

// Table is the outstanding requests of one queue pair. Its owner submits while
// there is Room, sends what Output gives, hands every response and bounce to
// Match, and calls Expire when Deadline has come. All times are since one fixed
// start and never run backwards.
//
// Two limits govern what is on the wire. The window bounds requests that wait
// for their first answer; MaxWindow bounds all. So nodes that are gone hold the
// window for one time-out, not for all of them, and a retry, one packet each
// time-out, need not wait.
//
// A Table belongs to one goroutine. It does not allocate once it has seen as
// many requests and nodes as it will have to hold.
type Table struct {
	cfg    Config
	slots  []slot
	nodes  []node
	free   list
	ready  list
	again  list
	sent   list // by time of sending: the time-out is one for all, so also by deadline
	first  int  // of sent, those in their first attempt
	parked int
	window window
	stats  Stats
}

// node is what one node has to bear.
type node struct {
	active int // requests ready, again or sent
	parked list
}

// New returns an empty table.
func New(cfg Config) *Table {
	cfg = cfg.withDefaults()
	return &Table{cfg: cfg, slots: make([]slot, 1, 64), window: newWindow(cfg.MaxWindow)}
}

// SetMaxWindow changes Config.MaxWindow. What is on the wire beyond it is awaited.
func (t *Table) SetMaxWindow(limit int) {
	t.cfg.MaxWindow = Config{MaxWindow: limit}.withDefaults().MaxWindow
	t.window.setLimit(t.cfg.MaxWindow)
}

// SetYields sets whether other packets on the same path must not wait: then the window stays
// small enough that queues are short. Otherwise it grows until a packet is lost, which may be
// slightly faster.
func (t *Table) SetYields(is bool) { t.window.setYields(is) }

// Room is how many more requests can be submitted now without exceeding a limit.
func (t *Table) Room() int {
	room := t.window.open() - t.first - int(t.ready.n)
	room = min(room, t.cfg.MaxWindow-int(t.sent.n+t.again.n+t.ready.n), maxParked-t.parked)
	return max(room, 0)
}

// Submit takes a request, which leaves with Output at once or when the window
// and its node allow. It may exceed Room, for what cannot wait for room to be
// found; it reports false, and takes nothing, when even the slots are used up.
func (t *Table) Submit(r *Request) bool {
	i := t.allocate()
	if i == 0 {
		t.stats.Refused++
		return false
	}
	t.stats.Requests++
	s := &t.slots[i]
	s.owner, s.tag, s.node, s.busy, s.lost = r.Owner, r.Tag, r.Node, false, false
	r.datagram(&s.d)
	if r.Node >= 0 {
		for int(r.Node) >= len(t.nodes) {
			t.nodes = append(t.nodes, node{})
		}
		n := &t.nodes[r.Node]
		if n.active >= t.cfg.PerNode {
			t.parked++
			t.push(&n.parked, i, parked)
			return true
		}
		n.active++
	}
	t.push(&t.ready, i, ready)
	return true
}

// Output appends the packets to send now, retries first, and considers them sent.
// A packet that the port then does not take is as good as lost, and is retried.
func (t *Table) Output(now time.Duration, out []mad.Datagram) []mad.Datagram {
	for t.again.n > 0 && int(t.sent.n) < t.cfg.MaxWindow {
		out = t.send(now, t.again.head, out)
		t.stats.Retries++
	}
	for t.ready.n > 0 && t.first < t.window.open() && int(t.sent.n) < t.cfg.MaxWindow {
		t.first++
		s := &t.slots[t.ready.head]
		s.firstSent, s.measured = now, t.window.queueing.measure()
		out = t.send(now, t.ready.head, out)
	}
	t.window.full = t.first >= t.window.open()
	return out
}

func (t *Table) send(now time.Duration, i int32, out []mad.Datagram) []mad.Datagram {
	t.unlink(i)
	s := &t.slots[i]
	byPort := t.cfg.PortRetries && s.attempt > 0 && !s.busy // else the port has its answer
	s.attempt++
	s.lastSent, s.busy = now, false
	t.push(&t.sent, i, sent)
	t.stats.Sent++
	if byPort {
		return out
	}
	s.d.Packet.SetTID(makeTID(s.attempt, s.generation, i))
	return append(out, s.d)
}

// Match pairs a response, or a request that the port gave up, with its request.
// It reports false when that ends no request: the datagram is not of this table, is a
// duplicate, comes too late, or does not match the request; or the reply is "busy", or the
// bounce is not the last, and another attempt follows. Stats counts each case.
//
// A reply to an earlier attempt is as good as one to the last. Since each attempt
// has its own transaction ID, a round trip is never ascribed to the wrong one.
func (t *Table) Match(now time.Duration, d *mad.Datagram) (Outcome, bool) {
	i, attempt := t.find(d)
	if i == 0 {
		return Outcome{}, false
	}
	s := &t.slots[i]
	if d.TimedOut {
		return t.bounce(i, attempt)
	}
	if d.Packet.Status()&mad.StatusBusy != 0 && int(s.attempt) <= t.cfg.Retries {
		// The node has discarded the request and asks for time: the attempt
		// runs to its deadline as if nothing had come, but is no loss.
		t.stats.Busy++
		s.busy = true
		return Outcome{}, false
	}
	// Only an answered retry shows that a packet was lost. A node that never answers may
	// be gone: such nodes, however many, leave the window unchanged.
	if s.lost {
		t.window.cut(now, s.firstSent)
	} else {
		t.window.grow()
	}
	if s.attempt == 1 {
		t.window.answered(now, s.firstSent, s.measured)
	}
	o := s.outcome(Replied)
	o.Status, o.Data = d.Packet.Status(), *d.Packet.Data()
	if attempt == s.attempt {
		o.RTT = now - s.lastSent
	} else {
		t.stats.Slow++
	}
	t.release(i, Replied)
	return o, true
}

// find gives the slot and attempt that a datagram answers, slot 0 for none.
func (t *Table) find(d *mad.Datagram) (int32, uint8) {
	attempt, generation, i := splitTID(d.Packet.TID())
	if !d.TimedOut && !d.Packet.IsResponse() || i == 0 || int(i) >= len(t.slots) {
		t.stats.Unmatched++
		return 0, 0
	}
	s := &t.slots[i]
	if generation != s.generation {
		switch {
		case generation != s.generation-1:
			t.stats.Stale++
		case s.ended == Replied:
			t.stats.Duplicates++
		default:
			t.stats.Late++
		}
		return 0, 0
	}
	if attempt == 0 || attempt > s.attempt {
		t.stats.Unmatched++
		return 0, 0
	}
	if !agrees(&s.d.Packet, d) {
		t.stats.Mismatched++
		return 0, 0
	}
	return i, attempt
}

// agrees reports whether d can be the reply to the request, or the request itself
// come back. Of a bounce only the common header may be there.
func agrees(request *mad.Packet, d *mad.Datagram) bool {
	p := &d.Packet
	if p.MgmtClass() != request.MgmtClass() || p.AttrID() != request.AttrID() || p.AttrMod() != request.AttrMod() {
		return false
	}
	if d.TimedOut {
		return p.Method() == request.Method()
	}
	if p.Method() != responseTo(request.Method()) {
		return false
	}
	if p.MgmtClass() != mad.ClassDirected {
		return true
	}
	hops := min(int(request.HopCount()), mad.MaxHops)
	return p.HopCount() == request.HopCount() &&
		bytes.Equal(p.InitialPath()[1:1+hops], request.InitialPath()[1:1+hops])
}

// responseTo is the method that answers a method (IBA 13.4.5).
func responseTo(m mad.Method) mad.Method {
	switch m {
	case mad.MethodSet:
		return mad.MethodGetResp
	case mad.MethodTrap:
		return mad.MethodTrapRepress
	}
	return m | 0x80
}

// bounce takes the port's word that an attempt will have no answer. The next
// attempt goes out at once: the kernel speaks up when the time is over anyway,
// and ibsim at once, but only where no route leads. A port that retries bounces only the
// last attempt.
func (t *Table) bounce(i int32, attempt uint8) (Outcome, bool) {
	t.stats.Bounced++
	s := &t.slots[i]
	if t.cfg.PortRetries && !s.busy {
		t.stats.Expired++
		return t.timedOut(i), true
	}
	if attempt != s.attempt || s.state != sent || s.busy {
		return Outcome{}, false
	}
	return t.expire(i)
}

// Expire appends the outcomes of requests whose last attempt has run out of time.
// Earlier attempts that have are followed by the next with the next Output.
func (t *Table) Expire(now time.Duration, out []Outcome) []Outcome {
	for t.sent.n > 0 && t.slots[t.sent.head].lastSent+t.cfg.Timeout <= now {
		if o, ended := t.expire(t.sent.head); ended {
			out = append(out, o)
		}
	}
	return out
}

// expire ends an attempt that is on the wire.
func (t *Table) expire(i int32) (Outcome, bool) {
	s := &t.slots[i]
	if !s.busy {
		t.stats.Expired++
		s.lost = true
	}
	t.window.queueing.giveUp()
	if int(s.attempt) > t.cfg.Retries {
		return t.timedOut(i), true
	}
	if s.attempt == 1 {
		t.first--
	}
	t.unlink(i)
	t.push(&t.again, i, again)
	return Outcome{}, false
}

func (t *Table) timedOut(i int32) Outcome {
	o := t.slots[i].outcome(TimedOut)
	t.release(i, TimedOut)
	return o
}

// Deadline is the next time that Expire has something to do; false when nothing
// is on the wire.
func (t *Table) Deadline() (time.Duration, bool) {
	if t.sent.n == 0 {
		return 0, false
	}
	return t.slots[t.sent.head].lastSent + t.cfg.Timeout, true
}

// Cancel ends all requests and appends their outcomes. Replies to them that come
// later are dropped: this is how a mastership term ends.
func (t *Table) Cancel(out []Outcome) []Outcome {
	return t.cancel(func(Owner) bool { return true }, out)
}

// CancelOwner is Cancel for the requests of one owner.
func (t *Table) CancelOwner(owner Owner, out []Outcome) []Outcome {
	return t.cancel(func(o Owner) bool { return o == owner }, out)
}

func (t *Table) cancel(is func(Owner) bool, out []Outcome) []Outcome {
	t.window.queueing.giveUp()
	for i := range t.slots {
		// From parked to free, never to ready: nothing may leave any more.
		if s := &t.slots[i]; s.state == parked && is(s.owner) {
			out = append(out, s.outcome(Cancelled))
			t.release(int32(i), Cancelled)
		}
	}
	for i := range t.slots {
		if s := &t.slots[i]; s.state != free && is(s.owner) {
			out = append(out, s.outcome(Cancelled))
			t.release(int32(i), Cancelled)
		}
	}
	return out
}

// Outstanding is how many requests have no outcome yet.
func (t *Table) Outstanding() int {
	return int(t.sent.n+t.again.n+t.ready.n) + t.parked
}

// Stats is a copy of the counters.
func (t *Table) Stats() Stats {
	st := t.stats
	st.Window, st.Cuts = t.window.size, t.window.cuts
	st.OnWire, st.Parked = int(t.sent.n), t.parked
	return st
}

func (s *slot) outcome(r Result) Outcome {
	p := &s.d.Packet
	return Outcome{Owner: s.owner, Tag: s.tag, Node: s.node, Method: p.Method(), Attr: p.AttrID(), Mod: p.AttrMod(),
		Result: r, Attempts: int(s.attempt)}
}

// release frees the slot of a request that has ended and lets the next one of
// its node proceed.
func (t *Table) release(i int32, r Result) {
	s := &t.slots[i]
	t.unlink(i)
	was := s.state
	if was == sent && s.attempt == 1 {
		t.first--
	}
	s.generation++
	s.attempt, s.ended = 0, r
	t.push(&t.free, i, free)
	switch r {
	case Replied:
		t.stats.Replied++
	case TimedOut:
		t.stats.TimedOut++
	case Cancelled:
		t.stats.Cancelled++
	}
	if was == parked {
		t.parked--
		return
	}
	if s.node < 0 {
		return
	}
	n := &t.nodes[s.node]
	n.active--
	if next := n.parked.head; next != 0 {
		t.parked--
		n.active++
		t.unlink(next)
		t.push(&t.ready, next, ready)
	}
}
