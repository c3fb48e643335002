package txn

import (
	"bytes"
	"time"

	"ibsm/mad"
)

// Match pairs a response, or a request that the port gave up, with its request.
// It reports false when that ends no request: the datagram is not of this table, is a
// duplicate, comes too late, or does not match the request; or the reply is "busy", or the
// bounce is not the last, and another attempt follows. Stats counts each case.
//
// A reply to an earlier attempt is as good as one to the last. Since each attempt
// has its own transaction ID, a round trip is never ascribed to the wrong one.
func (t *Table) Match(now time.Duration, d *mad.Datagram) (Outcome, bool) {
	i, attempt := t.find(now, d)
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
	t.adapt(now, s)
	if s.attempt == 1 {
		t.window.answered(now, s.firstSent, s.measured)
		if d.Packet.MgmtClass() == mad.ClassDirected {
			t.window.passing.answered(int(d.Packet.HopCount()), now-s.firstSent)
		}
		if i == t.window.trial.slot {
			t.window.timed(now, now-s.firstSent)
		}
	}
	if s.repeat {
		t.release(i, Replied)
		return Outcome{}, false
	}
	o := s.outcome(Replied)
	o.Status, o.Data = d.Packet.Status(), *d.Packet.Data()
	took := now - s.firstSent // at most
	if attempt == s.attempt {
		took = now - s.lastSent
		o.RTT = took
		t.rtt += (o.RTT - t.rtt) / 8
	} else {
		t.stats.Slow++
	}
	if s.unknown {
		t.hears(now, took, 0, &s.d.Packet)
	} else {
		t.hears(now, took, s.device, &s.d.Packet)
	}
	t.release(i, Replied)
	return o, true
}

// adapt takes an answer for the window. Only an answered retry shows that a packet was lost. A node that never answers
// may be gone: such nodes, however many, leave the window unchanged.
func (t *Table) adapt(now time.Duration, s *slot) {
	counts := true
	if s.device > 0 {
		d := &t.devices[s.device]
		t.losses.answered(now, d)
		counts = !s.lost || t.losses.count(now, d)
	}
	switch {
	case !s.lost:
		t.window.grow()
	case counts:
		t.window.cut(now, s.firstSent)
	}
}

// find gives the slot and attempt that a datagram answers, slot 0 for none.
func (t *Table) find(now time.Duration, d *mad.Datagram) (int32, uint8) {
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
			if s.state == free && s.ended != Cancelled && !d.TimedOut && agrees(&s.d.Packet, d) {
				t.hears(now, t.allAttempts(), 0, &s.d.Packet)
			}
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
	if t.cfg.PortRetries && !s.busy && !s.repeat {
		t.stats.Expired++
		return t.timedOut(i), true
	}
	if attempt != s.attempt || s.state != sent && s.state != late && s.state != awaited || s.busy {
		return Outcome{}, false
	}
	return t.expire(i)
}
