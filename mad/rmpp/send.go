package rmpp

import (
	"time"

	"ibsm/mad"
)

// burst is how many segments a transfer sends before others have their turn.
const burst = 16

// Send begins to send a message: data behind the header of d's packet, to d's address.
// The machine keeps data until the transfer ends; nobody may write to it. A request is
// one that another transfer answers, so its receiver is given the turn at its end.
func (m *Machine) Send(now time.Duration, d *mad.Datagram, data []byte) error {
	k := keyOf(&d.Addr, &d.Packet, true)
	if old := m.transfers[k]; old != nil && m.maybePlain(old) {
		m.end(now, old, StatusTooManyRetries)
	} else if old != nil {
		return ErrUnderWay
	}
	if segments(len(data)) > maxSegments {
		m.stats.TooBig++
		return ErrTooBig
	}
	if len(data) > m.cfg.MaxBytes-m.bytes {
		m.stats.OverBytes++
		return ErrFull
	}
	t, err := m.begin(now, k, d)
	if err != nil {
		return err
	}
	m.bytes += len(data)
	t.data, t.count = data, segments(len(data))
	t.window, t.next = 1, 1
	m.push(t)
	return nil
}

// Sending reports whether a message with the header of d's packet is on its way to d's
// address, and Send would not take another.
func (m *Machine) Sending(d *mad.Datagram) bool {
	t := m.transfers[keyOf(&d.Addr, &d.Packet, true)]
	return t != nil && t.state == active && !m.maybePlain(t)
}

// Cancel ends a message with the header of d's packet that is on its way to d's address, and whose receiver has no use
// for it any more. It is not notified.
func (m *Machine) Cancel(d *mad.Datagram) {
	if t := m.transfers[keyOf(&d.Addr, &d.Packet, true)]; t != nil && t.state == active {
		m.end(0, t, StatusTotalTime) // a time is for one that ends well
	}
}

// makeRoom ends a transfer to a peer that may know no RMPP and has been sent all that it
// will take; false if there is none.
func (m *Machine) makeRoom(now time.Duration, lid mad.LID) bool {
	if !m.cfg.PlainPeers {
		return false
	}
	for _, t := range m.timers {
		if t.key.peer.lid == lid && !t.queued && m.maybePlain(t) {
			m.end(now, t, StatusTooManyRetries)
			return true
		}
	}
	return false
}

// maybePlain reports whether the receiver of t may be one that knows no RMPP.
func (m *Machine) maybePlain(t *transfer) bool {
	return m.cfg.PlainPeers && t.key.sending && t.state == active && t.have == 0
}

// push has a sender wait for its turn; while it does, no ACK is waited for.
func (m *Machine) push(t *transfer) {
	m.timers.move(t, t.ends)
	if !t.queued {
		t.queued = true
		m.ready.push(t)
	}
}

// emit writes segments of t that its window allows, and returns how many.
func (m *Machine) emit(now time.Duration, t *transfer, ds []mad.Datagram) int {
	last := t.mayGo()
	n := 0
	for n < min(len(ds), burst) && t.next <= last {
		t.write(&ds[n])
		t.next++
		n++
	}
	m.stats.SegmentsSent += uint64(n)
	if t.next <= last {
		m.push(t)
	} else {
		m.timers.move(t, min(now+m.cfg.ACKTimeout, t.ends))
	}
	return n
}

// mayGo is the last segment that may be under way.
func (t *transfer) mayGo() uint32 { return min(t.count, t.window, t.have+Window) }

// write makes the datagram of segment t.next.
func (t *transfer) write(d *mad.Datagram) {
	d.Addr, d.TimedOut = t.addr, false
	p := &d.Packet
	copy(p[:headerSize], t.head[:headerSize])
	rest := t.data[(t.next-1)*mad.SADataSize:]
	clear(p.SAData()[copy(p.SAData()[:], rest):])
	var flags Flags
	var length uint32
	if t.next == t.count {
		flags |= FlagLast
		length = uint32(len(rest)) + extra
	}
	if t.next == 1 {
		flags |= FlagFirst
		length = payloadLength(len(t.data))
	}
	setHeader(p, TypeData, flags, StatusNormal, t.next, length)
}

// acknowledged takes an ACK.
func (m *Machine) acknowledged(now time.Duration, d *mad.Datagram) (Ended, bool) {
	m.stats.ACKs++
	segment, window := SegmentOf(&d.Packet), lengthOf(&d.Packet)
	if window < segment {
		return m.refuse(now, d, StatusWindowTooSmall)
	}
	k := keyOf(&d.Addr, &d.Packet, true)
	k.method ^= responseBit
	t := m.find(k)
	if t == nil {
		// Also the turn to respond, of a request whose response is not ready. The
		// response begins with a window of one, which is what a turn gives.
		m.stats.Unmatched++
		return Ended{}, false
	}
	if t.state != active {
		if segment == t.count {
			m.giveTurn(t)
		}
		return Ended{}, false
	}
	// Segments sent before a return to an earlier one may still be acknowledged.
	if segment > min(t.count, t.window) {
		return m.refuse(now, d, StatusSegmentTooBig)
	}
	if segment < t.have || window < t.window {
		return Ended{}, false // overtaken by another
	}
	progress := segment > t.have
	if progress {
		t.have, t.retries = segment, 0
		t.next = max(t.next, segment+1)
	}
	t.window = window
	if segment == t.count {
		m.giveTurn(t)
		return m.end(now, t, StatusNormal), true
	}
	switch {
	case t.next <= t.mayGo():
		m.push(t)
	case progress && !t.queued:
		m.timers.move(t, min(now+m.cfg.ACKTimeout, t.ends))
	}
	return Ended{}, false
}

// giveTurn signals to the receiver of a request that it may send its response.
func (m *Machine) giveTurn(t *transfer) {
	if t.isRequest() {
		m.sendControl(&t.addr, &t.head, t.key.method, TypeACK, StatusNormal, 0, 1)
	}
}
