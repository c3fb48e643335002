package sweep

import (
	"maps"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// port is the port that a trap names by its node's LID and port number, None if the last
// sweep did not find it.
func (s *Sweeper) port(lid mad.LID, num uint8) topo.PortIdx {
	t := s.state.prev
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
	port := &s.state.prev.Ports[p]
	return plan.Key{Node: s.state.prev.Nodes[port.Node].GUID, Port: port.Num}
}

// PortsChanged has the next walk read the ports of a node, also of a switch that reports no change: a late duplicate of
// a Set can have cleared its PortStateChange after a link changed. It reports whether the last heavy sweep has read a
// change of the links of this switch: then Check shows whether there has been another one.
func (s *Sweeper) PortsChanged(node mad.GUID) (read bool) {
	read = s.walks.changed[node]
	if read {
		s.walks.checks[node] = true
	}
	s.state.devices.MarkDirty(device.Place{Attr: smp.AttrPortInfo, Node: node})
	return read
}

// Avoid has routes avoid the link at a port from the next heavy sweep on, until Heal. lid is
// the node's. rerouted is false if there is no other way than the link, to a host; ok is false if the port is unknown
// or already avoided.
func (s *Sweeper) Avoid(lid mad.LID, num uint8) (key plan.Key, rerouted, ok bool) {
	p := s.port(lid, num)
	if p == topo.None {
		return key, false, false
	}
	if key = s.keyOf(p); s.state.unhealthy[key] {
		return key, false, false
	}
	s.state.unhealthy = plus(s.state.unhealthy, key)
	return key, s.state.prev.BetweenSwitches(p), true
}

// plus is set with key.
func plus(set map[plan.Key]bool, key plan.Key) map[plan.Key]bool {
	more := map[plan.Key]bool{key: true}
	maps.Copy(more, set)
	return more
}

// Heal undoes Avoid, whether the port is present or not.
func (s *Sweeper) Heal(key plan.Key) {
	s.state.unhealthy = maps.Clone(s.state.unhealthy)
	delete(s.state.unhealthy, key)
}

// ShutOff has the next heavy sweep disable the link at a port that babbles, if Settings.DisableBabblers
// allows it. key is the end that toShutOff chooses; ok is false if it is not disabled or will be already.
func (s *Sweeper) ShutOff(lid mad.LID, num uint8) (key plan.Key, ok bool) {
	p := s.port(lid, num)
	if p == topo.None || !s.cfg.Settings.DisableBabblers {
		return key, false
	}
	p, ok = toShutOff(s.state.prev, p)
	if key = s.keyOf(p); !ok || s.state.disabled[key] {
		return key, false
	}
	s.state.disabled = plus(s.state.disabled, key)
	return key, true
}

// toShutOff is the end of a port's link at which it can be disabled, the nearer one: there the response still arrives,
// and it can be enabled again. ok is false for our own link, which is never disabled, and for one that is down.
func toShutOff(t *topo.Topo, p topo.PortIdx) (near topo.PortIdx, ok bool) {
	peer := t.Ports[p].Peer
	if peer != topo.None && distance(t, peer) < distance(t, p) {
		p, peer = peer, p
	}
	return p, p != t.Self && peer != t.Self && t.Ports[p].Info.PortState() > smp.PortDown
}

// distance is the number of links to the agent of a port.
func distance(t *topo.Topo, p topo.PortIdx) int {
	route, ok := t.RouteTo(p)
	if !ok {
		return mad.MaxHops + 1
	}
	return route.Hops()
}
