package elect

import (
	"slices"
	"time"

	"ibsm/mad/smp"
)

// LeavePatience is the longest that a manager goes on for behind Leave. It is more than a
// target is waited for and one HANDOVER takes, sent three times.
const LeavePatience = 2 * time.Second

const (
	answerTimeout = 400 * time.Millisecond // for a target to say what it is
	mirrorTimeout = time.Second            // and for a peer ibsm to have everything
	// for a manager of another kind that is DISCOVERING to become STANDBY, since it was offered the mastership
	standbyTimeout = time.Second
)

// Leave says that this manager is about to end. A MASTER goes on until one of the others,
// the highest that answers and may become MASTER, is handed the mastership: the Do is Offer,
// maybe to one after the other, and in the end HandOver. End is for a manager that need not, or cannot.
func (m *Machine) Leave(now time.Duration, others []smp.SMInfo) Do {
	if m.state != smp.Master || m.cfg.IgnoreOthers {
		return m.end()
	}
	for i := range others {
		switch o := &others[i]; {
		case m.Ignores(o):
			continue
		case o.SMState() == smp.Master:
			return m.end()
		case o.SMState() != smp.NotActive && m.mayBeMaster(o):
			m.candidates = append(m.candidates, *o)
		}
	}
	slices.SortFunc(m.candidates, func(a, b smp.SMInfo) int {
		if outranks(&a, &b) {
			return -1
		}
		return 1
	})
	return m.offer(now)
}

// offer turns to the next candidate, if there is one.
func (m *Machine) offer(now time.Duration) Do {
	if len(m.candidates) == 0 {
		return m.end()
	}
	m.poll(now, m.candidates[0].GUID())
	m.phase, m.until, m.candidates = leaving, now+answerTimeout, m.candidates[1:]
	m.offered = now
	m.due, m.watch.isSM = now, true
	return Offer
}

// end ends all offers. Nobody is polled any more, so nothing that is lost later can begin another one.
func (m *Machine) end() Do {
	m.phase, m.polled = leaving, 0
	return End
}

// answered takes the target's answer to a poll of a manager that leaves.
func (m *Machine) answered(now time.Duration, info *smp.SMInfo) Do {
	switch state := info.SMState(); {
	case state == smp.Master:
		return m.end()
	case state == smp.NotActive || !m.mayBeMaster(info):
		return m.offer(now)
	case m.watch.kind != peer && state == smp.Discovering:
		// HANDOVER would change nothing there, see target: it is asked again
		m.misses, m.due, m.until = 0, min(m.due, now+lookInterval), m.offered+standbyTimeout
		return Nothing
	case m.watch.kind != peer || m.cfg.Unmirrored:
		return m.handOver(now)
	}
	m.until = now + mirrorTimeout
	return Nothing
}
