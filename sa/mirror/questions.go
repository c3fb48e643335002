package mirror

import (
	"encoding/binary"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
)

// maxPeers bounds the managers that are remembered, and maxReplies the challenges that wait for Output.
const (
	maxPeers   = 64
	maxReplies = 64
)

// plainPatience is how long a manager must have asked in plainVersion until it is answered. One that can
// encrypt sends an opening within askLatest, which it does not do any more when it has ended: so
// a question of plainVersion that is replayed after an upgrade has no answer in the clear.
const plainPatience = askLatest + askLatest/4

// peer is what is remembered of a manager that has asked, until this one ends.
type peer struct {
	number uint64        // the greatest of its questions
	since  time.Duration // since when it has asked only in plainVersion
	last   time.Duration // when it asked so last
	old    bool          // it cannot encrypt, and Old has it
}

// Receive takes a packet from the port with a GUID, which the last walk found a manager at; 0 for
// any other port.
func (s *Source) Receive(now time.Duration, d *mad.Datagram, from mad.GUID) {
	p := &d.Packet
	switch {
	case s.term == (Term{}) || d.TimedOut || p.IsResponse():
	case from == 0 || len(s.cfg.Allowed) > 0 && !slices.Contains(s.cfg.Allowed, from) || !s.cfg.isOurs(p):
		s.stats.Untrusted++
	case p.IsRMPP():
		s.acknowledged(now, d, from)
	case !s.packets.verify(p, from, s.term.Manager):
		s.stats.Untrusted++
	case p.AttrID() == attrSealed:
		s.askedSealed(now, d, from)
	default:
		s.asked(now, d, from)
	}
}

// acknowledged takes a packet about the answer to a standby.
func (s *Source) acknowledged(now time.Duration, d *mad.Datagram, from mad.GUID) {
	var sent *session
	if p := s.standbys[d.LID]; p != nil {
		sent = p.sent
	}
	if !s.coderOf(sent).verify(&d.Packet, from, s.term.Manager) {
		s.stats.Untrusted++
		return
	}
	if rmpp.TypeOf(&d.Packet) == rmpp.TypeData {
		return // standbys send no messages
	}
	if e, ended := s.transfers.Receive(now, d); ended {
		s.ended(now, &e)
	}
}

// asked takes an opening or a question of plainVersion.
func (s *Source) asked(now time.Duration, d *mad.Datagram, from mad.GUID) {
	version := uint8(plainVersion)
	if d.Packet.AttrID() == attrOpening {
		version = sealedVersion
	}
	b := d.Packet.SAData()[:openingSize]
	q, err := readQuestion(b, version)
	if err != nil {
		s.stats.Foreign++
		return
	}
	if q.from != from {
		s.stats.Untrusted++
		return
	}
	h := s.peer(now, from)
	if q.latest >= sealedVersion || version == sealedVersion {
		if h != nil && q.number > h.number {
			h.seals(now, q.number)
		}
		s.challenge(d, from, q.number, Salt(b[questionSize:]))
		return
	}
	if s.answersPlain(now, h, &q) {
		s.accept(now, d, from, &q, nil)
	}
}

// answersPlain reports whether a question of plainVersion is answered.
func (s *Source) answersPlain(now time.Duration, h *peer, q *question) bool {
	if h == nil {
		s.stats.Full++
		return false
	}
	if q.number <= h.number {
		s.stats.Untrusted++
		return false
	}
	if h.number = q.number; now-h.last > lease {
		h.since = now
	}
	h.last = now
	soon := s.cfg.secret() && now-h.since < plainPatience
	if !soon && !h.old && s.cfg.secret() {
		h.old = true
		s.old = append(s.old, q.from)
	}
	if soon || s.cfg.Sealed {
		s.stats.Plain++
		return false
	}
	return true
}

// peer is what is remembered of a manager, nil if there is no room for it.
func (s *Source) peer(now time.Duration, guid mad.GUID) *peer {
	h := s.peers[guid]
	if h == nil && len(s.peers) < maxPeers {
		h = &peer{since: now, last: now}
		s.peers[guid] = h
	}
	return h
}

// seals notes that a manager can encrypt.
func (h *peer) seals(now time.Duration, number uint64) {
	h.number, h.since, h.last, h.old = max(h.number, number), now, now, false
}

