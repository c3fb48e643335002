// Package plan computes the difference between the wanted and the known state of a subnet,
// as Sets in an order in which data never passes a table that is not programmed: forwarding
// and P_Key tables first, then LIDs and link parameters together with ARMED, then ACTIVE.
// Nothing is written that devices already hold.
package plan

import (
	"fmt"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/routing/lanes"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// In is the input of a plan. The caller updates the Topo, or the one of SetTopo, with the replies while it carries the
// plan out; nothing else changes.
type In struct {
	Topo   *topo.Topo
	LIDs   *topo.LIDs
	Tables *routing.Tables  // nil: routes are left alone
	Known  []*device.Blocks // by SwitchIdx; nil for a switch whose table is unknown. Read only
	Values Values
	SLs    *routing.SLs // of paths, by the routing engine; nil where it leaves them to others
	// Lanes is the wanted use of lanes by ports; nil leaves that alone.
	Lanes *lanes.Uses
	// SLtoVLSingly has each SLtoVLMappingTable set by itself, also at switches that take wildcards.
	SLtoVLSingly bool
	// Ports are the blocks that ports hold. Not written.
	Ports *device.Ports
	// Devices has the states of what the Topo says that devices hold. Nil says that all is Known. Not written.
	Devices *device.Record
	// Partitions are the partition tables; nil leaves them alone.
	Partitions *partitions.Tables
	// Dead are ports to take down, because no node has answered behind them for several sweeps, or their cables are
	// held back.
	Dead    []topo.PortIdx
	Disable []topo.PortIdx // ports to disable
	Enable  []topo.PortIdx // ports that are disabled, to enable
	// DisableAR are switches on which adaptive routing goes off before tables are written.
	DisableAR []topo.SwitchIdx
	// Unsupported are fields that devices do not hold. The plan writes to it.
	Unsupported device.Unsupported
	// MulticastTop is the wanted MulticastFDBTop; 0 leaves the multicast fields of SwitchInfo
	// unchanged.
	MulticastTop mad.LID
	// Reregister are ports whose clients have to register again.
	Reregister map[mad.GUID]bool
	// Knocked are the ports whose agents should answer a manager that does not know their M_Keys: protection level 1,
	// at which they still take no Set from it.
	Knocked map[mad.GUID]time.Duration
	// Order is in which order switches get tables of lanes and forwarding tables: those of one list all of
	// them, before those of the next list do. Ports and switches that are in no list count as in the first.
	Order [][]topo.SwitchIdx
}

// Plan is a sequence of stages with a barrier between them. It is owned by one
// goroutine.
type Plan struct {
	in     In
	stages [stages]steps
	// parts divide the steps from LaneSwitches to ForwardingTables. Where links go ACTIVE before switches in use get
	// their tables, the first part is of the switches over which nothing passes yet; the next ones are the lists of
	// In.Order. Nil where they are all in one.
	parts    [][partStages]steps
	links    []topo.PortIdx // that go ACTIVE before switches in use get their tables, ascending
	linkPart int            // the last of parts before they do
	inUse    []bool         // by SwitchIdx: packets may pass it
	at       Stage
	part     int      // of parts, or of racks
	next     int      // step within it
	block    int      // within ForwardingTables, of the step
	racks    [][]Step // of MKeyRacks: those of each rack that set, and those that read back
	waves    pkeyWaves
	lanes    laneTables
	minimal  map[topo.PortIdx]bool // ports that get minimal Sets
	// targets are the target forwarding tables, by SwitchIdx; nil where routes are left alone.
	targets []*device.Blocks
}

// steps are the steps of a stage. For forwarding tables it has only the switches: Next
// compares their blocks.
type steps struct {
	list     []Step
	switches []topo.SwitchIdx
}

// New compares the wanted with the known state and makes the plan.
func New(in In) *Plan {
	p := &Plan{in: in}
	p.pkeys()
	p.lanesOf()
	w := &p.waves
	p.links = p.newLinks()
	announcing, relaxing, first, ports := p.ports()
	p.stages = [stages]steps{
		Prepare:           {list: slices.Concat(p.prepare(), p.fdr10(), announcing)},
		SwitchInfos:       {list: p.switchInfos()},
		LaneSwitches:      {list: p.lanes.all},
		LaneOutputs:       {list: p.lanes.outs},
		LanePairs:         {list: p.lanes.ports},
		ForwardingTables:  {switches: p.tables()},
		ArmLinks:          {list: p.armLinks()},
		ActivateLinks:     {list: p.activateLinks()},
		RelaxEnforcement:  {list: relaxing},
		AddSwitchPKeys:    {list: w.addSwitch},
		AddHostPKeys:      {list: w.addHost},
		RemoveSwitchPKeys: {list: w.removeSwitch},
		RemoveHostPKeys:   {list: w.removeHost},
		MoveSwitchPKeys:   {list: w.lastSwitch},
		MoveHostPKeys:     {list: w.lastHost},
		FirstPorts:        {list: first},
		Ports:             {list: ports},
		Activations:       {list: p.activations()},
	}
	p.divide()
	p.racks = p.mkeySteps()
	return p
}

// SetTopo has the plan go on with a copy of its Topo.
func (p *Plan) SetTopo(t *topo.Topo) { p.in.Topo = t }

// SetDevices has the plan go on with a record that its caller keeps up to date while it carries the plan out.
func (p *Plan) SetDevices(r *device.Record) { p.in.Devices = r }

// partStages is the number of stages that In.Order divides.
const partStages = ForwardingTables - LaneSwitches + 1

// divide sets the parts of stages by In.Order, and puts switches over which nothing passes yet before all others, if
// links go ACTIVE then.
func (p *Plan) divide() {
	partOf, count := make([]int, len(p.in.Topo.Switches)), max(len(p.in.Order), 1)
	for part, switches := range p.in.Order {
		for _, s := range switches {
			partOf[s] = part
		}
	}
	if p.linkPart = count - 1; len(p.links) > 0 {
		p.linkPart = 0
		count++
		for s := range partOf {
			if p.inUse[s] {
				partOf[s]++
			} else {
				partOf[s] = 0
			}
		}
	}
	if count < 2 {
		return
	}
	p.parts = make([][partStages]steps, count)
	for stage := range p.parts[0] {
		all := &p.stages[int(LaneSwitches)+stage]
		for _, st := range all.list {
			part := 0
			if s := p.node(st).Switch; s != topo.None {
				part = partOf[s]
			}
			to := &p.parts[part][stage]
			to.list = append(to.list, st)
		}
		for _, s := range all.switches {
			to := &p.parts[partOf[s]][stage]
			to.switches = append(to.switches, s)
		}
	}
}

// steps are those of the stage, or of the part of it that is in hand.
func (p *Plan) steps() *steps {
	if p.at == MKeyRacks && p.part < len(p.racks) {
		return &steps{list: p.racks[p.part]}
	}
	if p.divided() {
		return &p.parts[p.part][p.at-LaneSwitches]
	}
	return &p.stages[p.at]
}

// divided reports whether the stage has parts.
func (p *Plan) divided() bool {
	return p.parts != nil && p.at >= LaneSwitches && p.at <= ForwardingTables
}

// Step is one Set.
type Step struct {
	Op    Op
	Block uint16 // of a table
	Port  topo.PortIdx
}

// Place names an attribute of a port.
func (p *Plan) Place(attr mad.AttrID, i topo.PortIdx) device.Place {
	port := &p.in.Topo.Ports[i]
	return device.Place{Attr: attr, Node: p.in.Topo.Nodes[port.Node].GUID, Port: port.Num}
}

// port0 is a step for a whole switch.
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
	}
	for _, s := range p.in.DisableAR {
		if p.answers(p.in.Topo.Switches[s]) {
			steps = append(steps, p.port0(DisableAR, s))
		}
	}
	return steps
}

