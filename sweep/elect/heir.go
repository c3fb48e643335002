package elect

import (
	"cmp"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// heirPatience is how long one of our own kind is waited for before it is handed the
// mastership, so that it has what clients have registered.
const heirPatience = 10 * time.Second

// heir is a manager that ranks higher than we, who are MASTER. It is polled to see what it
// is, and whether it lives. HANDOVER goes at once to who is not of our own kind; else when
// it has everything, or after heirPatience and a walk that still finds it.
type heir struct {
	guid    mad.GUID // 0 for nobody
	until   time.Duration
	overdue mad.GUID // has been waited for
}

// Heir is the manager of our own kind that is to be handed the mastership when it has
// everything; 0 for nobody.
func (m *Machine) Heir() mad.GUID {
	if m.watch.kin {
		return m.heir.guid
	}
	return 0
}

// Overdue is the manager that has been waited for too long; 0 for nobody.
func (m *Machine) Overdue() mad.GUID { return m.heir.overdue }

// yield begins to wait for an heir, or goes on to.
func (m *Machine) yield(now time.Duration, to mad.GUID) Do {
	m.heir = heir{guid: to, until: cmp.Or(m.heir.until, now+heirPatience)}
	m.poll(now, to)
	m.watch.isSM = true
	return Yield
}

// heard takes the heir's answer to a poll. If it is no heir any more, a walk decides anew.
func (m *Machine) heard(now time.Duration, info *smp.SMInfo) Do {
	if m.leaving {
		return m.answered(now, info)
	}
	switch state := info.SMState(); {
	case state == smp.Master || state == smp.NotActive || !m.higher(info) || !m.mayRule(info):
		m.become(smp.Master)
		return Resweep
	case !m.watch.kin:
		return m.bequeath(now)
	}
	m.misses, m.watch.heard = 0, now
	return Nothing
}

// Complete says that a manager has everything.
func (m *Machine) Complete(now time.Duration, has mad.GUID) Do {
	if has == 0 || has != m.Heir() {
		return Nothing
	}
	return m.bequeath(now)
}

// bequeath hands over to the heir, of whom is known what it is.
func (m *Machine) bequeath(now time.Duration) Do {
	if m.leaving {
		m.become(smp.NotActive) // so that nobody hands it back
		return HandOver
	}
	known := m.watch
	m.standBy(now, m.heir.guid)
	m.watch.isSM, m.watch.kin = known.isSM, known.kin
	return HandOver
}

// overdue ends the waiting. The walk that follows hands over. Who leaves has no time for
// one, and turns to the next if this one has not answered.
func (m *Machine) overdue(now time.Duration) Do {
	switch {
	case m.leaving && m.watch.kin:
		return m.bequeath(now)
	case m.leaving:
		return m.offer(now)
	}
	m.heir, m.polled = heir{overdue: m.heir.guid}, 0
	return Resweep
}
