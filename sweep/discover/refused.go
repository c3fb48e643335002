package discover

import (
	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// A node that answers a request with an error is present, and its agent works. So its previous
// state is assumed to be unchanged, and the walk goes on through it; nodes behind it keep
// their routes. The refusal is reported, and the node is asked again soon. If there is no
// previous state, or the link in front has been down since, nothing is assumed.

// takeBefore gives a port that refuses its PortInfo the previous one.
func (m *Machine) takeBefore(e topo.End) {
	was := m.previous(e)
	node := m.b.Node(e.Node)
	if was == nil || m.remembered().Nodes[was.Node].Missed > 0 && m.agentAt(e.Node).slow == inTime {
		return
	}
	if node.Type != mad.Switch && m.b.Self() != e && !m.up(m.b.Peer(e)) {
		return
	}
	m.agentAt(e.Node).taken++
	m.b.SetPort(e, &was.Info)
	m.port(e, &was.Info)
}

// up reports whether a port has been read and is ARMED or ACTIVE.
func (m *Machine) up(e topo.End) bool {
	if e == topo.NoEnd {
		return false
	}
	info := m.b.Port(e)
	return info != nil && info.PortState() >= smp.PortArmed
}

// refusedSwitchInfo goes on with the SwitchInfo that a switch had. Whether a port has changed
// its state is not known, so all of them are asked.
func (m *Machine) refusedSwitchInfo(n int32, status mad.Status) {
	node := m.b.Node(n)
	m.report(Finding{Kind: finding.GetRefused, GUID: node.GUID, Route: node.Route, Status: status})
	if m.remembered() == nil {
		return
	}
	old := m.remembered().FindNode(node.GUID)
	if old == topo.None || m.remembered().Nodes[old].Missed > 0 || m.remembered().Nodes[old].NumPorts != node.NumPorts {
		return
	}
	node.SwitchInfo = m.remembered().Nodes[old].SwitchInfo
	m.askPorts(n)
}
