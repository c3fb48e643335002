package discover

import (
	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/sweep/proof"
	"ibsm/topo"
)

// askPort queues the PortInfo of a port of a CA or router, or takes it over where the link to it has
// not changed either.
func (m *Machine) askPort(e topo.End) {
	if from := m.b.Peer(e); from != topo.NoEnd && m.at(from.Node).believed &&
		m.hasAnswered(m.previousNode(from.Node), from.Port) {
		old := m.previousNode(e.Node)
		if m.hasAnswered(old, e.Port) && m.tries[e] == 0 && !m.isDirty(m.b.Node(e.Node).GUID) {
			m.takeOver(e, old)
			return
		}
	}
	m.queue.push(item{kind: kindPort, num: uint16(e.Port), node: e.Node})
}

// portInfo stores what a port says and walks on through it.
func (m *Machine) portInfo(e topo.End, o *txn.Outcome, ok bool) {
	kind := itemOf(o.Tag).kind
	if !ok && kind == kindPort && o.Mod&smp.ExtendedSpeedsMod != 0 {
		// its answer spares the other ports the bit
		m.queue.pushFirst(item{kind: kindPlain, num: uint16(e.Port), node: e.Node})
		return
	}
	node := m.b.Node(e.Node)
	if ok && kind == kindPlain {
		m.cfg.Features.Learn(device.ExtendedGets, &node.Info, device.Fails) // the bit was to blame, not the port
	}
	info := (*smp.PortInfo)(&o.Data)
	if ok && m.proves(itemOf(o.Tag), e, info) {
		return
	}
	if was, has := m.unproved[e]; !ok && has {
		info, ok = &was, true
	}
	if ok {
		m.storePort(e, info)
		m.port(e, info)
		if o.Mod&smp.ExtendedSpeedsMod == 0 {
			m.noteHiding(e, info)
		}
	} else if o.Result == txn.Replied {
		m.report(Finding{Kind: finding.GetRefused, GUID: node.GUID, Port: e.Port, Route: node.Route, Status: o.Status})
		m.takeBefore(e)
	} else if o.Result == txn.OutOfTime && m.hasStayed(e.Node) {
		m.takeBefore(e)
	} else if o.Result == txn.TimedOut && (m.mayHaveChanged(node.GUID) || m.previous(e) == nil) {
		m.isUnread(e.Node)
	}
	m.portDone(e.Node)
}

// storePort stores what a port says.
func (m *Machine) storePort(e topo.End, info *smp.PortInfo) {
	if !info.LID().IsUnicast() {
		info.SetLID(0) // adapters report 65535 before a manager sets it
	}
	m.noteValue(smp.AttrPortInfo, e)
	m.b.SetPort(e, info)
}

// portDone goes on when the last port of a node has been asked.
func (m *Machine) portDone(n int32) {
	sw := m.at(n).sw
	if sw == nil {
		m.askHiding(n)
		return
	}
	if sw.ports--; sw.ports > 0 {
		return
	}
	if sw.ports = m.askHiding(n); sw.ports == 0 {
		m.readSwitch(n)
	}
}

// port acts upon the PortInfo of a port.
func (m *Machine) port(e topo.End, info *smp.PortInfo) {
	node := m.b.Node(e.Node)
	isSelf := m.b.Self() == e
	external := node.Type == mad.Switch && e.Port != 0
	m.keyed = m.keyed || !external && info.MKey() != 0
	if sw := m.at(e.Node).sw; sw != nil && external && info.PortState() >= smp.PortArmed {
		sw.up.Add(e.Port)
	}
	m.askFDR10(e, info)
	if external || node.Type != mad.Switch {
		m.read(e)
	}
	if !external && !isSelf && info.CapabilityMask().Has(smp.IsSM) && !m.cfg.IgnoreOtherSM {
		m.queue.push(item{kind: kindSM, num: uint16(e.Port), node: e.Node})
	}
	if isSelf {
		if m.res.Own = OwnUp; node.Type != mad.Switch && info.PortState() <= smp.PortDown {
			m.res.Own = OwnDown
		}
	}
	if info.PortState() > smp.PortDown && (external || isSelf && node.Type != mad.Switch) &&
		m.b.Peer(e) == topo.NoEnd && !m.assume(e, info) {
		it := item{kind: kindNode, num: uint16(e.Port), node: e.Node}
		if info.PortState() < smp.PortArmed && m.remembersNothing() {
			m.fresh = append(m.fresh, it)
			return
		}
		if m.isProbed(it) {
			m.unprobed = append(m.unprobed, it)
			return
		}
		m.probes.push(it)
	}
}

// question makes a request the Question to a manager at the end of its route.
func (m *Machine) question(req *txn.Request) {
	q := proof.Question{Asker: m.Self(), Nonce: m.cfg.Nonce}
	ports, at := req.Route.Ports(), m.b.Self()
	for hop, port := range ports {
		out := topo.End{Node: at.Node, Port: port}
		if hop == len(ports)-1 {
			q.Place = proof.Place{Node: m.b.Node(at.Node).GUID, Port: port}
		} else if at = m.b.Peer(out); at == topo.NoEnd {
			break
		}
	}
	q.Put((*smp.SMInfo)(&req.Data))
	m.questions[req.Tag] = q
}

// duplicateManager takes what has answered as a manager at the end of a route, where a GUID of our own node was found
// again.
func (m *Machine) duplicateManager(it item, info *smp.SMInfo, ok bool) {
	if ok {
		m.res.Duplicates = append(m.res.Duplicates, SM{Port: m.b.PortGUID(m.b.Self()), Route: m.duplicates[it.node],
			Asked: m.questions[it.tag()], Info: *info})
	}
}

func (m *Machine) smInfo(it item, info *smp.SMInfo, ok bool) {
	if !ok {
		return
	}
	e := it.end()
	guid := m.b.PortGUID(e)
	if route, ok := m.routeTo(e); ok && info.GUID() == guid {
		m.res.SMs = append(m.res.SMs,
			SM{Port: guid, LID: m.b.Port(e).LID(), Route: route, Asked: m.questions[it.tag()], Info: *info})
	}
}

// Places are where the manager's own port is, as far as it is known yet: one place where it is an adapter's, and that
// of each cable of a switch.
func (m *Machine) Places() []proof.Place { return PlacesOf(m.b) }

// PlacesOf is Machine.Places of what a walk has found.
func PlacesOf(b *topo.Builder) (places []proof.Place) {
	self := b.Self()
	if self == topo.NoEnd {
		return nil
	}
	node := b.Node(self.Node)
	first, last := self.Port, self.Port
	if node.Type == mad.Switch {
		first, last = 1, node.NumPorts
	}
	for num := int(first); num <= int(last); num++ {
		if peer := b.Peer(topo.End{Node: self.Node, Port: uint8(num)}); peer != topo.NoEnd {
			places = append(places, proof.Place{Node: b.Node(peer.Node).GUID, Port: peer.Port})
		}
	}
	return places
}
