package mirror

import (
	"maps"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/registry"
)

// Limits of a Source.
const (
	maxStandbys = 8
	maxLog      = 1 << 20 // bytes of Changes that are remembered
	maxBytes    = 256 << 20
)

// Times of a Source.
const (
	pace       = 10 * time.Millisecond // between batches to one standby, and between retries
	setback    = time.Second           // after an answer that was not acknowledged, or found no room
	lease      = 5 * time.Second       // how long a standby gets changes after its last question
	maxRepeats = 100                   // of an answer that is not acknowledged, one each pace
)

// Source is the master's end. One goroutine owns it; times never run backwards.
type Source struct {
	cfg       Config
	policy    uint64 // sum of Config.Policy
	term      Term   // zero while this manager is not master
	state     *registry.State
	log       changeLog
	transfers *rmpp.Machine
	offers    *rmpp.Machine   // messages of standbys
	offer     *registry.State // the last one; nil for none
	standbys  map[mad.LID]*standby
	tid       uint32 // of the last answer
	stats     SourceStats

	salt    Salt
	packets *coder             // of openings, challenges and questions
	issued  uint64             // number of the last challenge
	floor   uint64             // of sessions: the challenge of a new one has a greater number
	sealed  uint64             // number of the last answer
	replies []mad.Datagram     // challenges to send
	others  map[mad.GUID]uint8 // managers that have asked in another version, and that version
	foreign []OtherVersion     // of them, those that Foreign has not returned yet
}

// SourceStats counts what a Source has done.
type SourceStats struct {
	Standbys  int    // at present
	Questions uint64 // received
	Answers   uint64 // begun
	Whole     uint64 // of them, those with everything
	Failed    uint64 // answers that were not acknowledged
	Untrusted uint64 // packets with other keys, from ports that no walk found a manager at, and replays
	Foreign   uint64 // questions of another version
	Opened    uint64 // sessions
	Offers    uint64 // of partitions, from standbys
	Garbage   uint64 // of them, those that are damaged
	Full      uint64 // questions beyond maxStandbys, and answers without room in a buffer
	TooLong   uint64 // policies beyond MaxPolicy
}

// standby is a manager that gets changes.
type standby struct {
	guid    mad.GUID
	asked   uint64 // number of its last question
	offered uint64 // of the session: number of its last offer
	session *session
	addr    mad.Addr
	high    uint32   // upper half of its transaction IDs, by which its kernel finds the process
	has     position // as far as is known here
	heard   time.Duration
	state   standbyState
	next    time.Duration // when it may get the next unasked answer
	sent    *session      // of the answer that is being sent, or was sent last
	tid     mad.TID       // of that answer
	will    position      // of the standby when it has arrived
	lacks   bool          // the standby is behind
	since   time.Duration
}

// standbyState says whether a standby is being sent an answer, and whether it is owed one.
type standbyState uint8

const (
	idle        standbyState = iota
	owed                     // it has asked
	sending                  // it is being sent an answer
	sendingOwed              // and has asked again meanwhile
)

// sends reports whether the standby is being sent an answer.
func (p *standby) sends() bool { return p.state == sending || p.state == sendingOwed }

// answer has the address and the header of the answer that is being sent.
func (p *standby) answer() mad.Datagram {
	d := mad.Datagram{Addr: p.addr}
	header(&d.Packet, mad.MethodGetTableResp, attrSealed, p.tid)
	return d
}

// Standby is the progress of a standby.
type Standby struct {
	GUID  mad.GUID
	Lacks bool          // it is behind, as far as the master knows
	Since time.Duration // when it began to
}

// NewSource returns the Source of a manager that is not master. salt is random.
func NewSource(cfg Config, salt Salt) *Source {
	s := &Source{salt: salt, others: map[mad.GUID]uint8{}}
	s.Configure(cfg)
	s.Stop()
	return s
}

// Configure sets another configuration.
func (s *Source) Configure(cfg Config) {
	if len(cfg.Policy) > MaxPolicy {
		cfg.Policy = nil
		s.stats.TooLong++
	}
	s.cfg, s.policy, s.packets = cfg, sumOf(cfg.Policy), cfg.newCoder()
	for _, p := range s.standbys {
		was := p.session
		if p.session = was.with(&cfg); p.sent == was {
			p.sent = p.session
		} else {
			p.sent = p.sent.with(&cfg)
		}
	}
}

// Begin begins a mastership term with a registry.
func (s *Source) Begin(term Term, state *registry.State) {
	s.Stop()
	s.term, s.state = term, state
	s.log = changeLog{last: state.Seq()}
	s.tid = uint32(term.Began >> 10) // a restarted manager repeats none
}

// Stop ends the mastership term.
func (s *Source) Stop() {
	s.term, s.state, s.log, s.replies, s.floor, s.offer = Term{}, nil, changeLog{}, nil, s.issued, nil
	s.standbys = map[mad.LID]*standby{}
	s.transfers = rmpp.New(rmpp.Config{ACKTimeout: pace, Retries: maxRepeats, MaxTransfers: maxStandbys, MaxPerPeer: 1,
		MaxBytes: maxBytes, MaxMessage: 1})
	s.offers = rmpp.New(rmpp.Config{ACKTimeout: pace, MaxTransfers: maxStandbys, MaxPerPeer: 1, MaxBytes: 4 * maxOffer,
		MaxMessage: questionHead + maxOffer + tagSize})
}

