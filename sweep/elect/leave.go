package elect

import (
	"slices"
	"time"

	"ibsm/mad/smp"
)

// LeavePatience is the longest that a manager goes on for behind Leave. It is more than an
// heir is waited for and one HANDOVER takes, sent three times.
const LeavePatience = 2 * time.Second

const (
	answerPatience = 400 * time.Millisecond // for an heir to say what it is
	mirrorPatience = time.Second            // and for one of our own kind to have everything
)

// Leave says that this manager is about to end. A MASTER goes on until one of the others,
// the highest that answers and may rule, is handed the mastership: it is told to Offer it,
// maybe to one after the other, and in the end HandOver. End is for who need not, or cannot.
func (m *Machine) Leave(now time.Duration, others []smp.SMInfo) Do {
	m.leaving = true
	if m.state != smp.Master || m.cfg.IgnoreOthers {
		return End
	}
	for i := range others {
		switch o := &others[i]; {
		case o.SMState() == smp.Master:
			return End
		case o.SMState() != smp.NotActive && m.mayRule(o):
			m.heirs = append(m.heirs, *o)
		}
	}
	slices.SortFunc(m.heirs, func(a, b smp.SMInfo) int {
		if outranks(&a, &b) {
			return -1
		}
		return 1
	})
	return m.offer(now)
}

// offer turns to the next heir, if there is one.
func (m *Machine) offer(now time.Duration) Do {
	if len(m.heirs) == 0 {
		return m.end()
	}
	m.heir = heir{guid: m.heirs[0].GUID(), until: now + answerPatience}
	m.heirs = m.heirs[1:]
	m.poll(now, m.heir.guid)
	m.due, m.watch.isSM = now, true
	return Offer
}

// end is the end of all offers.
func (m *Machine) end() Do {
	m.heir, m.polled = heir{}, 0
	return End
}

// answered takes the heir's answer to a poll of one who leaves.
func (m *Machine) answered(now time.Duration, info *smp.SMInfo) Do {
	switch state := info.SMState(); {
	case state == smp.Master:
		return m.end()
	case state == smp.NotActive || !m.mayRule(info):
		return m.offer(now)
	case !m.watch.kin:
		return m.bequeath(now)
	}
	m.heir.until = now + mirrorPatience
	return Nothing
}
