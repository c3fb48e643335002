package sweep

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// port is the port that a trap names by its node's LID, None if the last sweep found none.
func (s *Sweeper) port(lid mad.LID, num uint8) topo.PortIdx {
	t := s.memory.prev
	if t == nil || !lid.IsUnicast() {
		return topo.None
	}
	for _, p := range t.EndPorts {
		if t.Ports[p].Info.LID() != lid {
			continue
		}
		if n := t.Ports[p].Node; num >= 1 && num <= t.Nodes[n].NumPorts {
			return t.Port(n, num)
		}
		break
	}
	return topo.None
}

// keyOf names a port of the last sweep.
func (s *Sweeper) keyOf(p topo.PortIdx) plan.Key {
	port := &s.memory.prev.Ports[p]
	return plan.Key{Node: s.memory.prev.Nodes[port.Node].GUID, Port: port.Num}
}

// Avoid has routes avoid the link at a port from the next heavy sweep on, until Heal. LID
// is the node's. ok is false where that is no news, or cannot be noted now.
func (s *Sweeper) Avoid(lid mad.LID, num uint8) (key plan.Key, ok bool) {
	p := s.port(lid, num)
	if p == topo.None || s.phase == Computing {
		return key, false
	}
	if key = s.keyOf(p); s.memory.unhealthy[key] {
		return key, false
	}
	s.memory.unhealthy[key] = true
	return key, true
}

// Heal ends what Avoid began, whether the port is there or not. It reports false while a
// Job is out: then it is to be asked again.
func (s *Sweeper) Heal(key plan.Key) bool {
	if s.phase == Computing {
		return false
	}
	delete(s.memory.unhealthy, key)
	return true
}

// ShutOff has the next heavy sweep disable the link at a port, if Settings.DisableBabblers
// allows it, at the end which is nearer: there the answer still comes back, and it can be
// enabled again. Our own link is never disabled. key is the end; ok is false where that is no news.
func (s *Sweeper) ShutOff(lid mad.LID, num uint8) (key plan.Key, ok bool) {
	p := s.port(lid, num)
	if p == topo.None || !s.cfg.Settings.DisableBabblers || s.phase == Computing {
		return key, false
	}
	t := s.memory.prev
	peer := t.Ports[p].Peer
	if peer != topo.None && distance(t, peer) < distance(t, p) {
		p, peer = peer, p
	}
	key = s.keyOf(p)
	if p == t.Self || peer == t.Self || t.Ports[p].Info.PortState() <= smp.PortDown || s.memory.babblers[key] {
		return key, false
	}
	s.memory.babblers[key] = true
	return key, true
}

// distance is the number of links to the agent of a port.
func distance(t *topo.Topo, p topo.PortIdx) int {
	route, ok := t.RouteTo(p)
	if !ok {
		return mad.MaxHops + 1
	}
	return route.Hops()
}
