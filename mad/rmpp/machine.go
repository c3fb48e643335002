package rmpp

import (
	"slices"
	"time"

	"ibsm/mad"
)

// Machine is the transfers of one queue pair, in both directions. Its owner hands
// messages to Send and every packet with RMPP active to Receive, sends what Output
// gives, and calls Expire when Deadline has come. All times are since one fixed start
// and never run backwards.
//
// A Machine belongs to one goroutine. It does not allocate once it has seen as many
// transfers as it will have to hold, but for the payload of messages it receives.
type Machine struct {
	cfg       Config
	transfers map[key]*transfer
	withGRH   map[key]*transfer   // those with a GRH, the last one by each key without the GID
	peers     map[mad.LID]int     // transfers under way with each
	timers    heap                // active transfers
	ready     queue[*transfer]    // senders that have segments to send
	lingering queue[*transfer]    // lingering or forgotten, by due: one time for all
	control   queue[mad.Datagram] // ACKs and aborts to send
	free      []*transfer
	bytes     int
	stats     Stats
}

// New returns a machine without transfers.
func New(cfg Config) *Machine {
	return &Machine{cfg: cfg.withDefaults(), transfers: map[key]*transfer{}, withGRH: map[key]*transfer{},
		peers: map[mad.LID]int{}}
}

// Stats returns the counters and the state of the machine.
func (m *Machine) Stats() Stats {
	s := m.stats
	s.UnderWay, s.Bytes = len(m.timers), m.bytes
	return s
}

// Segments is how many segments it has received that were of use.
func (m *Machine) Segments() uint64 { return m.stats.Segments }

// Receive takes a packet whose RMPP is active. It returns true and the transfer that
// the packet has ended, if any. A request whose response begins to come without the
// last ACK ends without a word: the response will have its own.
func (m *Machine) Receive(now time.Duration, d *mad.Datagram) (Ended, bool) {
	p := &d.Packet
	switch t := TypeOf(p); {
	case d.TimedOut || !p.IsRMPP():
		return Ended{}, false
	case t == TypeStop || t == TypeAbort:
		return m.halted(now, d)
	case p[24] != Version:
		return m.refuse(now, d, StatusBadVersion)
	case t != TypeData && t != TypeACK:
		return m.refuse(now, d, StatusBadType)
	case statusOf(p) != StatusNormal:
		return m.refuse(now, d, StatusBadStatus)
	case t == TypeData:
		return m.segment(now, d)
	}
	return m.acknowledged(now, d)
}

// find is the transfer that a packet which has come belongs to, nil if there is none. Only where both have a GRH must
// the GIDs be the same: some hosts send their ACKs without one.
func (m *Machine) find(k key) *transfer {
	if t := m.transfers[k]; t != nil {
		return t
	}
	if k.peer.gid == (mad.GID{}) {
		return m.withGRH[k]
	}
	return m.transfers[k.withoutGID()]
}

// forget has a transfer not found any more.
func (m *Machine) forget(t *transfer) {
	delete(m.transfers, t.key)
	if k := t.key.withoutGID(); m.withGRH[k] == t {
		delete(m.withGRH, k)
	}
}

// refuse answers a packet that breaks a rule, and ends its transfer.
func (m *Machine) refuse(now time.Duration, d *mad.Datagram, s Status) (Ended, bool) {
	m.answer(d, TypeAbort, s, 0, 0)
	if t := m.meant(d); t != nil {
		return m.end(now, t, s), true
	}
	return Ended{}, false
}

// halted takes the other side's word that a transfer is over. There is no answer, so
// that two machines never argue.
func (m *Machine) halted(now time.Duration, d *mad.Datagram) (Ended, bool) {
	t, s := m.meant(d), statusOf(&d.Packet)
	if t == nil {
		m.stats.Unmatched++
		return Ended{}, false
	}
	isStop := TypeOf(&d.Packet) == TypeStop
	if isStop != (s == StatusResourcesExceeded) || !isStop && s < StatusTotalTime {
		s = StatusBadStatus
	}
	return m.end(now, t, s), true
}

// meant is the active transfer that a packet is about, nil if there is none: one of
// ours to send, when it comes from the receiver, or the other way round.
func (m *Machine) meant(d *mad.Datagram) *transfer {
	k := keyOf(&d.Addr, &d.Packet, false)
	if t := m.find(k); t != nil && t.state == active && TypeOf(&d.Packet) != TypeACK {
		return t
	}
	k.method, k.sending = k.method^responseBit, true
	if t := m.find(k); t != nil && t.state == active && TypeOf(&d.Packet) != TypeData {
		return t
	}
	return nil
}

// Output fills ds with packets to send now, ACKs first, the segments of transfers in
// turns, and returns how many there are. Call it until it returns none. A
// packet that the port then does not take is as good as lost, and is sent again.
func (m *Machine) Output(now time.Duration, ds []mad.Datagram) int {
	n := 0
	for ; n < len(ds) && m.control.len() > 0; n++ {
		ds[n] = m.control.pop()
	}
	for n < len(ds) && m.ready.len() > 0 {
		t := m.ready.pop()
		t.queued = false
		if t.state == active {
			n += m.emit(now, t, ds[n:])
		}
		m.release(t)
	}
	return n
}

// Drain appends all packets that there are to send now.
func (m *Machine) Drain(now time.Duration, out []mad.Datagram) []mad.Datagram {
	for {
		from := len(out)
		out = slices.Grow(out, 1)
		n := m.Output(now, out[from:cap(out)])
		if n == 0 {
			return out
		}
		out = out[:from+n]
	}
}

