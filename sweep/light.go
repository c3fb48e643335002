package sweep

import (
	"fmt"
	"slices"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/sweep/discover"
	"ibsm/sweep/plan"
	"ibsm/sweep/proof"
	"ibsm/topo"
)

// Look is a light sweep: it reads SwitchInfo or SwitchPortStateTable of each switch, the PortInfo of our own port, the
// NodeInfo behind ports with an unresponsive neighbour, and of the only other host where there is no switch,
// NodeDescriptions that are missing or behind cables that are held back, the SMInfo of other managers, and the blocks
// of tables that were sent more than once: a delayed copy may have written an old value.
type Look struct {
	t        *topo.Topo
	state    *state
	settings Settings
	asks     []ask
	open     int
	reason   string // why a heavy sweep is needed; "" while none is
	extent   Extent // of that one: Quick, Retry or Full
	sms      []SMReply
	managers []smPort
	unnamed  map[topo.PortIdx]smp.NodeDescription // of the devices behind ports
	slow     map[topo.NodeIdx]bool                // nodes that did not answer the last walk in time
	states   portStates
	check    bool // of the states of some switches' ports alone

	allowedSMs []mad.GUID // Config.AllowedSMs
	nonce      proof.Nonce
}

// SMReply is the reply of another manager to a light sweep.
type SMReply struct {
	Port  mad.GUID
	Asked proof.Question
	Info  smp.SMInfo
	OK    bool
	Known bool // it answered to the last walk
}

type ask struct {
	attr  mad.AttrID
	port  topo.PortIdx
	block uint16 // of a table
	out   bool   // one hop beyond the port
}

// smPort is a port with another manager.
type smPort struct {
	port     topo.PortIdx
	answered bool // to the last walk
}

func newLook(t *topo.Topo, known *state, walks *walkState, s *Settings, sms []smPort) *Look {
	l := &Look{t: t, state: known, settings: *s, managers: sms, slow: slowNodes(t, walks.findings),
		states: newPortStates(t, walks, known.looks)}
	l.asks = append(l.asks, ask{attr: smp.AttrPortInfo, port: t.Self})
	for _, n := range t.Switches {
		if t.Nodes[n].Missed > 0 {
			continue
		}
		of := ask{attr: smp.AttrSwitchInfo, port: t.Nodes[n].First}
		if !l.slow[n] && l.states.asks(t, n) {
			of.attr = smp.AttrSwitchPortStateTable
		}
		l.asks = append(l.asks, of)
	}
	for i := range device.Attributes {
		for _, b := range known.devices.Checks(device.Attributes[i].ID) {
			if p := t.FindNodePort(b.Node, b.Port); p != topo.None && t.Answers(p) {
				l.asks = append(l.asks, ask{attr: b.Attr, port: p, block: b.Index})
			}
		}
	}
	for i := range t.Nodes {
		node := &t.Nodes[i]
		if node.Desc == (smp.NodeDescription{}) && node.Missed == 0 {
			l.asks = append(l.asks, ask{attr: smp.AttrNodeDescription, port: node.First})
		}
	}
	l.askUnnamed(known)
	for i := range t.Ports {
		if nothingBehind(t, topo.PortIdx(i)) || topo.PortIdx(i) == t.Self && behindSelf(t) != topo.None {
			l.asks = append(l.asks, ask{attr: smp.AttrNodeInfo, port: topo.PortIdx(i), out: true})
		}
	}
	l.askRefused(walks.findings, known.looks)
	known.looks++
	for _, sm := range sms {
		l.asks = append(l.asks, ask{attr: smp.AttrSMInfo, port: sm.port})
	}
	return l
}

// maxUnnamed is how many devices behind cables that are held back a light sweep asks for their descriptions.
const maxUnnamed = 256

