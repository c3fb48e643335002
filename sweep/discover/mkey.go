package discover

import (
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// Keys are the known M_Keys of agents, so that those with protection answer (IBA 14.2.4). The
// zero value has none.
type Keys struct {
	// Of is the key of a port's agent, by port GUID: of a switch its port 0's.
	Of func(port mad.GUID) (key mad.MKey, known bool)
	// Behind is the port GUID of the agent that was last behind a port, 0 for none: a port of
	// the switch with that node GUID, or our own with that port GUID. It is called only if Of
	// is set.
	Behind func(guid mad.GUID, num uint8) mad.GUID
	Self   mad.MKey // of our own port, before its GUID is known
}

// withMKey marks, in an item's number, a request that is repeated with Config.MKey, because the
// request with the known key got no answer.
const withMKey = 1 << 8

// mayRepeat reports whether a request is one of those that are repeated with Config.MKey: the first
// to whoever is behind a port, and the first to an agent after its NodeInfo, which may have been
// answered to Config.MKey, or to any key, while another one was known.
func (m *Machine) mayRepeat(it item) bool {
	switch it.kind {
	case kindSelf, kindNode, kindSwitch:
		return true
	case kindPort:
		return m.b.Node(it.node).Type != mad.Switch
	}
	return false
}

// mkey is the M_Key of a request.
func (m *Machine) mkey(it item) mad.MKey {
	if it.kind == kindDuplicate && len(m.cfg.AllowedSMs) > 0 || it.kind == kindSM && !m.showsMKey(m.b.PortGUID(it.end())) {
		return 0
	}
	if m.cfg.Keys.Of == nil || it.num&withMKey != 0 && m.mayRepeat(it) {
		return m.cfg.MKey
	}
	switch it.kind {
	case kindSelf:
		return m.cfg.Keys.Self
	case kindNode:
		guid := m.b.Node(it.node).GUID
		if m.b.Node(it.node).Type != mad.Switch {
			guid = m.b.PortGUID(it.end())
		}
		return m.keyOf(m.cfg.Keys.Behind(guid, uint8(it.num)))
	case kindRecheck:
		c := &m.conflicts[it.node]
		return m.agentKey(c.port)
	case kindDuplicate:
		return m.cfg.MKey
	case kindBlock:
		return m.agentKey(m.readings[it.node].at)
	case kindPort, kindPlain, kindSM, kindExtended:
		return m.agentKey(it.end())
	}
	return m.agentKey(topo.End{Node: it.node, Port: m.b.Node(it.node).Info.LocalPortNum()})
}

// showsMKey reports whether the manager at a port is shown an M_Key.
func (m *Machine) showsMKey(port mad.GUID) bool {
	return len(m.cfg.AllowedSMs) == 0 || slices.Contains(m.cfg.AllowedSMs, port)
}

// agentKey is the M_Key of the agent of a port: the one that it has shown in this walk,
// else the one that it was known to have.
func (m *Machine) agentKey(e topo.End) mad.MKey {
	if m.b.Node(e.Node).Type == mad.Switch {
		e.Port = 0
	}
	if m.plainKey[e.Node] {
		return m.cfg.MKey
	}
	if info := m.b.Port(e); info != nil && info.MKey() != 0 {
		return info.MKey()
	}
	return m.keyOf(m.b.PortGUID(e))
}

func (m *Machine) keyOf(port mad.GUID) mad.MKey {
	if key, known := m.cfg.Keys.Of(port); known {
		return key
	}
	return m.cfg.MKey
}

// askWithMKey repeats a request with Config.MKey, and reports whether that is
// another one than was shown.
func (m *Machine) askWithMKey(it item) bool {
	if !m.mayRepeat(it) || it.num&withMKey != 0 || m.mkey(it) == m.cfg.MKey {
		return false
	}
	it.num |= withMKey
	if it.kind == kindNode {
		m.probes.push(it)
	} else {
		m.queue.push(it)
	}
	return true
}

// answered takes that a request to an agent, perhaps repeated with Config.MKey, was answered.
func (m *Machine) answered(it item, replied bool) {
	if replied && it.num&withMKey != 0 {
		m.plainKey[it.node] = true
	}
}
