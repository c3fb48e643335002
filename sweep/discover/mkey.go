package discover

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// Keys are the M_Keys to show to agents, so that those with protection answer (IBA 14.2.4). The
// zero value has none.
type Keys struct {
	// Of is the nth key, from 0 on, to show to a port's agent until it answers, by port GUID: of a switch
	// its port 0's; 0 where it is not known. ok is false where there are no more.
	Of func(port mad.GUID, n int) (key mad.MKey, ok bool)
	// Knock is a key of Of that asks the master to let a manager in; 0 for none. It is not shown behind a port that led
	// to an adapter.
	Knock mad.MKey
	// Behind is the port GUID of the agent that was last behind a port, 0 for none: a port of
	// the switch with that node GUID, or our own with that port GUID. It is called only if Of
	// is set.
	Behind func(guid mad.GUID, num uint8) mad.GUID
	// Before is the port GUID of an agent that was behind a port before the one of Behind, and is not known elsewhere;
	// 0 for none. It may be back: its first key is tried after those of the expected agent. Nil for none.
	Before func(guid mad.GUID, num uint8) mad.GUID
	// Candidates are other agents whose first key is tried behind a port where nobody has answered to the keys of the
	// expected agent: an adapter may have been moved there. found reports whether this walk has found an agent; there
	// reports whether an agent that it has not found may still be behind a port, which is named as for Behind. Nil for
	// none.
	Candidates func(found func(port mad.GUID) bool, there func(guid mad.GUID, num uint8) bool) []mad.GUID
	// Tries reports whether they are tried behind a port. It is called only if Candidates is set.
	Tries func(guid mad.GUID, num uint8) bool
	// Unresponsive reports whether nobody was behind a port of a node that was known: see Behind, of which this is the
	// rest.
	Unresponsive func(guid mad.GUID, num uint8) bool
	// Self is as Of, for our own port before its GUID is known.
	Self func(n int) (key mad.MKey, ok bool)
	// Prove has an agent that answers without showing its M_Key asked with the next key: at protection
	// level 1 it takes none for an attack.
	Prove bool
	// Keyless has links behind which nobody answers counted also where no agent with an M_Key was found.
	Keyless bool
}

// keyNumber is the number of the key that a request shows, stored in an item's number; for a known agent it is at least
// the number of the key that the agent has answered to.
func (m *Machine) keyNumber(it item) int {
	n := int(it.num >> 8)
	if it.kind == kindPort || it.kind == kindSwitch {
		n = max(n, m.tries[m.agent(it.end())])
	}
	return n
}

// isTried reports whether a request is repeated with the next key: the first request to our own node, and the first one
// to an agent after its NodeInfo, which the agent may have answered with another key, or any. The first request to an
// unknown node behind a port is not: see tryKeys.
func (m *Machine) isTried(it item) bool {
	switch it.kind {
	case kindSelf, kindSwitch:
		return true
	case kindPort:
		return m.b.Node(it.node).Type != mad.Switch
	}
	return false
}

// mkey is the M_Key of a request.
func (m *Machine) mkey(it item) mad.MKey {
	if it.kind == kindDuplicate && (len(m.cfg.AllowedSMs) > 0 || m.cfg.Keys.Prove) || it.kind == kindSM &&
		!m.showsMKey(m.b.PortGUID(it.end())) {
		return 0
	}
	if m.cfg.Keys.Of == nil {
		return m.cfg.MKey
	}
	switch it.kind {
	case kindSelf:
		key, _ := m.cfg.Keys.Self(m.keyNumber(it))
		return key
	case kindNode:
		return m.keyBehind(it)
	case kindRecheck:
		c := &m.conflicts[it.node]
		return m.agentKey(c.port)
	case kindDuplicate:
		return m.cfg.MKey
	case kindBlock:
		return m.agentKey(m.readings.at(it.node).at)
	case kindPort, kindSwitch:
		if n := m.keyNumber(it); n > 0 {
			key, _ := m.cfg.Keys.Of(m.b.PortGUID(m.agent(it.end())), n)
			return key
		}
		return m.agentKey(it.end())
	case kindSpeeds, kindPlain, kindSM, kindExtended:
		return m.agentKey(it.end())
	}
	return m.agentKey(topo.End{Node: it.node, Port: m.b.Node(it.node).Info.LocalPortNum()})
}

