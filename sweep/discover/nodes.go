package discover

import (
	"maps"
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
	if m.keyNumber(it) > 0 && (m.b.Peer(from) != topo.NoEnd || m.claimed[from]) {
		return // it has answered to another key already
	}
	if !ok {
		m.reportUnresponsive(from)
		return
	}
	m.b.SetAnswered(from)
	m.agentAt(from.Node).forwards = true
	if !possible(info) || info.LocalPortNum() == 0 { // no cable leads to port 0
		m.report(Finding{Kind: finding.BadNodeInfo, GUID: here.GUID, Port: from.Port, Route: route})
		return
	}
	if m.isElsewhere(it, info) {
		m.claims, m.claimed[from] = append(m.claims, claim{it, *info}), true
		return
	}
	m.arrived(it, info)
}

// reportUnresponsive reports a port behind which nobody answers.
func (m *Machine) reportUnresponsive(e topo.End) {
	route, _ := m.routeOut(e)
	m.report(Finding{Kind: finding.Unresponsive, GUID: m.b.Node(e.Node).GUID, Port: e.Port, Route: route})
}

// arrived takes the answer of a node that is behind a port.
func (m *Machine) arrived(it item, info *smp.NodeInfo) {
	from := it.end()
	route, _ := m.routeOut(from)
	here := m.b.Node(from.Node)
	n, known := m.b.Find(info.NodeGUID())
	if !known {
		if m.limit.nodes < 1 || m.limit.ports <= int(info.NumPorts()) {
			m.report(Finding{Kind: finding.TooMany, GUID: here.GUID, Port: from.Port, Route: route})
			return
		}
		n, ok := m.newNode(from, info, route)
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

// addNode adds a node that is behind a port, or our own.
func (m *Machine) addNode(from topo.End, info *smp.NodeInfo, route mad.Route) int32 {
	m.limit.nodes--
	m.limit.ports -= int(info.NumPorts()) + 1
	n := m.b.AddNode(info, route)
	known := m.inPrev(n) != topo.None
	if t := m.known(); !known && t != m.cfg.Prev {
		known = t.FindNode(info.NodeGUID()) != topo.None
	}
	m.branches.grow(from, int(info.NumPorts())+1, known, m.wasAdapter(from, info))
	if from == topo.NoEnd || n == 1 && m.b.Node(0).Type != mad.Switch {
		m.branches.first = n
	}
	return n
}

// wasAdapter reports whether a port that leads to a switch now led to an adapter before that, and reports it as a
// finding until the port has no switch any more.
func (m *Machine) wasAdapter(from topo.End, info *smp.NodeInfo) bool {
	if from == topo.NoEnd || info.NodeType() != mad.Switch {
		return false
	}
	is := m.ledToAdapter(from)
	if is {
		route, _ := m.routeOut(from)
		m.report(Finding{Kind: finding.WasAdapter, GUID: m.b.Node(from.Node).GUID, Port: from.Port, Route: route})
	}
	return is
}

// ledToAdapter reports whether a port led to an adapter before it led to a switch.
func (m *Machine) ledToAdapter(from topo.End) bool {
	here := m.b.Node(from.Node).GUID
	if was, left := m.cfg.Former[Place{GUID: here, Port: from.Port}]; left && !was.Switch ||
		m.had(finding.WasAdapter, here, from.Port) {
		return true
	}
	t := m.known()
	if t == nil {
		return false
	}
	at := m.portIn(t, from)
	return at != topo.None && t.Ports[at].Peer != topo.None &&
		t.Nodes[t.Ports[t.Ports[at].Peer].Node].Type != mad.Switch
}

// maxFormer is how many places former remembers at switches that are not found: four times the nodes of the largest
// subnet.
const maxFormer = 4 * int(mad.MaxUnicastLID)

// former is the node that was last behind each port of a switch behind which none is now. Beyond maxFormer places those
// at switches that were not found are forgotten.
func (m *Machine) former() map[Place]Resident {
	former := map[Place]Resident{}
	for at, who := range m.cfg.Former {
		if !m.leads(at) {
			former[at] = who
		}
	}
	if t := m.known(); t != nil {
		m.addFormer(former, t)
	}
	if len(former) > maxFormer {
		maps.DeleteFunc(former, func(at Place, _ Resident) bool {
			_, found := m.b.Find(at.GUID)
			return !found
		})
	}
	return former
}

// leads reports whether a node has been found behind a port. The node of the port may have fewer ports than it had.
func (m *Machine) leads(at Place) bool {
	n, found := m.b.Find(at.GUID)
	return found && at.Port <= m.b.Node(n).NumPorts && m.b.Peer(topo.End{Node: n, Port: at.Port}) != topo.NoEnd
}

// addFormer adds the nodes that were behind ports of switches in a subnet that was known.
func (m *Machine) addFormer(former map[Place]Resident, t *topo.Topo) {
	for _, s := range t.Switches {
		node := &t.Nodes[s]
		for num := 1; num <= int(node.NumPorts); num++ {
			peer := t.Ports[t.Port(s, uint8(num))].Peer
			if peer == topo.None || m.leads(Place{node.GUID, uint8(num)}) {
				continue
			}
			far := &t.Nodes[t.Ports[peer].Node]
			former[Place{node.GUID, uint8(num)}] = Resident{far.GUID, t.Agent(peer), far.Type == mad.Switch}
		}
	}
}

// newNode adds a node unless another already owns its port GUID.
func (m *Machine) newNode(from topo.End, info *smp.NodeInfo, route mad.Route) (int32, bool) {
	if owner, taken := m.b.PortOwner(info.PortGUID()); taken {
		m.report(Finding{Kind: finding.DuplicatePortGUID, GUID: info.PortGUID(), Route: m.b.Node(owner.Node).Route,
			Other: route})
		return 0, false
	}
	return m.addNode(from, info, route), true
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
