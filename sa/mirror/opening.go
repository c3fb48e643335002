package mirror

import (
	"encoding/binary"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
)

// A standby opens a session with three packets: its opening has its Salt, the master's challenge
// has that of the master, and the first sealed question proves that the standby has the keys now. The
// master answers no opening with registrations, and remembers none. So neither end takes what was
// recorded before its own start, whatever its clock and its state store say.

// ask writes the next question: an opening without a session.
func (f *Follower) ask(now time.Duration, p *mad.Packet) {
	if f.session != nil && now-f.alive >= patience {
		f.endSession()
	}
	if f.session != nil {
		header(p, mad.MethodGetTable, attrSealed, mad.TID(f.tid))
		f.session.sealQuestion(&question{f.master.Self, f.has, f.number}, p)
		return
	}
	header(p, mad.MethodGetTable, attrOpening, mad.TID(f.tid))
	(&opening{f.master.Self, f.number, f.salt}).append(p.SAData()[:0])
}

// opening asks for a session.
type opening struct {
	from   mad.GUID
	number uint64 // as that of a question
	salt   Salt
}

func (o *opening) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(appendHead(b, kindOpening), uint64(o.from))
	return append(binary.BigEndian.AppendUint64(b, o.number), o.salt[:]...)
}

func readOpening(b []byte) opening {
	return opening{mad.GUID(binary.BigEndian.Uint64(b[8:])), binary.BigEndian.Uint64(b[16:]), Salt(b[24:openingSize])}
}

// endSession has the next question open another one.
func (f *Follower) endSession() {
	f.session = nil
	f.reset()
}

// trusts reports whether the code of a packet of the master is right.
func (f *Follower) trusts(p *mad.Packet) bool {
	coder := f.packets
	if p.AttrID() == attrSealed {
		if f.session == nil {
			return false
		}
		coder = f.session.packets
	}
	return coder.verify(p, f.master.GUID, f.master.Self)
}

// challenged takes a challenge, if it answers a question that was asked since the session began, and
// asks at once.
func (f *Follower) challenged(now time.Duration, p *mad.Packet) {
	b := p.SAData()[:challengeSize]
	number := binary.BigEndian.Uint64(b[8:])
	if !isKind(b, kindChallenge) || Salt(b[16:32]) != f.salt || number <= f.since || number > f.number {
		f.stats.Untrusted++
		return
	}
	f.reset()
	f.session = f.cfg.newSession(f.master.Self, f.master.GUID, f.salt, readChallenge(b[32:]))
	f.since, f.coming = f.number, answerNumber{}
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