// askUnnamed asks devices behind cables that are held back for their descriptions, in turn.
func (l *Look) askUnnamed(known *state) {
	l.unnamed = map[topo.PortIdx]smp.NodeDescription{}
	asked := min(len(known.unnamed), maxUnnamed)
	for _, u := range known.unnamed[:asked] {
		if n := l.t.FindNode(u.At.Node); n != topo.None && l.t.Answers(l.t.Port(n, u.At.Port)) {
			p := l.t.Port(n, u.At.Port)
			l.unnamed[p] = u.Desc
			l.asks = append(l.asks, ask{attr: smp.AttrNodeDescription, port: p, out: true})
		}
	}
	known.unnamed = slices.Concat(known.unnamed[asked:], known.unnamed[:asked]) // snapshots share the old one
}

// slowNodes are the nodes that did not answer the last walk in time.
func slowNodes(t *topo.Topo, findings []discover.Finding) map[topo.NodeIdx]bool {
	slow := map[topo.NodeIdx]bool{}
	for _, f := range findings {
		if n := t.FindNode(f.GUID); f.Kind == finding.SlowAgent && n != topo.None {
			slow[n] = true
		}
	}
	return slow
}

// refused are the attributes that ports did not return, by the finding of the walk.
var refused = map[finding.Kind]mad.AttrID{
	finding.GetRefused: smp.AttrPortInfo, finding.PKeysRefused: smp.AttrPKeyTable,
	finding.PKeysUnread: smp.AttrPKeyTable,
}

// maxRefused is how many attributes that ports did not return a light sweep asks for: each may cost a time-out.
const maxRefused = 256

// askRefused asks for attributes that ports did not return, in turn by the number of the light sweep.
func (l *Look) askRefused(findings []discover.Finding, looks int) {
	var asks []ask
	for _, f := range findings {
		attr := refused[f.Kind]
		if l.slow[l.t.FindNode(f.GUID)] {
			attr = 0
		}
		if n := l.t.FindNode(f.GUID); f.Kind == finding.SlowAgent && n != topo.None && l.t.Nodes[n].Type != mad.Switch {
			attr, f.Port = smp.AttrPortInfo, l.t.Nodes[n].Info.LocalPortNum()
		}
		if p := l.t.FindNodePort(f.GUID, f.Port); attr != 0 && p != topo.None && l.t.Answers(p) {
			asks = append(asks, ask{attr: attr, port: p, block: f.Block})
		}
	}
	for i := range min(len(asks), maxRefused) {
		l.asks = append(l.asks, asks[(looks*maxRefused+i)%len(asks)])
	}
}

// nothingBehind reports whether a switch's port, or our own, has a link but no node answers
// at the other end.
func nothingBehind(t *topo.Topo, idx topo.PortIdx) bool {
	p := &t.Ports[idx]
	node := &t.Nodes[p.Node]
	if node.Type != mad.Switch && idx != t.Self || p.Num == 0 || !p.Seen || p.Shunned || node.Missed > 0 ||
		p.Info.PortState() < smp.PortInit {
		return false
	}
	return p.Peer == topo.None || t.Nodes[t.Ports[p.Peer].Node].Missed > 0
}

// behindSelf is the only other node of a subnet without switches: one that our own port has a cable to, and that
// answered. None if there is no such.
func behindSelf(t *topo.Topo) topo.NodeIdx {
	peer := t.Ports[t.Self].Peer
	if peer == topo.None {
		return topo.None
	}
	n := t.Ports[peer].Node
	if n == t.Ports[t.Self].Node || t.Nodes[n].Type == mad.Switch || t.Nodes[n].Missed > 0 {
		return topo.None
	}
	return n
}

