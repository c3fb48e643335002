package mirror

import (
	"errors"
	"fmt"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/registry"
)

// Times of a Follower.
const (
	// AskInterval is the time between questions to a master that answers.
	AskInterval = time.Second
	askSoonest  = 100 * time.Millisecond // the first retry without an answer; doubled each time
	askLatest   = 2 * time.Second
	// patience is how long a session lasts without a new packet of the master.
	patience = 3 * time.Second
	// silence is how long a master does not answer until it is taken to mirror nothing.
	silence = 10 * time.Second
)

// maxMessage bounds an encoded registry: what the limits of sa allow, and a policy.
const maxMessage = 128<<20 + MaxPolicy

// maxLingering is how many received answers are remembered, so that a delayed segment does not
// look like a new answer: those of ten seconds.
const maxLingering = 1 << 10

// Master is the manager to follow.
type Master struct {
	GUID mad.GUID // 0 for none
	LID  mad.LID
	Self mad.GUID // of the standby
	// Foreign is set for a master that is not ibsm: a Reader reads it.
	Foreign bool
}

// Follower is a standby's end. It belongs to one goroutine; times never run backwards.
type Follower struct {
	cfg       Config
	master    Master
	has       position
	last      answerNumber // of the last answer, or just before the first that may come
	number    uint64       // of the last question
	began     int64
	transfers *rmpp.Machine
	asked     time.Duration // when the last question was
	due       time.Duration // of the next
	wait      time.Duration // for its answer
	answered  time.Duration // when the last answer came, or else when the first question was due
	tid       uint32
	stats     FollowerStats

	salt    Salt
	packets *coder        // of openings and challenges
	session *session      // with the master; nil before its challenge
	since   uint64        // number of the last question before the session
	alive   time.Duration // when the last segment of the session came that was new
	coming  answerNumber  // of the sealed answer that is being received, or was last
	offers  offering
}

// FollowerStats counts what a Follower has done.
type FollowerStats struct {
	Master    mad.GUID      // that is followed now; 0 for none
	Questions uint64        // sent
	Answers   uint64        // valid
	Whole     uint64        // of them, those with everything
	Changes   uint64        // applied
	Untrusted uint64        // packets with other keys, or from another sender
	Garbage   uint64        // invalid answers
	Opened    uint64        // sessions
	Offers    uint64        // acknowledged
	Heard     time.Duration // when the last valid answer came; 0 never
}

// Update is the content of an answer. Whole, if not nil, replaces the registry; Changes
// follow the present one. Without both nothing has changed.
type Update struct {
	Master  mad.GUID
	Whole   *registry.Registry
	Changes []registry.Change
	// Policy is the master's policy if it has changed, else nil. It is empty if the master
	// sends none.
	Policy []byte
}

// NewFollower returns a Follower without a master. began is the wall time at time 0, in seconds
// since 1970, and salt is random.
func NewFollower(cfg Config, began int64, salt Salt) *Follower {
	f := &Follower{began: began, salt: salt, offers: newOffering()}
	f.Configure(cfg)
	f.reset()
	return f
}

func (f *Follower) reset() {
	f.transfers = rmpp.New(rmpp.Config{ACKTimeout: pace, MaxTransfers: maxLingering, MaxPerPeer: 2,
		MaxBytes: 2 * maxMessage, MaxMessage: maxMessage})
}

// Configure sets another configuration.
func (f *Follower) Configure(cfg Config) {
	f.cfg, f.packets, f.session = cfg, cfg.newCoder(), f.session.with(&cfg)
}

// Follow sets the master to follow from now on.
func (f *Follower) Follow(now time.Duration, m Master) {
	if m == f.master {
		return
	}
	f.reset()
	f.offers = newOffering()
	f.master, f.session = m, nil
	f.last = answerNumber{question: f.next(now)}
	f.stats.Heard = 0
	f.due, f.wait, f.answered = now, askSoonest, now
}

// Forget has the next question ask for everything.
func (f *Follower) Forget() { f.has = position{} }

// Receive takes a packet, and returns true and the update that it completes.
func (f *Follower) Receive(now time.Duration, d *mad.Datagram) (Update, bool) {
	switch {
	case f.master.GUID == 0 || d.TimedOut:
		return Update{}, false
	case d.LID != f.master.LID || !f.cfg.isOurs(&d.Packet) || !f.trusts(&d.Packet):
		f.stats.Untrusted++
		return Update{}, false
	case !d.Packet.IsRMPP() || !d.Packet.IsResponse():
		return Update{}, false
	case d.Packet.AttrID() == attrOpening:
		f.challenged(now, &d.Packet)
		return Update{}, false
	case f.offers.tid != 0 && d.Packet.TID() == f.offers.tid && rmpp.TypeOf(&d.Packet) != rmpp.TypeData:
		if e, ended := f.offers.transfers.Receive(now, d); ended {
			f.offered(now, &e)
		}
		return Update{}, false
	case !f.comes(&d.Packet):
		f.stats.Untrusted++
		return Update{}, false
	}
	had := f.transfers.Segments()
	e, ended := f.transfers.Receive(now, d)
	if f.transfers.Segments() != had {
		f.alive = now
	}
	if !ended || e.Sent || e.Status != rmpp.StatusNormal {
		return Update{}, false
	}
	u, err := f.take(e.Data)
	if errors.Is(err, errReplay) {
		f.stats.Untrusted++
		return Update{}, false
	}
	if err != nil {
		f.stats.Garbage++
		f.Forget()
		f.due = min(f.due, now+askSoonest)
		return Update{}, false
	}
	f.stats.Answers++
	f.stats.Heard, f.answered = now, now
	f.due, f.wait = f.asked+AskInterval, askSoonest
	return u, true
}

