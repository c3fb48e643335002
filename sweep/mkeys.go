package sweep

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/sweep/device"
	"ibsm/sweep/discover"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/view"
)

// MKeys are the M_Keys by the settings.
func (s *Settings) MKeys() plan.MKeys {
	return plan.MKeys{One: s.MKey.Value, Ports: s.PortMKeys, PerPort: s.MKeyPerPort, NoLookup: s.NoMKeyLookup}
}

// MKeyFor is the M_Key of a request to the agent of a port: the one it was read with, else
// the configured one.
func (s *Settings) MKeyFor(t *topo.Topo, p topo.PortIdx) mad.MKey {
	k := s.MKeys()
	return k.For(t, p)
}

// MKeyAt is the M_Key that a packet to the agent at a LID shows. v is the view in force, or nil; during a sweep the
// replies to its Sets take precedence. known is false if the M_Key may be any: before the first view, and if no agent
// is known to have the LID although the subnet has M_Keys.
func (s *Sweeper) MKeyAt(lid mad.LID, v *view.View) (key mad.MKey, known bool) {
	var t *topo.Topo
	p := topo.PortIdx(topo.None)
	switch {
	case s.program != nil && s.program.c.LIDs != nil:
		t, p = s.program.c.Topo, s.program.c.LIDs.PortOf(lid)
	case v != nil:
		t, p = v.Topo, v.LIDs.PortOf(lid)
	default:
		return 0, false
	}
	if p == topo.None {
		return 0, s.cfg.Settings.MKey.Value == 0 && !s.cfg.Settings.PortMKeys.On() && len(s.walks.mkeys) == 0
	}
	return s.cfg.Settings.MKeyFor(t, p), true
}

// keys are the M_Keys for a walk's requests; none if all known ones equal the configured one,
// as is usual.
func (s *Sweeper) keys() (k discover.Keys) {
	wanted := s.cfg.Settings.MKeys()
	if !wanted.Ports.On() && (wanted.NoLookup || !s.otherKeys()) {
		return k
	}
	last, places := s.lastKnown(), &s.walks.places
	k.Of = func(port mad.GUID, n int) (mad.MKey, bool) { return wanted.Candidate(port, s.recorded(last, port), n) }
	k.Self = s.selfKeys(k.Of)
	k.Behind = func(guid mad.GUID, num uint8) mad.GUID {
		if far, known := s.walks.mirroredNeighbor(registry.End{GUID: guid, Port: num}); known {
			return far.GUID
		}
		if last != nil {
			if agent := behind(last, guid, num); agent != 0 {
				return agent
			}
		}
		if agent := s.walks.expected[plan.Key{Node: guid, Port: num}]; agent != 0 {
			return agent
		}
		return places.behind[plan.Key{Node: guid, Port: num}].agent
	}
	if wanted.Ports.On() {
		k.Candidates = func(found func(mad.GUID) bool, unanswered func(mad.GUID, uint8) bool) []mad.GUID {
			return places.candidates(last, found, func(at plan.Key) bool { return unanswered(at.Node, at.Port) })
		}
		k.Tries = func(guid mad.GUID, num uint8) bool { return places.tries(plan.Key{Node: guid, Port: num}) }
	}
	k.Unresponsive = s.knownUnresponsive(last)
	k.Prove, k.Keyless = wanted.Ports.On(), hasMKeys(last)
	return k
}

// hasMKeys reports whether some agent of a subnet had an M_Key. last may be nil.
func hasMKeys(last *topo.Topo) bool {
	return last != nil && slices.ContainsFunc(last.EndPorts, func(p topo.PortIdx) bool { return last.MKey(p) != 0 })
}

// knownUnresponsive reports whether a known port, of a node or our own, had no known node behind it.
func (s *Sweeper) knownUnresponsive(last *topo.Topo) func(guid mad.GUID, num uint8) bool {
	if last != nil {
		return func(guid mad.GUID, num uint8) bool {
			return (last.FindNode(guid) != topo.None || last.FindPort(guid) != topo.None) &&
				behind(last, guid, num) == 0
		}
	}
	known := map[mad.GUID]bool{}
	for at := range s.walks.places.behind {
		known[at.Node] = true
	}
	return func(guid mad.GUID, _ uint8) bool { return known[guid] }
}

