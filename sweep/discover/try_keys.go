package discover

import (
	"ibsm/mad"
	"ibsm/topo"
)

// A node that requires another M_Key than the one shown does not answer, as if no node were there. So a link whose
// first request has no answer is left until the end of the walk: then the missing nodes are known, and the other keys
// are tried at the same time, each in a request of its own, so that a wrong key costs no further time-out.

const (
	// firstCandidate is the number of the key of Keys.Candidates[0]. Those of the agent that is expected are below.
	firstCandidate = 128
	// maxTrials bounds the requests of a walk with keys of candidates. An agent counts each wrong key as a violation.
	maxTrials = 256
)

// keyBehind is the M_Key of a request to whoever is behind a port.
func (m *Machine) keyBehind(it item) mad.MKey {
	n := m.keyNumber(it)
	if n >= firstCandidate {
		key, _ := m.cfg.Keys.Of(m.candidates[n-firstCandidate], 0)
		return key
	}
	key, _ := m.expectedKey(it, n)
	return key
}

// expectedKey is the nth M_Key, from 0 on, of the agent that is expected behind a port, and after these that of the
// agent that was there before; ok is false where there are no more.
func (m *Machine) expectedKey(it item, n int) (key mad.MKey, ok bool) {
	agent, from := m.behind(it), it.end()
	hidden := m.cfg.Keys.Knock != 0 && (m.branches.all[from.Node].suspect || m.ledToAdapter(from))
	for i := 0; ; i++ {
		if key, ok = m.cfg.Keys.Of(agent, i); !ok {
			break
		}
		if hidden && key == m.cfg.Keys.Knock {
			continue
		}
		if n == 0 {
			return key, true
		}
		n--
	}
	if n > 0 || m.cfg.Keys.Before == nil {
		return 0, false
	}
	before := m.cfg.Keys.Before(m.whose(it), from.Port)
	if before == 0 || before == agent || m.hasFound(before) {
		return 0, false
	}
	return m.cfg.Keys.Of(before, 0)
}

// noAnswer takes that a request to whoever is behind a port got no answer. It reports whether that is not the last
// word.
func (m *Machine) noAnswer(it item) bool {
	e := it.end()
	switch {
	case m.cfg.Keys.Of == nil:
		return false
	case m.keyNumber(it) == 0:
		m.left = append(m.left, it)
		return true
	}
	m.endTrial(e)
	return m.trials[e] > 0 || m.b.Peer(e) != topo.NoEnd || m.claimed[e]
}

// endTrial takes that a request of tryKeys behind a port has an outcome, or is not made because the link is known.
func (m *Machine) endTrial(e topo.End) {
	if m.trials[e]--; m.trials[e] == 0 {
		delete(m.trials, e)
	}
}

// idle reports whether all that matters is answered: behind a port where somebody has answered to one key, the requests
// with others have no answer, and the walk does not wait for their time-out.
func (m *Machine) idle() bool {
	if !m.queue.empty() || !m.probes.empty() {
		return false
	}
	open := m.open
	for e, trials := range m.trials {
		if m.b.Peer(e) != topo.NoEnd || m.claimed[e] {
			open -= trials
		}
	}
	return open == 0
}

// tryKeys tries the other keys behind ports whose first request got no answer. If there are no other keys, the port
// counts as having no node behind it.
func (m *Machine) tryKeys() {
	left := m.left
	m.left, m.candidates = nil, nil
	if m.cfg.Keys.Candidates != nil {
		m.candidates = m.cfg.Keys.Candidates(m.hasFound, m.mayBeThere)
	}
	for _, it := range left {
		e, count := it.end(), 0
		show := func(n int) {
			m.probes.push(item{kind: kindNode, num: uint16(n)<<8 | uint16(e.Port), node: it.node})
			count++
		}
		for n := 1; n < firstCandidate; n++ {
			if _, ok := m.expectedKey(it, n); !ok {
				break
			}
			show(n)
		}
		if len(m.candidates) > 0 && m.tried+len(m.candidates) <= maxTrials && m.cfg.Keys.Tries(m.whose(it), e.Port) {
			for i := range m.candidates {
				show(firstCandidate + i)
			}
			m.tried += len(m.candidates)
			m.res.Tried = append(m.res.Tried, Place{GUID: m.whose(it), Port: e.Port})
		}
		if count == 0 {
			m.nobody(it)
		} else {
			m.trials[e] = count
		}
	}
}

// nobody takes that no node has answered behind a port.
func (m *Machine) nobody(it item) {
	if m.lastBehind(it.end()) != nil {
		m.unanswered = append(m.unanswered, it)
		return
	}
	m.isUnresponsive(it)
}

// isUnresponsive records a link behind which nobody has answered.
func (m *Machine) isUnresponsive(it item) {
	m.res.TimedOut++
	m.refused = m.refused || m.up(it.end())
	m.nodeInfo(it, nil, false)
	if m.cfg.Keys.Prove {
		m.unheard(it)
	}
}

// hasFound reports whether an agent has been found, by its port GUID.
func (m *Machine) hasFound(port mad.GUID) bool {
	e, found := m.b.PortOwner(port)
	return found && !m.b.Dropped(e.Node)
}
