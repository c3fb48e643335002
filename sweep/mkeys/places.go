package mkeys

import (
	"cmp"
	"maps"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/sweep/discover"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/view"
)

// places is the memory of the agents that have left the subnet, and of the ports that they were behind. An agent keeps
// its M_Key while its link is down (IBA 14.2.4), and answers only to this key when it is back: at its place, or
// elsewhere. A place is a port of a switch, by its node GUID, or our own port by its GUID.
type places struct {
	behind map[plan.Key]neighbor // who was last behind a place that nobody is behind now
	left   map[mad.GUID]uint64   // absent agents, by port GUID, and the number of the sweep that missed them
	tried  map[plan.Key]uint8    // in how many sweeps nobody has answered to the M_Keys of absent agents at a place
	sweeps uint64                // that have looked
}

// neighbor is the other end of a link.
type neighbor struct {
	plan.Key          // the node GUID of a switch, or the port GUID of an adapter or router, and the port
	agent    mad.GUID // the port GUID of its agent
}

const (
	// maxTrials is in how many sweeps the M_Keys of absent agents are tried at a place while its link stays up: answers
	// may be lost.
	maxTrials = 3
	// maxCandidates bounds the absent agents whose M_Keys are tried in one walk, those that left last.
	maxCandidates = 16
)

// newPlaces remembers the neighbors of an earlier start: all of them may have left since.
func newPlaces(restored map[plan.Key]plan.Key) places {
	m := places{behind: map[plan.Key]neighbor{}, left: map[mad.GUID]uint64{}, tried: map[plan.Key]uint8{}}
	for at, far := range restored {
		m.behind[at], m.left[far.Node] = neighbor{far, far.Node}, 0
	}
	return m
}

// look takes the subnet as a walk has left it, and before it was; before is nil if nothing was known of it. mirrored is
// what another manager, the master since, knew of neighbors; nil for nothing.
func (m *places) look(before *topo.Topo, mirrored *registry.State, now *topo.Topo) {
	m.sweeps++
	note := func(at plan.Key, far neighbor) {
		m.behind[at] = far
		if _, known := m.left[far.agent]; !known {
			m.left[far.agent] = m.sweeps
		}
	}
	if gone := missingIn(now, before); len(gone) > 0 {
		eachPlace(before, func(at plan.Key, far neighbor) {
			if gone[far.agent] {
				note(at, far)
			}
		})
	}
	if mirrored != nil {
		for at, far := range mirrored.Neighbors() {
			if now.FindPort(far.GUID) == topo.None {
				note(plan.Key{Node: at.GUID, Port: at.Port},
					neighbor{plan.Key{Node: far.GUID, Port: far.Port}, far.GUID})
			}
		}
	}
	maps.DeleteFunc(m.left, func(agent mad.GUID, _ uint64) bool { return now.FindPort(agent) != topo.None })
	maps.DeleteFunc(m.behind, func(_ plan.Key, far neighbor) bool { _, absent := m.left[far.agent]; return !absent })
	maps.DeleteFunc(m.tried, func(at plan.Key, _ uint8) bool {
		p := now.FindNodePort(at.Node, at.Port)
		return p == topo.None || now.Ports[p].Peer != topo.None || now.Ports[p].Info.PortState() <= smp.PortDown
	})
	if len(m.left) > maxShown {
		m.forgetOldest(len(m.left) - maxShown/2)
	}
}

// missingIn are the end ports of a subnet before that are not in the subnet now, by GUID. Before may be nil.
func missingIn(now, before *topo.Topo) map[mad.GUID]bool {
	if before == nil || before == now {
		return nil
	}
	missing, rest := map[mad.GUID]bool{}, now.EndPorts
	for _, p := range before.EndPorts {
		guid := before.Ports[p].GUID
		for len(rest) > 0 && now.Ports[rest[0]].GUID < guid {
			rest = rest[1:]
		}
		if len(rest) == 0 || now.Ports[rest[0]].GUID != guid {
			missing[guid] = true
		}
	}
	return missing
}