// Deadline is when Expire has something to do; false when there is nothing to wait for.
func (m *Machine) Deadline() (time.Duration, bool) {
	due, ok := time.Duration(0), false
	if len(m.timers) > 0 {
		due, ok = m.timers[0].due, true
	}
	if m.lingering.len() > 0 {
		if d := (*m.lingering.front()).due; !ok || d < due {
			due, ok = d, true
		}
	}
	return due, ok
}

// Expire has senders go back that have waited for an ACK, forgets what is long over,
// and appends to buf the transfers that have failed for want of an answer.
func (m *Machine) Expire(now time.Duration, buf []Ended) []Ended {
	for len(m.timers) > 0 && m.timers[0].due <= now {
		t := m.timers[0]
		switch {
		case m.maybePlain(t):
			buf = append(buf, m.end(now, t, StatusTooManyRetries))
		case now >= t.ends:
			m.abort(t, StatusTotalTime)
			buf = append(buf, m.end(now, t, StatusTotalTime))
		case t.retries >= m.cfg.Retries:
			m.abort(t, StatusTooManyRetries)
			buf = append(buf, m.end(now, t, StatusTooManyRetries))
		default:
			t.retries++
			m.stats.Repeated++
			t.next = t.have + 1
			m.push(t)
		}
	}
	for m.lingering.len() > 0 && (*m.lingering.front()).due <= now {
		m.forgetOldest()
	}
	return buf
}

// begin makes a transfer, or says which limit forbids it.
func (m *Machine) begin(now time.Duration, k key, d *mad.Datagram) (*transfer, error) {
	switch {
	case len(m.timers) >= m.cfg.MaxTransfers:
		m.stats.OverCount++
		return nil, ErrFull
	case m.peers[k.peer.lid] >= m.cfg.MaxPerPeer && !m.makeRoom(now, k.peer.lid):
		m.stats.OverPeer++
		return nil, ErrPeerFull
	}
	var t *transfer
	if n := len(m.free); n > 0 {
		t, m.free = m.free[n-1], m.free[:n-1]
	} else {
		t = new(transfer)
	}
	*t = transfer{key: k, addr: d.Addr, head: d.Packet, state: active, ends: now + m.cfg.TotalTime}
	m.transfers[k] = t
	if k.peer.gid != (mad.GID{}) {
		m.withGRH[k.withoutGID()] = t
	}
	m.peers[k.peer.lid]++
	m.timers.add(t, t.ends)
	return t, nil
}

// end takes a transfer from those under way. It lingers if it went well.
func (m *Machine) end(now time.Duration, t *transfer, s Status) Ended {
	e := Ended{Addr: t.addr, Sent: t.key.sending, Status: s, Head: t.head}
	switch {
	case s != StatusNormal:
		m.stats.Failed[s]++
	case e.Sent:
		m.stats.Sent++
	default:
		m.stats.Received++
		e.Data = t.data[:t.size:t.size]
	}
	m.timers.remove(t)
	m.bytes -= len(t.data)
	t.data = nil
	if m.peers[t.key.peer.lid]--; m.peers[t.key.peer.lid] == 0 {
		delete(m.peers, t.key.peer.lid)
	}
	if s == StatusNormal && t.hasLastWord() {
		if m.lingering.len() >= m.cfg.MaxTransfers {
			m.forgetOldest()
		}
		t.state, t.due = lingering, now+m.cfg.Linger
		m.lingering.push(t)
		return e
	}
	t.state = gone
	m.forget(t)
	m.release(t)
	return e
}

// hasLastWord reports whether the other side may ask for it again: for the ACK of what
// we received, or for the turn to respond.
func (t *transfer) hasLastWord() bool { return !t.key.sending || t.isRequest() }

// isRequest reports whether the message calls for a response that is a transfer, too.
func (t *transfer) isRequest() bool { return t.key.sending && !t.key.method.IsResponse() }

// forgetOldest makes an end of the transfer that has lingered longest.
func (m *Machine) forgetOldest() {
	t := m.lingering.pop()
	if t.state == lingering {
		m.forget(t)
	}
	t.state = gone
	m.release(t)
}

// release keeps a transfer for another use once no queue has it.
func (m *Machine) release(t *transfer) {
	if t.state == gone && !t.queued {
		*t = transfer{}
		m.free = append(m.free, t)
	}
}

// answer sends a packet back to where d came from.
func (m *Machine) answer(d *mad.Datagram, typ Type, s Status, segment, length uint32) {
	m.sendControl(&d.Addr, &d.Packet, d.Packet.Method()^responseBit, typ, s, segment, length)
}

// abort notifies the other side that a transfer is over.
func (m *Machine) abort(t *transfer, s Status) {
	method := t.key.method
	if !t.key.sending {
		method ^= responseBit
	}
	typ := TypeAbort
	if s == StatusResourcesExceeded {
		typ = TypeStop
	}
	m.sendControl(&t.addr, &t.head, method, typ, s, 0, 0)
}

// sendControl sends a packet without payload that has the header of p.
func (m *Machine) sendControl(to *mad.Addr, p *mad.Packet, method mad.Method, typ Type, s Status, segment,
	length uint32) {
	if m.control.len() >= maxControl {
		m.stats.ControlLost++
		return
	}
	d := mad.Datagram{Addr: *to}
	copy(d.Packet[:headerSize], p[:headerSize])
	d.Packet.SetMethod(method)
	setHeader(&d.Packet, typ, 0, s, segment, length)
	m.control.push(d)
}
