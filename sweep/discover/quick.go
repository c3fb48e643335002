package discover

import (
	"maps"
	"slices"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// A quick walk reads PortStateChange of each switch, and takes over everything else from the
// previous walk: a port that has stayed ARMED or ACTIVE still leads to the same node. Its
// directed routes are new, over links that it has just found up. It costs one SMP per switch;
// changed switches cost as much as in a full walk.
//
// It does not see changes without a link going down: traps report those, and it reads the ports of which they say so.
// Nor does it ask nodes again that did not answer, because that takes all retries: a light
// sweep does, and a walk with Retry.

// unchanged reports whether a quick walk may take over a switch from the previous one, and if
// so takes its ports over.
func (m *Machine) unchanged(n int32, info *smp.SwitchInfo) bool {
	node := m.b.Node(n)
	old := m.before(n)
	if old == topo.None || info.PortStateChange() ||
		m.isDirty(node.GUID) || m.again[node.GUID] || m.cfg.Prev.Nodes[old].NumPorts != node.NumPorts {
		return false
	}
	if top, complete := m.cfg.Devices.Top(node.GUID); !complete || top != info.LinearFDBTop() {
		return false
	}
	sw := &pendingSwitch{}
	m.at(n).sw, m.at(n).believed = sw, true
	for num := range int(node.NumPorts) + 1 {
		switch e := (topo.End{Node: n, Port: uint8(num)}); {
		case !m.cfg.Prev.Ports[m.cfg.Prev.Port(old, e.Port)].Seen:
		case m.holds(smp.AttrPortInfo, e):
			m.takeOver(e, old)
		default:
			m.queue.push(item{kind: kindPort, num: uint16(num), node: n})
			sw.ports++
		}
	}
	if sw.ports == 0 {
		m.readSwitch(n)
	}
	unknown := node.AR == topo.ARUnknown || node.PrivateLFT == topo.PrivateLFTUnknown
	if !m.holds(smp.AttrARInfo, topo.End{Node: n}) || unknown && m.cfg.Retry {
		m.askAdaptive(n)
	}
	return true
}

// isDirty reports whether the ports of a node may be other than the previous walk has found them, whatever they report.
func (m *Machine) isDirty(node mad.GUID) bool {
	return m.cfg.Devices.Dirty(device.Place{Attr: smp.AttrPortInfo, Node: node})
}

// askedAgain are the nodes that a walk with Retry asks although they report no change: they have Failed, were too slow
// for the previous walk, or refused to return PortInfo.
func askedAgain(cfg *Config) map[mad.GUID]bool {
	if !cfg.Retry {
		return nil
	}
	nodes := map[mad.GUID]bool{}
	maps.Copy(nodes, cfg.Failed)
	for i := range cfg.Findings {
		if f := &cfg.Findings[i]; f.Kind == finding.SlowAgent || f.Kind == finding.GetRefused {
			nodes[f.GUID] = true
		}
	}
	return nodes
}

// before is a node as the previous walk found it, if a quick walk may believe in that, or None.
func (m *Machine) before(n int32) topo.NodeIdx {
	if !m.cfg.Quick {
		return topo.None
	}
	old := m.inPrev(n)
	if old != topo.None && m.cfg.Prev.Nodes[old].Missed > 0 {
		return topo.None
	}
	return old
}

// unresponsive reports whether a switch's port still has the link behind which no node answered. A link that has come
// up again since, and is not armed, looks the same.
func (m *Machine) unresponsive(e topo.End, info *smp.PortInfo, was *topo.Port) bool {
	prev := m.cfg.Prev
	answered := was.Peer != topo.None && prev.Nodes[prev.Ports[was.Peer].Node].Missed == 0
	if m.b.Node(e.Node).Type != mad.Switch || !was.Seen || was.Shunned || answered ||
		was.Info.PortState() < smp.PortInit {
		return false
	}
	armed := info.PortState() >= smp.PortArmed
	if armed != (was.Info.PortState() >= smp.PortArmed) {
		return false
	}
	m.res.Stirred = m.res.Stirred || !m.cfg.Retry && !armed && m.at(e.Node).sw.ports > 0
	return true
}

// askRetried asks behind the ports behind which no node answered the previous walk, when all else has been asked: what
// is known counts for its branch before it grows. It reports whether there are any.
func (m *Machine) askRetried() bool {
	ports := m.retried
	m.retried = nil
	for _, it := range ports {
		m.probes.push(it)
	}
	return len(ports) > 0
}

// repeatFindings adds findings of the previous walk about nodes that this one has not asked.
func (m *Machine) repeatFindings() {
	for _, f := range m.cfg.Findings {
		n, known := m.b.Find(f.GUID)
		switch f.Kind {
		case finding.Unresponsive:
			e := topo.End{Node: n, Port: f.Port}
			if known && m.unasked[e] && m.b.Peer(e) == topo.NoEnd {
				m.report(f)
			}
		case finding.BranchCut:
			if known && len(m.unasked) > 0 && !slices.ContainsFunc(m.res.Findings, f.isSame) {
				m.report(f)
			}
		case finding.GetRefused:
			if known && m.at(n).believed {
				m.report(f)
			}
		case finding.Incomplete:
			if !known && len(m.unasked) > 0 {
				m.report(f)
			}
		}
	}
}

// assume follows a port that has been up all along to where it led before, and
// reports whether it has, or need not.
func (m *Machine) assume(e topo.End, info *smp.PortInfo) bool {
	prev := m.cfg.Prev
	old := m.before(e.Node)
	if old == topo.None || e.Port > prev.Nodes[old].NumPorts {
		return false
	}
	was := &prev.Ports[prev.Port(old, e.Port)]
	if m.unresponsive(e, info, was) {
		it := item{kind: kindNode, num: uint16(e.Port), node: e.Node}
		if m.cfg.Retry {
			m.retried = append(m.retried, it)
			return true
		}
		m.unasked[e] = true
		if m.lastBehind(e) != nil {
			m.unanswered = append(m.unanswered, it)
		}
		return true
	}
	if info.PortState() < smp.PortArmed || was.Info.PortState() < smp.PortArmed || was.Peer == topo.None {
		return false
	}
	far := &prev.Ports[was.Peer]
	farNode := &prev.Nodes[far.Node]
	if farNode.Missed > 0 {
		return false
	}
	n, known := m.b.Find(farNode.GUID)
	if !known {
		var ok bool
		if n, ok = m.addKnown(e, far); !ok {
			return false
		}
		m.spare(n)
		if m.b.Node(n).Desc == (smp.NodeDescription{}) {
			m.queue.push(item{kind: kindDesc, node: n})
		}
	}
	end := topo.End{Node: n, Port: far.Num}
	m.agentAt(e.Node).forwards = true
	m.join(e, end)
	if farNode.Type != mad.Switch {
		if known {
			m.b.SetPortGUID(end, far.GUID)
		}
		if !m.holds(smp.AttrPortInfo, end) || m.isDirty(farNode.GUID) || m.again[farNode.GUID] {
			m.queue.push(item{kind: kindPort, num: uint16(end.Port), node: n})
			return true
		}
		m.at(n).believed = true
		m.b.SetPort(end, &far.Info)
		m.port(end, &far.Info)
	} else if !known {
		m.queue.push(item{kind: kindSwitch, node: n})
	}
	return true
}

// addKnown adds the node of the previous walk that was behind a port, whose own port was far.
func (m *Machine) addKnown(e topo.End, far *topo.Port) (n int32, ok bool) {
	route, ok := m.routeOut(e)
	if !ok {
		return n, false
	}
	info := m.cfg.Prev.Nodes[far.Node].Info
	info.SetLocalPortNum(far.Num)
	info.SetPortGUID(far.GUID)
	n = m.addNode(e, &info, route)
	m.recall(n)
	return n, true
}