// Next is the next request to make; ok is false when there is none now.
func (l *Look) Next() (req txn.Request, ok bool) {
	for len(l.asks) > 0 {
		a := l.asks[0]
		l.asks = l.asks[1:]
		port := &l.t.Ports[a.port]
		req = txn.Request{Class: mad.ClassDirected, Method: mad.MethodGet, Attr: a.attr, MKey: l.key(a)}
		req.Tag = uint64(a.attr)<<32 | uint64(uint32(a.port))
		switch {
		case a.out:
			req.Route, ok = l.t.Nodes[port.Node].Route.Then(port.Num)
		case a.attr == smp.AttrPortInfo || a.attr == smp.AttrSMInfo || device.Of(a.attr) != nil &&
			!device.Of(a.attr).PerSwitch:
			req.Route, ok = l.t.RouteTo(a.port)
		default:
			req.Route, ok = l.t.Nodes[port.Node].Route, true
		}
		if a.attr == smp.AttrSMInfo {
			q := l.question(a.port)
			q.Put((*smp.SMInfo)(&req.Data))
		}
		if table := device.Of(a.attr); table != nil {
			req.Mod = table.Modifier(&l.t.Nodes[port.Node], port.Num, a.block)
		}
		if a.attr == smp.AttrPortInfo {
			req.Mod = smp.PortInfoMod(port.Num, l.t.Nodes[port.Node].GetsExtended)
		}
		if ok {
			l.open++
			return req, true
		}
	}
	return req, false
}

// key is the M_Key of a request.
func (l *Look) key(a ask) mad.MKey {
	p := a.port
	if a.attr == smp.AttrSMInfo && len(l.allowedSMs) > 0 && !slices.Contains(l.allowedSMs, l.t.Ports[p].GUID) {
		return 0 // see discover.Config.AllowedSMs
	}
	if a.out {
		if p = l.t.Ports[p].Peer; p == topo.None {
			keys := l.settings.MKeys()
			key, _ := keys.Candidate(0, plan.Recorded{}, 0)
			return key
		}
	}
	return l.settings.MKeyFor(l.t, p)
}

// Done takes the outcome of a request.
func (l *Look) Done(o *txn.Outcome) {
	l.open--
	port := &l.t.Ports[topo.PortIdx(uint32(o.Tag))]
	node := &l.t.Nodes[port.Node]
	ok := o.Result == txn.Replied && o.Status == mad.StatusOK
	switch o.Attr {
	case smp.AttrSwitchInfo:
		info := (*smp.SwitchInfo)(&o.Data)
		top, known := l.state.devices.Top(node.GUID)
		switch {
		case !ok && l.slow[port.Node]:
		case ok && l.answersAgain(port.Node, o):
		case !ok:
			l.need(Retry, "switch %v %q does not answer", node.GUID, node.Desc)
		case info.PortStateChange():
			l.need(Quick, "switch %v %q reports a change of port state", node.GUID, node.Desc)
		case known && top != info.LinearFDBTop():
			l.need(Quick, "switch %v %q has lost its forwarding table", node.GUID, node.Desc)
		case l.check:
			l.checkPorts(port.Node)
		}
	case smp.AttrSwitchPortStateTable:
		l.portStates(port.Node, o)
	case smp.AttrNodeInfo:
		if n := behindSelf(l.t); n != topo.None && topo.PortIdx(uint32(o.Tag)) == l.t.Self {
			switch other := &l.t.Nodes[n]; {
			case !ok:
				l.need(Full, "node %v %q does not answer", other.GUID, other.Desc)
			case (*smp.NodeInfo)(&o.Data).NodeGUID() != other.GUID:
				l.need(Full, "another node answers behind our own port than %v %q", other.GUID, other.Desc)
			}
			break
		}
		if ok {
			l.need(Retry, "something answers behind port %d of node %v %q", port.Num, node.GUID, node.Desc)
		}
	case smp.AttrNodeDescription:
		if was, is := l.unnamed[topo.PortIdx(uint32(o.Tag))]; is {
			if ok && o.Data != was {
				l.need(Full, "the device behind port %d of node %v %q, which is held back, has another description",
					port.Num, node.GUID, node.Desc)
			}
			break
		}
		if ok && o.Data != (smp.NodeDescription{}) {
			l.need(Quick, "node %v has a description now", node.GUID)
		}
	case smp.AttrPortInfo:
		l.portInfo(topo.PortIdx(uint32(o.Tag)), o, ok)
	case smp.AttrSMInfo:
		l.manager(topo.PortIdx(uint32(o.Tag)), o.Data, ok)
	default:
		if ok {
			l.block(o, device.Of(o.Attr))
		}
	}
}

