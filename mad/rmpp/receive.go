package rmpp

import (
	"math/bits"
	"slices"
	"time"

	"ibsm/mad"
)

// segment takes a segment of a message.
func (m *Machine) segment(now time.Duration, d *mad.Datagram) (Ended, bool) {
	p := &d.Packet
	number := SegmentOf(p)
	if number == 0 || flagsOf(p).Has(FlagFirst) != (number == 1) {
		return m.refuse(now, d, StatusBadFirst)
	}
	k := keyOf(&d.Addr, p, false)
	t := m.find(k)
	if t == nil {
		if number != 1 {
			m.stats.Unmatched++
			return Ended{}, false
		}
		if t = m.accept(now, k, d); t == nil {
			return Ended{}, false
		}
	}
	isLater := number > t.have
	switch {
	case isLater && t.state == active && number > t.window:
		return m.refuse(now, d, StatusSegmentTooBig)
	case !isLater:
		m.stats.Duplicates++
		m.acknowledge(t)
		return Ended{}, false
	case t.state != active, number > t.have+1 && t.early>>(number-t.have-2)&1 != 0:
		m.stats.Duplicates++
		return Ended{}, false
	}
	if s := t.fits(p); s != StatusNormal {
		return m.fail(now, t, s)
	}
	if s := m.store(t, number, p); s != StatusNormal {
		return m.fail(now, t, s)
	}
	return m.advance(now, t, number)
}

// accept begins to receive a message. What there is no room for gets no answer, so
// that the sender tries again; what there will never be room for is stopped.
func (m *Machine) accept(now time.Duration, k key, d *mad.Datagram) *transfer {
	claimed := lengthOf(&d.Packet)
	if claimed > payloadLength(m.cfg.MaxMessage) {
		m.stats.TooBig++
		m.answer(d, TypeStop, StatusResourcesExceeded, 0, 0)
		return nil
	}
	if m.cfg.MaxBytes-m.bytes < mad.SADataSize {
		m.stats.OverBytes++
		return nil
	}
	m.endRequest(now, k)
	t, err := m.begin(now, k, d)
	if err != nil {
		return nil
	}
	t.window, t.claimed = 1, claimed
	return t
}

// endRequest ends the request that the message k responds to: whoever responds has
// had it whole.
func (m *Machine) endRequest(now time.Duration, k key) {
	k.method, k.sending = k.method^responseBit, true
	t := m.find(k)
	if t == nil || !t.isRequest() {
		return
	}
	if t.state == active {
		m.end(now, t, StatusNormal)
	}
	t.state = forgotten // it gives no turn any more
	m.forget(t)
}

// fits says what is wrong with the lengths of a segment. The segment has not arrived
// before.
func (t *transfer) fits(p *mad.Packet) Status {
	number, length := SegmentOf(p), lengthOf(p)
	isLast := flagsOf(p).Has(FlagLast)
	known := uint32(0) // segments, by the first one's PayloadLength
	if t.claimed != 0 {
		known = (t.claimed + mad.SADataSize + extra - 1) / (mad.SADataSize + extra)
	}
	switch {
	case t.last != 0 && (number > t.last || isLast),
		isLast && t.early != 0 && number < t.highest(),
		known != 0 && (number > known || isLast != (number == known)):
		return StatusBadLast
	case !isLast:
		return StatusNormal
	case length < extra || number > 1 && length > extra+mad.SADataSize:
		return StatusBadLast
	case known != 0 && t.claimed != (number-1)*(mad.SADataSize+extra)+length && number > 1:
		return StatusBadLast
	}
	return StatusNormal
}

// highest is the number of the highest segment that has arrived, when some are early.
func (t *transfer) highest() uint32 { return t.have + 1 + uint32(bits.Len64(t.early)) }

// store copies the records of a segment to their place.
func (m *Machine) store(t *transfer, number uint32, p *mad.Packet) Status {
	from, to := int(number-1)*mad.SADataSize, int(number)*mad.SADataSize
	if flagsOf(p).Has(FlagLast) {
		to = from + int(lengthOf(p)) - extra
		t.last, t.size = number, to
	}
	if to > m.cfg.MaxMessage {
		m.stats.TooBig++
		return StatusResourcesExceeded
	}
	if grow := to - len(t.data); grow > 0 {
		if grow > m.cfg.MaxBytes-m.bytes {
			m.stats.OverBytes++
			return StatusResourcesExceeded
		}
		m.bytes += grow
		t.data = slices.Grow(t.data, grow)[:to]
	}
	copy(t.data[from:to], p.SAData()[:])
	m.stats.Segments++
	return StatusNormal
}

// advance moves on after a segment that is new.
func (m *Machine) advance(now time.Duration, t *transfer, number uint32) (Ended, bool) {
	if number > t.have+1 {
		t.early |= 1 << (number - t.have - 2)
		return Ended{}, false
	}
	for t.have++; t.early&1 != 0; t.have++ {
		t.early >>= 1
	}
	t.early >>= 1
	switch t.have {
	case t.last:
		m.acknowledge(t)
		return m.end(now, t, StatusNormal), true
	case t.window:
		t.window += Window
		m.acknowledge(t)
	}
	return Ended{}, false
}

// fail gives up a message that is coming in.
func (m *Machine) fail(now time.Duration, t *transfer, s Status) (Ended, bool) {
	m.abort(t, s)
	return m.end(now, t, s), true
}

// acknowledge sends the sender the last received segment and the window.
func (m *Machine) acknowledge(t *transfer) {
	m.sendControl(&t.addr, &t.head, t.key.method^responseBit, TypeACK, StatusNormal, t.have, t.window)
}
