package discover

import (
	"cmp"

	"ibsm/mad"
	"ibsm/topo"
)

// recall takes over from the previous walk what a node is not asked again.
func (m *Machine) recall(n int32) {
	if m.cfg.Prev == nil {
		return
	}
	node := m.b.Node(n)
	old := m.cfg.Prev.FindNode(node.GUID)
	if old == topo.None {
		return
	}
	m.recalled++
	was := &m.cfg.Prev.Nodes[old]
	if was.Missed == 0 {
		node.Desc, node.Aggregation = was.Desc, was.Aggregation
		node.AR, node.ARInfo, node.PrivateLFT = was.AR, was.ARInfo, was.PrivateLFT
	}
}

// recallPorts fills in, from the previous walk, ports whose PortInfo was lost
// this time although their node answers.
func (m *Machine) recallPorts() {
	if m.remembered() == nil {
		return
	}
	for n := range int32(m.b.Len()) {
		node := m.b.Node(n)
		if m.b.Dropped(n) {
			continue
		}
		for num := range int(node.NumPorts) + 1 {
			e := topo.End{Node: n, Port: uint8(num)}
			if m.b.Port(e) != nil || node.Type != mad.Switch && m.b.Peer(e) == topo.NoEnd {
				continue
			}
			if was := m.previous(e); was != nil {
				m.b.SetPort(e, &was.Info)
				m.b.SetPKeys(e, was.PKeys)
			}
		}
	}
}

// hasAnswered reports whether a port of a node of the previous walk has reported its values since.
func (m *Machine) hasAnswered(old topo.NodeIdx, port uint8) bool {
	return old != topo.None && m.cfg.Answered != nil && m.cfg.Answered[m.cfg.Prev.Port(old, port)]
}

// takeOver believes the previous walk about a port of a node that it has read.
func (m *Machine) takeOver(e topo.End, old topo.NodeIdx) {
	info := &m.cfg.Prev.Ports[m.cfg.Prev.Port(old, e.Port)].Info
	m.b.SetPort(e, info)
	m.port(e, info)
}

// remembered is the last known subnet, or nil.
func (m *Machine) remembered() *topo.Topo { return cmp.Or(m.cfg.Prev, m.cfg.Before) }

// previous is a port as the previous walk read it; nil where it did not, or where the node
// has become another.
func (m *Machine) previous(e topo.End) *topo.Port {
	old := m.previousNode(e.Node)
	if old == topo.None {
		return nil
	}
	prev := m.remembered()
	was := &prev.Ports[prev.Port(old, e.Port)]
	if !was.Seen {
		return nil
	}
	return was
}

// previousNode is a node as the previous walk found it, by the index there; None where it did not,
// or where the node has become another.
func (m *Machine) previousNode(n int32) topo.NodeIdx {
	prev, node := m.remembered(), m.b.Node(n)
	if prev == nil {
		return topo.None
	}
	old := prev.FindNode(node.GUID)
	if old == topo.None || node.NumPorts != prev.Nodes[old].NumPorts {
		return topo.None
	}
	return old
}
