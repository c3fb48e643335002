// Package elect decides which subnet manager is MASTER of a subnet (IBA 14.4): a value
// that takes what other managers say, and returns what must be done. It sends nothing and
// has no clock.
package elect

import (
	"time"

	"ibsm/keys"
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
	// Secret is that of keys_file, from which proofs follow, too; the zero value where there is none.
	Secret keys.Secret
	// Allowed are the ports whose managers apply; all that have our SM_Key when it is empty.
	Allowed []mad.GUID
	// PollInterval is the time between polls of the master by a standby; 10 s. A
	// peer ibsm is polled every two seconds, if that is less.
	PollInterval time.Duration
	// PollRetries is the number of consecutive unanswered polls that are tolerated; after one more the master is dead.
	// 4 by default, negative for none.
	PollRetries int
	// IgnoreOthers makes this manager act as if it were alone.
	IgnoreOthers bool
	// Unmirrored says that managers do not mirror registrations: a peer ibsm is handed the
	// mastership at once.
	Unmirrored bool
	// Inactive makes it begin NOT-ACTIVE, until a MASTER's STANDBY or a configuration
	// without it.
	Inactive bool
}

// Machine is the state of one manager. It is owned by one goroutine.
type Machine struct {
	cfg    Config
	key    keys.Key // of proofs
	state  smp.SMState
	polled mad.GUID // whom we poll: the master, or the one expected to become it
	misses int
	// disabledBy is the master whose DISABLE made this manager NOT-ACTIVE, or 0.
	disabledBy mad.GUID
	due        time.Duration // of the next poll
	watch      watch
	// phase of handing the mastership over to the manager that is polled, or was (late).
	phase      phase
	until      time.Duration // preparing, leaving: it is waited for
	offered    time.Duration // leaving: when it was offered the mastership
	late       mad.GUID      // it has been waited for too long
	candidates []smp.SMInfo  // leaving: those that come next
}

// phase is how far a MASTER is in handing the mastership over.
type phase uint8

const (
	keeping   phase = iota // it does not
	preparing              // to the manager that is polled, which ranks higher
	timedOut               // to one that has been waited for: the next walk decides
	leaving                // about to end: it is offered to the manager that is polled; to nobody any more when none is
)

// New returns a machine that is DISCOVERING, or NOT-ACTIVE.
func New(cfg Config) *Machine {
	m := &Machine{cfg: cfg.withDefaults(), key: cfg.Secret.Election(cfg.SMKey), state: smp.Discovering}
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
// due at once, for from it the master learns that. A manager that was NOT-ACTIVE by configuration and
// is not any more goes on DISCOVERING.
func (m *Machine) Configure(now time.Duration, cfg Config) {
	raised := cfg.Priority > m.cfg.Priority
	if m.cfg.Inactive && !cfg.Inactive && m.state == smp.NotActive {
		m.become(smp.Discovering)
	}
	cfg.GUID = m.cfg.GUID
	m.cfg, m.key = cfg.withDefaults(), cfg.Secret.Election(cfg.SMKey)
	m.due = min(m.due, now+m.cfg.PollInterval)
	if raised && m.state == smp.Standby {
		m.due = now
	}
}

// State is the state that our SMInfo shows.
func (m *Machine) State() smp.SMState { return m.state }

// SetGUID says which port we are at.
func (m *Machine) SetGUID(g mad.GUID) { m.cfg.GUID = g }

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
	Nothing      Do = iota
	BecomeMaster    // be, or stay, MASTER: compute and program
	StandBy         // stop sweeping; poll
	// send HANDOVER to Polled, then stand by; after Leave, to the manager that was offered it last, then end
	HandOver
	PrepareHandover // BecomeMaster, until Polled, which ranks higher, is handed the mastership
	AwaitHandover   // MASTER, but another, lower one has to hand over first: poll it
	Discover        // walk the subnet again, as DISCOVERING
	Resweep         // MASTER: walk again
	// MASTER or DISCOVERING: walk again and read everything, because another manager was MASTER until now
	ReadAll
	TakeOver       // the mastership was handed to us: walk as MASTER
	BecomeInactive // NOT-ACTIVE: nothing runs
	Poll           // send Question to Polled
	Look           // ask for the PortInfo of Polled's port, and of the port it is cabled to
	Inquire        // MASTER: ask the manager that has named itself in a Question, at its port
	SendTrap       // send Polled, which is MASTER, a priority-change trap: we rank higher
	Offer          // after Leave: poll Polled, which is offered the mastership
	End            // after Leave: there is nobody to be handed the mastership
)

// higher reports whether another manager outranks us: by priority, then by the
// lower GUID.
func (m *Machine) higher(o *smp.SMInfo) bool {
	if o.Priority() != m.priority() {
		return o.Priority() > m.priority()
	}
	return o.GUID() < m.cfg.GUID
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
		case m.Ignores(o):
			continue
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
	case above != nil && master == nil && m.mayBeMaster(above) && above.GUID() != m.TimedOut():
		return m.prepare(now, above.GUID())
	case above != nil:
		m.standBy(now, above.GUID())
		m.watch.isSM = true
		if !m.mayBeMaster(above) {
			return StandBy // it is MASTER all the same: two would be worse
		}
		return HandOver
	case master != nil:
		m.phase = keeping
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

func (m *Machine) become(s smp.SMState) {
	m.state, m.polled, m.misses = s, 0, 0
	if m.phase != leaving {
		m.phase = keeping
	}
}

func (m *Machine) standBy(now time.Duration, whom mad.GUID) {
	m.become(smp.Standby)
	m.poll(now, whom)
}

// LosePath takes that the way to the manager that is polled is not known: a walk finds it.
func (m *Machine) LosePath() Do {
	m.become(smp.Discovering)
	return Discover
}

// Seen takes what a manager said to the MASTER when it was asked between walks.
func (m *Machine) Seen(info *smp.SMInfo) Do {
	if m.state != smp.Master || m.cfg.IgnoreOthers || m.Ignores(info) || info.GUID() == m.target() &&
		info.SMState() != smp.Master {
		return Nothing
	}
	if info.SMState() == smp.Master || m.mayBeMaster(info) && info.SMState() != smp.NotActive && m.higher(info) {
		return Resweep
	}
	return Nothing
}

// PortDown is the loss of our own port.
func (m *Machine) PortDown() { m.become(smp.Discovering) }