// behind is the port GUID of the agent that is expected behind a port.
func (m *Machine) behind(it item) mad.GUID { return m.cfg.Keys.Behind(m.whose(it), uint8(it.num)) }

// whose is the GUID by which Keys knows the port that a request leaves by.
func (m *Machine) whose(it item) mad.GUID {
	if m.b.Node(it.node).Type != mad.Switch {
		return m.b.PortGUID(it.end())
	}
	return m.b.Node(it.node).GUID
}

// unheard counts a link behind which no node has answered.
func (m *Machine) unheard(it item) {
	switch {
	case m.behind(it) != 0:
		m.res.Refusing++
	case !m.cfg.Keys.Unresponsive(m.whose(it), uint8(it.num)):
		m.res.Unproved++
	}
}

// agent is where the agent of a port is: of a switch its port 0.
func (m *Machine) agent(e topo.End) topo.End {
	if m.b.Node(e.Node).Type == mad.Switch {
		e.Port = 0
	}
	return e
}

// showsMKey reports whether the manager at a port is shown an M_Key.
func (m *Machine) showsMKey(port mad.GUID) bool {
	return len(m.cfg.AllowedSMs) == 0 || slices.Contains(m.cfg.AllowedSMs, port)
}

// agentKey is the M_Key of the agent of a port: the one that it has answered to after others, else the one that it has
// shown in this walk, else the first to try.
func (m *Machine) agentKey(e topo.End) mad.MKey {
	e = m.agent(e)
	tried := m.tries[e]
	if info := m.b.Port(e); tried == 0 && info != nil && info.MKey() != 0 {
		return info.MKey()
	}
	key, _ := m.cfg.Keys.Of(m.b.PortGUID(e), tried)
	return key
}

// askAgain repeats a request that got no answer with the next M_Key, and reports whether there is one.
func (m *Machine) askAgain(it item) bool { return m.isTried(it) && m.askNext(it) }

// askNext repeats a request with the next M_Key, and reports whether there is one.
func (m *Machine) askNext(it item) (ok bool) {
	next := m.keyNumber(it) + 1
	switch {
	case m.cfg.Keys.Of == nil:
	case it.kind == kindSelf:
		_, ok = m.cfg.Keys.Self(next)
	default:
		_, ok = m.cfg.Keys.Of(m.b.PortGUID(m.agent(it.end())), next)
	}
	if !ok {
		return false
	}
	it.num = uint16(next)<<8 | it.num&0xff
	m.queue.push(it)
	return true
}

// answered takes that an agent that is known has answered.
func (m *Machine) answered(it item) {
	if n := int(it.num >> 8); n > 0 {
		m.tries[m.agent(it.end())] = n
	}
}

// met records that the node at an end has answered NodeInfo. The key of the expected agent is the node's own only if it
// is one of the keys to try.
func (m *Machine) met(it item, e topo.End) {
	if m.keyNumber(it) == 0 {
		return
	}
	shown, e := m.mkey(it), m.agent(e)
	for n := 0; ; n++ {
		key, ok := m.cfg.Keys.Of(m.b.PortGUID(e), n)
		if ok && key == shown {
			m.tries[e] = n
		}
		if !ok || key == shown {
			return
		}
	}
}

// proves has the agent of a port that hides its M_Key asked with the next one, and reports whether it was.
// What it has answered stands where nothing better comes.
func (m *Machine) proves(it item, e topo.End, info *smp.PortInfo) bool {
	if !m.cfg.Keys.Prove || m.agent(e) != e || !smp.HidesMKey(info) {
		return false
	}
	it.kind = kindPort
	if !m.askNext(it) {
		return false
	}
	m.unproved[e] = *info
	return true
}
