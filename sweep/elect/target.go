package elect

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// targetTimeout is how long a target is waited for before it is handed the mastership: a peer ibsm so that it has
// what clients have registered, another manager so that it is STANDBY.
const targetTimeout = 10 * time.Second

// target is the manager that is polled while a handover to it is wanted, or 0. Either it ranks higher than this
// manager, which is MASTER, or this manager is exiting. Polls show what kind of manager it is, and whether it lives. A
// manager that is not ibsm gets HANDOVER when it is STANDBY: an OpenSM that gets it while DISCOVERING, after it has
// seen us as MASTER, becomes standby nevertheless, and polls us for a minute. A peer ibsm gets it when its mirror is
// complete. When its time is over, either kind gets HANDOVER; one that ranks higher only if a walk still finds it.
func (m *Machine) target() mad.GUID {
	if m.phase == preparing || m.phase == leaving {
		return m.polled
	}
	return 0
}

// Target is the peer ibsm that gets the mastership when its mirror is complete, or 0.
func (m *Machine) Target() mad.GUID {
	if m.watch.kind == peer {
		return m.target()
	}
	return 0
}

// TimedOut is the manager that did not become ready in time, or 0.
func (m *Machine) TimedOut() mad.GUID {
	if m.phase == timedOut {
		return m.late
	}
	return 0
}

// prepare begins to wait for a target, or goes on to.
func (m *Machine) prepare(now time.Duration, to mad.GUID) Do {
	if m.phase != preparing {
		m.phase, m.until = preparing, now+targetTimeout
	}
	m.poll(now, to)
	m.watch.isSM = true
	return PrepareHandover
}

// heard takes the target's answer to a poll. If it is not a target any more, a walk decides again.
func (m *Machine) heard(now time.Duration, info *smp.SMInfo) Do {
	if m.phase == leaving {
		return m.answered(now, info)
	}
	switch state := info.SMState(); {
	case state == smp.Master || state == smp.NotActive || !m.higher(info) || !m.mayBeMaster(info):
		m.become(smp.Master)
		return Resweep
	case m.watch.kind != peer && state == smp.Discovering:
		m.misses, m.watch.heard, m.due = 0, now, min(m.due, now+lookInterval)
		return Nothing
	case m.watch.kind != peer || m.cfg.Unmirrored:
		return m.handOver(now)
	}
	m.misses, m.watch.heard = 0, now
	return Nothing
}

// Complete says that a manager has everything.
func (m *Machine) Complete(now time.Duration, has mad.GUID) Do {
	if has == 0 || has != m.Target() {
		return Nothing
	}
	return m.handOver(now)
}

// handOver hands the mastership over to the target, whose kind is known.
func (m *Machine) handOver(now time.Duration) Do {
	if m.phase == leaving {
		m.become(smp.NotActive) // so that nobody hands it back
		return HandOver
	}
	known := m.watch
	m.standBy(now, m.polled)
	m.watch.isSM = known.isSM
	if known.kind == peer {
		m.watch.kind = peer
	}
	return HandOver
}

// timeUp ends the waiting. The walk that follows hands over. A manager that leaves has no time
// for one, and turns to the next if this one has not answered.
func (m *Machine) timeUp(now time.Duration) Do {
	switch {
	case m.phase == leaving && m.watch.kind == peer:
		return m.handOver(now)
	case m.phase == leaving:
		return m.offer(now)
	}
	m.phase, m.late, m.polled = timedOut, m.polled, 0
	return Resweep
}