// Changed takes new Changes and the State after them.
func (s *Source) Changed(changes []registry.Change, state *registry.State) {
	if s.term == (Term{}) {
		return
	}
	s.state = state
	for _, c := range changes {
		s.log.add(c)
	}
	if s.log.last != state.Seq() {
		s.log = changeLog{last: state.Seq()}
	}
}

// Output does what is due and appends the packets to send.
func (s *Source) Output(now time.Duration, out []mad.Datagram) []mad.Datagram {
	if s.term == (Term{}) {
		return out
	}
	for _, e := range s.transfers.Expire(now, nil) {
		s.ended(now, &e)
	}
	for _, lid := range slices.Sorted(maps.Keys(s.standbys)) {
		p := s.standbys[lid]
		if !p.sends() && p.heard+lease <= now {
			s.forget(lid)
			continue
		}
		if lacks := s.lacks(p); lacks != p.lacks {
			p.lacks, p.since = lacks, now
		}
		if at, due := s.due(p); due && at <= now {
			s.answer(now, p)
		}
	}
	out = append(out, s.replies...)
	s.replies = s.replies[:0]
	from := len(out)
	out = s.transfers.Drain(now, out)
	for i := from; i < len(out); i++ {
		if p := s.standbys[out[i].LID]; p != nil {
			p.sent.packets.sign(&out[i].Packet, s.term.Manager, p.guid)
		}
	}
	s.offers.Expire(now, nil)
	from = len(out)
	out = s.offers.Drain(now, out)
	for i := from; i < len(out); i++ {
		if p := s.standbys[out[i].LID]; p != nil {
			p.session.packets.sign(&out[i].Packet, s.term.Manager, p.guid)
		}
	}
	return out
}

// forget ends the answers to a standby. What it has asked until now counts as old from then on.
func (s *Source) forget(lid mad.LID) {
	if p := s.standbys[lid]; p.sends() {
		d := p.answer()
		s.transfers.Cancel(&d)
	}
	delete(s.standbys, lid)
	s.floor = s.issued
}

// lacks reports whether a standby is behind, as far as is known.
func (s *Source) lacks(p *standby) bool { return p.has != s.position() }

// position is that of a standby that has everything.
func (s *Source) position() position { return position{s.term, s.state.Seq(), s.policy} }

// Progress reports whether a standby has everything, and whether all that it lacks are some
// Changes that are remembered.
func (s *Source) Progress(guid mad.GUID) (all, nearly bool) {
	for _, p := range s.standbys {
		if p.guid == guid && p.has.term == s.term && p.has.policy == s.policy {
			return !s.lacks(p), s.log.has(p.has.seq)
		}
	}
	return false, false
}

// Followed reports whether a standby has everything but Changes that are remembered.
func (s *Source) Followed() bool {
	for _, p := range s.standbys {
		if p.has.term == s.term && s.log.has(p.has.seq) {
			return true
		}
	}
	return false
}

// Acknowledged reports whether all standbys have the Changes up to a number.
func (s *Source) Acknowledged(seq uint64) bool {
	for _, p := range s.standbys {
		if p.has.term != s.term || p.has.seq < seq {
			return false
		}
	}
	return true
}

// due is when a standby gets the next answer; false if there is none to send.
func (s *Source) due(p *standby) (time.Duration, bool) {
	switch p.state {
	case idle:
		return p.next, s.lacks(p)
	case owed:
		return 0, true
	}
	return 0, false
}

// Deadline is when the caller must call Output even without an event; false for never.
func (s *Source) Deadline() (at time.Duration, ok bool) {
	if s.term == (Term{}) {
		return 0, false
	}
	if len(s.replies) > 0 {
		return 0, true
	}
	at, ok = s.transfers.Deadline()
	if t, waits := s.offers.Deadline(); waits && (!ok || t < at) {
		at, ok = t, true
	}
	for _, p := range s.standbys {
		due := p.heard + lease
		if t, is := s.due(p); is {
			due = min(due, t)
		}
		if !p.sends() && (!ok || due < at) {
			at, ok = due, true
		}
	}
	return at, ok
}

// answer begins to send a standby what it lacks.
func (s *Source) answer(now time.Duration, p *standby) {
	a := answer{kind: kindChanges, before: p.has.seq, now: s.position(), number: answerNumber{p.asked, s.sealed + 1}}
	if p.has.policy != s.policy {
		a.policy = s.cfg.Policy
	}
	known := p.has.term == s.term
	if known {
		a.changes, known = s.log.since(p.has.seq)
	}
	if !known {
		a.kind, a.before = kindWhole, 0
		for c := range s.state.Changes() {
			a.changes = c.AppendTo(a.changes)
		}
	}
	s.tid++
	p.tid = mad.TID(p.high)<<32 | mad.TID(s.tid)
	p.will, p.sent = a.now, p.session
	s.sealed++
	d := p.answer()
	if err := s.transfers.Send(now, &d, p.sent.sealAnswer(&a)); err != nil {
		s.stats.Full++
		p.state, p.next = idle, now+setback
		return
	}
	s.stats.Answers++
	if a.kind == kindWhole {
		s.stats.Whole++
	}
	p.state = sending
}

// Stats is a copy of the counters.
func (s *Source) Stats() SourceStats {
	st := s.stats
	st.Standbys = len(s.standbys)
	return st
}

// Standbys are the standbys that get changes, in order of LID.
func (s *Source) Standbys() (all []Standby) {
	for _, lid := range slices.Sorted(maps.Keys(s.standbys)) {
		p := s.standbys[lid]
		all = append(all, Standby{p.guid, p.lacks, p.since})
	}
	return all
}