// next is the number of a question: greater than those of this manager before, also if it was
// restarted.
func (f *Follower) next(now time.Duration) uint64 {
	return max(f.number+1, uint64(f.began)<<32+uint64(now/time.Microsecond))
}

// errReplay is for an answer that is older than one that was taken, or to a question that has not been asked: taken, it
// would make all answers to come old ones.
var errReplay = errors.New("mirror: the answer is old, or belongs to no request")

// take takes the message of an answer.
func (f *Follower) take(message []byte) (Update, error) {
	u := Update{Master: f.master.GUID}
	a, err := f.session.openAnswer(message)
	switch {
	case err != nil:
		return u, err
	case a.now.term.Manager != f.master.GUID:
		return u, fmt.Errorf("mirror: the answer is from %v", a.now.term.Manager)
	case !a.number.after(f.last), a.number.question > f.number:
		return u, errReplay
	case a.now.term == f.has.term && a.now.seq < f.has.seq:
		return u, nil // a later answer came first
	case a.kind == kindWhole:
		if u.Whole, err = registry.Restore(a.now.seq, decoded(a.changes)); err != nil {
			return u, err
		}
	case a.now.term != f.has.term || a.before > f.has.seq:
		return u, fmt.Errorf("mirror: the changes begin after %d, not after %d", a.before, f.has.seq)
	default:
		if u.Changes, err = a.since(f.has.seq); err != nil {
			return u, err
		}
	}
	switch {
	case len(a.policy) > 0 || a.now.policy == 0 && (f.has.policy != 0 || u.Whole != nil):
		u.Policy = append([]byte{}, a.policy...)
	case a.now.policy != f.has.policy:
		return u, errors.New("mirror: the policy has changed, but the answer does not contain it")
	}
	if u.Whole != nil {
		f.stats.Whole++
	}
	f.has, f.last = a.now, a.number
	f.stats.Changes += uint64(len(u.Changes))
	return u, nil
}

// since are the Changes after a number.
func (a *answer) since(seq uint64) (changes []registry.Change, err error) {
	at := a.before
	for c, err := range decoded(a.changes) {
		if err != nil {
			return nil, err
		}
		if at++; at > seq {
			changes = append(changes, c)
		}
	}
	if at != a.now.seq {
		return nil, fmt.Errorf("mirror: %d changes cannot lead from number %d to %d", at-a.before, a.before, a.now.seq)
	}
	return changes, nil
}

// Output does what is due and appends the packets to send.
func (f *Follower) Output(now time.Duration, out []mad.Datagram) []mad.Datagram {
	if f.master.GUID == 0 {
		return out
	}
	if f.session != nil {
		f.transfers.Expire(now, nil)
		f.offer(now)
		first := len(out)
		out = f.offers.transfers.Drain(now, f.transfers.Drain(now, out))
		for i := first; i < len(out); i++ {
			f.session.packets.sign(&out[i].Packet, f.master.Self, f.master.GUID)
		}
	}
	if f.due > now {
		return out
	}
	f.asked, f.due = now, now+f.wait
	f.wait = min(2*f.wait, askLatest)
	f.tid++
	f.number = f.next(now)
	f.stats.Questions++
	d := mad.Datagram{Addr: mad.Addr{LID: f.master.LID, QPN: 1}}
	f.ask(now, &d.Packet)
	f.packets.sign(&d.Packet, f.master.Self, f.master.GUID)
	return append(out, d)
}

// Deadline is when the caller must call Output even without a packet; false for never.
func (f *Follower) Deadline() (time.Duration, bool) {
	if f.master.GUID == 0 {
		return 0, false
	}
	at := f.due
	for _, m := range []*rmpp.Machine{f.transfers, f.offers.transfers} {
		if t, waits := m.Deadline(); waits {
			at = min(at, t)
		}
	}
	if f.offers.text != nil && f.offers.tid == 0 && f.session != nil && f.has.term != (Term{}) {
		at = min(at, f.offers.due)
	}
	return at, true
}

// Unresponsive reports whether a master that should answer has not done so for ten seconds.
func (f *Follower) Unresponsive(now time.Duration) bool {
	return f.master.GUID != 0 && f.cfg.On() && now-f.answered >= silence
}

// Stats is a copy of the counters.
func (f *Follower) Stats() FollowerStats {
	st := f.stats
	st.Master = f.master.GUID
	return st
}
