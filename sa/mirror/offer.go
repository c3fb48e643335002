package mirror

import (
	"encoding/binary"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/registry"
)

// A standby may have changes of partitions that its master lacks: it was master itself, of a half of the subnet or
// since the master was last alive. It offers its partitions, and the master joins them with its own. An offer is a
// message with
//
//	 0 as a sealed question: version, kind, 6 reserved bytes, number, salts and number of the challenge
//	56 sealed: the Changes that make the partitions of the standby
//	   tag, 16 bytes
//
// It is numbered among the questions of the standby, and sealed with their key. It goes by RMPP, of which each packet
// has a code with a key of the session, and is sent again until it is acknowledged.

// maxOffer bounds an offer, in bytes: as many partitions and members as callers may put.
const maxOffer = 16 << 20

// offerPause is the time before an offer that was not acknowledged is sent again.
const offerPause = time.Second

// offering is a Follower's part.
type offering struct {
	text      []byte // encoded Changes; nil for nothing to offer
	transfers *rmpp.Machine
	tid       mad.TID // of the one that is sent; 0 for none
	due       time.Duration
}

func newOffering() offering {
	return offering{transfers: rmpp.New(rmpp.Config{ACKTimeout: pace, Retries: maxRepeats, MaxPerPeer: 1,
		MaxTransfers: 2,
		MaxBytes:     2 * maxOffer, MaxMessage: 1})}
}

// Offer has the master get Changes that make the partitions of this standby, encoded; without any, nothing is offered
// from now on.
func (f *Follower) Offer(changes []byte) {
	if len(changes) > maxOffer {
		changes = nil
	}
	f.offers = newOffering()
	f.offers.text = changes
}

// offer sends the offer that is due.
func (f *Follower) offer(now time.Duration) {
	for _, e := range f.offers.transfers.Expire(now, nil) {
		f.offered(now, &e)
	}
	o := &f.offers
	if o.text == nil || o.tid != 0 || o.due > now || f.session == nil || f.has.term == (Term{}) {
		return
	}
	f.tid++
	f.number = f.next(now)
	d := mad.Datagram{Addr: mad.Addr{LID: f.master.LID, QPN: 1}}
	header(&d.Packet, mad.MethodGetTable, attrSealed, mad.TID(f.tid))
	if o.transfers.Send(now, &d, f.session.sealOffer(f.number, o.text)) == nil {
		o.tid = mad.TID(f.tid)
	}
	o.due = now + offerPause
}

// offered takes the end of an offer.
func (f *Follower) offered(now time.Duration, e *rmpp.Ended) {
	if !e.Sent || f.offers.tid == 0 || e.Head.TID() != f.offers.tid {
		return
	}
	f.offers.tid, f.offers.due = 0, now+offerPause
	if e.Status == rmpp.StatusNormal {
		f.offers.text = nil
		f.stats.Offers++
	}
}

// sealOffer is the message of an offer.
func (s *session) sealOffer(number uint64, changes []byte) []byte {
	b := appendHead(make([]byte, 0, questionHead+len(changes)+tagSize), kindOffer)
	b = binary.BigEndian.AppendUint64(b, number)
	b = s.challenge.append(append(b, s.salt[:]...))
	nonce, data := s.prepare(number, s.standby, s.master, b)
	return s.questions.Seal(b, nonce, changes, data)
}

// openOffer reads the message of an offer, and overwrites it.
func (s *session) openOffer(b []byte) (number uint64, changes []byte, err error) {
	if len(b) < questionHead+tagSize || !isKind(b, kindOffer) || Salt(b[16:32]) != s.salt ||
		readChallenge(b[32:questionHead]) != s.challenge {
		return 0, nil, errForeign
	}
	number = binary.BigEndian.Uint64(b[8:])
	nonce, data := s.prepare(number, s.standby, s.master, b[:questionHead])
	if changes, err = s.questions.Open(b[questionHead:questionHead], nonce, b[questionHead:], data); err != nil {
		return 0, nil, errSeal
	}
	return number, changes, nil
}

// offered takes a packet of an offer.
func (s *Source) offered(now time.Duration, d *mad.Datagram, p *standby) {
	e, ended := s.offers.Receive(now, d)
	if !ended || e.Sent || e.Status != rmpp.StatusNormal {
		return
	}
	number, changes, err := p.session.openOffer(e.Data)
	if err != nil || number <= p.offered { // questions that were asked later may have come before it
		s.stats.Untrusted++
		return
	}
	p.offered = number
	reg, err := registry.Restore(0, decoded(changes))
	if err != nil {
		s.stats.Garbage++
		return
	}
	s.stats.Offers++
	s.offer = reg.Freeze()
}

// Offered returns the partitions that a standby has offered, each offer once; nil for none.
func (s *Source) Offered() *registry.State {
	offer := s.offer
	s.offer = nil
	return offer
}
