package discover

import (
	"slices"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/topo"
)

// An agent that takes long for each answer would hold up the walk, and whoever waits for what it finds. So the caller
// ends all requests as txn.OutOfTime when the walk has waited long enough for such agents alone. They are asked
// nothing more in this walk: their nodes are taken as in the previous walk, if they were known and their links have
// stayed up since, and otherwise left out. What is left out of a switch comes first in the next walk.
//
// Until then few requests to an agent are handed out at a time, lest those of one that answers late be in the way of
// others, and lest all blocks of a table be under way before the first is late.

const (
	// maxOpen is how many requests to one agent are handed out and not answered: as many as are sent to one that does
	// not answer.
	maxOpen = 32
	// maxOpenLate replaces it for an agent that has answered late.
	maxOpenLate = 4
)

// agent is what a walk knows of how the agent of a node answers.
type agent struct {
	open    int    // requests without an outcome
	waits   []item // that are made when there are fewer
	answers int
	late    int // of answers: to a second attempt or a later one
	slow    slow
	taken   int // ports that were taken as in the previous walk
	// forwards says that somebody has answered behind the node.
	forwards bool
}

// slow is whether an agent is asked anything more.
type slow uint8

const (
	inTime         slow = iota
	outOfTime           // it has not answered in time
	spared              // a quick walk asks only for dirty ports, as it did not answer the previous walk in time
	answersNothing      // it has answered nothing: see takeUnanswered
)

// agentOf is the node that a request goes to, -1 where the walk does not know it, or it is our own.
func (m *Machine) agentOf(it item) int32 {
	n := it.node
	switch it.kind {
	case kindSelf, kindNode, kindRecheck, kindDuplicate:
		return -1
	case kindBlock:
		n = m.readings.at(it.node).at.Node
	}
	if n == 0 {
		return -1
	}
	return n
}

// agentAt is the agent of a node.
func (m *Machine) agentAt(n int32) *agent {
	for int(n) >= len(m.agents) {
		m.agents = append(m.agents, agent{})
	}
	return &m.agents[n]
}

// waitsForAgent reports whether a request is not made now: its agent has enough to do, or is not asked any more.
func (m *Machine) waitsForAgent(it item) bool {
	n := m.agentOf(it)
	if n < 0 {
		return false
	}
	a := m.agentAt(n)
	switch {
	case a.slow != inTime && !(a.slow == spared && it.kind == kindPort && !m.holds(smp.AttrPortInfo, it.end())):
		m.settle(it, &txn.Outcome{Result: txn.OutOfTime, Tag: it.tag()})
		return true
	case a.open >= a.most():
		a.waits = append(a.waits, it)
		return true
	}
	a.open++
	return false
}

// most is how many requests may be handed out.
func (a *agent) most() int {
	if a.late > 0 {
		return maxOpenLate
	}
	return maxOpen
}

// notMade takes that a request was not made after all, or has an outcome.
func (m *Machine) notMade(it item) {
	n := m.agentOf(it)
	if n < 0 {
		return
	}
	a := m.agentAt(n)
	if a.open--; a.open < a.most() && len(a.waits) > 0 {
		m.queue.pushFirst(a.waits[0])
		a.waits = a.waits[1:]
	}
}

// agentDone takes the outcome of a request for its agent.
func (m *Machine) agentDone(it item, o *txn.Outcome) {
	n := m.agentOf(it)
	if n < 0 {
		if o.Result == txn.Replied && !m.isLocal(it) {
			m.res.Heard.Answers++
			if o.Attempts > 1 {
				m.res.Heard.Late++
			}
		}
		return
	}
	a := m.agentAt(n)
	switch o.Result {
	case txn.Replied:
		a.answers++
		if o.Attempts > 1 {
			a.late++
		}
	case txn.OutOfTime:
		m.endAgent(n, outOfTime)
	}
	m.notMade(it)
}

// endAgent has a node asked nothing more.
func (m *Machine) endAgent(n int32, how slow) {
	a := m.agentAt(n)
	if a.slow != inTime && a.slow != spared {
		return
	}
	a.slow = how
	for _, it := range a.waits {
		m.queue.push(it)
	}
	a.waits = nil
}

// spare has a quick walk ask a node nothing that did not answer the previous walk in time, unless its ports may have
// changed since.
func (m *Machine) spare(n int32) {
	guid := m.b.Node(n).GUID
	if m.wasSlow(n) && !m.isDirty(guid) && !m.again[guid] {
		m.endAgent(n, spared)
	}
}

// wasSlow reports whether a node did not answer the previous walk in time.
func (m *Machine) wasSlow(n int32) bool {
	return m.anySlow && m.had(finding.SlowAgent, m.b.Node(n).GUID, 0)
}

