package discover

import (
	"cmp"
	"slices"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// A GUID belongs to the place where it was: the port of a switch, or our own, behind which its node was when the subnet
// was known last. An answer that names it behind another port is a claim. The walk may meet an agent that lies before
// the node whose GUID that agent names. So a claim waits until all else has been asked, and whoever makes it is asked
// nothing until then: no request shows it the M_Key of the other node.
//
// Then a claim is believed if the node was not found, and its place is free: the link there has been down, or another
// node answers there. A new cable to a switch that was found is believed if the switch names the port that it comes
// from, and without that unless mustBeNamed. All other claims are duplicates.

// claim is an answer that names a node which was elsewhere.
type claim struct {
	it   item
	info smp.NodeInfo
}

// known is the subnet in which the places of GUIDs are looked up; nil for none.
func (m *Machine) known() *topo.Topo { return cmp.Or(m.remembered(), m.cfg.Known) }

// find looks the node and the port that an answer names up in the known subnet; ok is false if neither is there. One of
// them may be None.
func (m *Machine) find(info *smp.NodeInfo) (t *topo.Topo, n topo.NodeIdx, p topo.PortIdx, ok bool) {
	if t = m.known(); t == nil {
		return nil, topo.None, topo.None, false
	}
	n, p = t.FindNode(info.NodeGUID()), t.FindPort(info.PortGUID())
	return t, n, p, n != topo.None || p != topo.None
}

// remembersNothing reports whether ports have M_Keys of their own and no place of any GUID is known. Then the walk
// first asks behind links that are ARMED or ACTIVE, which a manager has brought up, and behind links that are INIT
// afterwards: so it has met a node before it meets a new one that claims to be that node.
func (m *Machine) remembersNothing() bool {
	return m.cfg.Keys.Prove && m.known() == nil && len(m.cfg.Homes) == 0
}

// askFresh queues the requests that remembersNothing has deferred, and reports whether there are any. If nobody has
// answered behind a link that is ARMED or ACTIVE, it drops them and another walk is made: whoever is there may answer
// when its M_Key lease has ended.
func (m *Machine) askFresh() bool {
	waits := m.fresh
	if m.fresh = nil; m.refused {
		m.res.Moved, m.res.Contested = m.res.Moved || len(waits) > 0, m.res.Contested || len(waits) > 0
		return false
	}
	for _, it := range waits {
		m.probes.push(it)
	}
	return len(waits) > 0
}

// isElsewhere reports whether the node or port that an answer names was behind other ports than the one that the answer
// came from.
func (m *Machine) isElsewhere(it item, info *smp.NodeInfo) bool {
	if t, n, p, ok := m.find(info); ok {
		if far := m.farIn(t, it); far != topo.None && (n == topo.None || t.Ports[far].Node == n) &&
			(p == topo.None || t.Agent(far) == info.PortGUID()) {
			return false
		}
		return !m.returns(it, info) && len(homesIn(t, n, p)) > 0
	}
	homes := m.cfg.Homes[info.PortGUID()]
	return len(homes) > 0 && !slices.Contains(homes, Place{GUID: m.whose(it), Port: uint8(it.num)})
}

// returns reports whether the node that an answer names was the last one behind the port that the answer came from.
func (m *Machine) returns(it item, info *smp.NodeInfo) bool {
	was, left := m.cfg.Former[Place{GUID: m.whose(it), Port: uint8(it.num)}]
	return left && was.Node == info.NodeGUID() && was.Agent == info.PortGUID()
}

// farIn is the port that was behind the one that a request leaves by, None for none.
func (m *Machine) farIn(t *topo.Topo, it item) topo.PortIdx {
	at := m.portIn(t, it.end())
	if at == topo.None {
		return at
	}
	return t.Ports[at].Peer
}

// portIn is a port in a subnet that was known, None for none.
func (m *Machine) portIn(t *topo.Topo, e topo.End) topo.PortIdx {
	if m.b.Node(e.Node).Type != mad.Switch {
		return t.FindPort(m.b.PortGUID(e))
	}
	return t.FindNodePort(m.b.Node(e.Node).GUID, e.Port)
}

// homesIn are the ports that a node, or the node of an end port, was behind; of a port of an adapter or router that is
// known itself, the one that this port was behind. Either may be None.
func homesIn(t *topo.Topo, n topo.NodeIdx, p topo.PortIdx) (homes []topo.PortIdx) {
	if p != topo.None && t.Nodes[t.Ports[p].Node].Type != mad.Switch {
		if peer := t.Ports[p].Peer; peer != topo.None {
			homes = append(homes, peer)
		}
		if n == topo.None || n == t.Ports[p].Node {
			return homes
		}
	}
	for _, n := range [...]topo.NodeIdx{n, ownerIn(t, p)} {
		if n == topo.None {
			continue
		}
		for num := range int(t.Nodes[n].NumPorts) + 1 {
			if peer := t.Ports[t.Port(n, uint8(num))].Peer; peer != topo.None {
				homes = append(homes, peer)
			}
		}
	}
	return homes
}

// ownerIn is the switch of an end port, None for none.
func ownerIn(t *topo.Topo, p topo.PortIdx) topo.NodeIdx {
	if p == topo.None || t.Nodes[t.Ports[p].Node].Type != mad.Switch {
		return topo.None
	}
	return t.Ports[p].Node
}

// judgeClaims decides which claims are believed. Those about nodes that are found by it wait again: what is behind
// their ports is not known yet.
func (m *Machine) judgeClaims() {
	claims, known := m.claims, int32(m.b.Len())
	m.claims = nil
	for i := range claims {
		c := &claims[i]
		from := c.it.end()
		if m.b.Peer(from) != topo.NoEnd || m.b.Dropped(from.Node) {
			continue // the other end has shown what is there
		}
		if n, found := m.b.Find(c.info.NodeGUID()); found && n >= known {
			m.claims = append(m.claims, *c)
		} else if f, is := m.duplicate(claims, c); is {
			m.report(f)
		} else {
			m.arrived(c.it, &c.info)
		}
	}
}

// duplicate reports whether what a claim names is elsewhere, as the finding about it.
func (m *Machine) duplicate(claims []claim, c *claim) (f Finding, is bool) {
	n, found := m.b.Find(c.info.NodeGUID())
	owner, taken := m.b.PortOwner(c.info.PortGUID())
	f.Kind, f.GUID = finding.DuplicateNodeGUID, c.info.NodeGUID()
	f.Other, _ = m.routeOut(c.it.end())
	switch {
	case found && !sameNode(&m.b.Node(n).Info, &c.info),
		found && m.b.Node(n).Type == mad.Switch && m.mustBeNamed(n, c) && !m.names(claims, n, c):
		f.Route = m.b.Node(n).Route
	case !found && taken:
		f.Kind, f.GUID, f.Route = finding.DuplicatePortGUID, c.info.PortGUID(), m.b.Node(owner.Node).Route
	case (!found || !taken && c.info.NodeType() != mad.Switch) && m.isHeld(&c.info):
		f.Route = m.lastRoute(&c.info)
	default:
		return f, false
	}
	return f, true
}

// mustBeNamed reports whether a new cable to a switch that was found has to be confirmed by the switch: the port that
// it comes from has led to an adapter, or is one behind such a port; or its node is connected to the manager by one
// cable only, and somebody answers behind the port of the switch.
func (m *Machine) mustBeNamed(n int32, c *claim) bool {
	from := c.it.end()
	return m.branches.all[from.Node].suspect || m.ledToAdapter(from) ||
		m.branches.hangs(from.Node) && !m.mayBeBehind(topo.End{Node: n, Port: c.info.LocalPortNum()})
}

// names reports whether a switch that was found names, behind the port that a claim is about, the port that the claim
// came from.
func (m *Machine) names(claims []claim, n int32, c *claim) bool {
	to, from := topo.End{Node: n, Port: c.info.LocalPortNum()}, c.it.end()
	return slices.ContainsFunc(claims, func(o claim) bool {
		return o.it.end() == to && o.info.NodeGUID() == m.b.Node(from.Node).GUID && o.info.LocalPortNum() == from.Port
	})
}

// lastRoute is the directed route to a node when it was known last; that to our own node if it was not.
func (m *Machine) lastRoute(info *smp.NodeInfo) (route mad.Route) {
	if t, n, _, _ := m.find(info); n != topo.None {
		return t.Nodes[n].Route
	}
	return route
}

// isHeld reports whether a node or port that was not found may be where it was.
func (m *Machine) isHeld(info *smp.NodeInfo) bool {
	if t, n, p, ok := m.find(info); ok {
		return slices.ContainsFunc(homesIn(t, n, p), func(home topo.PortIdx) bool {
			return m.isTaken(t, home, map[topo.NodeIdx]bool{})
		})
	}
	return slices.ContainsFunc(m.cfg.Homes[info.PortGUID()], func(home Place) bool {
		return m.mayBeThere(home.GUID, home.Port)
	})
}

// isTaken reports whether a node that was not found may still be behind a port of the known subnet. If this manager
// made the previous sweep, it is not where the port is INIT: the link has been down. Where the switch of the port was
// not found either, the node may be there if the switch may be where it was. asked holds the switches that have been
// looked at; isTaken adds to it.
func (m *Machine) isTaken(t *topo.Topo, home topo.PortIdx, asked map[topo.NodeIdx]bool) bool {
	port := &t.Ports[home]
	node := &t.Nodes[port.Node]
	n, found := m.b.Find(node.GUID)
	if found {
		e := topo.End{Node: n, Port: port.Num}
		info := m.b.Port(e)
		return m.mayBeBehind(e) && (m.cfg.Prev == nil || info == nil || info.PortState() >= smp.PortArmed)
	}
	if asked[port.Node] {
		return false
	}
	asked[port.Node] = true
	return slices.ContainsFunc(homesIn(t, port.Node, topo.None), func(home topo.PortIdx) bool {
		return m.isTaken(t, home, asked)
	})
}

// mayBeThere is mayBeBehind for a port of a switch, by the node GUID, or our own port, by its GUID.
func (m *Machine) mayBeThere(guid mad.GUID, num uint8) bool {
	n, found := m.b.Find(guid)
	if !found {
		e, owned := m.b.PortOwner(guid)
		if !owned {
			return false
		}
		n = e.Node
	}
	return num <= m.b.Node(n).NumPorts && m.mayBeBehind(topo.End{Node: n, Port: num})
}

// mayBeBehind reports whether a node that was not found may be behind a port: the port is not DOWN, and no node has
// answered behind it.
func (m *Machine) mayBeBehind(e topo.End) bool {
	info := m.b.Port(e)
	return (info == nil || info.PortState() > smp.PortDown) && m.b.Peer(e) == topo.NoEnd && !m.claimed[e]
}