// MostMissing reports whether nobody answers behind some links, and most of the subnet is behind them: more nodes than
// the walk has found, by what was known of it, or perhaps, where nothing was known.
func (f *Found) MostMissing() bool {
	last := f.s.lastKnown()
	known := 0
	if last != nil {
		known = len(last.Nodes)
	} else {
		known = len(f.s.walks.places.left)
	}
	if known <= 1 {
		return f.Unproved > 0
	}
	return f.Unproved+f.Refusing > 0 && 2*f.Builder.Len() < known
}

// lastKnown is the subnet in which ports and M_Keys are looked up; nil for none.
func (s *Sweeper) lastKnown() *topo.Topo { return cmp.Or(s.state.prev, s.walks.known) }

// recorded is the recorded M_Key of a port's agent. A manager that has not been master since may have missed a
// rotation.
func (s *Sweeper) recorded(last *topo.Topo, port mad.GUID) (r plan.Recorded) {
	r.Key, r.Known = s.recordedKey(last, port)
	r.Old = s.state.remembered() == nil
	r.Before = cmp.Or(s.walks.mkeys[port].before, s.cfg.Restored.MKeys[port])
	return r
}

// recordedKey is the M_Key that the agent of a port had last.
func (s *Sweeper) recordedKey(last *topo.Topo, port mad.GUID) (key mad.MKey, known bool) {
	if last != nil {
		if p := last.FindPort(port); p != topo.None && !smp.HidesMKey(&last.Ports[p].Info) {
			return last.MKey(p), true
		}
	}
	if key = s.walks.mkeys[port].last; key != 0 {
		return key, true
	}
	key, known = s.cfg.Restored.MKeys[port]
	return key, known
}

// Key is the nth M_Key, from 0 on, to show to the agent of a port; after the last one they begin again.
func (s *Sweeper) Key(port mad.GUID, n int) mad.MKey {
	wanted := s.cfg.Settings.MKeys()
	if !wanted.Ports.On() {
		return wanted.One
	}
	was := s.recorded(s.lastKnown(), port)
	if key, ok := wanted.Candidate(port, was, n); ok {
		return key
	}
	count := 1
	for ok := true; ok; count++ {
		_, ok = wanted.Candidate(port, was, count)
	}
	key, _ := wanted.Candidate(port, was, n%(count-1))
	return key
}

// KeyAlong is the M_Key for the agent at the end of a directed route: see AgentAlong.
func (s *Sweeper) KeyAlong(ports []uint8) (key mad.MKey, ok bool) {
	port, ok := s.AgentAlong(ports)
	if !ok {
		return 0, false
	}
	return s.Key(port, 0), true
}

// AgentAlong is the port GUID of the agent at the end of a directed route, as the subnet was known last, 0 where it was
// not; ok is false where it has to be known because ports have M_Keys of their own.
func (s *Sweeper) AgentAlong(ports []uint8) (port mad.GUID, ok bool) {
	if last := s.lastKnown(); last != nil && last.Self != topo.None {
		if p := last.Along(ports); p != topo.None {
			port = last.Agent(p)
		}
	}
	return port, port != 0 || !s.cfg.Settings.PortMKeys.On()
}

// Remember is the subnet that a walk has found. It is kept for the M_Keys of later walks: a manager that is not master
// may become it. The walk's Builder is not used after this.
func (f *Found) Remember() *topo.Topo {
	t := f.Builder.Freeze()
	f.s.walks.pruneFeatures(t)
	f.s.walks.remember(t, f.Tried, &f.s.cfg.Settings)
	return t
}

// Mirror takes what is registered with the master, another manager: whom it knows behind ports is newer than what our
// last walk has found.
func (s *Sweeper) Mirror(registered *registry.State) { s.walks.mirrored = registered }

// mirroredNeighbor is the port that the master knew behind another one.
func (w *walkState) mirroredNeighbor(at registry.End) (far registry.End, known bool) {
	if w.mirrored == nil {
		return far, false
	}
	return w.mirrored.NeighborOf(at)
}

// remember takes the subnet that a walk has found, and the ports at which it has tried the M_Keys of absent agents.
func (w *walkState) remember(t *topo.Topo, tried []discover.Place, settings *Settings) {
	if settings.PortMKeys.On() {
		for _, at := range tried {
			w.places.unanswered(plan.Key{Node: at.GUID, Port: at.Port})
		}
		w.places.look(w.known, w.mirrored, t)
	}
	w.mirrored = nil
	if w.known = nil; settings.remembers() {
		w.known = t
	}
}

