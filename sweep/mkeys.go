package sweep

import (
	"cmp"

	"ibsm/mad"
	"ibsm/sweep/discover"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/view"
)

// MKeyFor is the M_Key of a request to the agent of a port: the one it was read with, else
// the configured one.
func (s *Settings) MKeyFor(t *topo.Topo, p topo.PortIdx) mad.MKey {
	if s.NoMKeyLookup {
		return s.MKey.Value
	}
	return cmp.Or(t.MKey(p), s.MKey.Value)
}

// MKeyAt is the M_Key that a packet to the agent at a LID shows. v is the view in force, nil for
// none; during a sweep the replies to its Sets take precedence. known is false where no agent is
// known to have the LID.
func (s *Sweeper) MKeyAt(lid mad.LID, v *view.View) (key mad.MKey, known bool) {
	var t *topo.Topo
	p := topo.PortIdx(topo.None)
	switch {
	case s.program != nil && s.program.c.LIDs != nil:
		t, p = s.program.c.Topo, s.program.c.LIDs.PortOf(lid)
	case v != nil:
		t, p = v.Topo, v.LIDs.PortOf(lid)
	}
	if p == topo.None {
		return 0, false
	}
	return s.cfg.Settings.MKeyFor(t, p), true
}

// keys are the M_Keys for a walk's requests; none if all known ones equal the configured one,
// as is usual.
func (s *Sweeper) keys() (k discover.Keys) {
	if s.cfg.Settings.NoMKeyLookup || !s.otherKeys() {
		return k
	}
	prev, shown, restored := s.state.prev, s.state.mkeys, &s.cfg.Restored
	k.Of = func(port mad.GUID) (key mad.MKey, known bool) {
		if prev != nil {
			if p := prev.FindPort(port); p != topo.None && !hidden(prev, p) {
				return prev.MKey(p), true
			}
		}
		if key, known = shown[port]; !known {
			key, known = restored.MKeys[port]
		}
		return key, known
	}
	k.Self = s.selfKey(k.Of)
	k.Behind = func(guid mad.GUID, num uint8) mad.GUID {
		if prev != nil {
			if agent := behind(prev, guid, num); agent != 0 {
				return agent
			}
		}
		return restored.Behind[plan.Key{Node: guid, Port: num}]
	}
	return k
}

// otherKeys reports whether some agent has a known M_Key that differs from the configured one.
func (s *Sweeper) otherKeys() bool {
	own := s.cfg.Settings.MKey.Value
	if prev := s.state.prev; prev != nil {
		for _, p := range prev.EndPorts {
			if prev.MKey(p) != own {
				return true
			}
		}
	}
	for _, keys := range []map[mad.GUID]mad.MKey{s.state.mkeys, s.cfg.Restored.MKeys} {
		for _, key := range keys {
			if key != own {
				return true
			}
		}
	}
	return false
}

// rememberKeys stores the M_Keys that ports have returned. A port hides its M_Key when a walk
// misses it or uses another key.
func (s *state) rememberKeys(t *topo.Topo) {
	for _, p := range t.EndPorts {
		if key := t.MKey(p); key != 0 {
			s.mkeys[t.Ports[p].GUID] = key
		} else if !hidden(t, p) {
			delete(s.mkeys, t.Ports[p].GUID)
		}
	}
}

// selfKey is the M_Key of our own port. Under a simulator the port's GUID is not known
// beforehand; if all restored M_Keys are equal, it is that one.
func (s *Sweeper) selfKey(of func(mad.GUID) (mad.MKey, bool)) mad.MKey {
	self := s.cfg.Restored.Port
	if prev := s.state.prev; prev != nil {
		self = prev.Ports[prev.Self].GUID
	}
	if key, known := of(self); known {
		return key
	}
	own, first := s.cfg.Settings.MKey.Value, true
	key := own
	for _, k := range s.cfg.Restored.MKeys {
		if !first && k != key {
			return own
		}
		key, first = k, false
	}
	return key
}

// hidden reports whether the agent of a port has an M_Key that it does not return.
func hidden(t *topo.Topo, p topo.PortIdx) bool {
	return t.MKey(p) == 0 && t.Ports[p].Info.MKeyProtectBits() != 0
}

// behind is the port GUID of the agent at the other end of a port's link, 0 for none. guid is
// that of the node or of one of its ports.
func behind(t *topo.Topo, guid mad.GUID, num uint8) mad.GUID {
	n := t.FindNode(guid)
	if n == topo.None {
		p := t.FindPort(guid)
		if p == topo.None {
			return 0
		}
		n = t.Ports[p].Node
	}
	if num > t.Nodes[n].NumPorts {
		return 0
	}
	peer := t.Ports[t.Port(n, num)].Peer
	if peer == topo.None {
		return 0
	}
	if far := &t.Nodes[t.Ports[peer].Node]; far.Type == mad.Switch {
		peer = far.First
	}
	return t.Ports[peer].GUID
}
