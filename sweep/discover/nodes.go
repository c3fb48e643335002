package discover

import (
	"strings"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// nodeInfo takes the answer from behind a port.
func (m *Machine) nodeInfo(it item, info *smp.NodeInfo, ok bool) {
	from := it.end()
	route, _ := m.routeOut(from)
	here := m.b.Node(from.Node)
	if m.keyNumber(it) > 0 && m.b.Peer(from) != topo.NoEnd {
		return // it has answered to another key already
	}
	if !ok {
		m.report(Finding{Kind: finding.Unresponsive, GUID: here.GUID, Port: from.Port, Route: route})
		return
	}
	m.b.SetAnswered(from)
	if !possible(info) || info.LocalPortNum() == 0 { // no cable leads to port 0
		m.report(Finding{Kind: finding.BadNodeInfo, GUID: here.GUID, Port: from.Port, Route: route})
		return
	}
	n, known := m.b.Find(info.NodeGUID())
	if !known {
		if m.limit.nodes < 1 || m.limit.ports <= int(info.NumPorts()) {
			m.report(Finding{Kind: finding.TooMany, GUID: here.GUID, Port: from.Port, Route: route})
			return
		}
		n, ok = m.newNode(info, route)
		if ok {
			m.arrive(it, topo.End{Node: n, Port: info.LocalPortNum()})
			m.ask(n, info.LocalPortNum())
		}
		return
	}
	node := m.b.Node(n)
	if !sameNode(&node.Info, info) {
		m.report(Finding{Kind: finding.DuplicateNodeGUID, GUID: node.GUID, Route: node.Route, Other: route})
		return
	}
	to := topo.End{Node: n, Port: info.LocalPortNum()}
	if node.Type != mad.Switch && !m.furtherPort(to, info, route) {
		return
	}
	m.arrive(it, to)
	if node.Type != mad.Switch && m.b.Port(to) == nil && m.b.Peer(to) == from {
		m.askPort(to)
	}
}

// possible reports whether a node can have this NodeInfo.
func possible(info *smp.NodeInfo) bool {
	switch info.NodeType() {
	case mad.Switch:
	case mad.CA, mad.Router:
		if info.LocalPortNum() == 0 {
			return false
		}
	default:
		return false
	}
	return info.NodeGUID() != 0 && info.PortGUID() != 0 && info.NumPorts() != 0 && info.NumPorts() < 255 &&
		info.LocalPortNum() <= info.NumPorts()
}

// sameNode reports whether two answers can be those of one node at two of its ports.
func sameNode(a, b *smp.NodeInfo) bool {
	x, y := *a, *b
	x.SetLocalPortNum(y.LocalPortNum())
	if x.NodeType() != mad.Switch {
		x.SetPortGUID(y.PortGUID())
	}
	const used = 40 // what follows is reserved
	return string(x[:used]) == string(y[:used])
}

// arrive notes the cable by which a node was reached, and the M_Key that its agent has answered to.
func (m *Machine) arrive(it item, to topo.End) {
	m.join(it.end(), to)
	if peer := m.b.Peer(it.end()); peer != topo.NoEnd {
		m.met(it, peer)
	}
}

func (m *Machine) addNode(info *smp.NodeInfo, route mad.Route) int32 {
	m.limit.nodes--
	m.limit.ports -= int(info.NumPorts()) + 1
	return m.b.AddNode(info, route)
}

// newNode adds a node unless another already owns its port GUID.
func (m *Machine) newNode(info *smp.NodeInfo, route mad.Route) (int32, bool) {
	if owner, taken := m.b.PortOwner(info.PortGUID()); taken {
		m.report(Finding{Kind: finding.DuplicatePortGUID, GUID: info.PortGUID(), Route: m.b.Node(owner.Node).Route,
			Other: route})
		return 0, false
	}
	return m.addNode(info, route), true
}

// furtherPort notes the GUID of another port of a known CA or router.
func (m *Machine) furtherPort(e topo.End, info *smp.NodeInfo, route mad.Route) bool {
	if guid := m.b.PortGUID(e); guid != 0 && guid != info.PortGUID() {
		node := m.b.Node(e.Node)
		m.report(Finding{Kind: finding.DuplicateNodeGUID, GUID: node.GUID, Route: node.Route, Other: route})
		return false
	}
	owner, taken := m.b.PortOwner(info.PortGUID())
	if taken && owner != e {
		m.report(Finding{Kind: finding.DuplicatePortGUID, GUID: info.PortGUID(), Route: m.b.Node(owner.Node).Route,
			Other: route})
		return false
	}
	if !taken {
		m.b.SetPortGUID(e, info.PortGUID())
	}
	return true
}

func (m *Machine) description(n int32, desc *smp.NodeDescription) {
	node := m.b.Node(n)
	node.Desc = *desc
	node.Aggregation = node.Type == mad.CA && isNVIDIA(&node.Info) &&
		strings.Contains(desc.String(), "Aggregation Node")
}