// A known node that has answered nothing when all else has been asked is taken as in the previous walk, too, if the
// link to it has been up since, and its answers come too late. A switch is taken in any case: it may forward all the
// same, and only through it can what is behind it be found. If nobody answers behind it, it counts as unresponsive.

// takeUnanswered takes the nodes that have answered nothing, and reports whether there is something to ask now.
func (m *Machine) takeUnanswered() bool {
	unprobed, unanswered := m.unprobed, m.unanswered
	m.unprobed, m.unanswered = nil, nil
	for i, it := range slices.Concat(unprobed, unanswered) {
		e := it.end()
		switch far := m.lastBehind(e); {
		case m.b.Peer(e) != topo.NoEnd || m.claimed[e]:
		case far != nil && m.takeBehind(e, far):
		case i < len(unprobed):
			m.probes.push(it)
		case !m.unasked[e]:
			m.isUnresponsive(it)
		}
	}
	return len(unprobed)+len(unanswered) > 0
}

// takeBehind takes the node whose port was behind another one, and reports whether it may be there. Behind a
// switch that answers nothing, it is not unless somebody has answered there.
func (m *Machine) takeBehind(e topo.End, far *topo.Port) bool {
	old := &m.cfg.Prev.Nodes[far.Node]
	late := m.cfg.IsLate(old.GUID)
	n, known := m.b.Find(old.GUID)
	if known && m.agentAt(n).slow == inTime || !late && old.Type != mad.Switch ||
		m.agentAt(e.Node).slow == answersNothing && !m.agentAt(e.Node).forwards {
		return false
	}
	to := topo.End{Node: n, Port: far.Num}
	if !known {
		var ok bool
		if n, ok = m.addKnown(e, far); !ok {
			return false
		}
		to.Node = n
		node := m.b.Node(n)
		node.Desc, node.AR, node.ARInfo, node.PrivateLFT = old.Desc, old.AR, old.ARInfo, old.PrivateLFT
		how, first := outOfTime, item{kind: kindSwitch, node: n}
		if m.agentAt(e.Node).forwards = late || m.agentAt(e.Node).forwards; !late {
			how, node.Missed = answersNothing, max(old.Missed, 1)
		}
		if old.Type != mad.Switch {
			first = item{kind: kindPort, num: uint16(far.Num), node: n}
		}
		m.endAgent(n, how)
		m.queue.push(first)
	} else if _, taken := m.b.PortOwner(far.GUID); old.Type != mad.Switch && far.GUID != 0 && !taken {
		m.b.SetPortGUID(to, far.GUID)
	}
	m.join(e, to)
	return true
}

// lastBehind is the port of the node that was behind a port in the previous walk, if the link has been up since; else
// nil.
func (m *Machine) lastBehind(e topo.End) *topo.Port {
	t := m.cfg.Prev
	if t == nil || !m.up(e) {
		return nil
	}
	was := m.portIn(t, e)
	if was == topo.None || t.Ports[was].Peer == topo.None || t.Ports[was].Info.PortState() < smp.PortArmed {
		return nil
	}
	return &t.Ports[t.Ports[was].Peer]
}

// isProbed reports whether the node behind a port did not answer the previous walk in time, and is asked already over
// another cable: an agent handles one request at a time, also those that ask who is behind a cable.
func (m *Machine) isProbed(it item) bool {
	if !m.anySlow {
		return false
	}
	far := m.lastBehind(it.end())
	if far == nil {
		return false
	}
	guid := m.cfg.Prev.Nodes[far.Node].GUID
	if !m.had(finding.SlowAgent, guid, 0) {
		return false
	}
	was := m.probed[guid]
	m.probed[guid] = true
	return was
}

// endUnanswered reports the switches that have answered nothing, and drops those behind which nobody has answered.
func (m *Machine) endUnanswered() {
	for n := range int32(len(m.agents)) {
		if m.agents[n].slow != answersNothing {
			continue
		}
		guid, from := m.b.Node(n).GUID, m.branches.all[n].parent
		if !m.agents[n].forwards {
			m.b.Drop(n)
			m.res.Findings = slices.DeleteFunc(m.res.Findings, func(f Finding) bool { return f.GUID == guid })
		}
		if !m.unasked[from] {
			m.isUnresponsive(item{kind: kindNode, num: uint16(from.Port), node: from.Node})
		} else if !m.b.Dropped(n) {
			m.reportUnresponsive(from)
		}
	}
}

