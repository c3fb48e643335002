// Package plan is the difference between what the subnet should hold and what it
// holds, as steps in an order that never lets data pass over a table that is not
// programmed: forwarding and partition tables first, then LIDs and link parameters
// together with ARMED, then ACTIVE. Nothing is written that is already there.
package plan

import (
	"cmp"
	"fmt"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// In is what a plan is made of. The Topo is the caller's to update with the
// replies while the plan is carried out; nothing else of it changes.
type In struct {
	Topo   *topo.Topo
	LIDs   *topo.LIDs
	Tables *routing.Tables // nil: routes are left alone
	Held   []*device.LFT   // by SwitchIdx; nil for a switch of which nothing is known. Not written
	Values Values
	// Partitions are the partition tables; nil leaves them alone.
	Partitions *partitions.Tables
	// Ports that are to be taken down, because nothing has answered behind them
	// for long.
	Dead      []topo.PortIdx
	Disable   []topo.PortIdx // ports to be shut off
	DisableAR bool
	Refusals  Refusals
	Told      map[mad.GUID]Told // by node GUID, where a switch did not take its SwitchInfo whole
	// MulticastTop is the highest multicast LID that switches are to forward; 0 leaves to
	// them what their SwitchInfo says of multicast.
	MulticastTop mad.LID
	// Reregister are ports whose clients are to register again.
	Reregister map[mad.GUID]bool
}

// Plan is a sequence of stages with a barrier between them. It is owned by one
// goroutine.
type Plan struct {
	in     In
	stages []stage
	at     int // stage
	next   int // step within it
	block  int // within the tables stage, of the step
	waves  pkeyWaves
	bare   map[topo.PortIdx]bool // ports that are told what they need, and else what they hold
	// targets are the forwarding tables of the switches, by SwitchIdx; nil where routes are
	// left alone.
	targets []*device.LFT
}

// stage is a list of steps; the tables stage is only a list of switches, whose
// blocks are compared as it goes.
type stage struct {
	steps    []Step
	switches []topo.SwitchIdx
	blocks   int
}

// Op is what a step does.
type Op uint8

// Operations.
const (
	ClearChange Op = iota + 1 // SwitchInfo: clear PortStateChange
	DisableAR                 // ARInfo: turn adaptive routing off
	SetSwitch                 // SwitchInfo: LinearFDBTop and LifeTimeValue
	SetLFT                    // one block of LinearForwardingTable
	AddPKeys                  // one block of P_KeyTable: what is new, beside what is there
	SetPKeys                  // the same block as it is to be
	SetPort                   // PortInfo: LID and parameters, no change of state
	Arm                       // PortInfo: the same, and INIT to ARMED
	Activate                  // PortInfo: ARMED to ACTIVE
	TakeDown                  // PortInfo: DOWN
	ShutOff                   // PortInfo: DOWN and Disabled
	SetFDR10                  // ExtendedPortInfo: whether FDR10 is enabled
)

// Step is one Set.
type Step struct {
	Op    Op
	Block uint16 // SetLFT, AddPKeys, SetPKeys
	Port  topo.PortIdx
}

// New compares and makes the plan.
func New(in In) *Plan {
	p := &Plan{in: in}
	p.pkeys()
	w := &p.waves
	opens, first, ports := p.ports()
	p.stages = []stage{
		{steps: append(p.prepare(), p.fdr10()...)},
		{steps: p.switchInfos()},
		p.tables(),
		opening: {steps: opens},
		{steps: w.addSwitch},
		{steps: w.addHost},
		removing: {steps: w.removeSwitch},
		{steps: w.removeHost},
		{steps: w.lastSwitch},
		{steps: w.lastHost},
		{steps: first},
		{steps: ports},
		{steps: p.activations()},
	}
	return p
}

// Stages of partition tables: the first of all, and the first that takes keys away.
const (
	opening  = 3
	removing = 6
)

// port0 is the step of a switch as a whole.
func (p *Plan) port0(op Op, s topo.SwitchIdx) Step {
	return Step{Op: op, Port: p.in.Topo.Nodes[p.in.Topo.Switches[s]].First}
}

// answers reports whether a node can be written to: it answered in this sweep.
func (p *Plan) answers(n topo.NodeIdx) bool { return p.in.Topo.Nodes[n].Missed == 0 }

func (p *Plan) prepare() (steps []Step) {
	for s, n := range p.in.Topo.Switches {
		node := &p.in.Topo.Nodes[n]
		if !p.answers(n) {
			continue
		}
		if node.SwitchInfo.PortStateChange() {
			steps = append(steps, p.port0(ClearChange, topo.SwitchIdx(s)))
		}
		if p.in.DisableAR && node.AR == topo.AROn {
			steps = append(steps, p.port0(DisableAR, topo.SwitchIdx(s)))
		}
	}
	return steps
}

func (p *Plan) switchInfos() (steps []Step) {
	for s, n := range p.in.Topo.Switches {
		info := &p.in.Topo.Nodes[n].SwitchInfo
		if w := p.wantedSwitch(n); p.answers(n) && w != unchanging(info) {
			steps = append(steps, p.port0(SetSwitch, topo.SwitchIdx(s)))
		}
	}
	return steps
}

// unchanging is SwitchInfo without the bit that a Set must carry only on purpose.
func unchanging(info *smp.SwitchInfo) smp.SwitchInfo {
	w := *info
	w.SetPortStateChange(false)
	return w
}

// tables lists the switches of which a block differs.
func (p *Plan) tables() stage {
	if p.in.Tables == nil {
		return stage{}
	}
	st := stage{blocks: routing.RowLen(p.in.Tables.Top) / routing.BlockSize}
	p.targets = make([]*device.LFT, len(p.in.Topo.Switches))
	for s, n := range p.in.Topo.Switches {
		if !p.answers(n) {
			continue
		}
		p.targets[s] = p.in.Held[s].Target(p.in.Tables.LFT[s])
		if !p.targets[s].Complete() {
			st.switches = append(st.switches, topo.SwitchIdx(s))
		}
	}
	return st
}

// Targets are the forwarding tables that switches are to hold, by SwitchIdx, nil for those
// that are left alone. Who carries the plan out takes them over and notes in them what
// comes of each block; the plan goes by that.
func (p *Plan) Targets() []*device.LFT { return p.targets }

// ports are the steps of all ports, and apart from them, to be taken before, those that
// stop checking P_Keys, and the first ones: of our own port, which needs its LID before
// anything is sent by LID, and of switches whose M_Key changes, since their other ports are
// shown the new one from then on.
func (p *Plan) ports() (opens, first, steps []Step) {
	first = p.portStep(first, p.in.Topo.Self, false)
	for i := range p.in.Topo.Ports {
		switch i := topo.PortIdx(i); {
		case p.opens(i) && !p.arms(i):
			opens = p.portStep(opens, i, true)
		case p.rekeys(i):
			first = p.portStep(first, i, true)
		default:
			steps = p.portStep(steps, i, true)
		}
	}
	for _, i := range p.in.Dead {
		steps = append(steps, Step{Op: TakeDown, Port: i})
	}
	for _, i := range p.in.Disable {
		steps = append(steps, Step{Op: ShutOff, Port: i})
	}
	return opens, first, steps
}

// rekeys reports whether a port is the port 0 of a switch that has another M_Key than it is
// to have. Where it has none every key is good.
func (p *Plan) rekeys(i topo.PortIdx) bool {
	t := p.in.Topo
	port := &t.Ports[i]
	held := port.Info.MKey()
	return port.Num == 0 && t.Nodes[port.Node].Type == mad.Switch && held != 0 && held != p.in.Values.MKey && !p.in.Values.KeepMKey
}

// portStep appends what a port needs short of ACTIVE. Without arm only LID and
// parameters are set.
func (p *Plan) portStep(steps []Step, i topo.PortIdx, arm bool) []Step {
	t := p.in.Topo
	port := &t.Ports[i]
	if !port.Seen || !t.Answers(i) || p.homeless(i) || arm && i == t.Self && !p.arms(i) {
		return steps
	}
	if arm && p.arms(i) {
		return append(steps, Step{Op: Arm, Port: i})
	}
	if t.IsSwitchPort(i) && port.Peer == topo.None {
		return steps
	}
	if t.IsSwitchPort(i) && port.Info.PortState() == smp.PortInit {
		return steps // it cannot be armed now, and is told its parameters then
	}
	w := p.Wanted(i)
	d, _ := differs(&port.Info, &w)
	if port.Num == 0 {
		d.SetNeighborMTU(0) // no reason to write to a subnet in use, and ibsim does not keep it
	}
	up := port.Num == 0 || port.Info.PortState() >= smp.PortArmed
	key := Key{t.Nodes[port.Node].GUID, port.Num}
	if p.in.Refusals.wants(key, &w, &d, up) || p.Reregisters(i) {
		steps = append(steps, Step{Op: SetPort, Port: i})
	}
	return steps
}

// arms reports whether a port is to go from INIT to ARMED: there are routes, and
// its link has a node that answers at either end. Port 0 of a switch that is not always ACTIVE goes
// through the same states without a link.
func (p *Plan) arms(i topo.PortIdx) bool {
	port := &p.in.Topo.Ports[i]
	return p.in.Tables != nil && port.Info.PortState() == smp.PortInit && p.joined(i)
}

// joined reports whether the port may carry data: it has a live peer, or is the
// enhanced port 0 of a switch.
func (p *Plan) joined(i topo.PortIdx) bool {
	t := p.in.Topo
	port := &t.Ports[i]
	if port.Num == 0 {
		return t.Nodes[port.Node].SwitchInfo.EnhancedPort0()
	}
	return port.Peer != topo.None && t.Answers(port.Peer) && t.Ports[port.Peer].Info.PortState() >= smp.PortInit &&
		!p.homeless(i) && !p.homeless(port.Peer)
}

// homeless reports whether no LID was left for an end port. It is not touched.
func (p *Plan) homeless(i topo.PortIdx) bool {
	return !p.in.Topo.IsSwitchPort(i) && p.in.LIDs.Base[i] == 0
}

// Reregisters reports whether the clients of a port are to be asked to register
// again: ours is not the manager they registered with, or what they registered is
// forgotten because the port was down, or not what they believe.
func (p *Plan) Reregisters(i topo.PortIdx) bool {
	v, info := &p.in.Values, &p.in.Topo.Ports[i].Info
	if v.NoReregister || p.in.LIDs.Base[i] == 0 || !info.CapabilityMask().Has(smp.IsClientReregistrationSupported) {
		return false
	}
	ours := info.MasterSMLID() == p.in.LIDs.Base[p.in.Topo.Self] || v.Inherited != 0 && info.MasterSMLID() == v.Inherited
	return v.ReregisterAll || info.PortState() == smp.PortInit && !p.stateless(i) || !ours || p.in.Reregister[p.in.Topo.Ports[i].GUID]
}

// stateless reports whether a port is the base port 0 of a switch: it has no link, and
// whatever it says of its state does not count.
func (p *Plan) stateless(i topo.PortIdx) bool {
	t := p.in.Topo
	node := &t.Nodes[t.Ports[i].Node]
	return node.Type == mad.Switch && t.Ports[i].Num == 0 && !node.SwitchInfo.EnhancedPort0()
}

// activations lists the ports that are, or will be after the stage before, ARMED.
func (p *Plan) activations() (steps []Step) {
	t := p.in.Topo
	for i := range t.Ports {
		port := &t.Ports[i]
		state := port.Info.PortState()
		if p.in.Tables != nil && port.Seen && t.Answers(topo.PortIdx(i)) && p.joined(topo.PortIdx(i)) && (state == smp.PortInit || state == smp.PortArmed) {
			steps = append(steps, Step{Op: Activate, Port: topo.PortIdx(i)})
		}
	}
	return steps
}

// Next is the next step of the stage; ok is false when the stage has no more.
func (p *Plan) Next() (step Step, ok bool) {
	st := &p.stages[p.at]
	if st.switches == nil {
		if p.next == len(st.steps) {
			return step, false
		}
		p.next++
		return st.steps[p.next-1], true
	}
	for ; p.block < st.blocks; p.block, p.next = p.block+1, 0 {
		for p.next < len(st.switches) {
			s := st.switches[p.next]
			p.next++
			if p.targets[s].State(p.block) != device.Known {
				step = p.port0(SetLFT, s)
				step.Block = uint16(p.block)
				return step, true
			}
		}
	}
	return step, false
}

// Switches are those of which the stage writes the forwarding tables.
func (p *Plan) Switches() []topo.SwitchIdx { return p.stages[p.at].switches }

// Advance goes on to the next stage, and reports whether there is one. It is to
// be called when every step of the stage has its outcome.
func (p *Plan) Advance() bool {
	if p.at == len(p.stages)-1 {
		return false
	}
	p.at, p.next, p.block = p.at+1, 0, 0
	return true
}

// Rewind goes back to the first stage, for a plan that was only shown.
func (p *Plan) Rewind() { p.at, p.next, p.block = 0, 0, 0 }

// Empty reports whether nothing is to be written.
func (p *Plan) Empty() bool {
	return !slices.ContainsFunc(p.stages, func(st stage) bool { return len(st.steps) > 0 || len(st.switches) > 0 })
}

// Set is what a step writes.
type Set struct {
	Route mad.Route
	MKey  mad.MKey // that the port asks for
	Attr  mad.AttrID
	Mod   uint32
	Data  [mad.DataSize]byte
}

// Set is what a step writes, with the port as the Topo has it now. ok is false when
// the step has become pointless, or the port cannot be reached.
func (p *Plan) Set(st Step) (set Set, ok bool) {
	t := p.in.Topo
	port := &t.Ports[st.Port]
	set.MKey = p.mkey(st.Port)
	if set.Route, ok = t.RouteTo(st.Port); !ok {
		return set, false
	}
	node := &t.Nodes[port.Node]
	switch st.Op {
	case ClearChange:
		set.Attr = smp.AttrSwitchInfo
		info := node.SwitchInfo
		info.SetPortStateChange(true)
		set.Data = info
	case DisableAR:
		set.Attr = smp.AttrARInfo
		info := node.ARInfo
		info.SetEnabled(false)
		set.Data = info
	case SetSwitch:
		set.Attr, set.Data = smp.AttrSwitchInfo, p.wantedSwitch(port.Node)
	case SetLFT:
		set.Attr, set.Mod = smp.AttrLinearForwardingTable, uint32(st.Block)
		copy(set.Data[:], p.in.Tables.LFT[node.Switch][int(st.Block)*routing.BlockSize:])
	case AddPKeys, SetPKeys:
		set.Attr, set.Mod = smp.AttrPKeyTable, smp.PKeyTableMod(0, st.Block)
		if node.Type == mad.Switch {
			set.Mod = smp.PKeyTableMod(port.Num, st.Block)
		}
		set.Data, ok = p.pkeyData(st)
	case SetFDR10:
		set.Attr, set.Mod, set.Data = smp.AttrExtendedPortInfo, uint32(port.Num), p.extended(st.Port)
	default:
		set.Attr, set.Mod = smp.AttrPortInfo, smp.PortInfoMod(port.Num, !node.PlainSpeeds)
		set.Data, ok = p.portData(st)
	}
	return set, ok
}

// portData is the PortInfo of a step.
func (p *Plan) portData(st Step) (data smp.PortInfo, ok bool) {
	port := &p.in.Topo.Ports[st.Port]
	data = p.Wanted(st.Port)
	if p.bare[st.Port] {
		data = p.needed(st.Port, &data)
	}
	keepEnabled(&data, &port.Info)
	switch st.Op {
	case SetPort:
		data.SetClientReregister(p.Reregisters(st.Port))
	case Arm:
		data.SetClientReregister(p.Reregisters(st.Port))
		data.SetPortState(smp.PortArmed)
	case Activate:
		peer := port.Peer
		ready := port.Info.PortState() == smp.PortArmed && (peer == topo.None || p.in.Topo.Ports[peer].Info.PortState() >= smp.PortArmed)
		data.SetPortState(smp.PortActive)
		return data, ready
	case TakeDown:
		data.SetPortState(smp.PortDown)
	case ShutOff:
		data.SetPortState(smp.PortDown)
		data.SetPortPhysicalState(smp.PhysDisabled)
	}
	return data, true
}

// Simplify has a port told no more than it needs from now on: it refuses the rest.
func (p *Plan) Simplify(i topo.PortIdx) {
	if p.bare == nil {
		p.bare = map[topo.PortIdx]bool{}
	}
	p.bare[i] = true
}

// mkey is the key that the agent of a port asks for: the one it was read with,
// else the configured one.
func (p *Plan) mkey(i topo.PortIdx) mad.MKey {
	if p.in.Values.NoMKeyLookup {
		return p.in.Values.MKey
	}
	return cmp.Or(p.in.Topo.MKey(i), p.in.Values.MKey)
}

// Tell is the step in words for a plan that is shown: what is written where, and
// how it differs from what is there.
func (p *Plan) Tell(st Step) string {
	t := p.in.Topo
	port := &t.Ports[st.Port]
	node := &t.Nodes[port.Node]
	where := fmt.Sprintf("%v %v %q", node.Type, node.GUID, node.Desc.String())
	if port.Num != 0 {
		where += fmt.Sprintf(" port %d", port.Num)
	}
	switch st.Op {
	case ClearChange:
		return where + ": clear PortStateChange"
	case DisableAR:
		return where + ": turn adaptive routing off"
	case SetSwitch:
		return where + ": " + p.tellSwitch(port.Node)
	case SetLFT:
		return where + ": " + tellBlock(p.in.Held[node.Switch], p.in.Tables.LFT[node.Switch], int(st.Block))
	case AddPKeys, SetPKeys:
		return where + ": " + p.tellPKeys(st)
	case TakeDown:
		return where + ": take the link down, nothing answers behind it"
	case SetFDR10:
		if p.in.Values.FDR10 == EnableFDR10 {
			return where + ": enable FDR10"
		}
		return where + ": disable FDR10"
	case ShutOff:
		return where + ": disable the port, it babbles"
	}
	text := where + ":"
	w := p.Wanted(st.Port)
	for _, c := range changes(&port.Info, &w) {
		text += " " + c
	}
	if p.Reregisters(st.Port) && st.Op != Activate {
		text += " ClientReregister"
	}
	switch st.Op {
	case Arm:
		text += " PortState -> Armed"
	case Activate:
		text = where + ": PortState -> Active"
	}
	return text
}
