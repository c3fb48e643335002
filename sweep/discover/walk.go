package discover

import (
	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/topo"
)

// Done takes the outcome of a request that Next handed out.
func (m *Machine) Done(o *txn.Outcome) {
	m.open--
	it := itemOf(o.Tag)
	if o.Result == txn.Replied && !m.isLocal(it) {
		m.hears(o.Attempts > 1)
	}
	if o.Result != txn.TimedOut || !m.keepEarly(it, o) {
		m.ended(o)
	}
}

// ended takes the outcome of a request, unless that is made again.
func (m *Machine) ended(o *txn.Outcome) {
	it := itemOf(o.Tag)
	if o.Result == txn.TimedOut && m.repeats(it) {
		m.notMade(it)
		return
	}
	if m.agentOf(it) < 0 && o.Result == txn.OutOfTime {
		unanswered := *o
		unanswered.Result = txn.TimedOut
		o = &unanswered
	}
	m.agentDone(it, o)
	m.settle(it, o)
}

// settle takes the outcome of a request.
func (m *Machine) settle(it item, o *txn.Outcome) {
	replied := o.Result == txn.Replied
	if o.Result == txn.TimedOut && (m.askAgain(it) || it.kind == kindNode && m.noAnswer(it)) {
		return
	}
	if !replied && it.kind == kindNode {
		m.nobody(it)
		return
	}
	if o.Result == txn.TimedOut && it.kind != kindDuplicate && it.kind != kindSpeeds {
		m.timedOut(it)
	}
	ok := replied && o.Status == mad.StatusOK
	switch it.kind {
	case kindSelf:
		if ok {
			m.self((*smp.NodeInfo)(&o.Data))
			if self := m.b.Self(); self != topo.NoEnd {
				m.met(it, self)
			}
		}
	case kindNode:
		if m.keyNumber(it) > 0 {
			m.endTrial(it.end())
		}
		m.nodeInfo(it, (*smp.NodeInfo)(&o.Data), ok)
	case kindRecheck:
		m.rechecked(it, (*smp.NodeInfo)(&o.Data), ok)
	case kindDesc:
		if ok {
			m.description(it.node, (*smp.NodeDescription)(&o.Data))
		}
	case kindSwitch:
		if replied {
			m.answered(it)
		}
		if replied && !ok {
			m.refusedSwitchInfo(it.node, o.Status)
			return
		}
		if o.Result == txn.OutOfTime {
			m.takeSwitch(it.node)
			return
		}
		m.switchInfo(it.node, (*smp.SwitchInfo)(&o.Data), ok)
	case kindClear:
		m.cleared(it.node, (*smp.SwitchInfo)(&o.Data), ok)
	case kindPort, kindPlain:
		if replied {
			m.answered(it)
		}
		m.portInfo(it.end(), o, ok)
	case kindSpeeds:
		m.speeds(it, o, ok)
	case kindSM:
		m.smInfo(it, (*smp.SMInfo)(&o.Data), ok)
	case kindDuplicate:
		m.duplicateManager(it, (*smp.SMInfo)(&o.Data), ok)
	case kindBlock:
		m.block(it, o, ok)
	case kindExtended:
		m.extended(it, o)
	case kindGeneral, kindAR, kindPrivateLFT:
		m.adaptive(it, o)
	}
}

// timedOut counts a request that got no answer.
func (m *Machine) timedOut(it item) {
	m.res.TimedOut++
	switch it.kind {
	case kindSM:
		m.res.Managers++
	case kindDesc, kindSwitch, kindPort, kindPlain, kindBlock:
		if n := m.agentOf(it); n >= 0 {
			m.res.Unanswered[m.b.Node(n).GUID] = true
		}
	}
}

// self begins the walk: our own node, and one hop out of it.
func (m *Machine) self(info *smp.NodeInfo) {
	if !possible(info) {
		m.report(Finding{Kind: finding.BadNodeInfo, GUID: info.NodeGUID()})
		return
	}
	n := m.addNode(topo.NoEnd, info, mad.Route{})
	port := info.LocalPortNum()
	if info.NodeType() == mad.Switch {
		port = 0
	}
	m.b.SetSelf(topo.End{Node: n, Port: port})
	m.ask(n, port)
}

// ask queues the requests for a new node that was reached through port.
func (m *Machine) ask(n int32, port uint8) {
	m.recall(n)
	node := m.b.Node(n)
	if node.Desc == (smp.NodeDescription{}) {
		m.queue.push(item{kind: kindDesc, node: n})
	}
	if node.Type == mad.Switch {
		m.queue.push(item{kind: kindSwitch, node: n})
		return
	}
	m.askPort(topo.End{Node: n, Port: port})
}

// finish evaluates the unanswered requests.
func (m *Machine) finish() {
	if !m.keyed && !m.cfg.Keys.Keyless {
		m.res.Unproved, m.res.Refusing = 0, 0
	}
	m.endUnanswered()
	for n := range int32(m.b.Len()) {
		node := m.b.Node(n)
		m.setBit31(n, node)
		if m.b.Dropped(n) || m.complete(n, node) {
			continue
		}
		m.report(Finding{Kind: finding.Incomplete, GUID: node.GUID, Route: node.Route})
		m.b.Drop(n)
	}
	if m.cfg.Quick {
		m.repeatFindings()
	}
	m.recallPorts()
	m.reportSlow()
	m.countAnswers()
	m.dropOneSided()
	m.countNodes()
	m.res.Former = m.former()
}

// complete reports whether enough of a node is known to manage it.
func (m *Machine) complete(n int32, node *topo.Node) bool {
	if node.Type == mad.Switch {
		return m.at(n).sw != nil && m.b.Port(topo.End{Node: n}) != nil
	}
	return m.b.Port(topo.End{Node: n, Port: node.Info.LocalPortNum()}) != nil
}

// dropOneSided removes cables of which one end is down or was not read: the link changed during the walk. If two walks
// find the same, two nodes have one GUID, and a third walk would find no more.
func (m *Machine) dropOneSided() {
	for n := range int32(m.b.Len()) {
		node := m.b.Node(n)
		for num := range int(node.NumPorts) + 1 {
			e := topo.End{Node: n, Port: uint8(num)}
			peer := m.b.Peer(e)
			info := m.b.Port(e)
			if peer == topo.NoEnd || info != nil && info.PortState() > smp.PortDown {
				continue
			}
			lasts := false
			if info != nil && m.passable(peer) {
				route, _ := m.routeOut(peer)
				m.report(Finding{Kind: finding.OneSided, GUID: node.GUID, Port: e.Port, Route: node.Route,
					Other: route})
				lasts = m.had(finding.OneSided, node.GUID, e.Port)
			}
			m.b.Unlink(e)
			if !lasts && (info != nil || m.agentAt(n).slow == inTime) {
				m.res.Moved = true
				m.isUnread(n)
				m.isUnread(peer.Node)
			}
		}
	}
}
