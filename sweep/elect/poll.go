package elect

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// A peer ibsm always answers at once. It is dead after five seconds without an
// answer, while its port's agent answers: peerTimeout, and what the walk that follows
// waits for it once more.
const (
	peerInterval = 2 * time.Second // between polls of it
	peerTimeout  = 4200 * time.Millisecond
	lookInterval = 250 * time.Millisecond // between looks at the port of the manager that is polled
)

// watch is the known state of the polled manager's port.
type watch struct {
	due   time.Duration // of the next look
	isSM  bool          // IsSM was set
	kind  kind
	heard time.Duration // when it last said what it should
	agent time.Duration // when its port's agent last answered
}

// kind is the known kind of the polled manager.
type kind uint8

const (
	unknown kind = iota // nothing yet, or that it is not ibsm and not MASTER
	foreign             // it has said that it is MASTER, and is not ibsm
	peer                // it is a peer ibsm
)

// Polled is the polled manager, or 0.
func (m *Machine) Polled() mad.GUID { return m.polled }

// IsPeer reports whether the manager that is polled is a peer ibsm.
func (m *Machine) IsPeer() bool { return m.polled != 0 && m.watch.kind == peer }

// Foreign reports whether the manager that is polled is MASTER and not ibsm.
func (m *Machine) Foreign() bool { return m.polled != 0 && m.watch.kind == foreign }

// poll begins to poll a manager, the first time at once.
func (m *Machine) poll(now time.Duration, whom mad.GUID) {
	if m.polled != whom {
		m.polled, m.misses, m.due = whom, 0, now
		m.watch = watch{due: now, heard: now}
	}
}

// Due is the time of the next Tick; false if no manager is polled.
func (m *Machine) Due() (time.Duration, bool) {
	due := min(m.due, m.watch.due)
	if m.target() != 0 {
		due = min(due, m.until)
	}
	return due, m.polled != 0
}

// Tick returns the action due at a time: Poll, Look, the consequence of the polled manager's death, or Nothing until
// Due.
func (m *Machine) Tick(now time.Duration) Do {
	w := &m.watch
	switch {
	case m.polled == 0:
		return Nothing
	case m.target() != 0 && m.until <= now:
		return m.timeUp(now)
	case m.due <= now:
		if m.misses > max(m.cfg.PollRetries, 0) {
			return m.masterLost(now)
		}
		m.misses++
		m.due = now + m.interval()
		return Poll
	case w.due <= now:
		if w.kind == peer && now-w.heard > peerTimeout && now-w.agent < time.Second {
			return m.masterLost(now)
		}
		w.due = now + lookInterval
		return Look
	}
	return Nothing
}

func (m *Machine) interval() time.Duration {
	if m.watch.kind == peer {
		return min(m.cfg.PollInterval, peerInterval)
	}
	return m.cfg.PollInterval
}

// masterLost is the end of the manager that was polled, if one was.
func (m *Machine) masterLost(now time.Duration) Do {
	switch {
	case m.polled == 0:
		return Nothing
	case m.phase == leaving:
		return m.offer(now)
	case m.state == smp.Master:
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
	if m.Ignores(info) {
		return m.masterLost(now)
	}
	if isPeer(info) && m.watch.kind != peer {
		m.watch.kind = peer
		m.due = min(m.due, now+m.interval())
	}
	if m.target() != 0 {
		return m.heard(now, info)
	}
	if info.SMState() == smp.Master {
		m.misses, m.watch.heard, m.watch.kind = 0, now, max(m.watch.kind, foreign)
		switch {
		case m.higher(info) && m.state == smp.Master:
			return Resweep // which hands over
		case !m.higher(info) && m.mayBeMaster(info) && m.watch.kind == foreign:
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
	m.watch.agent = now
	if m.watch.isSM && !isSM {
		return m.masterLost(now)
	}
	m.watch.isSM = isSM
	return Nothing
}

// Unplugged takes that the port of the manager that is polled has lost its link.
func (m *Machine) Unplugged(now time.Duration) Do { return m.masterLost(now) }

// Resumed takes that for a while we did not run: polls that went unanswered do not count.
func (m *Machine) Resumed(now time.Duration) {
	m.misses, m.watch.heard, m.watch.agent = 0, now, now
}
