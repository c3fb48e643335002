// Package elect decides which subnet manager is MASTER of a subnet (IBA 14.4): a value
// that takes what other managers say, and returns what must be done. It sends nothing and
// has no clock.
package elect

import (
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// Config of a Machine.
type Config struct {
	GUID     mad.GUID // of our port
	Priority uint8    // 0..15
	// MasterPriority is shown instead of Priority while we are MASTER, if it is
	// higher: a manager that comes back then does not take the mastership back.
	MasterPriority uint8
	SMKey          uint64
	// Allowed are the managers that the mastership may be handed to, and whose
	// control packets count; all that have our SM_Key when it is empty.
	Allowed []mad.GUID
	// PollInterval is the time between polls of the master by a standby; 10 s. A
	// peer ibsm is polled every two seconds, if that is less.
	PollInterval time.Duration
	// PollRetries is how many polls may go unanswered in a row: one more, and the
	// master is dead; 4, negative for none.
	PollRetries int
	// IgnoreOthers makes this manager act as if it were alone.
	IgnoreOthers bool
	// Inactive makes it begin NOT-ACTIVE, until a MASTER's STANDBY or a configuration
	// without it.
	Inactive bool
}

// A peer ibsm always answers at once. It is dead after five seconds without an
// answer, while its port's agent answers: peerTimeout, and what the walk that follows
// waits for it once more.
const (
	peerInterval = 2 * time.Second // between polls of it
	peerTimeout  = 4200 * time.Millisecond
	lookInterval = 250 * time.Millisecond // between looks at the port of the manager that is polled
)

// Machine is the state of one manager. It is owned by one goroutine.
type Machine struct {
	cfg    Config
	state  smp.SMState
	polled mad.GUID // whom we poll: the master, or the one expected to become it
	misses int
	due    time.Duration // of the next poll
	watch  watch
	target target
	// leaving is set once this manager is about to end; candidates are those that it may still
	// turn to.
	leaving    bool
	candidates []smp.SMInfo
}

// watch is what is known of the port of the manager that is polled.
type watch struct {
	due      time.Duration // of the next look
	isSM     bool          // IsSM was set
	peer     bool          // it is a peer ibsm
	isMaster bool          // it has said that it is MASTER
	heard    time.Duration // when it last said what it should
	agent    time.Duration // when its port's agent last answered
}

// New returns a machine that is DISCOVERING, or NOT-ACTIVE.
func New(cfg Config) *Machine {
	m := &Machine{cfg: cfg.withDefaults(), state: smp.Discovering}
	if cfg.Inactive {
		m.state = smp.NotActive
	}
	return m
}

func (c Config) withDefaults() Config {
	if c.PollInterval <= 0 {
		c.PollInterval = 10 * time.Second
	}
	if c.PollRetries == 0 {
		c.PollRetries = 4
	}
	return c
}

// Configure takes another configuration for the same port. A poll that it makes due
// earlier is not waited for longer; of a standby that ranks higher now than it did it is
// due at once, for from it the master learns that. Who was NOT-ACTIVE by configuration and
// is not any more goes on DISCOVERING.
func (m *Machine) Configure(now time.Duration, cfg Config) {
	raised := cfg.Priority > m.cfg.Priority
	if m.cfg.Inactive && !cfg.Inactive && m.state == smp.NotActive {
		m.become(smp.Discovering)
	}
	cfg.GUID = m.cfg.GUID
	m.cfg = cfg.withDefaults()
	m.due = min(m.due, now+m.cfg.PollInterval)
	if raised && m.state == smp.Standby {
		m.due = now
	}
}

// State is the state that our SMInfo shows.
func (m *Machine) State() smp.SMState { return m.state }

// SetGUID says which port we are at.
func (m *Machine) SetGUID(g mad.GUID) { m.cfg.GUID = g }

// Polled is the manager that is polled; 0 when none is.
func (m *Machine) Polled() mad.GUID { return m.polled }

// IsPeer reports whether the manager that is polled is a peer ibsm.
func (m *Machine) IsPeer() bool { return m.polled != 0 && m.watch.peer }

// Foreign reports whether the manager that is polled is MASTER and no ibsm.
func (m *Machine) Foreign() bool { return m.polled != 0 && m.watch.isMaster && !m.watch.peer }

// Info is our SMInfo, but for ActCount.
func (m *Machine) Info() (i smp.SMInfo) {
	i.SetGUID(m.cfg.GUID)
	i.SetSMKey(m.cfg.SMKey)
	i.SetPriority(m.priority())
	i.SetSMState(m.state)
	return i
}

func (m *Machine) priority() uint8 {
	if m.state == smp.Master {
		return max(m.cfg.Priority, m.cfg.MasterPriority)
	}
	return m.cfg.Priority
}

// Do is what the machine wants done.
type Do uint8

// Decisions.
const (
	Nothing         Do = iota
	BecomeMaster       // be, or stay, MASTER: compute and program
	StandBy            // stop sweeping; poll
	HandOver           // send HANDOVER to Polled, then stand by; after Leave, to the manager that was offered it last, then end
	PrepareHandover    // BecomeMaster, until Polled, which ranks higher, is handed the mastership
	AwaitHandover      // MASTER, but another, lower one has to hand over first: poll it
	Discover           // walk the subnet again, as DISCOVERING
	Resweep            // MASTER: walk again
	TakeOver           // the mastership was handed to us: walk as MASTER
	BecomeInactive     // NOT-ACTIVE: nothing runs
	Poll               // send Question to Polled
	Look               // ask for the PortInfo of Polled's port, and of the port it is cabled to
	SendTrap           // send Polled, which is MASTER, a priority-change trap: we rank higher
	Offer              // after Leave: poll Polled, which is offered the mastership
	End                // after Leave: there is nobody to be handed the mastership
)

// higher reports whether another manager outranks us: by priority, then by the
// lower GUID.
func (m *Machine) higher(o *smp.SMInfo) bool {
	if o.Priority() != m.priority() {
		return o.Priority() > m.priority()
	}
	return o.GUID() < m.cfg.GUID
}

// mayBeMaster reports whether the mastership may be handed to a manager: it has our SM_Key,
// or does not show it, and is allowed.
func (m *Machine) mayBeMaster(o *smp.SMInfo) bool {
	return (o.SMKey() == 0 || o.SMKey() == m.cfg.SMKey) && m.allows(o)
}

func (m *Machine) allows(o *smp.SMInfo) bool {
	return len(m.cfg.Allowed) == 0 || slices.Contains(m.cfg.Allowed, o.GUID())
}

// Decide takes the managers that a walk found and decides which is MASTER.
func (m *Machine) Decide(now time.Duration, others []smp.SMInfo) Do {
	if m.cfg.IgnoreOthers {
		m.become(smp.Master)
		return BecomeMaster
	}
	var master, above *smp.SMInfo
	for i := range others {
		o := &others[i]
		switch {
		case o.SMState() == smp.Master:
			if master == nil || outranks(o, master) {
				master = o
			}
		case !m.mayBeMaster(o) || o.SMState() == smp.NotActive:
			continue // it may not become MASTER here, or does not want to
		}
		if m.higher(o) && (above == nil || outranks(o, above)) {
			above = o
		}
	}
	if m.state == smp.Master {
		return m.decideAsMaster(now, master, above)
	}
	switch {
	case master != nil:
		m.standBy(now, master.GUID())
	case above != nil:
		m.standBy(now, above.GUID())
	default:
		m.become(smp.Master)
		return BecomeMaster
	}
	m.watch.isSM = true // or it would not have been asked
	return StandBy
}

func (m *Machine) decideAsMaster(now time.Duration, master, above *smp.SMInfo) Do {
	switch {
	case above != nil && master == nil && m.mayBeMaster(above) && above.GUID() != m.target.overdue:
		return m.prepare(now, above.GUID())
	case above != nil:
		m.standBy(now, above.GUID())
		m.watch.isSM = true
		if !m.mayBeMaster(above) {
			return StandBy // it is MASTER all the same: two would be worse
		}
		return HandOver
	case master != nil:
		m.target = target{}
		m.poll(now, master.GUID())
		m.watch.isSM = true
		return AwaitHandover
	}
	m.become(smp.Master)
	return BecomeMaster
}

func outranks(a, b *smp.SMInfo) bool {
	return a.Priority() > b.Priority() || a.Priority() == b.Priority() && a.GUID() < b.GUID()
}

func (m *Machine) become(s smp.SMState) { m.state, m.polled, m.misses, m.target = s, 0, 0, target{} }

func (m *Machine) standBy(now time.Duration, whom mad.GUID) {
	m.become(smp.Standby)
	m.poll(now, whom)
}

// poll begins to poll a manager, the first time at once.
func (m *Machine) poll(now time.Duration, whom mad.GUID) {
	if m.polled != whom {
		m.polled, m.misses, m.due = whom, 0, now
		m.watch = watch{due: now, heard: now}
	}
}

// Due is when Tick is wanted next; false when nobody is polled.
func (m *Machine) Due() (time.Duration, bool) {
	due := min(m.due, m.watch.due)
	if m.target.guid != 0 {
		due = min(due, m.target.until)
	}
	return due, m.polled != 0
}

// Tick returns what is due at a time: Poll, Look, what follows from the death of
// the one that is polled, or Nothing until Due.
func (m *Machine) Tick(now time.Duration) Do {
	w := &m.watch
	switch {
	case m.polled == 0:
		return Nothing
	case m.target.guid != 0 && m.target.until <= now:
		return m.overdue(now)
	case m.due <= now:
		if m.misses > max(m.cfg.PollRetries, 0) {
			return m.masterLost(now)
		}
		m.misses++
		m.due = now + m.interval()
		return Poll
	case w.due <= now:
		if w.peer && now-w.heard > peerTimeout && now-w.agent < time.Second {
			return m.masterLost(now)
		}
		w.due = now + lookInterval
		return Look
	}
	return Nothing
}

func (m *Machine) interval() time.Duration {
	if m.watch.peer {
		return min(m.cfg.PollInterval, peerInterval)
	}
	return m.cfg.PollInterval
}

// masterLost is the end of the manager that was polled.
func (m *Machine) masterLost(now time.Duration) Do {
	if m.leaving {
		return m.offer(now)
	}
	if m.state == smp.Master {
		m.become(smp.Master)
		return Resweep
	}
	m.become(smp.Discovering)
	return Discover
}

// Reply takes the answer to a poll.
func (m *Machine) Reply(now time.Duration, info *smp.SMInfo) Do {
	if info.GUID() != m.polled {
		return Nothing
	}
	if isPeer(info) && !m.watch.peer {
		m.watch.peer = true
		m.due = min(m.due, now+m.interval())
	}
	if m.target.guid != 0 {
		return m.heard(now, info)
	}
	if info.SMState() == smp.Master {
		m.misses, m.watch.heard, m.watch.isMaster = 0, now, true
		switch {
		case m.higher(info) && m.state == smp.Master:
			return Resweep // which hands over
		case !m.higher(info) && m.mayBeMaster(info) && !m.watch.peer:
			return SendTrap // a peer ibsm knows from our poll
		}
		return Nothing
	}
	waits := m.higher(info) && m.mayBeMaster(info)
	switch {
	case m.state == smp.Standby && waits && info.SMState() == smp.Standby:
		m.misses, m.watch.heard = 0, now
	case m.state == smp.Standby && waits && info.SMState() == smp.Discovering:
		m.watch.heard = now // but counted: it may never get further
	default:
		return m.masterLost(now) // it has given way, and we need not wait for it
	}
	return Nothing
}

// Port takes the answer to a Look, of the port where the manager runs that is polled.
// What has been set and is not any more says that it has ended.
func (m *Machine) Port(now time.Duration, isSM bool) Do {
	if m.polled == 0 {
		return Nothing
	}
	m.watch.agent = now
	if m.watch.isSM && !isSM {
		return m.masterLost(now)
	}
	m.watch.isSM = isSM
	return Nothing
}

// Unplugged says that the port has lost its link.
func (m *Machine) Unplugged(now time.Duration) Do {
	if m.polled == 0 {
		return Nothing
	}
	return m.masterLost(now)
}

// LosePath takes that the way to the manager that is polled is not known: a walk finds it.
func (m *Machine) LosePath() Do {
	m.become(smp.Discovering)
	return Discover
}

// Resumed takes that for a while we did not run: polls that went unanswered do not count.
func (m *Machine) Resumed(now time.Duration) {
	m.misses, m.watch.heard, m.watch.agent = 0, now, now
}

// Seen takes what a manager said to the MASTER in a light sweep, or what one says of
// itself in a Question.
func (m *Machine) Seen(info *smp.SMInfo) Do {
	if m.state != smp.Master || m.cfg.IgnoreOthers || info.GUID() == m.target.guid && info.SMState() != smp.Master {
		return Nothing
	}
	if info.SMState() == smp.Master || m.mayBeMaster(info) && info.SMState() != smp.NotActive && m.higher(info) {
		return Resweep
	}
	return Nothing
}

// PortDown is the loss of our own port.
func (m *Machine) PortDown() { m.become(smp.Discovering) }

// Control takes a Set(SMInfo) from another manager, and answers with the status
// of the reply.
func (m *Machine) Control(now time.Duration, mod uint32, from *smp.SMInfo) (Do, mad.Status) {
	if m.leaving && mod != smp.ControlAcknowledge {
		return Nothing, mad.StatusBadField // too late
	}
	sender := smp.Master
	if mod == smp.ControlAcknowledge {
		sender = smp.Standby
	}
	if from.SMState() != sender || from.SMKey() != m.cfg.SMKey || !m.allows(from) {
		return Nothing, mad.StatusBadField
	}
	switch {
	case mod == smp.ControlHandover && m.state != smp.NotActive:
		do := TakeOver
		if m.state == smp.Discovering {
			do = Discover
		} else {
			m.become(smp.Master)
		}
		return do, mad.StatusOK
	case mod == smp.ControlAcknowledge && (m.state == smp.Standby || m.leaving):
		return Nothing, mad.StatusOK
	case mod == smp.ControlDisable && (m.state == smp.Standby || m.state == smp.Discovering):
		m.become(smp.NotActive)
		return BecomeInactive, mad.StatusOK
	case mod == smp.ControlStandby && m.state == smp.NotActive && from.GUID() != 0:
		m.standBy(now, from.GUID())
		return StandBy, mad.StatusOK
	case mod == smp.ControlDiscover && m.state == smp.Standby:
		m.become(smp.Discovering)
		return Discover, mad.StatusOK
	}
	return Nothing, mad.StatusBadField
}