// forgetOldest forgets as many agents, those that left first.
func (m *places) forgetOldest(count int) {
	for _, agent := range m.absent()[len(m.left)-count:] {
		delete(m.left, agent)
	}
	maps.DeleteFunc(m.behind, func(_ plan.Key, far neighbor) bool { _, absent := m.left[far.agent]; return !absent })
}

// Left are the links that absent agents had, for the files of the next start and for standbys; nil unless ports have
// M_Keys of their own.
func (l Lookup) Left() []view.LeftLink {
	if !l.Wanted.Ports.On() {
		return nil
	}
	all := []view.LeftLink{}
	for at, far := range l.places.behind {
		all = append(all, view.LeftLink{Here: registry.End{GUID: at.Node, Port: at.Port},
			Far: registry.End{GUID: far.Node, Port: far.Port}})
	}
	slices.SortFunc(all, func(a, b view.LeftLink) int {
		return a.Here.Compare(b.Here)
	})
	return all
}

// absent are the absent agents, those that left last first, and of one sweep by GUID.
func (m *places) absent() []mad.GUID {
	return slices.SortedFunc(maps.Keys(m.left), func(a, b mad.GUID) int {
		return cmp.Or(cmp.Compare(m.left[b], m.left[a]), cmp.Compare(a, b))
	})
}

// LastHomes is where nodes were by what outlives a term of mastership: what another master has said since, or else the
// subnet that was found last and the places of agents that are not in it.
func (m *Memory) LastHomes() (known *topo.Topo, homes map[mad.GUID][]discover.Place) {
	homes = map[mad.GUID][]discover.Place{}
	if m.mirrored != nil {
		for at, far := range m.mirrored.Neighbors() {
			homes[far.GUID] = append(homes[far.GUID], discover.Place{GUID: at.GUID, Port: at.Port})
		}
		if len(homes) > 0 {
			return nil, homes
		}
	}
	for at, far := range m.places.behind {
		homes[far.agent] = append(homes[far.agent], discover.Place{GUID: at.Node, Port: at.Port})
	}
	return m.known, homes
}

// eachPlace calls do for each link of a subnet, from both of its ends where these are places.
func eachPlace(t *topo.Topo, do func(at plan.Key, far neighbor)) {
	for i := range t.Ports {
		port := &t.Ports[i]
		if port.Peer == topo.None || t.Nodes[port.Node].Type != mad.Switch && topo.PortIdx(i) != t.Self {
			continue
		}
		far := neighbor{keyOf(t, port.Peer), t.Agent(port.Peer)}
		do(keyOf(t, topo.PortIdx(i)), far)
	}
}

// keyOf is a port by the node GUID of a switch, or else by its own.
func keyOf(t *topo.Topo, p topo.PortIdx) plan.Key {
	port := &t.Ports[p]
	if node := &t.Nodes[port.Node]; node.Type == mad.Switch {
		return plan.Key{Node: node.GUID, Port: port.Num}
	}
	return plan.Key{Node: port.GUID, Port: port.Num}
}

// candidates are the absent agents whose M_Keys may be tried at a place where nobody has answered, those that left last
// first: agents that the walk has not found, of the last subnet and of earlier ones. An agent is no candidate if
// somebody does not answer at its own place, since it may be there.
func (m *places) candidates(last *topo.Topo, found func(agent mad.GUID) bool,
	unanswered func(at plan.Key) bool) (all []mad.GUID) {
	there := map[mad.GUID]bool{}
	note := func(at plan.Key, far neighbor) {
		if unanswered(at) {
			there[far.agent] = true
		}
	}
	for at, far := range m.behind {
		note(at, far)
	}
	add := func(agent mad.GUID) {
		if len(all) < maxCandidates && !found(agent) && !there[agent] && !slices.Contains(all, agent) {
			all = append(all, agent)
		}
	}
	if last != nil {
		eachPlace(last, note)
		for _, p := range last.EndPorts {
			add(last.Ports[p].GUID)
		}
	}
	for _, agent := range m.absent() {
		add(agent)
	}
	return all
}

// tries reports whether the M_Keys of absent agents are tried at a place.
func (m *places) tries(at plan.Key) bool { return m.tried[at] < maxTrials }

// unanswered takes that nobody has answered to them at a place.
func (m *places) unanswered(at plan.Key) { m.tried[at]++ }