// remembers reports whether the subnet that was found last is kept for M_Keys: ports have their own, or may have after
// a reload.
func (s *Settings) remembers() bool { return s.PortMKeys.On() || s.MKey.Value != 0 }

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
	for _, shown := range s.walks.mkeys {
		if shown.last != own || shown.before != 0 && shown.before != own {
			return true
		}
	}
	for _, key := range s.cfg.Restored.MKeys {
		if key != own {
			return true
		}
	}
	return false
}

// shownKeys are the M_Keys that a port has shown: the last one, or 0; and the one before, 0 until two consecutive
// sweeps have shown the same key, and then that key. So one wrong reply does not displace the right key. A sweep that
// may not have read the port, because the port did not answer or the walk was not full, has shown nothing.
type shownKeys struct{ last, before mad.MKey }

// rememberKeys stores the M_Keys that ports have returned. A port hides its M_Key when a walk
// uses another key.
func (w *walkState) rememberKeys(t *topo.Topo, of Extent) {
	for _, p := range t.EndPorts {
		key, port := t.MKey(p), t.Ports[p].GUID
		shown, known := w.mkeys[port]
		switch {
		case key == 0 && (!known || smp.HidesMKey(&t.Ports[p].Info)):
			continue
		case key == shown.last && (of != Full || !t.Answers(p)):
			continue
		case key == 0 && shown.last == 0:
			delete(w.mkeys, port)
			continue
		case key == shown.last:
			shown.before = key
		case shown.before == 0:
			shown.before = shown.last
		}
		shown.last = key
		w.mkeys[port] = shown
	}
}