// portInfo takes the PortInfo of our own port, of one that did not return it before, or in a check of a switch's port.
func (l *Look) portInfo(p topo.PortIdx, o *txn.Outcome, ok bool) {
	port := &l.t.Ports[p]
	node := &l.t.Nodes[port.Node]
	info := (*smp.PortInfo)(&o.Data)
	switch {
	case l.check:
		l.checkPort(p, o, ok)
	case p != l.t.Self && l.slow[port.Node]:
		l.answersAgain(port.Node, o)
	case p != l.t.Self && ok:
		l.need(Retry, "port %d of node %v %q does not refuse to answer any more", port.Num, node.GUID, node.Desc)
	case p == l.t.Self && ok && info.PortState() != port.Info.PortState():
		l.need(Full, "our own port is %v", info.PortState())
		if info.PortState() == smp.PortDown && node.Type != mad.Switch {
			l.asks = nil // no request can leave
		}
	}
}

// promptAnswer is below what a slow agent takes, and far above what a sound one does.
const promptAnswer = 50 * time.Millisecond

// answersAgain reports whether a node that did not answer the last walk in time does so now.
func (l *Look) answersAgain(n topo.NodeIdx, o *txn.Outcome) bool {
	node := &l.t.Nodes[n]
	is := l.slow[n] && o.Result == txn.Replied && o.Attempts == 1 && o.RTT < promptAnswer
	if is {
		l.need(Retry, "node %v %q answers in time again", node.GUID, node.Desc)
	}
	return is
}

// block takes a block of a table.
func (l *Look) block(o *txn.Outcome, table *device.Attribute) {
	p := topo.PortIdx(uint32(o.Tag))
	port := &l.t.Ports[p]
	node := &l.t.Nodes[port.Node]
	if _, index := table.Named(node, port.Num, o.Mod); l.state.devices.Contradicts(table, l.t, p, index, &o.Data) {
		holder := "switch"
		if !table.PerSwitch {
			holder = fmt.Sprintf("port %d of node", port.Num)
		}
		l.need(Quick, "%s %v %q holds an old block of its %s", holder, node.GUID, node.Desc, table.Name)
	}
	if o.Attr == smp.AttrPKeyTable && port.PKeys == nil && o.Attempts == 1 {
		l.need(Retry, "port %d of node %v %q shows its P_Key table now", port.Num, node.GUID, node.Desc)
	}
}

// question is the Question to the manager at a port.
func (l *Look) question(p topo.PortIdx) proof.Question {
	route, _ := l.t.RouteTo(p)
	return proof.Question{Asker: l.t.Ports[l.t.Self].GUID, Nonce: l.nonce, Place: PlaceAlong(l.t, &route)}
}

// PlaceAlong is the place at the end of a directed route; zero where the node before it is not known.
func PlaceAlong(t *topo.Topo, route *mad.Route) proof.Place {
	ports := route.Ports()
	if len(ports) == 0 {
		return proof.Place{}
	}
	p := t.Along(ports[:len(ports)-1])
	if p == topo.None {
		return proof.Place{}
	}
	return proof.Place{Node: t.Nodes[t.Ports[p].Node].GUID, Port: ports[len(ports)-1]}
}

// manager takes the SMInfo of another manager. Its GUID must be that of the port that was
// asked.
func (l *Look) manager(p topo.PortIdx, info smp.SMInfo, ok bool) {
	guid := l.t.Ports[p].GUID
	known := slices.Contains(l.managers, smPort{p, true})
	l.sms = append(l.sms, SMReply{Port: guid, Asked: l.question(p), Info: info, OK: ok && info.GUID() == guid,
		Known: known})
}

// need asks for a heavy sweep, which is Full if any reason asks for that, and Quick if all do.
func (l *Look) need(of Extent, format string, args ...any) {
	if l.reason == "" {
		l.reason, l.extent = fmt.Sprintf(format, args...), of
	}
	if of == Full || l.extent == Quick {
		l.extent = of
	}
}
