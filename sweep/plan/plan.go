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
	// Unsupported are fields that devices do not hold. The plan writes to it.
	Unsupported device.Unsupported
	// MulticastTop is the highest multicast LID that switches are to forward; 0 leaves to
	// them what their SwitchInfo says of multicast.
	MulticastTop mad.LID
	// Reregister are ports whose clients are to register again.
	Reregister map[mad.GUID]bool
}

// Plan is a sequence of stages with a barrier between them. It is owned by one
// goroutine.
type Plan struct {
	in      In
	stages  [stages]steps
	at      Stage
	next    int // step within it
	block   int // within ForwardingTables, of the step
	waves   pkeyWaves
	minimal map[topo.PortIdx]bool // ports that are sent what they need, and else what they hold
	// targets are the forwarding tables of the switches, by SwitchIdx; nil where routes are
	// left alone.
	targets []*device.LFT
}

// steps are those of a stage; of forwarding tables only the switches, whose blocks are
// compared as it goes.
type steps struct {
	list     []Step
	switches []topo.SwitchIdx
}

// New compares and makes the plan.
func New(in In) *Plan {
	p := &Plan{in: in}
	p.pkeys()
	w := &p.waves
	relaxing, first, ports := p.ports()
	p.stages = [stages]steps{
		Prepare:           {list: append(p.prepare(), p.fdr10()...)},
		SwitchInfos:       {list: p.switchInfos()},
		ForwardingTables:  {switches: p.tables()},
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
	return p
}

// Step is one Set.
type Step struct {
	Op    Op
	Block uint16 // SetLFT, AddPKeys, SetPKeys
	Port  topo.PortIdx
}

// Place is where an attribute of a port lies.
func (p *Plan) Place(attr mad.AttrID, i topo.PortIdx) device.Place {
	port := &p.in.Topo.Ports[i]
	return device.Place{Attr: attr, Node: p.in.Topo.Nodes[port.Node].GUID, Port: port.Num}
}

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
		if w := p.switchSent(n); p.answers(n) && w != unchanging(info) {
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

// Targets are the forwarding tables that switches are to hold, by SwitchIdx, nil for those
// that are left alone. Who carries the plan out takes them over and notes in them what
// comes of each block; the plan goes by that.
func (p *Plan) Targets() []*device.LFT { return p.targets }

// Next is the next step of the stage; ok is false when the stage has no more.
func (p *Plan) Next() (step Step, ok bool) {
	st := &p.stages[p.at]
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

// Switches are those of which the stage writes the forwarding tables.
func (p *Plan) Switches() []topo.SwitchIdx { return p.stages[p.at].switches }

// Advance goes on to the next stage, and reports whether there is one. It is to
// be called when every step of the stage has its outcome.
func (p *Plan) Advance() bool {
	if p.at == stages-1 {
		return false
	}
	p.at, p.next, p.block = p.at+1, 0, 0
	return true
}

// Rewind goes back to the first stage, for a plan that was only shown.
func (p *Plan) Rewind() { p.at, p.next, p.block = 0, 0, 0 }

// Empty reports whether nothing is to be written.
func (p *Plan) Empty() bool {
	return !slices.ContainsFunc(p.stages[:], func(st steps) bool { return len(st.list)+len(st.switches) > 0 })
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
	set.MKey = p.mkey(st.Port)
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
	return where + ":" + operations[st.Op].tell(p, st)
}