func (p *Plan) switchInfos() (steps []Step) {
	for s, n := range p.in.Topo.Switches {
		info := &p.in.Topo.Nodes[n].SwitchInfo
		if w := p.SwitchSent(n); p.answers(n) && w != unchanging(info) {
			steps = append(steps, p.port0(SetSwitch, topo.SwitchIdx(s)))
		}
	}
	return steps
}

// unchanging is SwitchInfo without PortStateChange, which a Set would clear.
func unchanging(info *smp.SwitchInfo) smp.SwitchInfo {
	w := *info
	w.SetPortStateChange(false)
	return w
}

// Targets are the target forwarding tables of switches, by SwitchIdx, nil for those that are
// left alone. The program that carries the plan out records the outcome of each block in
// them; the plan reads it there.
func (p *Plan) Targets() []*device.Blocks { return p.targets }

// Next is the next step of the stage; ok is false when the stage has no more.
func (p *Plan) Next() (step Step, ok bool) {
	st := p.steps()
	if p.at != ForwardingTables {
		if p.next == len(st.list) {
			return step, false
		}
		p.next++
		return st.list[p.next-1], true
	}
	if len(st.switches) == 0 {
		return step, false
	}
	for ; p.block < routing.RowLen(p.in.Tables.Top)/routing.BlockSize; p.block, p.next = p.block+1, 0 {
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

// Switches are the switches whose forwarding tables the stage writes.
func (p *Plan) Switches() []topo.SwitchIdx { return p.steps().switches }

// Advance goes on to the next stage, or part of stages, and reports whether there is one. The caller
// calls it when every step of the stage has its outcome.
func (p *Plan) Advance() bool {
	if p.at == MKeyRacks {
		p.next, p.part = 0, p.part+1
		return p.part < len(p.racks)
	}
	p.next, p.block = 0, 0
	if p.at == ForwardingTables && p.part != p.linkPart || p.at == ActivateLinks {
		if p.at = RelaxEnforcement; p.part+1 < len(p.parts) {
			p.at, p.part = LaneSwitches, p.part+1
		}
		return true
	}
	if p.at++; p.at == MKeyRacks {
		p.part = 0
		return len(p.racks) > 0
	}
	return true
}

// Rewind goes back to the first stage, after a preview.
func (p *Plan) Rewind() { p.at, p.part, p.next, p.block = 0, 0, 0, 0 }

// Empty reports whether the plan writes nothing.
func (p *Plan) Empty() bool {
	return len(p.racks) == 0 && !slices.ContainsFunc(p.stages[:], func(st steps) bool {
		return len(st.list)+len(st.switches) > 0
	})
}

// Set is the Set of a step.
type Set struct {
	Route mad.Route
	MKey  mad.MKey // that the port requires
	Attr  mad.AttrID
	Mod   uint32
	Data  [mad.DataSize]byte
}

// Set is the Set of a step, for the present state of the port in the Topo. ok is false when
// the step is no longer needed, or the port cannot be reached.
func (p *Plan) Set(st Step) (set Set, ok bool) {
	t := p.in.Topo
	if set.MKey = p.in.Values.MKeys.For(t, st.Port); st.Op == ReadMKey {
		w := p.WithMKey(st.Port)
		set.MKey = w.MKey()
	}
	if set.Route, ok = t.RouteTo(st.Port); !ok {
		return set, false
	}
	op := &operations[st.Op]
	set.Attr = op.attr
	if op.modifier != nil {
		set.Mod = op.modifier(p, st)
	}
	set.Data, ok = op.data(p, st)
	return set, ok
}

// Describe is a line of text for a step of a preview: the port, and how its values change.
func (p *Plan) Describe(st Step) string {
	t := p.in.Topo
	port := &t.Ports[st.Port]
	node := &t.Nodes[port.Node]
	where := fmt.Sprintf("%v %v %q", node.Type, node.GUID, node.Desc.String())
	if port.Num != 0 {
		where += fmt.Sprintf(" port %d", port.Num)
	}
	return where + ":" + operations[st.Op].describe(p, st)
}
