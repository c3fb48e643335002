package txn

import (
	"time"

	"ibsm/mad"
)

// Table is the outstanding requests of one queue pair. Its owner submits while
// there is Room, sends what Output gives, hands every response and bounce to
// Match, and calls Expire when Deadline has come. All times are since one fixed
// start and never run backwards.
//
// Three limits govern what is on the wire: of each device (see perDevice), of the path on which
// all requests leave (see passing), and of all, the window. An attempt counts in the window until
// it is answered, but no longer than patience, so that devices that are gone hold it for a
// moment, not for a time-out. Retries use at most half of the window. In a Table without requests
// by directed route only first attempts count, up to their time-out.
//
// A Table belongs to one goroutine. It does not allocate once it has seen as
// many requests and devices as it will have to hold.
type Table struct {
	cfg      Config
	slots    []slot
	devices  []device
	byRoute  routes
	free     list
	ready    list
	again    list
	exempt   list
	sent     list  // by time of sending: the time-out is one for all, so also by deadline
	late     list  // the same, all sent earlier than those
	slow     list  // those that have more time, in no order
	retrying int32 // of sent, those that are not in their first attempt
	parked   int
	owners   [1 << 8]owned
	losses   losses
	directed bool          // there have been requests by directed route
	rtt      time.Duration // mean of round trips, of which each new one has an eighth
	window   window
	stats    Stats
}

// New returns an empty table.
func New(cfg Config) *Table {
	cfg = cfg.withDefaults()
	return &Table{cfg: cfg, slots: make([]slot, 1, 64), devices: make([]device, 1), byRoute: newRoutes(),
		window: newWindow(&cfg)}
}

// SetMaxWindow changes Config.MaxWindow and Config.Chosen. What is on the wire beyond it is awaited.
func (t *Table) SetMaxWindow(limit int, chosen bool) {
	t.cfg.MaxWindow = Config{MaxWindow: limit}.withDefaults().MaxWindow
	t.window.setLimit(t.cfg.MaxWindow)
	t.cfg.Chosen, t.window.chosen = chosen, chosen
}

// SetYields sets whether other packets on the same path must not wait: then the window stays
// small enough that queues are short. Otherwise it grows until a packet is lost, which may be
// slightly faster.
func (t *Table) SetYields(is bool) { t.window.setYields(is) }

// Room is how many more requests can be submitted now without exceeding a limit.
func (t *Table) Room() int {
	room := t.window.open() - int(t.sent.n+t.ready.n)
	room = min(room, t.maxOnWire()-int(t.onWire()+t.again.n+t.ready.n), maxParked-t.parked)
	return max(room, 0)
}

func (t *Table) onWire() int32  { return t.sent.n + t.late.n + t.slow.n }
func (t *Table) maxOnWire() int { return max(t.cfg.MaxWindow, maxOnWire) }

// Submit takes a request, which leaves with Output at once or when the limits
// allow. It may exceed Room, for what cannot wait for room to be
// found; it reports false, and takes nothing, when even the slots are used up.
func (t *Table) Submit(r *Request) bool {
	i := t.allocate()
	if i == 0 {
		t.stats.Refused++
		return false
	}
	t.stats.Requests++
	s := &t.slots[i]
	s.owner, s.tag, s.exempt, s.repeat, s.busy, s.lost = r.Owner, r.Tag, r.Exempt, false, false, false
	s.device = t.deviceOf(r)
	s.unknown = s.device == 0
	r.datagram(&s.d)
	if s.exempt {
		t.push(&t.exempt, i, exempt)
		return true
	}
	if s.device >= 0 {
		t.directed = true
		t.window.passing.needed = t.window.passing.needed || r.Route.Hops() > 1
		d := &t.devices[s.device]
		if !t.mayTake(d) {
			t.parked++
			t.push(&d.parked, i, parked)
			return true
		}
		d.active++
	}
	t.push(&t.ready, i, ready)
	return true
}

// Output appends the packets to send now, retries first, and considers them sent.
// A packet that the port then does not take is as good as lost, and is retried.
func (t *Table) Output(now time.Duration, out []mad.Datagram) []mad.Datagram {
	t.age(now)
	for t.exempt.n > 0 {
		out = t.send(now, t.exempt.head, out)
	}
	out, wait := t.try(now, out)
	if wait {
		t.window.full = false
		return out
	}
	open, most := int32(t.window.open()), int32(t.maxOnWire())
	for t.again.n > 0 && t.onWire() < most && (!t.directed || t.sent.n < open && t.retrying < max(open/2, 1)) {
		out = t.send(now, t.again.head, out)
	}
	for t.ready.n > 0 && t.sent.n < open && t.onWire() < most {
		t.slots[t.ready.head].measured = t.window.queueing.measure()
		out = t.send(now, t.ready.head, out)
	}
	t.window.full = t.sent.n >= open
	return out
}

func (t *Table) send(now time.Duration, i int32, out []mad.Datagram) []mad.Datagram {
	t.unlink(i)
	s := &t.slots[i]
	byPort := t.cfg.PortRetries && s.attempt > 0 && !s.busy // else the port has its answer
	if s.attempt++; s.attempt == 1 {
		s.firstSent = now
	}
	s.lastSent, s.busy = now, false
	s.patience = t.patienceWith(s)
	t.stats.Retries += uint64(s.retries())
	if s.attempt > 1 && !t.directed {
		t.push(&t.late, i, late)
	} else {
		t.retrying += s.retries()
		t.push(&t.sent, i, sent)
	}
	t.stats.Sent++
	if byPort {
		return out
	}
	s.d.Packet.SetTID(makeTID(s.attempt, s.generation, i))
	return append(out, s.d)
}