// takeSwitch takes a switch that is not asked any more as in the previous walk.
func (m *Machine) takeSwitch(n int32) {
	old := m.previousNode(n)
	if old == topo.None || !m.hasStayed(n) {
		return // finish leaves it out
	}
	m.b.Node(n).SwitchInfo = m.remembered().Nodes[old].SwitchInfo
	m.askPorts(n)
}

// hasStayed reports whether the link by which a node was reached has been up since the previous walk.
func (m *Machine) hasStayed(n int32) bool {
	parent := m.branches.all[n].parent
	return parent == topo.NoEnd || m.up(parent)
}

// reportSlow reports the nodes that were not asked everything.
func (m *Machine) reportSlow() {
	for n := range m.agents {
		if a := &m.agents[n]; a.slow == outOfTime || a.slow == spared {
			node := m.b.Node(int32(n))
			unread := m.unreadPorts(int32(n))
			if a.taken > 0 && a.slow == outOfTime && m.mayHaveChanged(node.GUID) {
				unread += a.taken
				m.isUnread(int32(n))
			}
			m.report(Finding{Kind: finding.SlowAgent, GUID: node.GUID, Route: node.Route, Unread: unread})
		}
	}
}

// mayHaveChanged reports whether a switch has said that a port has changed its state, or may not say so any more.
func (m *Machine) mayHaveChanged(guid mad.GUID) bool {
	return slices.Contains(m.res.Cleared, guid) || m.isDirty(guid)
}

// isUnread notes that the next walk has to read the ports of a node.
func (m *Machine) isUnread(n int32) {
	if at := m.at(n); !at.unread {
		at.unread = true
		m.res.Unread = append(m.res.Unread, m.b.Node(n).GUID)
	}
}

// unreadPorts is how many ports of a switch have never been read.
func (m *Machine) unreadPorts(n int32) (count int) {
	node := m.b.Node(n)
	if node.Type != mad.Switch || m.at(n).sw == nil {
		return 0
	}
	for num := range int(node.NumPorts) + 1 {
		if m.b.Port(topo.End{Node: n, Port: uint8(num)}) == nil {
			count++
		}
	}
	return count
}

// countAnswers counts the answers, but for those of nodes that were slow: these say nothing about the others.
func (m *Machine) countAnswers() {
	for n := range m.agents {
		if a := &m.agents[n]; a.slow == inTime {
			m.res.Heard.Answers += a.answers
			m.res.Heard.Late += a.late
		}
	}
}

// WaitsForKnown reports whether all that the walk waits for is nodes that did not answer the previous one in time
// either, and of which all is known.
func (m *Machine) WaitsForKnown() bool {
	open := 0
	for n := range m.agents {
		a := &m.agents[n]
		if a.open > 0 && !(m.wasSlow(int32(n)) && m.isKnown(int32(n))) {
			return false
		}
		open += a.open
	}
	return open == m.open
}

// isKnown reports whether the previous walk, or one before it, has read all ports of a node.
func (m *Machine) isKnown(n int32) bool {
	old := m.previousNode(n)
	if old == topo.None {
		return false
	}
	first, ports := m.remembered().Nodes[old].First, topo.PortIdx(m.remembered().Nodes[old].NumPorts)
	if m.b.Node(n).Type != mad.Switch {
		return true
	}
	return !slices.ContainsFunc(m.remembered().Ports[first:first+ports+1], func(p topo.Port) bool { return !p.Seen })
}

// LeftOut reports whether something is not known because a node takes too long for its answers.
func (r *Result) LeftOut() bool {
	return r.OfOthers() < len(r.Findings)-r.count(finding.SlowAgent) ||
		slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Kind == finding.SlowAgent && f.Unread > 0 })
}

// LeavesNodesOut reports whether some node has not answered, or not enough to manage it.
func (r *Result) LeavesNodesOut() bool {
	return r.FindingsMore > 0 ||
		r.count(finding.Unresponsive)+r.count(finding.Incomplete)+r.count(finding.SlowAgent) > 0
}

func (r *Result) count(kind finding.Kind) (count int) {
	for i := range r.Findings {
		if r.Findings[i].Kind == kind {
			count++
		}
	}
	return count
}

// OfOthers is how many findings there are that do not follow from a node's taking too long for its answers.
func (r *Result) OfOthers() int {
	return r.countOthers(func(finding.Kind) bool { return false })
}

// countOthers is how many of them are of other kinds than some.
func (r *Result) countOthers(but func(finding.Kind) bool) (count int) {
	slow := map[mad.GUID]bool{}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Kind == finding.SlowAgent {
			slow[f.GUID] = true
		}
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; !slow[f.GUID] && !but(f.Kind) {
			count++
		}
	}
	return count
}
