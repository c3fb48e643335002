package mirror

import (
	"encoding/binary"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
)

// A standby opens a session with three packets: its opening has its Salt, the master's challenge
// has that of the master, and the first sealed question proves that the standby has the keys now. The
// master answers no opening with registrations, and remembers none. So neither end takes what was
// recorded before its own start, whatever its clock and its state store say.
//
// An opening is a question of plainVersion at the same time, so that a master that speaks only that
// answers it; a newer master finds sealedVersion in it, under the code, and sends its challenge, which
// ends the use of plainVersion by both. With Config.Sealed an opening is one only.

// ask writes the next question: an opening without a session.
func (f *Follower) ask(now time.Duration, p *mad.Packet) {
	if f.session != nil && now-f.alive >= patience {
		f.endSession()
	}
	q := question{from: f.master.Self, has: f.has, number: f.number}
	if f.session != nil {
		header(p, mad.MethodGetTable, attrSealed, mad.TID(f.tid))
		f.session.sealQuestion(&q, p)
		return
	}
	attr, version := attrPlain, uint8(plainVersion)
	if f.cfg.Sealed {
		attr, version = attrOpening, sealedVersion
	}
	if !f.old {
		q.has = position{} // it says something of the policy
	}
	q.latest = sealedVersion
	f.plain[f.stats.Questions%uint64(len(f.plain))] = f.number
	header(p, mad.MethodGetTable, attr, mad.TID(f.tid))
	copy(q.append(p.SAData()[:0], version)[questionSize:openingSize], f.salt[:])
}

// endSession has the next question open another one.
func (f *Follower) endSession() {
	f.session = nil
	f.reset()
}

// coder is that of the packets of answers, and of their acknowledgements.
func (f *Follower) coder() *coder {
	if f.session == nil {
		return f.packets
	}
	return f.session.packets
}

// trusts reports whether the code of a packet of the master is right. Without encryption no packets
// count in a session.
func (f *Follower) trusts(p *mad.Packet) bool {
	coder := f.packets
	switch attr := p.AttrID(); {
	case attr == attrSealed && f.session != nil:
		coder = f.session.packets
	case attr == attrSealed || attr == attrPlain && (f.session != nil || f.cfg.Sealed):
		return false
	}
	return coder.verify(p, f.master.GUID, f.master.Self)
}

// challenged takes a challenge, if it answers a question that was asked since the session began, and
// asks at once.
func (f *Follower) challenged(now time.Duration, p *mad.Packet) {
	b := p.SAData()[:challengeSize]
	number := binary.BigEndian.Uint64(b[8:])
	if !isSealed(b, kindChallenge) || Salt(b[16:32]) != f.salt || number <= f.since || number > f.number {
		f.stats.Untrusted++
		return
	}
	f.reset()
	f.session = f.cfg.newSession(f.master.Self, f.master.GUID, f.salt, readChallenge(b[32:]))
	f.since, f.coming, f.old = f.number, answerNumber{}, false
	f.alive, f.due, f.wait = now, now, askSoonest
	f.stats.Opened++
}

// comes reports whether a packet of a session is part of an answer that may come. The master sends one after
// the other: the first segment of a newer one ends the others, so that segments which are replayed, also with
// other transaction IDs, take no room from it.
func (f *Follower) comes(p *mad.Packet) bool {
	if rmpp.TypeOf(p) != rmpp.TypeData || rmpp.SegmentOf(p) != 1 {
		return true
	}
	switch number := answerNumberOf(p.SAData()[:answerHead]); {
	case number == f.coming:
		return true
	case !number.after(f.coming) || number.question > f.number:
		return false
	default:
		f.reset()
		f.coming = number
		return true
	}
}

// open takes the message of an answer.
func (f *Follower) open(b []byte) (Update, error) {
	var a answer
	var err error
	if f.session != nil {
		a, err = f.session.openAnswer(b)
	} else {
		a, err = readAnswer(b, plainVersion)
	}
	if err != nil {
		return Update{}, err
	}
	if f.session == nil && !slices.Contains(f.plain[:], a.number.question) {
		return Update{}, errReplay // of a time that the clock was set back to
	}
	return f.take(&a)
}
