package discover

import (
	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/topo"
)

// conflict is a port that two cables claim. Either a cable was moved while the
// walk went on, or two nodes have one GUID. The older claim is asked once more:
// when it holds, the GUID is there twice.
type conflict struct {
	old, port topo.End // the cable that was found first; port is the one claimed
	claimant  topo.End // that claims it now
}

// join notes a cable between two ports.
func (m *Machine) join(from, to topo.End) {
	if m.b.Peer(from) == to {
		return
	}
	for _, c := range [...]conflict{{m.b.Peer(to), to, from}, {m.b.Peer(from), from, to}} {
		if c.old != topo.NoEnd {
			m.conflicts = append(m.conflicts, c)
			m.queue.push(item{kind: kindRecheck, node: int32(len(m.conflicts) - 1)})
			return
		}
	}
	if from.Node == to.Node {
		kind := finding.Loopback
		switch {
		case from.Port == to.Port:
		case m.b.Node(from.Node).Type != mad.Switch:
			kind = finding.OwnPorts // they exchange packets like any two ports
		default:
			kind = finding.SameNode
		}
		m.report(Finding{Kind: kind, GUID: m.b.Node(from.Node).GUID, Port: min(from.Port, to.Port),
			Far: max(from.Port, to.Port)})
	}
	m.b.Link(from, to)
	m.branches.join(from, to)
	m.read(from)
	m.read(to)
}

// recheck asks over the older cable, from the end at which there is a switch (or
// ourselves): a directed route cannot pass through anything else.
func (m *Machine) recheck(it item, req txn.Request) (txn.Request, bool) {
	c := &m.conflicts[it.node]
	req.Attr, req.Unknown = smp.AttrNodeInfo, true
	out := c.old
	if !m.passable(out) {
		out = c.port
	}
	var ok bool
	req.Route, ok = m.routeOut(out)
	return req, ok
}

func (m *Machine) passable(e topo.End) bool {
	return m.b.Node(e.Node).Type == mad.Switch || m.b.Self() == e
}

// rechecked decides a conflict.
func (m *Machine) rechecked(it item, info *smp.NodeInfo, ok bool) {
	c := m.conflicts[it.node]
	expected := c.port
	if !m.passable(c.old) {
		expected = c.old
	}
	if ok && info.NodeGUID() == m.b.Node(expected.Node).GUID && info.LocalPortNum() == expected.Port {
		route, _ := m.routeOut(c.claimant)
		m.report(Finding{Kind: finding.DuplicateNodeGUID, GUID: m.b.Node(c.port.Node).GUID,
			Route: m.b.Node(c.port.Node).Route, Other: route})
		return
	}
	m.b.Unlink(c.port)
	if m.b.Peer(c.claimant) == topo.NoEnd {
		m.b.Link(c.claimant, c.port)
		m.read(c.claimant)
		m.read(c.port)
	}
	m.res.Moved, m.res.Contested = true, true
}
