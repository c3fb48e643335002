package sweep

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// UnmatchedReply takes a reply that matches no outstanding request. When it shows that a
// switch holds a stale block of its forwarding table, or a port one of its P_Key table, put
// there by a delayed packet, the block becomes unknown, and UnmatchedReply returns true.
func (s *Sweeper) UnmatchedReply(p *mad.Packet) bool {
	t := s.state.prev
	if t == nil || p.MgmtClass() != mad.ClassDirected || p.Method() != mad.MethodGetResp || p.Status() != mad.StatusOK {
		return false
	}
	at := device.Arrival(t, p)
	if at == topo.None {
		return false
	}
	s.walks.late.add(t.Nodes[t.Ports[at].Node].GUID)
	table := device.Of(p.AttrID())
	if table == nil {
		return false
	}
	num, block := table.Named(&t.Nodes[t.Ports[at].Node], t.Ports[at].Num, p.AttrMod())
	now := t
	if s.program != nil {
		now = s.program.Topo
	}
	n := now.FindNode(t.Nodes[t.Ports[at].Node].GUID)
	if n == topo.None || num > now.Nodes[n].NumPorts {
		return false
	}
	contradicts := s.state.devices.Contradicts(table, now, now.Port(n, num), block, p.Data())
	for num := range wildcarded(now, n, p.AttrID(), p.AttrMod()) {
		contradicts = s.state.devices.Contradicts(table, now, now.Port(n, num+1), block, p.Data()) || contradicts
	}
	return contradicts
}

// lateNodes are nodes whose answers came too late for their requests, since the walk before the last one began.
type lateNodes struct{ now, before map[mad.GUID]bool }

func (l *lateNodes) add(node mad.GUID) {
	if l.now == nil {
		l.now = map[mad.GUID]bool{}
	}
	l.now[node] = true
}

// walk begins another walk.
func (l *lateNodes) walk() { l.now, l.before = nil, l.now }

func (l *lateNodes) has(node mad.GUID) bool { return l.now[node] || l.before[node] }

// wildcarded are the ports of a switch whose tables a wildcard Set covered; none for another Set.
func wildcarded(t *topo.Topo, n topo.NodeIdx, attr mad.AttrID, mod uint32) uint8 {
	if attr != smp.AttrSLtoVLMappingTable || mod&smp.SLtoVLAllOut == 0 || t.Nodes[n].Type != mad.Switch {
		return 0
	}
	return t.Nodes[n].NumPorts
}
