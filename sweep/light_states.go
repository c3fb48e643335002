package sweep

import (
	"maps"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// A light sweep asks a switch for SwitchInfo, or for SwitchPortStateTable in every other light sweep where the switch
// has it. By each of the two every link is found that has gone down or come up since the last sweep, also one that has
// done both: it is in INIT until the master arms it. PortStateChange of SwitchInfo says nothing where another manager
// has cleared it, or the switch does not set it; the table of states says nothing of a link in INIT that has been
// trained again, so that a switch with such a link is not asked for it, and nothing of LinearFDBTop, which shows that a
// switch has lost its forwarding table. What only one of them shows is found by the second light sweep.

// portStates decides which switches a light sweep asks for SwitchPortStateTable.
type portStates struct {
	turn     bool // it is the light sweep that asks for them
	features *device.Features
	differs  map[mad.GUID]differingStates
	tried    map[device.Model]bool // in this light sweep
}

// differingStates are states of a switch's ports that differ from those known.
type differingStates struct {
	table *smp.SwitchPortStateTable // nil once a walk has read PortInfo
	wrong int                       // walks in a row whose PortInfo differed from the table before them
}

// maxWrong is how often a walk may find other states than the table just before it before a switch is not believed any
// more. A link may change its state in between.
const maxWrong = 3

func newPortStates(t *topo.Topo, walks *walkState, looks int) portStates {
	maps.DeleteFunc(walks.differs, func(guid mad.GUID, _ differingStates) bool { return t.FindNode(guid) == topo.None })
	return portStates{looks%2 == 1, walks.features, walks.differs, map[device.Model]bool{}}
}

// asks reports whether a switch is asked. Of a model that is not known to answer one switch is.
func (s *portStates) asks(t *topo.Topo, n topo.NodeIdx) bool {
	node := &t.Nodes[n]
	port0 := &t.Ports[node.First].Info
	if !s.turn || node.NumPorts >= smp.PortsPerStateTable ||
		!port0.CapabilityMask().Has(smp.IsCapabilityMask2Supported) ||
		!port0.CapabilityMask2().Has(smp.IsSwitchPortStateTableSupported) || trains(t, n) {
		return false
	}
	switch s.features.Of(device.PortStates, &node.Info) {
	case device.Works:
		return true
	case device.Fails:
		return false
	}
	model := device.ModelOf(&node.Info)
	first := !s.tried[model]
	s.tried[model] = true
	return first || s.features.OfModel(device.PortStates, &node.Info) == device.Works
}

// trains reports whether a link of a switch is in INIT.
func trains(t *topo.Topo, n topo.NodeIdx) bool {
	for num := uint8(1); num <= t.Nodes[n].NumPorts; num++ {
		if p := &t.Ports[t.Port(n, num)]; p.Seen && p.Info.PortState() == smp.PortInit {
			return true
		}
	}
	return false
}

// portStates takes the outcome of a request for SwitchPortStateTable. A switch that does not return it is asked for
// SwitchInfo.
func (l *Look) portStates(n topo.NodeIdx, o *txn.Outcome) {
	node, features := &l.t.Nodes[n], l.states.features
	switch {
	case o.Result == txn.Replied && o.Status == mad.StatusOK:
		features.Learn(device.PortStates, &node.Info, device.Works)
		l.compareStates(n, (*smp.SwitchPortStateTable)(&o.Data))
		return
	case o.Result == txn.Replied && features.LearnStatus(device.PortStates, &node.Info, o.Status):
		features.Learn(device.PortStates, &node.Info, device.Fails) // also where it has worked before
	case o.Result == txn.Replied:
	case features.Of(device.PortStates, &node.Info) == device.Works:
		l.need(Retry, "switch %v %q does not answer", node.GUID, node.Desc)
		return
	default:
		features.LearnNoAnswer(device.PortStates, &node.Info)
	}
	l.asks = append(l.asks, ask{attr: smp.AttrSwitchInfo, port: node.First})
}

// newCheck reads SwitchInfo of switches and, where it shows no change, the states of their ports: a late duplicate of a
// Set can have cleared PortStateChange.
func newCheck(t *topo.Topo, known *state, walks *walkState, s *Settings) *Look {
	l := &Look{t: t, state: known, settings: *s, slow: slowNodes(t, walks.findings),
		states: newPortStates(t, walks, known.looks), check: true}
	for _, n := range t.Switches {
		if node := &t.Nodes[n]; walks.checks[node.GUID] && node.Missed == 0 {
			l.asks = append(l.asks, ask{attr: smp.AttrSwitchInfo, port: node.First})
		}
	}
	return l
}

// checkPorts asks for the states of a switch's ports.
func (l *Look) checkPorts(n topo.NodeIdx) {
	node := &l.t.Nodes[n]
	if l.states.features.Of(device.PortStates, &node.Info) == device.Works {
		l.asks = append(l.asks, ask{attr: smp.AttrSwitchPortStateTable, port: node.First})
		return
	}
	for num := uint8(1); num <= node.NumPorts; num++ {
		if p := l.t.Port(n, num); l.t.Ports[p].Seen {
			l.asks = append(l.asks, ask{attr: smp.AttrPortInfo, port: p})
		}
	}
}

// checkPort compares the state of a switch's port with the one that is known.
func (l *Look) checkPort(p topo.PortIdx, o *txn.Outcome, ok bool) {
	port := &l.t.Ports[p]
	node := &l.t.Nodes[port.Node]
	info := (*smp.PortInfo)(&o.Data)
	if !ok || linkOf(info.PortState()) != linkOf(port.Info.PortState()) {
		l.need(Quick, "port %d of switch %v %q has changed its state, or does not answer", port.Num, node.GUID, node.Desc)
	}
}

// compareStates compares the states of a switch's ports with those that are known.
func (l *Look) compareStates(n topo.NodeIdx, table *smp.SwitchPortStateTable) {
	node := &l.t.Nodes[n]
	num := l.changed(n, table)
	if num == 0 {
		delete(l.states.differs, node.GUID)
		return
	}
	l.states.differs[node.GUID] = differingStates{table, l.states.differs[node.GUID].wrong}
	l.state.devices.MarkDirty(device.Place{Attr: smp.AttrPortInfo, Node: node.GUID})
	l.need(Quick, "port %d of switch %v %q is %v", num, node.GUID, node.Desc, table.State(num))
}

// changed is a port of a switch whose state is another one than what is known; 0 for none. Of a port whose PortInfo a
// Set may have changed that is not known.
func (l *Look) changed(n topo.NodeIdx, table *smp.SwitchPortStateTable) uint8 {
	node := &l.t.Nodes[n]
	for num := uint8(1); num <= node.NumPorts; num++ {
		port := &l.t.Ports[l.t.Port(n, num)]
		if port.Seen && linkOf(port.Info.PortState()) != linkOf(table.State(num)) &&
			l.state.devices.Holds(device.Place{Attr: smp.AttrPortInfo, Node: node.GUID, Port: num}) {
			return num
		}
	}
	return 0
}

// judgeStates compares the states by which a light sweep has caused a walk with what the walk has read.
func (w *walkState) judgeStates(b *topo.Builder) {
	for guid, states := range w.differs {
		n, found := b.Find(guid)
		if !found || states.table == nil {
			continue
		}
		node, agrees := b.Node(n), true
		for num := range int(node.NumPorts) {
			e := topo.End{Node: n, Port: uint8(num) + 1}
			info := b.Port(e)
			agrees = agrees && (info == nil || linkOf(info.PortState()) == linkOf(states.table.State(e.Port)))
		}
		if states.wrong++; agrees {
			states.wrong = 0
		}
		states.table = nil
		if w.differs[guid] = states; states.wrong == maxWrong {
			w.features.Learn(device.PortStates, &node.Info, device.Fails)
		}
	}
}

// linkOf is a state without the difference between ARMED and ACTIVE, which no change of the link makes.
func linkOf(s smp.PortState) smp.PortState {
	return min(max(s, smp.PortDown), smp.PortArmed)
}
