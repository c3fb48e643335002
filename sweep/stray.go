package sweep

import (
	"ibsm/mad"
	"ibsm/sweep/device"
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
	table := device.Of(p.AttrID())
	if table == nil {
		return false
	}
	num, block := table.Named(t, at, p.AttrMod())
	now := t
	if s.program != nil {
		now = s.program.c.Topo
	}
	n := now.FindNode(t.Nodes[t.Ports[at].Node].GUID)
	return n != topo.None && num <= now.Nodes[n].NumPorts && s.state.devices.Contradicts(table, now, now.Port(n, num), block, p.Data())
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
