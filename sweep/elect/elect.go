// Package elect decides which subnet manager rules a subnet (IBA 14.4): a value
// that is told what other managers say, and tells what to do. It sends nothing and
// has no clock.
package elect

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// Config of a Machine.
type Config struct {
	GUID     mad.GUID // of our port
	Priority uint8    // 0..15
	SMKey    uint64
	// PollInterval is the time between polls of the master by a standby; 10 s.
	PollInterval time.Duration
	// PollRetries is how many polls may go unanswered in a row: one more, and the
	// master is dead; 4, negative for none.
	PollRetries int
	// IgnoreOthers makes this manager act as if it were alone.
	IgnoreOthers bool
}

// Machine is the state of one manager. It is owned by one goroutine.
type Machine struct {
	cfg    Config
	state  smp.SMState
	polled mad.GUID // whom we poll: the master, or the one expected to become it
	misses int
	due    time.Duration // of the next poll
}

// New returns a machine that is DISCOVERING.
func New(cfg Config) *Machine {
	return &Machine{cfg: cfg.withDefaults(), state: smp.Discovering}
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
// earlier is not waited for longer.
func (m *Machine) Configure(now time.Duration, cfg Config) {
	cfg.GUID = m.cfg.GUID
	m.cfg = cfg.withDefaults()
	m.due = min(m.due, now+m.cfg.PollInterval)
}

// State is the state that our SMInfo shows.
func (m *Machine) State() smp.SMState { return m.state }

// SetGUID says which port we are at.
func (m *Machine) SetGUID(g mad.GUID) { m.cfg.GUID = g }

// Polled is the manager that is polled; 0 when none is.
func (m *Machine) Polled() mad.GUID { return m.polled }

// Info is our SMInfo, but for ActCount.
func (m *Machine) Info() (i smp.SMInfo) {
	i.SetGUID(m.cfg.GUID)
	i.SetSMKey(m.cfg.SMKey)
	i.SetPriority(m.cfg.Priority)
	i.SetSMState(m.state)
	return i
}

// Do is what the machine wants done.
type Do uint8

// What is to be done.
const (
	Nothing  Do = iota
	Rule        // go on as MASTER: compute and program
	StandBy     // stop sweeping; poll
	HandOver    // send HANDOVER to Polled, then stand by
	Wait        // MASTER, but another, lower one has to hand over first: poll it
	Discover    // walk the subnet again, as DISCOVERING
	Resweep     // MASTER: walk again
	BeMaster    // the mastership was handed to us: walk as MASTER
	Rest        // NOT-ACTIVE: nothing runs
)

// higher reports whether another manager outranks us: by priority, then by the
// lower GUID.
func (m *Machine) higher(o *smp.SMInfo) bool {
	if o.Priority() != m.cfg.Priority {
		return o.Priority() > m.cfg.Priority
	}
	return o.GUID() < m.cfg.GUID
}

// Decide takes the managers that a walk found and decides who rules.
func (m *Machine) Decide(now time.Duration, others []smp.SMInfo) Do {
	if m.cfg.IgnoreOthers {
		m.become(smp.Master)
		return Rule
	}
	var master, above *smp.SMInfo
	for i := range others {
		o := &others[i]
		foreign := o.SMKey() != 0 && o.SMKey() != m.cfg.SMKey
		switch {
		case o.SMState() == smp.Master:
			if master == nil || outranks(o, master) {
				master = o
			}
		case foreign || o.SMState() == smp.NotActive:
			continue // it may not rule here, or does not want to
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
		return Rule
	}
	return StandBy
}

func (m *Machine) decideAsMaster(now time.Duration, master, above *smp.SMInfo) Do {
	switch {
	case above != nil:
		m.standBy(now, above.GUID())
		return HandOver
	case master != nil:
		m.poll(now, master.GUID())
		return Wait
	}
	m.become(smp.Master)
	return Rule
}

func outranks(a, b *smp.SMInfo) bool {
	return a.Priority() > b.Priority() || a.Priority() == b.Priority() && a.GUID() < b.GUID()
}

func (m *Machine) become(s smp.SMState) { m.state, m.polled, m.misses = s, 0, 0 }

func (m *Machine) standBy(now time.Duration, whom mad.GUID) {
	m.become(smp.Standby)
	m.poll(now, whom)
}

// poll begins to poll a manager, the first time at once.
func (m *Machine) poll(now time.Duration, whom mad.GUID) {
	if m.polled != whom {
		m.polled, m.misses, m.due = whom, 0, now
	}
}

// Due is when the next poll is to be sent; false when nobody is polled.
func (m *Machine) Due() (time.Duration, bool) { return m.due, m.polled != 0 }

// Tick counts a poll that is due as sent. It reports Nothing when it is to be sent,
// or what is to be done because the last ones have not been answered.
func (m *Machine) Tick(now time.Duration) Do {
	if m.misses > max(m.cfg.PollRetries, 0) {
		return m.orphaned()
	}
	m.misses++
	m.due = now + m.cfg.PollInterval
	return Nothing
}

// orphaned is the end of the one that was polled.
func (m *Machine) orphaned() Do {
	if m.state == smp.Master {
		m.become(smp.Master)
		return Resweep
	}
	m.become(smp.Discovering)
	return Discover
}

// Reply takes the answer to a poll.
func (m *Machine) Reply(info *smp.SMInfo) Do {
	if info.GUID() != m.polled {
		return Nothing
	}
	switch {
	case m.state == smp.Standby && info.SMState() == smp.Master,
		m.state == smp.Standby && info.SMState() == smp.Standby && m.higher(info):
		m.misses = 0
	case m.state == smp.Master && info.SMState() == smp.Master:
		m.misses = 0
		if m.higher(info) {
			return Resweep // which hands over
		}
	case m.state == smp.Master:
		return m.orphaned() // it has given way
	}
	return Nothing
}

// Seen takes what a manager said to the MASTER in a light sweep.
func (m *Machine) Seen(info *smp.SMInfo) Do {
	foreign := info.SMKey() != 0 && info.SMKey() != m.cfg.SMKey
	if m.state != smp.Master || m.cfg.IgnoreOthers {
		return Nothing
	}
	if info.SMState() == smp.Master || !foreign && info.SMState() != smp.NotActive && m.higher(info) {
		return Resweep
	}
	return Nothing
}

// PortDown is the loss of our own port.
func (m *Machine) PortDown() { m.become(smp.Discovering) }

// Control takes a Set(SMInfo) from another manager, and answers with the status
// of the reply.
func (m *Machine) Control(now time.Duration, mod uint32, from *smp.SMInfo) (Do, mad.Status) {
	sender := smp.Master
	if mod == smp.ControlAcknowledge {
		sender = smp.Standby
	}
	if from.SMState() != sender || from.SMKey() != m.cfg.SMKey {
		return Nothing, mad.StatusBadField
	}
	switch {
	case mod == smp.ControlHandover && m.state != smp.NotActive:
		do := BeMaster
		if m.state == smp.Discovering {
			do = Discover
		} else {
			m.become(smp.Master)
		}
		return do, mad.StatusOK
	case mod == smp.ControlAcknowledge && m.state == smp.Standby:
		return Nothing, mad.StatusOK
	case mod == smp.ControlDisable && (m.state == smp.Standby || m.state == smp.Discovering):
		m.become(smp.NotActive)
		return Rest, mad.StatusOK
	case mod == smp.ControlStandby && m.state == smp.NotActive && from.GUID() != 0:
		m.standBy(now, from.GUID())
		return StandBy, mad.StatusOK
	case mod == smp.ControlDiscover && m.state == smp.Standby:
		m.become(smp.Discovering)
		return Discover, mad.StatusOK
	}
	return Nothing, mad.StatusBadField
}
