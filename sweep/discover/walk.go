package discover

import (
	"cmp"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// Done takes the outcome of a request that Next handed out.
func (m *Machine) Done(o *txn.Outcome) {
	m.open--
	it := itemOf(o.Tag)
	replied := o.Result == txn.Replied
	if o.Result == txn.TimedOut && m.askAgain(it) {
		return
	}
	if !replied && it.kind != kindDuplicate { // most likely nobody is there
		m.res.TimedOut++
	}
	if replied && !m.isLocal(it) {
		m.res.Heard.Answers++
		if o.Attempts > 1 {
			m.res.Heard.Late++
		}
	}
	ok := replied && o.Status == mad.StatusOK
	switch it.kind {
	case kindSelf:
		if ok {
			m.self((*smp.NodeInfo)(&o.Data))
			if self := m.b.Self(); self != topo.NoEnd {
				m.met(it, self)
			}
		}
	case kindNode:
		m.nodeInfo(it, (*smp.NodeInfo)(&o.Data), ok)
		if !replied && m.cfg.Keys.Prove {
			m.unheard(it)
		}
	case kindRecheck:
		m.rechecked(it, (*smp.NodeInfo)(&o.Data), ok)
	case kindDesc:
		if ok {
			m.description(it.node, (*smp.NodeDescription)(&o.Data))
		}
	case kindSwitch:
		if replied {
			m.answered(it)
		}
		if replied && !ok {
			m.refusedSwitchInfo(it.node, o.Status)
			return
		}
		m.switchInfo(it.node, (*smp.SwitchInfo)(&o.Data), ok)
	case kindClear:
		m.cleared(it.node, (*smp.SwitchInfo)(&o.Data), ok)
	case kindPort, kindPlain:
		if replied {
			m.answered(it)
		}
		m.portInfo(it.end(), o, ok)
	case kindSM:
		m.smInfo(it.end(), (*smp.SMInfo)(&o.Data), ok)
	case kindDuplicate:
		m.res.DuplicateManager = m.res.DuplicateManager || ok
	case kindBlock:
		m.block(it, o, ok)
	case kindExtended:
		m.extended(it, o)
	case kindGeneral, kindAR, kindPrivateLFT:
		m.adaptive(it, o)
	}
}

// self begins the walk: our own node, and one hop out of it.
func (m *Machine) self(info *smp.NodeInfo) {
	if !possible(info) {
		m.report(Finding{Kind: BadNodeInfo, GUID: info.NodeGUID()})
		return
	}
	n := m.addNode(info, mad.Route{})
	port := info.LocalPortNum()
	if info.NodeType() == mad.Switch {
		port = 0
	}
	m.b.SetSelf(topo.End{Node: n, Port: port})
	m.ask(n, port)
}

// ask queues the requests for a new node that was reached through port.
func (m *Machine) ask(n int32, port uint8) {
	m.recall(n)
	node := m.b.Node(n)
	if node.Desc == (smp.NodeDescription{}) {
		m.queue.push(item{kind: kindDesc, node: n})
	}
	if node.Type == mad.Switch {
		m.queue.push(item{kind: kindSwitch, node: n})
		return
	}
	m.askPort(topo.End{Node: n, Port: port})
}

// askPort queues the PortInfo of a port of a CA or router, or takes it over where the link to it has
// not changed either.
func (m *Machine) askPort(e topo.End) {
	if from := m.b.Peer(e); from != topo.NoEnd && m.believed[from.Node] && m.hasAnswered(m.previousNode(from.Node), from.Port) {
		if old := m.previousNode(e.Node); m.hasAnswered(old, e.Port) && m.tries[e] == 0 {
			m.takeOver(e, old)
			return
		}
	}
	m.queue.push(item{kind: kindPort, num: uint16(e.Port), node: e.Node})
}

// hasAnswered reports whether a port of a node of the previous walk has said what it holds since.
func (m *Machine) hasAnswered(old topo.NodeIdx, port uint8) bool {
	return old != topo.None && m.cfg.Answered != nil && m.cfg.Answered[m.cfg.Prev.Port(old, port)]
}

// takeOver believes the previous walk about a port of a node that it has read.
func (m *Machine) takeOver(e topo.End, old topo.NodeIdx) {
	info := &m.cfg.Prev.Ports[m.cfg.Prev.Port(old, e.Port)].Info
	m.b.SetPort(e, info)
	m.port(e, info)
}

// recall takes over from the previous walk what a node is not asked again.
func (m *Machine) recall(n int32) {
	if m.cfg.Prev == nil {
		return
	}
	node := m.b.Node(n)
	old := m.cfg.Prev.FindNode(node.GUID)
	if old == topo.None {
		return
	}
	was := &m.cfg.Prev.Nodes[old]
	if was.Missed == 0 {
		node.Desc, node.Aggregation = was.Desc, was.Aggregation
		node.AR, node.ARInfo, node.PrivateLFT = was.AR, was.ARInfo, was.PrivateLFT
	}
}

// possible reports whether a node can have this NodeInfo.
func possible(info *smp.NodeInfo) bool {
	switch info.NodeType() {
	case mad.Switch:
	case mad.CA, mad.Router:
		if info.LocalPortNum() == 0 {
			return false
		}
	default:
		return false
	}
	return info.NodeGUID() != 0 && info.PortGUID() != 0 && info.NumPorts() != 0 && info.NumPorts() < 255 &&
		info.LocalPortNum() <= info.NumPorts()
}

// nodeInfo takes the answer from behind a port.
func (m *Machine) nodeInfo(it item, info *smp.NodeInfo, ok bool) {
	from := it.end()
	route, _ := m.routeOut(from)
	here := m.b.Node(from.Node)
	if !ok {
		m.report(Finding{Kind: Unresponsive, GUID: here.GUID, Port: from.Port, Route: route})
		return
	}
	m.b.SetAnswered(from)
	if !possible(info) || info.LocalPortNum() == 0 { // no cable leads to port 0
		m.report(Finding{Kind: BadNodeInfo, GUID: here.GUID, Port: from.Port, Route: route})
		return
	}
	n, known := m.b.Find(info.NodeGUID())
	if !known {
		if m.limit.nodes < 1 || m.limit.ports <= int(info.NumPorts()) {
			m.report(Finding{Kind: TooMany, GUID: here.GUID, Port: from.Port, Route: route})
			return
		}
		n, ok = m.newNode(info, route)
		if ok {
			m.arrive(it, topo.End{Node: n, Port: info.LocalPortNum()})
			m.ask(n, info.LocalPortNum())
		}
		return
	}
	node := m.b.Node(n)
	if !sameNode(&node.Info, info) {
		m.report(Finding{Kind: DuplicateNodeGUID, GUID: node.GUID, Route: node.Route, Other: route})
		return
	}
	to := topo.End{Node: n, Port: info.LocalPortNum()}
	if node.Type != mad.Switch && !m.furtherPort(to, info, route) {
		return
	}
	m.arrive(it, to)
	if node.Type != mad.Switch && m.b.Port(to) == nil && m.b.Peer(to) == from {
		m.askPort(to)
	}
}

// arrive notes the cable by which a node was reached, and the M_Key that its agent has answered to.
func (m *Machine) arrive(it item, to topo.End) {
	m.join(it.end(), to)
	if peer := m.b.Peer(it.end()); peer != topo.NoEnd {
		m.met(it, peer)
	}
}

// sameNode reports whether two answers can be those of one node at two of its ports.
func sameNode(a, b *smp.NodeInfo) bool {
	x, y := *a, *b
	x.SetLocalPortNum(y.LocalPortNum())
	if x.NodeType() != mad.Switch {
		x.SetPortGUID(y.PortGUID())
	}
	const used = 40 // what follows is reserved
	return string(x[:used]) == string(y[:used])
}

func (m *Machine) addNode(info *smp.NodeInfo, route mad.Route) int32 {
	m.limit.nodes--
	m.limit.ports -= int(info.NumPorts()) + 1
	return m.b.AddNode(info, route)
}

// newNode adds a node unless another already owns its port GUID.
func (m *Machine) newNode(info *smp.NodeInfo, route mad.Route) (int32, bool) {
	if owner, taken := m.b.PortOwner(info.PortGUID()); taken {
		m.report(Finding{Kind: DuplicatePortGUID, GUID: info.PortGUID(), Route: m.b.Node(owner.Node).Route, Other: route})
		return 0, false
	}
	return m.addNode(info, route), true
}

// furtherPort notes the GUID of another port of a known CA or router.
func (m *Machine) furtherPort(e topo.End, info *smp.NodeInfo, route mad.Route) bool {
	if guid := m.b.PortGUID(e); guid != 0 && guid != info.PortGUID() {
		node := m.b.Node(e.Node)
		m.report(Finding{Kind: DuplicateNodeGUID, GUID: node.GUID, Route: node.Route, Other: route})
		return false
	}
	owner, taken := m.b.PortOwner(info.PortGUID())
	if taken && owner != e {
		m.report(Finding{Kind: DuplicatePortGUID, GUID: info.PortGUID(), Route: m.b.Node(owner.Node).Route, Other: route})
		return false
	}
	if !taken {
		m.b.SetPortGUID(e, info.PortGUID())
	}
	return true
}

func (m *Machine) description(n int32, desc *smp.NodeDescription) {
	node := m.b.Node(n)
	node.Desc = *desc
	node.Aggregation = node.Type == mad.CA && isNVIDIA(&node.Info) && strings.Contains(desc.String(), "Aggregation Node")
}

// switchInfo asks for the ports of a switch. Without SwitchInfo it is of no use.
func (m *Machine) switchInfo(n int32, info *smp.SwitchInfo, ok bool) {
	if !ok {
		return // finish leaves it out
	}
	m.b.Node(n).SwitchInfo = *info
	if info.PortStateChange() && m.mayClear(n, info) {
		m.res.Cleared = append(m.res.Cleared, m.b.Node(n).GUID)
		m.queue.push(item{kind: kindClear, node: n})
		return
	}
	m.res.Changed = m.res.Changed || info.PortStateChange()
	if !m.unchanged(n, info) {
		m.believed[n] = m.cfg.Answered != nil && !m.cfg.Devices.Dirty(device.Place{Attr: smp.AttrPortInfo, Node: m.b.Node(n).GUID})
		m.askPorts(n)
	}
}

// mayClear reports whether PortStateChange of a switch may be cleared. One that has just
// come in sight with a forwarding table may have another master, which must learn from
// it that the subnets have grown together.
func (m *Machine) mayClear(n int32, info *smp.SwitchInfo) bool {
	if !m.cfg.Clear || m.cfg.Prev == nil || info.LinearFDBTop() == 0 {
		return m.cfg.Clear
	}
	was := m.cfg.Prev.FindNode(m.b.Node(n).GUID)
	return was != topo.None && m.cfg.Prev.Nodes[was].Missed == 0
}

// cleared goes on to the ports, whether PortStateChange could be cleared or not:
// what stays set is found by the next light sweep.
func (m *Machine) cleared(n int32, info *smp.SwitchInfo, ok bool) {
	if ok {
		m.b.Node(n).SwitchInfo = *info
	}
	m.askPorts(n)
}

// askPorts queues the PortInfos of a switch, but for those that are taken over.
func (m *Machine) askPorts(n int32) {
	node := m.b.Node(n)
	sw := &pendingSwitch{}
	m.switches[n] = sw
	old := topo.NodeIdx(topo.None)
	if m.believed[n] {
		old = m.previousNode(n)
	}
	for num := range int(node.NumPorts) + 1 {
		if m.hasAnswered(old, uint8(num)) && m.tries[topo.End{Node: n}] == 0 { // else it has another M_Key than the one it was read with
			m.takeOver(topo.End{Node: n, Port: uint8(num)}, old)
			continue
		}
		m.queue.push(item{kind: kindPort, num: uint16(num), node: n})
		sw.ports++
	}
	if sw.ports == 0 {
		m.readSwitch(n)
	}
	if !m.believed[n] {
		m.askAdaptive(n)
	}
}

// portInfo stores what a port says and walks on through it.
func (m *Machine) portInfo(e topo.End, o *txn.Outcome, ok bool) {
	if o.Result == txn.Replied && !ok && refusesExtended(o) {
		m.queue.pushFirst(item{kind: kindPlain, num: uint16(e.Port), node: e.Node}) // its answer spares others the refusal
		return
	}
	node := m.b.Node(e.Node)
	if ok && itemOf(o.Tag).kind == kindPlain {
		m.cfg.Plain[m.device(e.Node)] = true // the bit was to blame, not the port
	}
	info := (*smp.PortInfo)(&o.Data)
	if ok && m.proves(itemOf(o.Tag), e, info) {
		return
	}
	if was, has := m.unproved[e]; !ok && has {
		info, ok = &was, true
	}
	if ok {
		if !info.LID().IsUnicast() {
			info.SetLID(0) // adapters report 65535 before a manager sets it
		}
		m.b.SetPort(e, info)
		m.port(e, info)
	} else if o.Result == txn.Replied {
		m.report(Finding{Kind: Refused, GUID: node.GUID, Port: e.Port, Route: node.Route, Status: o.Status})
		m.takeBefore(e)
	}
	if sw := m.switches[e.Node]; sw != nil {
		if sw.ports--; sw.ports == 0 {
			m.readSwitch(e.Node)
		}
	}
}

// extendedSpeeds is the bit of PortInfo's modifier by which a manager says that
// it understands speeds beyond QDR.
const extendedSpeeds = 1 << 31

// refusesExtended reports whether the device rejected bit 31 of the modifier
// rather than the question.
func refusesExtended(o *txn.Outcome) bool {
	return o.Mod&extendedSpeeds != 0 && (o.Status == mad.StatusBadField || o.Status == mad.StatusBadMethodAttr)
}

// port acts upon the PortInfo of a port.
func (m *Machine) port(e topo.End, info *smp.PortInfo) {
	node := m.b.Node(e.Node)
	isSelf := m.b.Self() == e
	external := node.Type == mad.Switch && e.Port != 0
	m.keyed = m.keyed || !external && info.MKey() != 0
	if sw := m.switches[e.Node]; sw != nil && external && info.PortState() >= smp.PortArmed {
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
	if info.PortState() > smp.PortDown && (external || isSelf && node.Type != mad.Switch) && m.b.Peer(e) == topo.NoEnd && !m.assume(e, info) {
		m.probes.push(item{kind: kindNode, num: uint16(e.Port), node: e.Node})
	}
}

func (m *Machine) smInfo(e topo.End, info *smp.SMInfo, ok bool) {
	if !ok {
		return
	}
	guid := m.b.PortGUID(e)
	if route, ok := m.routeTo(e); ok && info.GUID() == guid {
		m.res.SMs = append(m.res.SMs, SM{Port: guid, LID: m.b.Port(e).LID(), Route: route, Info: *info})
	}
}

// finish judges what was not answered.
func (m *Machine) finish() {
	if !m.keyed && !m.cfg.Keys.Keyless {
		m.res.Unproved, m.res.Refusing = 0, 0
	}
	for n := range int32(m.b.Len()) {
		node := m.b.Node(n)
		node.PlainSpeeds = m.cfg.Plain[m.device(n)]
		if m.complete(n, node) {
			continue
		}
		m.report(Finding{Kind: Incomplete, GUID: node.GUID, Route: node.Route})
		m.b.Drop(n)
	}
	if m.cfg.Quick {
		m.repeatFindings()
	}
	m.recallPorts()
	m.dropOneSided()
	m.countNodes()
}

// complete reports whether enough of a node is known to manage it.
func (m *Machine) complete(n int32, node *topo.Node) bool {
	if node.Type == mad.Switch {
		return m.switches[n] != nil && m.b.Port(topo.End{Node: n}) != nil
	}
	return m.b.Port(topo.End{Node: n, Port: node.Info.LocalPortNum()}) != nil
}

// recallPorts fills in, from the previous walk, ports whose PortInfo was lost
// this time although their node answers.
func (m *Machine) recallPorts() {
	if m.remembered() == nil {
		return
	}
	for n := range int32(m.b.Len()) {
		node := m.b.Node(n)
		if m.b.Dropped(n) {
			continue
		}
		for num := range int(node.NumPorts) + 1 {
			e := topo.End{Node: n, Port: uint8(num)}
			if m.b.Port(e) != nil || node.Type != mad.Switch && m.b.Peer(e) == topo.NoEnd {
				continue
			}
			if was := m.previous(e); was != nil {
				m.b.SetPort(e, &was.Info)
				m.b.SetPKeys(e, was.PKeys)
			}
		}
	}
}

// remembered is the subnet as it was known last; nil for none.
func (m *Machine) remembered() *topo.Topo { return cmp.Or(m.cfg.Prev, m.cfg.Before) }

// previous is a port as the previous walk read it; nil where it did not, or where the node
// has become another.
func (m *Machine) previous(e topo.End) *topo.Port {
	old := m.previousNode(e.Node)
	if old == topo.None {
		return nil
	}
	prev := m.remembered()
	was := &prev.Ports[prev.Port(old, e.Port)]
	if !was.Seen {
		return nil
	}
	return was
}

// previousNode is a node as the previous walk found it, by the index there; None where it did not,
// or where the node has become another.
func (m *Machine) previousNode(n int32) topo.NodeIdx {
	prev, node := m.remembered(), m.b.Node(n)
	if prev == nil {
		return topo.None
	}
	old := prev.FindNode(node.GUID)
	if old == topo.None || node.NumPorts != prev.Nodes[old].NumPorts {
		return topo.None
	}
	return old
}

// dropOneSided takes away cables of which an end says that it is down, or was
// not read: the link changed under the walk. When two walks find it so, there are two
// nodes with one GUID, and a third walk would find no more.
func (m *Machine) dropOneSided() {
	for n := range int32(m.b.Len()) {
		node := m.b.Node(n)
		for num := range int(node.NumPorts) + 1 {
			e := topo.End{Node: n, Port: uint8(num)}
			peer := m.b.Peer(e)
			info := m.b.Port(e)
			if peer == topo.NoEnd || info != nil && info.PortState() > smp.PortDown {
				continue
			}
			lasts := false
			if info != nil && m.passable(peer) {
				route, _ := m.routeOut(peer)
				m.report(Finding{Kind: OneSided, GUID: node.GUID, Port: e.Port, Route: node.Route, Other: route})
				lasts = slices.ContainsFunc(m.cfg.Findings, func(f Finding) bool {
					return f.Kind == OneSided && f.GUID == node.GUID && f.Port == e.Port
				})
			}
			m.b.Unlink(e)
			m.res.Moved = m.res.Moved || !lasts
		}
	}
}
