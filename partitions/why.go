package partitions

import (
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// Why returns the Member that decides whether an end port is in the partition of a key:
// the last one that names it. It is nil where none does.
func (p *Policy) Why(t *topo.Topo, port topo.PortIdx, key mad.PKey) *Member {
	part := p.Find(key)
	if part == nil {
		return nil
	}
	for i := len(part.Members) - 1; i >= 0; i-- {
		if p.names(&part.Members[i], t, port) {
			return &part.Members[i]
		}
	}
	return nil
}

// names reports whether an end port is among those that a Member is about.
func (p *Policy) names(m *Member, t *topo.Topo, port topo.PortIdx) bool {
	typ := t.Nodes[t.Ports[port].Node].Type
	switch m.Who {
	case OnePort:
		return t.Ports[port].GUID == m.Port
	case Self:
		return port == t.Self
	case All:
		return true
	case AllCAs:
		return typ == mad.CA
	case AllSwitches:
		return typ == mad.Switch
	case AllRouters:
		return typ == mad.Router
	case InRange, Hosts, OfGroup:
		return slices.Contains(p.portsOf(m, t), port)
	}
	return false
}

// portsOf are the end ports of a Member that OpenSM does not know.
func (p *Policy) portsOf(m *Member, t *topo.Topo) []topo.PortIdx {
	return (&compiler{Tables: &Tables{Policy: p}, t: t}).who(m)
}

// anyOf reports whether a Member has a port, or hosts that are left out because of their descriptions.
func (p *Policy) anyOf(t *topo.Topo, m *Member) bool {
	c := &compiler{Tables: &Tables{Policy: p}, t: t}
	c.claim(&Partition{}, m)
	return len(c.who(m))+len(c.Claims) > 0
}
