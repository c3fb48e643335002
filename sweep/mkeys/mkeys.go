// Package mkeys decides which M_Key the agent of a port is shown: by the settings, by what ports have shown, and by
// where agents were before. It also renews the leases of M_Keys.
package mkeys

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/sweep/discover"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// Memory is what is known of the M_Keys of a subnet beside the subnet as the last sweep left it. One goroutine owns it.
type Memory struct {
	shown    map[mad.GUID]shownKeys // of ports that have had an M_Key, by GUID
	expected map[plan.Key]mad.GUID  // the ports of managers that have said where they are
	places   places                 // who has left, and from where
	known    *topo.Topo             // the last subnet that was found; nil unless Lookup.remembers
	// what the master has registered since, among it neighbors; nil for nothing, and as master
	mirrored *registry.State
	// ports at protection level 1 for another manager, by GUID, and until when. It is replaced, never written.
	knocked map[mad.GUID]time.Duration
}

// NewMemory remembers the ports at the other ends of ports' links as they were before a restart.
func NewMemory(behind map[plan.Key]plan.Key) *Memory {
	return &Memory{shown: map[mad.GUID]shownKeys{}, places: newPlaces(behind)}
}

// NoneShown reports whether no port has shown an M_Key.
func (m *Memory) NoneShown() bool { return len(m.shown) == 0 }

// ForgetMastership drops what another manager may have changed.
func (m *Memory) ForgetMastership() { m.expected, m.knocked = nil, nil }

// Lookup looks M_Keys up in a Memory, by the settings and the subnet of now.
type Lookup struct {
	*Memory
	Wanted   plan.MKeys            // by the settings
	Prev     *topo.Topo            // the subnet as the last sweep left it; nil for none
	Old      bool                  // nothing is known of the subnet since this manager was master
	Writing  bool                  // a plan is being written
	Restored map[mad.GUID]mad.MKey // before a restart, by port GUID
	Self     mad.GUID              // our own port, 0 where it is not known beforehand
}

// remembers reports whether the subnet that was found last is kept for M_Keys: ports have their own, or may have after
// a reload.
func (l Lookup) remembers() bool { return l.Wanted.Ports.On() || l.Wanted.One != 0 }

// Keys are the M_Keys for a walk's requests; none if all known ones equal the configured one,
// as is usual.
func (l Lookup) Keys() (k discover.Keys) {
	wanted := l.Wanted
	if !wanted.Ports.On() && (wanted.NoLookup || !l.otherKeys()) {
		return k
	}
	last, places := l.lastKnown(), &l.places
	k.Of = func(port mad.GUID, n int) (mad.MKey, bool) { return wanted.Candidate(port, l.recorded(last, port), n) }
	k.Self = l.selfKeys(k.Of)
	k.Behind = func(guid mad.GUID, num uint8) mad.GUID {
		if far, known := l.mirroredNeighbor(registry.End{GUID: guid, Port: num}); known {
			return far.GUID
		}
		if last != nil {
			if agent := behind(last, guid, num); agent != 0 {
				return agent
			}
		}
		if agent := l.expected[plan.Key{Node: guid, Port: num}]; agent != 0 {
			return agent
		}
		return places.behind[plan.Key{Node: guid, Port: num}].agent
	}
	if wanted.Ports.On() {
		k.Knock = mad.MKey(wanted.Ports.Knock())
		k.Before = func(guid mad.GUID, num uint8) mad.GUID {
			return places.behind[plan.Key{Node: guid, Port: num}].agent
		}
		k.Candidates = func(found func(mad.GUID) bool, unanswered func(mad.GUID, uint8) bool) []mad.GUID {
			return places.candidates(last, found, func(at plan.Key) bool { return unanswered(at.Node, at.Port) })
		}
		k.Tries = func(guid mad.GUID, num uint8) bool { return places.tries(plan.Key{Node: guid, Port: num}) }
	}
	k.Unresponsive = l.knownUnresponsive(last)
	k.Prove, k.Keyless = wanted.Ports.On(), hasMKeys(last)
	return k
}

// hasMKeys reports whether some agent of a subnet had an M_Key. last may be nil.
func hasMKeys(last *topo.Topo) bool {
	return last != nil && slices.ContainsFunc(last.EndPorts, func(p topo.PortIdx) bool { return last.MKey(p) != 0 })
}

// knownUnresponsive reports whether a known port, of a node or our own, had no known node behind it.
func (l Lookup) knownUnresponsive(last *topo.Topo) func(guid mad.GUID, num uint8) bool {
	if last != nil {
		return func(guid mad.GUID, num uint8) bool {
			return (last.FindNode(guid) != topo.None || last.FindPort(guid) != topo.None) &&
				behind(last, guid, num) == 0
		}
	}
	known := map[mad.GUID]bool{}
	for at := range l.places.behind {
		known[at.Node] = true
	}
	return func(guid mad.GUID, _ uint8) bool { return known[guid] }
}

