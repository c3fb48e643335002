package sweep

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// Stray takes a reply that answers nothing that is outstanding. When it tells that
// a switch holds an older block of its table, or a port one of its partition table, put
// there by a packet that was long on its way, the block is not trusted any more, and Stray
// reports true.
func (s *Sweeper) Stray(p *mad.Packet) bool {
	t := s.state.prev
	if t == nil || p.MgmtClass() != mad.ClassDirected || p.Method() != mad.MethodGetResp || p.Status() != mad.StatusOK {
		return false
	}
	at := arrival(t, p)
	if at == topo.None {
		return false
	}
	node := &t.Nodes[t.Ports[at].Node]
	switch p.AttrID() {
	case smp.AttrLinearForwardingTable:
		return s.state.contradicts(node.GUID, int(p.AttrMod()), p.Data()[:])
	case smp.AttrPKeyTable:
		return s.strayPKeys(t, at, p)
	}
	return false
}

// follow is the node at the end of the directed route of a packet, or None.
func follow(t *topo.Topo, p *mad.Packet) topo.NodeIdx {
	at := arrival(t, p)
	if at == topo.None {
		return topo.None
	}
	return t.Ports[at].Node
}

// arrival is the port at which a packet comes in at the end of its directed route, or None.
func arrival(t *topo.Topo, p *mad.Packet) topo.PortIdx {
	return t.Along(p.InitialPath()[1 : min(p.HopCount(), mad.MaxHops)+1])
}

// strayPKeys takes an answer about a partition table that nobody waits for, from a node
// that it reached by a port of prev.
func (s *Sweeper) strayPKeys(prev *topo.Topo, at topo.PortIdx, p *mad.Packet) bool {
	now := prev
	if s.phase == Programming {
		now = s.program.c.Topo
	}
	node := &prev.Nodes[prev.Ports[at].Node]
	num := prev.Ports[at].Num
	if node.Type == mad.Switch {
		num = uint8(p.AttrMod() >> 16)
	}
	n := now.FindNode(node.GUID)
	if n == topo.None || num > now.Nodes[n].NumPorts {
		return false
	}
	return s.state.contradictsPKeys(now, now.Port(n, num), p.AttrMod(), (*smp.PKeyTable)(p.Data()))
}
