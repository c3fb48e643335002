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
	askSoonest  = 100 * time.Millisecond // again when there is no answer; doubled each time
	askLatest   = 2 * time.Second
)

// maxMessage bounds everything that is registered, encoded: what the limits of sa allow,
// and a policy.
const maxMessage = 128<<20 + MaxPolicy

// maxLingering is how many answers are known to have come already, so that a segment that
// comes late is not taken for a new one: those of ten seconds.
const maxLingering = 1 << 10

// Master is the manager to follow, and who follows it.
type Master struct {
	GUID mad.GUID // 0 for nobody
	LID  mad.LID
	Self mad.GUID
	// Foreign is set where it is of another kind, and read by a Reader.
	Foreign bool
}

// Follower is a standby's end. It belongs to one goroutine; times never run backwards.
type Follower struct {
	cfg       Config
	master    Master
	has       position
	transfers *rmpp.Machine
	asked     time.Duration // when the last question was
	due       time.Duration // of the next
	wait      time.Duration // for its answer
	tid       uint32
	stats     FollowerStats
}

// FollowerStats counts what a Follower has done.
type FollowerStats struct {
	Master    mad.GUID      // that is followed now; 0 for nobody
	Questions uint64        // sent
	Answers   uint64        // of use
	Whole     uint64        // of them, those with everything
	Changes   uint64        // taken
	Untrusted uint64        // packets that did not show our keys, or came from somebody else
	Garbage   uint64        // answers that nobody can follow
	Heard     time.Duration // when the master that is followed last said something; 0 never
}

// Update is what a master has said. Whole, if not nil, replaces everything; Changes come
// behind what there is. Both may be missing: then nothing has changed.
type Update struct {
	Master  mad.GUID
	Whole   *registry.Registry
	Changes []registry.Change
	// Policy is what the master rules by, if that is not what it said last; else nil. It
	// is empty if the master tells none.
	Policy []byte
}

// NewFollower returns an end that follows nobody.
func NewFollower(cfg Config) *Follower {
	f := &Follower{cfg: cfg}
	f.reset()
	return f
}

func (f *Follower) reset() {
	f.transfers = rmpp.New(rmpp.Config{ACKTimeout: pace, MaxTransfers: maxLingering, MaxPerPeer: 2, MaxBytes: 2 * maxMessage, MaxMessage: maxMessage})
}

// Configure takes another configuration.
func (f *Follower) Configure(cfg Config) { f.cfg = cfg }

// Follow says whom to follow from now on.
func (f *Follower) Follow(now time.Duration, m Master) {
	if m == f.master {
		return
	}
	f.reset()
	f.master = m
	f.stats.Heard = 0
	f.due, f.wait = now, askSoonest
}

// Forget has the next question ask for everything: what was taken over is held no more.
func (f *Follower) Forget() { f.has = position{} }

// Receive takes a packet of the exchange, and returns true and what it completes.
func (f *Follower) Receive(now time.Duration, d *mad.Datagram) (Update, bool) {
	switch {
	case f.master.GUID == 0 || d.TimedOut:
		return Update{}, false
	case d.LID != f.master.LID || !f.cfg.trusts(&d.Packet):
		f.stats.Untrusted++
		return Update{}, false
	case !rmpp.IsActive(&d.Packet) || !d.Packet.IsResponse():
		return Update{}, false
	}
	e, ended := f.transfers.Receive(now, d)
	if !ended || e.Sent || e.Status != rmpp.StatusNormal {
		return Update{}, false
	}
	u, err := f.take(e.Data)
	if err != nil {
		f.stats.Garbage++
		f.Forget()
		f.due = min(f.due, now+askSoonest)
		return Update{}, false
	}
	f.stats.Answers++
	f.stats.Heard = now
	f.due, f.wait = f.asked+AskInterval, askSoonest
	return u, true
}

// take reads an answer.
func (f *Follower) take(b []byte) (Update, error) {
	a, err := readAnswer(b)
	u := Update{Master: f.master.GUID}
	switch {
	case err != nil:
		return u, err
	case a.now.reign.Manager != f.master.GUID:
		return u, fmt.Errorf("mirror: the answer is %v's", a.now.reign.Manager)
	case a.now.reign == f.has.reign && a.now.seq < f.has.seq:
		return u, nil // it was overtaken
	case a.kind == kindWhole:
		if u.Whole, err = registry.Restore(a.now.seq, decoded(a.changes)); err != nil {
			return u, err
		}
	case a.now.reign != f.has.reign || a.before > f.has.seq:
		return u, fmt.Errorf("mirror: changes since %d do not follow %d", a.before, f.has.seq)
	default:
		if u.Changes, err = a.since(f.has.seq); err != nil {
			return u, err
		}
	}
	switch {
	case len(a.policy) > 0 || a.now.policy == 0 && (f.has.policy != 0 || u.Whole != nil):
		u.Policy = append([]byte{}, a.policy...)
	case a.now.policy != f.has.policy:
		return u, errors.New("mirror: the policy is not that which is known")
	}
	if u.Whole != nil {
		f.stats.Whole++
	}
	f.has = a.now
	f.stats.Changes += uint64(len(u.Changes))
	return u, nil
}

// since are those of the Changes that are behind a number.
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
		return nil, fmt.Errorf("mirror: %d changes lead from %d to %d", at-a.before, a.before, a.now.seq)
	}
	return changes, nil
}

// Output does what is due and appends the packets to send.
func (f *Follower) Output(now time.Duration, out []mad.Datagram) []mad.Datagram {
	if f.master.GUID == 0 {
		return out
	}
	f.transfers.Expire(now, nil)
	out = f.transfers.Drain(now, out)
	if f.due > now {
		return out
	}
	f.asked, f.due = now, now+f.wait
	f.wait = min(2*f.wait, askLatest)
	f.tid++
	f.stats.Questions++
	d := mad.Datagram{Addr: mad.Addr{LID: f.master.LID, QPN: 1}}
	f.cfg.header(&d.Packet, mad.MethodGetTable, mad.TID(f.tid))
	q := question{from: f.master.Self, has: f.has}
	q.write(&d.Packet)
	return append(out, d)
}

// Deadline is when Output is to be called even if nothing happens; false for never.
func (f *Follower) Deadline() (time.Duration, bool) {
	if f.master.GUID == 0 {
		return 0, false
	}
	at, ok := f.transfers.Deadline()
	if !ok || f.due < at {
		at = f.due
	}
	return at, true
}

// Stats is a copy of the counters.
func (f *Follower) Stats() FollowerStats {
	st := f.stats
	st.Master = f.master.GUID
	return st
}