// Expire appends the outcomes of requests whose last attempt has run out of time.
// Earlier attempts that have are followed by the next with the next Output.
func (t *Table) Expire(now time.Duration, out []Outcome) []Outcome {
	t.age(now)
	for _, l := range []*list{&t.late, &t.sent} {
		for l.n > 0 && t.slots[l.head].lastSent+t.cfg.Timeout <= now {
			if o, ended := t.expire(l.head); ended {
				out = append(out, o)
			}
		}
	}
	for i := t.slow.head; i != 0; {
		s := &t.slots[i]
		next := s.next
		if s.lastSent+s.patience <= now {
			if o, ended := t.expire(i); ended {
				out = append(out, o)
			}
		}
		i = next
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
	if s.repeat {
		t.release(i, TimedOut)
		return Outcome{}, false
	}
	if t.isLast(s) {
		return t.timedOut(i), true
	}
	t.unlink(i)
	if s.exempt {
		t.push(&t.exempt, i, exempt)
	} else {
		t.push(&t.again, i, again)
	}
	return Outcome{}, false
}

func (t *Table) timedOut(i int32) Outcome {
	o := t.slots[i].outcome(TimedOut)
	t.release(i, TimedOut)
	return o
}

// Deadline is the next time that Expire or Output has something to do; false when nothing
// is on the wire.
func (t *Table) Deadline() (at time.Duration, waits bool) {
	if t.sent.n > 0 {
		at, waits = t.slots[t.sent.head].lastSent+t.patience(), true
	}
	if t.late.n > 0 {
		if ends := t.slots[t.late.head].lastSent + t.cfg.Timeout; !waits || ends < at {
			at, waits = ends, true
		}
	}
	for i := t.slow.head; i != 0; i = t.slots[i].next {
		if ends := t.slots[i].lastSent + t.slots[i].patience; !waits || ends < at {
			at, waits = ends, true
		}
	}
	return at, waits
}

// Cancel ends all requests and appends their outcomes. Replies to them that come
// later are dropped: this is how a mastership term ends.
func (t *Table) Cancel(out []Outcome) []Outcome {
	return t.end(func(Owner) bool { return true }, Cancelled, out)
}

// CancelOwner is Cancel for the requests of one owner.
func (t *Table) CancelOwner(owner Owner, out []Outcome) []Outcome {
	return t.end(func(o Owner) bool { return o == owner }, Cancelled, out)
}

// EndLate ends all requests of an owner that waits only for late devices, also those that have not been sent, and
// appends their outcomes: OutOfTime.
func (t *Table) EndLate(owner Owner, out []Outcome) []Outcome {
	if !t.WaitsForLate(owner) {
		return out
	}
	return t.end(func(o Owner) bool { return o == owner }, OutOfTime, out)
}

func (t *Table) end(is func(Owner) bool, r Result, out []Outcome) []Outcome {
	t.window.queueing.giveUp()
	t.window.trial.end(t.window.trial.next)
	for i := range t.slots {
		// From parked to free, never to ready: nothing may leave any more.
		if s := &t.slots[i]; s.state == parked && is(s.owner) {
			out = append(out, s.outcome(r))
			t.release(int32(i), r)
		}
	}
	for i := range t.slots {
		s := &t.slots[i]
		switch {
		case s.state == free:
		case s.repeat:
			t.release(int32(i), Cancelled)
		case is(s.owner):
			out = append(out, s.outcome(r))
			t.release(int32(i), r)
		}
	}
	return out
}

// owned counts the requests of an owner that have no outcome yet.
type owned struct {
	open   int32
	prompt int32 // those that wait for the window, or have been sent once and have waited no longer than patience
}

// WaitsForLate reports whether an owner waits only for devices that take long for an answer, or have none: each of its
// requests has waited for longer than patience, or waits for another one to the same device.
func (t *Table) WaitsForLate(owner Owner) bool {
	o := &t.owners[owner]
	return o.open > 0 && o.prompt == 0
}

// Open is how many requests of an owner have no outcome yet.
func (t *Table) Open(owner Owner) int { return int(t.owners[owner].open) }

// RequestTime is how long a request that nobody answers takes with all attempts.
func (t *Table) RequestTime() time.Duration { return t.allAttempts() }

// Outstanding is how many requests have no outcome yet.
func (t *Table) Outstanding() int {
	return int(t.onWire()+t.again.n+t.exempt.n+t.ready.n) + t.parked
}

// Stats is a copy of the counters.
func (t *Table) Stats() Stats {
	st := t.stats
	st.Window, st.PathLimited, st.Cuts = min(t.window.size, t.window.path()), t.window.path() == pathWindow,
		t.window.cuts
	st.OnWire, st.Overdue, st.Parked = int(t.sent.n), int(t.late.n), t.parked
	return st
}

func (s *slot) outcome(r Result) Outcome {
	p := &s.d.Packet
	return Outcome{Owner: s.owner, Tag: s.tag, Method: p.Method(), Attr: p.AttrID(), Mod: p.AttrMod(),
		Result: r, Attempts: int(s.attempt)}
}

// release frees the slot of a request that has ended and lets the next one of
// its device proceed.
func (t *Table) release(i int32, r Result) {
	s := &t.slots[i]
	t.unlink(i)
	was := s.state
	s.generation++
	s.attempt, s.ended = 0, r
	t.push(&t.free, i, free)
	switch {
	case s.repeat:
	case r == Replied:
		t.stats.Replied++
	case r == TimedOut, r == OutOfTime:
		t.stats.TimedOut++
	case r == Cancelled:
		t.stats.Cancelled++
	}
	switch {
	case was == parked:
		t.parked--
		return
	case s.device > 0 && r == TimedOut:
		t.devices[s.device].unanswered(s.firstSent)
	}
	t.leave(s)
}
