package partitions

import (
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
		if part.Members[i].names(t, port) {
			return &part.Members[i]
		}
	}
	return nil
}

// names reports whether an end port is among those that the Member is about.
func (m *Member) names(t *topo.Topo, port topo.PortIdx) bool {
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
	}
	return false
}
