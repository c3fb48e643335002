package discover

import (
	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/topo"
)

// If a manager gets no answers, the cause is more likely its own port, cable or host than all other nodes at once. Then
// a walk says nothing about the nodes that it did not find.

// OwnPort is what a walk found of the manager's own port, from the agent of that port alone.
type OwnPort uint8

// Own ports.
const (
	OwnUnresponsive OwnPort = iota // it did not answer: whether it has a link is not known
	OwnDown                        // it has no link
	OwnUp
)

func (p OwnPort) String() string { return [...]string{"unresponsive", "down", "up"}[p] }

// Heard is how much of what a walk asked other nodes was heard.
type Heard struct {
	Answers int // to requests
	Late    int // of them: to a second attempt or a later one
	// Lossy says that at some moment of the walk so many answers had been late that requests are made again.
	Lossy bool
	Nodes int // that answered
	// Unresponsive counts nodes that were known, and did not answer although the link to them, from one
	// that did, is up; and whatever is behind our own port. What lies behind them is not counted.
	Unresponsive int
}

// Evidence says whether the nodes that a walk did not find are gone, or why they may be there all the same.
type Evidence uint8

// Whether and why a walk is inconclusive.
const (
	Conclusive          Evidence = iota // the others are heard: an unresponsive node is itself the reason
	OwnPortUnresponsive                 // our own port does not answer: the walk says nothing
	MostUnresponsive                    // more nodes are unresponsive than answer
	PacketsLost                         // so many packets are lost that a lost answer says nothing
)

func (e Evidence) String() string {
	return [...]string{"conclusive", "own port unresponsive", "most nodes unresponsive", "packets lost"}[e]
}

// lateShare is the share of answers that come late, one in so many, from which on an answer that
// does not come says nothing. With a quarter of the attempts lost, one request in 256 has no answer
// after four, and no node loses one in each of MaxMissed sweeps.
const lateShare = 4

// Evidence says whether, and why, the walk must not be taken as evidence that a node is gone.
func (r *Result) Evidence() Evidence {
	switch h := &r.Heard; {
	case r.Own == OwnUnresponsive:
		return OwnPortUnresponsive
	case r.Own == OwnDown:
		return Conclusive
	case h.Unresponsive > h.Nodes:
		return MostUnresponsive
	case h.Late*lateShare > h.Answers:
		return PacketsLost
	}
	return Conclusive
}

// IsLocal reports whether all that the walk did not find, but for Strange, concerns links that have just changed, and
// devices that did not answer: a walk with Retry asks these again, and a full one would find no more.
func (r *Result) IsLocal() bool {
	return r.Evidence() == Conclusive && !r.Contested && r.Managers == 0 && r.Unproved == 0 && r.Refusing == 0
}

// Strange is how many findings there are of which a quick walk may have met only a part.
func (r *Result) Strange() int {
	return r.countOthers(func(k finding.Kind) bool {
		switch k {
		case finding.Unresponsive, finding.Incomplete, finding.OneSided, finding.GetRefused, finding.PKeysRefused,
			finding.PKeysUnread:
			return true
		}
		return false
	})
}

// Hearing is the conclusion from the unanswered requests of the walk. A quick walk leaves out nodes that were already
// unresponsive, unless it retries.
func (r *Result) Hearing() topo.Hearing {
	switch {
	case r.Quick && !r.Retry || r.Evidence() != Conclusive:
		return topo.Inconclusive
	case r.Heard.Late > 0:
		return topo.Noisy
	}
	return topo.Clear
}

// maxRepeats is how often a walk makes a request again that got no answer where packets are lost. With four attempts
// each, of which five in nine are lost with their answers, one request in 100,000 gets none.
const maxRepeats = 4

// repeats makes a request again that got no answer, and reports whether it does: in this walk so many packets are lost,
// or were, that a lost answer says nothing, and another walk would ask again what has been answered, too.
func (m *Machine) repeats(it item) bool {
	if !m.res.Heard.Lossy || m.isLocal(it) || m.repeated[it] == maxRepeats {
		return false
	}
	if m.repeated == nil {
		m.repeated = map[item]uint8{}
	}
	m.repeated[it]++
	if it.kind == kindNode {
		m.probes.push(it)
	} else {
		m.queue.push(it)
	}
	return true
}

// IsLossy reports whether the walk makes requests again that got no answer, because packets are lost.
func (m *Machine) IsLossy() bool { return m.res.Heard.Lossy }

// enough is how many answers show how many come late. Before, the first requests may have ended already.
const enough = 64

// hears counts an answer.
func (m *Machine) hears(late bool) {
	m.answers++
	if late {
		m.late++
	}
	m.res.Heard.Lossy = m.res.Heard.Lossy || m.answers >= enough && m.late*lateShare > m.answers
	if m.answers >= enough {
		m.judgeEarly()
	}
}

// keepEarly keeps a request that got no answer until it is clear whether packets are lost, and reports whether it does.
func (m *Machine) keepEarly(it item, o *txn.Outcome) bool {
	if m.late == 0 || m.answers >= enough || m.isLocal(it) || m.stage != followsCables {
		return false
	}
	m.early = append(m.early, *o)
	return true
}

// judgeEarly goes on with the requests that were kept, and reports whether there were any.
func (m *Machine) judgeEarly() bool {
	early := m.early
	m.early = nil
	for i := range early {
		m.ended(&early[i])
	}
	return len(early) > 0
}

// isLocal reports whether a request does not leave our own node, the first that was found.
func (m *Machine) isLocal(it item) bool {
	switch it.kind {
	case kindSelf:
		return true
	case kindNode, kindRecheck, kindDuplicate:
		return false
	case kindBlock:
		return m.readings.at(it.node).at.Node == 0
	}
	return it.node == 0
}

// countNodes counts the nodes that answered and those that did not.
func (m *Machine) countNodes() {
	unresponsive := map[mad.GUID]bool{}
	for n := range int32(m.b.Len()) {
		if m.b.Dropped(n) {
			continue
		}
		self, missing := m.b.Self().Node == n, m.b.Node(n).Missed > 0
		switch {
		case missing:
			unresponsive[m.b.Node(n).GUID] = true
		case !self:
			m.res.Heard.Nodes++
		}
		for num := range int(m.b.Node(n).NumPorts) + 1 {
			e := topo.End{Node: n, Port: uint8(num)}
			if info := m.b.Port(e); info == nil || info.PortState() < smp.PortInit || m.b.Peer(e) != topo.NoEnd ||
				m.unasked[e] {
				continue
			}
			if guid := m.knownBehind(e); guid != 0 || m.b.Self() == e {
				unresponsive[guid] = true
			}
		}
	}
	m.res.Heard.Unresponsive = len(unresponsive)
}

// knownBehind is the node that was behind a port in the previous walk and that this walk has not found, or 0.
func (m *Machine) knownBehind(e topo.End) mad.GUID {
	was := m.previous(e)
	if was == nil || was.Peer == topo.None || m.b.Port(e).PortState() < smp.PortArmed {
		return 0
	}
	prev := m.remembered()
	guid := prev.Nodes[prev.Ports[was.Peer].Node].GUID
	if n, known := m.b.Find(guid); known && !m.b.Dropped(n) {
		return 0
	}
	return guid
}