// challenge answers what is no question of a session that may be new, and changes nothing.
func (s *Source) challenge(d *mad.Datagram, from mad.GUID, number uint64, salt Salt) {
	if len(s.replies) >= maxReplies {
		s.stats.Full++
		return
	}
	s.issued++
	out := mad.Datagram{Addr: d.Addr}
	header(&out.Packet, mad.MethodGetTableResp, attrOpening, d.Packet.TID())
	b := appendHead(out.Packet.SAData()[:0], kindChallenge)
	b = append(binary.BigEndian.AppendUint64(b, number), salt[:]...)
	(&challenge{s.salt, s.issued}).append(b)
	rmpp.SetSize(&out.Packet, dataAt+challengeSize) // as part of a transfer: Linux drops other responses
	s.packets.sign(&out.Packet, s.term.Manager, from)
	s.replies = append(s.replies, out)
}

// askedSealed takes a question of a session. It is new if it has a greater number than the last one,
// in the present session of the standby or in one with a later challenge.
func (s *Source) askedSealed(now time.Duration, d *mad.Datagram, from mad.GUID) {
	b := d.Packet.SAData()
	number, salt, ch := binary.BigEndian.Uint64(b[8:]), Salt(b[16:32]), readChallenge(b[32:questionHead])
	if !isSealed(b[:], kindQuestion) {
		s.stats.Foreign++
		return
	}
	p := s.standbyAt(d.LID, from)
	floor, session := s.floor, (*session)(nil)
	if p != nil && p.session != nil {
		session, floor = p.session, max(floor, p.session.challenge.number)
	}
	switch {
	case session != nil && session.salt == salt && session.challenge == ch:
		if number <= p.asked {
			s.stats.Untrusted++
			return
		}
	case ch.salt != s.salt || ch.number <= floor || ch.number > s.issued:
		s.challenge(d, from, number, salt)
		return
	default:
		session = s.cfg.newSession(from, s.term.Manager, salt, ch)
	}
	q, err := session.openQuestion(&d.Packet, number)
	if err != nil {
		s.stats.Untrusted++
		return
	}
	if h := s.peer(now, from); h != nil {
		h.seals(now, number)
	}
	s.accept(now, d, from, &q, session)
}

// standbyAt is the standby with a LID and GUID, nil if there is none.
func (s *Source) standbyAt(lid mad.LID, guid mad.GUID) *standby {
	p := s.standbys[lid]
	if p != nil && p.guid != guid {
		s.forget(lid)
		return nil
	}
	return p
}

// accept takes a question that is new and from a standby with the keys.
func (s *Source) accept(now time.Duration, d *mad.Datagram, from mad.GUID, q *question, session *session) {
	p := s.standbyAt(d.LID, from)
	if p == nil {
		if len(s.standbys) >= maxStandbys {
			s.stats.Full++
			return
		}
		p = &standby{}
		s.standbys[d.LID] = p
	}
	if p.session != session {
		s.stats.Opened++
	}
	if session == nil && p.session != nil {
		s.floor = s.issued
	}
	s.stats.Questions++
	p.guid, p.asked, p.session, p.version, p.heard = from, q.number, session, q.understood, now
	if p.sends() && p.sent == session {
		p.state = sendingOwed
		return
	}
	if p.sends() { // the standby can open nothing of its old session any more
		d := p.answer()
		s.transfers.Cancel(&d)
		s.stats.Failed++
	}
	p.state = owed
	p.addr, p.high, p.has = d.Addr, uint32(d.Packet.TID()>>32), q.has
}

// ended takes the end of an answer.
func (s *Source) ended(now time.Duration, e *rmpp.Ended) {
	p := s.standbys[e.LID]
	if p == nil || !p.sends() || p.tid != e.Head.TID() {
		return
	}
	if p.state == sendingOwed {
		p.state = owed
	} else {
		p.state = idle
	}
	if e.Status != rmpp.StatusNormal {
		s.stats.Failed++
		p.next = now + setback
		return
	}
	p.has, p.next = p.will, now+pace
}

// Old returns a manager that speaks only an older version of the protocol, without encryption, each once: it is answered so, or with
// Config.Sealed not at all. It is false for none, and where the keys are no secret.
func (s *Source) Old() (guid mad.GUID, ok bool) {
	if len(s.old) == 0 {
		return 0, false
	}
	guid, s.old = s.old[0], s.old[1:]
	return guid, true
}
