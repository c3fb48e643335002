package mirror

import (
	"encoding/binary"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
)

// maxOthers bounds the managers of another version that are remembered, and maxReplies the challenges that wait for
// Output.
const (
	maxOthers  = 64
	maxReplies = 64
)

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
	case p.SAData()[0] != Version:
		s.stats.Foreign++
		s.note(OtherVersion{from, p.SAData()[0]})
	case p.AttrID() == attrSealed:
		s.asked(now, d, from)
	default:
		s.opened(d, from)
	}
}

// acknowledged takes a packet about the answer to a standby, or of a message from one.
func (s *Source) acknowledged(now time.Duration, d *mad.Datagram, from mad.GUID) {
	p := s.standbys[d.LID]
	if p == nil || p.guid != from {
		s.stats.Untrusted++
		return
	}
	session, offers := p.sent, rmpp.TypeOf(&d.Packet) == rmpp.TypeData
	if offers {
		session = p.session
	}
	if session == nil || !session.packets.verify(&d.Packet, from, s.term.Manager) {
		s.stats.Untrusted++
		return
	}
	if offers {
		s.offered(now, d, p)
		return
	}
	if e, ended := s.transfers.Receive(now, d); ended {
		s.ended(now, &e)
	}
}

// OtherVersion is a manager that speaks another version of the protocol: it is not mirrored to.
type OtherVersion struct {
	Manager mad.GUID // 0 for none
	Version uint8    // that it speaks
}

// note has Foreign return a manager that speaks another version, unless it has.
func (s *Source) note(o OtherVersion) {
	if was, known := s.others[o.Manager]; known && was == o.Version || !known && len(s.others) >= maxOthers {
		return
	}
	s.others[o.Manager] = o.Version
	s.foreign = append(s.foreign, o)
}

// Foreign returns a manager that has asked in another version of the protocol, each once for each version; the zero
// value for none.
func (s *Source) Foreign() (o OtherVersion) {
	if len(s.foreign) > 0 {
		o, s.foreign = s.foreign[0], s.foreign[1:]
	}
	return o
}

// opened takes an opening.
func (s *Source) opened(d *mad.Datagram, from mad.GUID) {
	b := d.Packet.SAData()[:openingSize]
	o := readOpening(b)
	switch {
	case !isKind(b, kindOpening):
		s.stats.Foreign++
	case o.from != from:
		s.stats.Untrusted++
	default:
		s.challenge(d, from, o.number, o.salt)
	}
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

// asked takes a question of a session. It is new if it has a greater number than the last one,
// in the present session of the standby or in one with a later challenge.
func (s *Source) asked(now time.Duration, d *mad.Datagram, from mad.GUID) {
	b := d.Packet.SAData()
	number, salt, ch := binary.BigEndian.Uint64(b[8:]), Salt(b[16:32]), readChallenge(b[32:questionHead])
	if !isKind(b[:], kindQuestion) {
		s.stats.Foreign++
		return
	}
	p := s.standbyAt(d.LID, from)
	floor, session := s.floor, (*session)(nil)
	if p != nil {
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
	s.stats.Questions++
	p.guid, p.asked, p.session, p.heard = from, q.number, session, now
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
