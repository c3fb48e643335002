package partitions

import (
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// Why returns the Member that decides whether an end port is in the partition of a key:
// the last one that names it. It is nil where none does.
func (p *Policy) Why(t *topo.Topo, of topo.EndIdx, key mad.PKey) *Member {
	part := p.Find(key)
	if part == nil {
		return nil
	}
	c := &compiler{Tables: &Tables{Policy: p, VPorts: make([]*topo.PKeyTable, t.VPorts.Len())}, t: t}
	for i := range slices.Backward(part.Members) {
		if c.names(&part.Members[i], of) {
			return &part.Members[i]
		}
	}
	return nil
}

// names reports whether an end port or a vPort is among those that a Member is about.
func (c *compiler) names(m *Member, port member) bool {
	t := c.t
	if t.VPortOf(port) != topo.None {
		return slices.Contains(c.who(m), port)
	}
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
		return slices.Contains(c.who(m), port)
	}
	return false
}
