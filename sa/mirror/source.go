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
	standbys  map[mad.LID]*standby
	tid       uint32 // of the last answer
	stats     SourceStats
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
	Full      uint64 // questions beyond maxStandbys, and answers without room in a buffer
	TooLong   uint64 // policies beyond MaxPolicy
}

// standby is a manager that gets changes.
type standby struct {
	guid    mad.GUID
	asked   uint64 // number of its last question
	answers uint64 // begun
	addr    mad.Addr
	high    uint32   // upper half of its transaction IDs, by which its kernel finds the process
	has     position // as far as is known here
	version uint8    // the latest registry.Version that both understand
	heard   time.Duration
	owed    bool          // it has asked and has no answer yet
	next    time.Duration // when it may get the next unasked answer
	sending bool
	tid     mad.TID  // of the answer that is being sent
	will    position // of the standby when it has arrived
	lacks   bool     // the standby is behind
	since   time.Duration
}

// Standby is the progress of a standby.
type Standby struct {
	GUID  mad.GUID
	Lacks bool          // it is behind, as far as the master knows
	Since time.Duration // when it began to
}

// NewSource returns the Source of a manager that is not master.
func NewSource(cfg Config) *Source {
	s := &Source{}
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
	s.cfg, s.policy = cfg, sumOf(cfg.Policy)
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
	s.term, s.state, s.log = Term{}, nil, changeLog{}
	s.standbys = map[mad.LID]*standby{}
	s.transfers = rmpp.New(rmpp.Config{ACKTimeout: pace, Retries: maxRepeats, MaxTransfers: maxStandbys, MaxPerPeer: 1, MaxBytes: maxBytes, MaxMessage: 1})
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

// Receive takes a packet from the port with a GUID, which the last walk found a manager at; 0 for
// any other port.
func (s *Source) Receive(now time.Duration, d *mad.Datagram, from mad.GUID) {
	switch {
	case s.term == (Term{}) || d.TimedOut || d.Packet.IsResponse():
	case from == 0 || len(s.cfg.Allowed) > 0 && !slices.Contains(s.cfg.Allowed, from) || !s.cfg.trusts(&d.Packet, from, s.term.Manager):
		s.stats.Untrusted++
	case rmpp.IsActive(&d.Packet):
		if rmpp.TypeOf(&d.Packet) == rmpp.TypeData {
			break // standbys send no messages
		}
		if e, ended := s.transfers.Receive(now, d); ended {
			s.ended(now, &e)
		}
	default:
		s.asked(now, d, from)
	}
}

// asked takes a question.
func (s *Source) asked(now time.Duration, d *mad.Datagram, from mad.GUID) {
	q, err := readQuestion(&d.Packet)
	if err != nil {
		s.stats.Foreign++
		return
	}
	p := s.standbys[d.LID]
	if q.from != from || p != nil && p.guid == from && q.number <= p.asked {
		s.stats.Untrusted++
		return
	}
	if p == nil {
		if len(s.standbys) >= maxStandbys {
			s.stats.Full++
			return
		}
		p = &standby{}
		s.standbys[d.LID] = p
	}
	s.stats.Questions++
	p.guid, p.asked, p.version, p.heard, p.owed = q.from, q.number, q.understood, now, true
	if !p.sending {
		p.addr, p.high, p.has = d.Addr, uint32(d.Packet.TID()>>32), q.has
	}
}

// ended takes the end of an answer.
func (s *Source) ended(now time.Duration, e *rmpp.Ended) {
	p := s.standbys[e.LID]
	if p == nil || !p.sending || p.tid != e.Head.TID() {
		return
	}
	p.sending = false
	if e.Status != rmpp.StatusNormal {
		s.stats.Failed++
		p.next = now + setback
		return
	}
	p.has, p.next = p.will, now+pace
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
		if !p.sending && p.heard+lease <= now {
			delete(s.standbys, lid)
			continue
		}
		if lacks := s.lacks(p); lacks != p.lacks {
			p.lacks, p.since = lacks, now
		}
		if at, due := s.due(p); due && at <= now {
			s.answer(now, p)
		}
	}
	from := len(out)
	out = s.transfers.Drain(now, out)
	for i := from; i < len(out); i++ {
		if p := s.standbys[out[i].LID]; p != nil {
			s.cfg.sign(&out[i].Packet, s.term.Manager, p.guid)
		}
	}
	return out
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

// due is when a standby gets the next answer; false if there is none to send.
func (s *Source) due(p *standby) (time.Duration, bool) {
	switch {
	case p.sending || !p.owed && !s.lacks(p):
		return 0, false
	case p.owed:
		return 0, true
	}
	return p.next, true
}

// Deadline is when the caller must call Output even without an event; false for never.
func (s *Source) Deadline() (at time.Duration, ok bool) {
	if s.term == (Term{}) {
		return 0, false
	}
	at, ok = s.transfers.Deadline()
	for _, p := range s.standbys {
		due := p.heard + lease
		if t, is := s.due(p); is {
			due = min(due, t)
		}
		if !p.sending && (!ok || due < at) {
			at, ok = due, true
		}
	}
	return at, ok
}

// answer begins to send a standby what it lacks.
func (s *Source) answer(now time.Duration, p *standby) {
	a := answer{kind: kindChanges, before: p.has.seq, now: s.position(), version: p.version, number: answerNumber{p.asked, p.answers + 1}}
	if p.has.policy != s.policy {
		a.policy = s.cfg.Policy
	}
	known := p.has.term == s.term
	if known {
		a.changes, known = s.log.since(p.has.seq, p.version)
	}
	if !known {
		a.kind, a.before = kindWhole, 0
		s.stats.Whole++
		for c := range s.state.Changes() {
			a.changes = registry.AppendVersion(a.changes, c, p.version)
		}
	}
	s.tid++
	p.tid = mad.TID(p.high)<<32 | mad.TID(s.tid)
	p.will, p.owed = a.now, false
	p.answers++
	d := mad.Datagram{Addr: p.addr}
	s.cfg.header(&d.Packet, mad.MethodGetTableResp, p.tid)
	if err := s.transfers.Send(now, &d, a.append(nil)); err != nil {
		s.stats.Full++
		p.next = now + setback
		return
	}
	s.stats.Answers++
	p.sending = true
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

// changeLog are the last Changes, encoded in registry.Version.
type changeLog struct {
	last  uint64 // number of the last
	items [][]byte
	bytes int
}

func (l *changeLog) add(c registry.Change) {
	b := c.AppendTo(nil)
	l.items = append(l.items, b)
	l.bytes += len(b)
	l.last++
	for l.bytes > maxLog {
		l.bytes -= len(l.items[0])
		l.items[0] = nil
		l.items = l.items[1:]
	}
}

// has reports whether all Changes after a number are remembered.
func (l *changeLog) has(seq uint64) bool { return seq <= l.last && l.last-seq <= uint64(len(l.items)) }

// since are the Changes after a number, encoded in a registry.Version; false if not all
// are remembered.
func (l *changeLog) since(seq uint64, version uint8) ([]byte, bool) {
	if !l.has(seq) {
		return nil, false
	}
	b := slices.Concat(l.items[len(l.items)-int(l.last-seq):]...)
	if version == registry.Version {
		return b, true
	}
	var old []byte
	for c := range decoded(b) { // our own: there is no error
		old = registry.AppendVersion(old, c, version)
	}
	return old, true
}