// lastKnown is the subnet in which ports and M_Keys are looked up; nil for none.
func (l Lookup) lastKnown() *topo.Topo { return cmp.Or(l.Prev, l.known) }

// recorded is the recorded M_Key of a port's agent. A manager that has not been master since may have missed a
// rotation.
func (l Lookup) recorded(last *topo.Topo, port mad.GUID) (r plan.Recorded) {
	r.Key, r.Known = l.recordedKey(last, port)
	r.Old = l.Old
	r.Before = cmp.Or(l.shown[port].before, l.Restored[port])
	return r
}

// recordedKey is the M_Key that the agent of a port had last.
func (l Lookup) recordedKey(last *topo.Topo, port mad.GUID) (key mad.MKey, known bool) {
	if last != nil {
		if p := last.FindPort(port); p != topo.None && !smp.HidesMKey(&last.Ports[p].Info) {
			return last.MKey(p), true
		}
	}
	if key = l.shown[port].last; key != 0 {
		return key, true
	}
	key, known = l.Restored[port]
	return key, known
}

// Key is the nth M_Key, from 0 on, to show to the agent of a port; after the last one they begin again.
func (l Lookup) Key(port mad.GUID, n int) mad.MKey {
	if !l.Wanted.Ports.On() {
		return l.Wanted.One // without an allocation: each step of a manager asks
	}
	wanted, was := l.Wanted, l.recorded(l.lastKnown(), port)
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
func (l Lookup) KeyAlong(ports []uint8) (key mad.MKey, ok bool) {
	port, ok := l.AgentAlong(ports)
	if !ok {
		return 0, false
	}
	return l.Key(port, 0), true
}

// AgentAlong is the port GUID of the agent at the end of a directed route, as the subnet was known last, 0 where it was
// not; ok is false where it has to be known because ports have M_Keys of their own.
func (l Lookup) AgentAlong(ports []uint8) (port mad.GUID, ok bool) {
	if last := l.lastKnown(); last != nil && last.Self != topo.None {
		if p := last.Along(ports); p != topo.None {
			port = last.Agent(p)
		}
	}
	return port, port != 0 || !l.Wanted.Ports.On()
}

// Mirror takes what is registered with the master, another manager: whom it knows behind ports is newer than what our
// last walk has found.
func (m *Memory) Mirror(registered *registry.State) { m.mirrored = registered }

// mirroredNeighbor is the port that the master knew behind another one.
func (m *Memory) mirroredNeighbor(at registry.End) (far registry.End, known bool) {
	if m.mirrored == nil {
		return far, false
	}
	return m.mirrored.NeighborOf(at)
}

// Remember takes the subnet that a walk has found, and the ports at which it has tried the M_Keys of absent agents.
func (l Lookup) Remember(t *topo.Topo, tried []discover.Place) {
	if l.Wanted.Ports.On() {
		for _, at := range tried {
			l.places.unanswered(plan.Key{Node: at.GUID, Port: at.Port})
		}
		l.places.look(l.known, l.mirrored, t)
	}
	l.mirrored = nil
	if l.known = nil; l.remembers() {
		l.known = t
	}
}

// otherKeys reports whether some agent has a known M_Key that differs from the configured one.
func (l Lookup) otherKeys() bool {
	own := l.Wanted.One
	if prev := l.Prev; prev != nil {
		for _, p := range prev.EndPorts {
			if prev.MKey(p) != own {
				return true
			}
		}
	}
	for _, shown := range l.shown {
		if shown.last != own || shown.before != 0 && shown.before != own {
			return true
		}
	}
	for _, key := range l.Restored {
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

// RememberKeys stores the M_Keys that ports have returned in a walk, which was full or not. A port hides its M_Key when
// a walk uses another key.
func (m *Memory) RememberKeys(t *topo.Topo, full bool) {
	for _, p := range t.EndPorts {
		key, port := t.MKey(p), t.Ports[p].GUID
		shown, known := m.shown[port]
		switch {
		case key == 0 && (!known || smp.HidesMKey(&t.Ports[p].Info)):
			continue
		case key == shown.last && (!full || !t.Answers(p)):
			continue
		case key == 0 && shown.last == 0:
			delete(m.shown, port)
			continue
		case key == shown.last:
			shown.before = key
		case shown.before == 0:
			shown.before = shown.last
		}
		shown.last = key
		m.shown[port] = shown
	}
}

// selfKeys are the M_Keys to try at our own port. Under a simulator the port's GUID is not known
// beforehand; if all restored M_Keys are equal, it is that one, then the configured one.
func (l Lookup) selfKeys(of func(mad.GUID, int) (mad.MKey, bool)) func(int) (mad.MKey, bool) {
	self, last := l.Self, l.lastKnown()
	if last != nil && last.Self != topo.None {
		self = last.Ports[last.Self].GUID
	}
	if _, known := l.recordedKey(last, self); known || self != 0 && l.Wanted.Ports.On() {
		return func(n int) (mad.MKey, bool) { return of(self, n) }
	}
	own, first := l.Wanted.One, true
	key := own
	for _, k := range l.Restored {
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
func (l Lookup) Knock(now time.Duration, port mad.GUID) (set plan.Set, ok bool) {
	t := l.lastKnown()
	if t == nil || l.Writing || len(l.knocked) >= maxKnocked || l.knocked[port] != 0 {
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
	knocked := maps.Clone(l.knocked)
	if knocked == nil {
		knocked = map[mad.GUID]time.Duration{}
	}
	knocked[port] = now + knockedTime
	l.knocked = knocked
	relax(&set, l.Wanted.For(t, p), &t.Ports[p].Info, &t.Nodes[t.Ports[p].Node], t.Ports[p].Num)
	return set, true
}

// OpenOwn is the Set that has our own port answer others, for a manager that waits for leases: another one that waits
// would not find it, because its own requests keep the lease of its port, and both would become master. Whoever becomes
// master protects the port again. ok is false where the port answers them already, or has no M_Key of its own.
func (l Lookup) OpenOwn(b *topo.Builder) (set plan.Set, ok bool) {
	self := b.Self()
	if self == topo.NoEnd || !l.Wanted.Ports.On() {
		return set, false
	}
	info := b.Port(self)
	if info == nil || info.MKey() == 0 || info.MKeyProtectBits() < 2 {
		return set, false
	}
	relax(&set, info.MKey(), info, b.Node(self.Node), self.Port)
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

// Knocked are the ports that are open to another manager, and until when.
func (m *Memory) Knocked() map[mad.GUID]time.Duration { return m.knocked }

// EndKnocks ends the time of ports that were open to another manager for long enough. nodes are theirs, which the next
// heavy sweep protects again; ended reports whether there was such a port.
func (l Lookup) EndKnocks(now time.Duration) (nodes []mad.GUID, ended bool) {
	left := maps.Clone(l.knocked)
	maps.DeleteFunc(left, func(_ mad.GUID, until time.Duration) bool { return until <= now })
	if len(left) == len(l.knocked) {
		return nil, false
	}
	for port := range l.knocked {
		if t := l.lastKnown(); left[port] == 0 && t != nil {
			if p := t.FindPort(port); p != topo.None {
				nodes = append(nodes, t.Nodes[t.Ports[p].Node].GUID)
			}
		}
	}
	l.knocked = left
	return nodes, true
}

// Expect takes what a manager that shows the M_Key of our own port says of itself: its port is at the end of a directed
// route, where nothing has answered, and may have its own M_Key.
func (l Lookup) Expect(route mad.Route, port mad.GUID) {
	t, ports := l.Prev, route.Ports()
	if t == nil || len(ports) == 0 || len(l.expected) >= maxKnocked || !l.Wanted.Ports.On() {
		return
	}
	last := len(ports) - 1
	p := t.Along(ports[:last])
	if p == topo.None || t.Nodes[t.Ports[p].Node].Type != mad.Switch {
		return
	}
	if l.expected == nil {
		l.expected = map[plan.Key]mad.GUID{}
	}
	l.expected[plan.Key{Node: t.Nodes[t.Ports[p].Node].GUID, Port: ports[last]}] = port
}

// maxShown limits the ports whose M_Keys are kept: a host may be another port in each sweep. It is several times as
// many as a subnet has LIDs.
const maxShown = 4 * int(mad.MaxUnicastLID)

// Prune forgets managers that have said where they are where a sweep has found somebody, or the link is down. Where
// there are too many, it also forgets M_Keys of ports that have left.
func (m *Memory) Prune(t *topo.Topo) {
	if len(m.shown) > maxShown {
		maps.DeleteFunc(m.shown, func(port mad.GUID, _ shownKeys) bool { return t.FindPort(port) == topo.None })
	}
	maps.DeleteFunc(m.expected, func(at plan.Key, _ mad.GUID) bool {
		p := t.FindNodePort(at.Node, at.Port)
		return p == topo.None || behind(t, at.Node, at.Port) != 0 || t.Ports[p].Info.PortState() <= smp.PortDown
	})
}

// Secret reports whether an M_Key that an agent has refused may be one of the subnet's, which must not be shown, and
// whether it is the one of a manager that does not know the subnet. Any host has agents refuse as many as it likes: so
// no M_Key is derived for it.
func (l Lookup) Secret(key mad.MKey) (secret, knocks bool) {
	p := &l.Wanted.Ports
	return p.On(), p.On() && uint64(key) == p.Knock()
}

// MostMissing reports whether nobody answers behind some links, and most of the subnet is behind them: more nodes than
// a walk has found, by what was known of it, or perhaps, where nothing was known. unproved, refusing and found are as
// the walk counts them.
func (l Lookup) MostMissing(unproved, refusing, found int) bool {
	last := l.lastKnown()
	known := 0
	if last != nil {
		known = len(last.Nodes)
	} else {
		known = len(l.places.left)
	}
	if known <= 1 {
		return unproved > 0
	}
	return unproved+refusing > 0 && 2*found < known
}