// selfKeys are the M_Keys to try at our own port. Under a simulator the port's GUID is not known
// beforehand; if all restored M_Keys are equal, it is that one, then the configured one.
func (s *Sweeper) selfKeys(of func(mad.GUID, int) (mad.MKey, bool)) func(int) (mad.MKey, bool) {
	self, last := s.cfg.Restored.Port, s.lastKnown()
	if last != nil && last.Self != topo.None {
		self = last.Ports[last.Self].GUID
	}
	if _, known := s.recordedKey(last, self); known || self != 0 && s.cfg.Settings.PortMKeys.On() {
		return func(n int) (mad.MKey, bool) { return of(self, n) }
	}
	own, first := s.cfg.Settings.MKey.Value, true
	key := own
	for _, k := range s.cfg.Restored.MKeys {
		if !first && k != key {
			key = own
			break
		}
		key, first = k, false
	}
	return func(n int) (mad.MKey, bool) {
		if n == 1 && key != own {
			return own, true
		}
		return key, n == 0
	}
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

// maxHidden is after how many sweeps without an answer behind an ACTIVE port its link is taken down, where ports have
// M_Keys of their own: a node whose port is not known may answer only when its lease has ended.
const maxHidden = 100

// Ports at protection level 1 for another manager: how many, and for how long.
const (
	maxKnocked  = 64
	knockedTime = time.Minute
)

// Knock takes that an agent has refused a manager that has the secret of the subnet, but does not know the subnet. It
// returns the Set that opens the agent to it; ok is false where there is none. Only agents of switches and our own are
// opened: by way of them it finds us. It does not wait for a sweep: the two may be masters of a part of the subnet
// each, and this one may be waiting for the other. But it sets what the last sweep has left, so that there is none
// while a plan is being written: a manager that is not let in asks again.
func (s *Sweeper) Knock(now time.Duration, port mad.GUID) (set plan.Set, ok bool) {
	t := s.lastKnown()
	if t == nil || s.program != nil || len(s.state.knocked) >= maxKnocked || s.state.knocked[port] != 0 {
		return set, false
	}
	p := t.FindPort(port)
	if p == topo.None || t.Nodes[t.Ports[p].Node].Type != mad.Switch &&
		(t.Self == topo.None || p != t.EndPort(t.Self)) {
		return set, false
	}
	if set.Route, ok = t.RouteTo(p); !ok {
		return set, false
	}
	knocked := maps.Clone(s.state.knocked)
	if knocked == nil {
		knocked = map[mad.GUID]time.Duration{}
	}
	knocked[port] = now + knockedTime
	s.state.knocked = knocked
	relax(&set, s.cfg.Settings.MKeyFor(t, p), &t.Ports[p].Info, &t.Nodes[t.Ports[p].Node], t.Ports[p].Num)
	return set, true
}

// OpenOwn is the Set that has our own port answer others, for a manager that waits for leases: another one that waits
// would not find it, because its own requests keep the lease of its port, and both would become master. Whoever becomes
// master protects the port again. ok is false where the port answers them already, or has no M_Key of its own.
func (f *Found) OpenOwn() (set plan.Set, ok bool) {
	self := f.Builder.Self()
	if self == topo.NoEnd || !f.s.cfg.Settings.PortMKeys.On() {
		return set, false
	}
	info := f.Builder.Port(self)
	if info == nil || info.MKey() == 0 || info.MKeyProtectBits() < 2 {
		return set, false
	}
	relax(&set, info.MKey(), info, f.Builder.Node(self.Node), self.Port)
	return set, true
}

// relax fills in the Set that has the agent of a port answer others: protection level 1, and nothing else.
func relax(set *plan.Set, key mad.MKey, held *smp.PortInfo, node *topo.Node, num uint8) {
	set.MKey, set.Attr, set.Mod = key, smp.AttrPortInfo, smp.PortInfoMod(num, node.SetsExtended)
	info := *held
	info.SetPortState(smp.PortNoChange)
	info.SetPortPhysicalState(smp.PhysNoChange)
	info.SetLinkSpeedExtEnabled2(0)
	info.SetClientReregister(false)
	info.SetMKey(key)
	info.SetMKeyProtectBits(min(info.MKeyProtectBits(), 1))
	set.Data = info
}

// EndKnocks ends the time of ports that were open to another manager for long enough, and reports whether there are
// any: the next heavy sweep protects them again.
func (s *Sweeper) EndKnocks(now time.Duration) bool {
	left := maps.Clone(s.state.knocked)
	maps.DeleteFunc(left, func(_ mad.GUID, until time.Duration) bool { return until <= now })
	if len(left) == len(s.state.knocked) {
		return false
	}
	for port := range s.state.knocked {
		if t := s.lastKnown(); left[port] == 0 && t != nil {
			if p := t.FindPort(port); p != topo.None {
				s.state.devices.MarkDirty(device.Place{Attr: smp.AttrPortInfo, Node: t.Nodes[t.Ports[p].Node].GUID})
			}
		}
	}
	s.state.knocked = left
	return true
}

// Expect takes what a manager that shows the M_Key of our own port says of itself: its port is at the end of a directed
// route, where nothing has answered, and may have its own M_Key.
func (s *Sweeper) Expect(route mad.Route, port mad.GUID) {
	t, ports := s.state.prev, route.Ports()
	if t == nil || len(ports) == 0 || len(s.walks.expected) >= maxKnocked || !s.cfg.Settings.PortMKeys.On() {
		return
	}
	last := len(ports) - 1
	p := t.Along(ports[:last])
	if p == topo.None || t.Nodes[t.Ports[p].Node].Type != mad.Switch {
		return
	}
	if s.walks.expected == nil {
		s.walks.expected = map[plan.Key]mad.GUID{}
	}
	s.walks.expected[plan.Key{Node: t.Nodes[t.Ports[p].Node].GUID, Port: ports[last]}] = port
}

// maxShown limits the ports whose M_Keys are kept: a host may be another port in each sweep. It is several times as
// many as a subnet has LIDs.
const maxShown = 4 * int(mad.MaxUnicastLID)

// prune forgets managers that have said where they are where a sweep has found somebody, or the link is down, what is
// known of nodes that have left, and M_Keys of ports that have left where there are too many.
func (w *walkState) prune(t *topo.Topo) {
	w.pruneFeatures(t)
	if len(w.mkeys) > maxShown {
		maps.DeleteFunc(w.mkeys, func(port mad.GUID, _ shownKeys) bool { return t.FindPort(port) == topo.None })
	}
	maps.DeleteFunc(w.expected, func(at plan.Key, _ mad.GUID) bool {
		p := t.FindNodePort(at.Node, at.Port)
		return p == topo.None || behind(t, at.Node, at.Port) != 0 || t.Ports[p].Info.PortState() <= smp.PortDown
	})
}

// pruneFeatures forgets what nodes that have left make of features.
func (w *walkState) pruneFeatures(t *topo.Topo) {
	w.features.Prune(t)
}

// Secret reports whether an M_Key that an agent has refused may be one of the subnet's, which must not be shown, and
// whether it is the one of a manager that does not know the subnet. Any host has agents refuse as many as it likes: so
// no M_Key is derived for it.
func (s *Sweeper) Secret(key mad.MKey) (secret, knocks bool) {
	p := &s.cfg.Settings.PortMKeys
	return p.On(), p.On() && uint64(key) == p.Knock()
}
