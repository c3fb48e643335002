package sweep

import (
	"fmt"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/view"
)

// maxNodeTimeOuts is how many Sets a node may leave unanswered before it is
// passed over for the rest of the sweep: every one costs all its retries.
const maxNodeTimeOuts = 2

// maxSilence is how many Sets in a row nobody may answer before the rest is left to the next
// sweep: most likely our own port has lost its link.
const maxSilence = 256

// Failure is a Set that did not do what it should.
type Failure struct {
	Node   mad.GUID
	Desc   string
	Port   uint8
	Op     plan.Op
	Kind   view.FaultKind
	Reason string
}

func (f Failure) String() string {
	return fmt.Sprintf("node %v %q port %d: %v", f.Node, f.Desc, f.Port, f.Reason)
}

// program carries out a plan.
type program struct {
	c          *Computed
	state      *state
	timeOuts   map[topo.NodeIdx]int
	left       map[topo.NodeIdx]bool // switches whose links are left in INIT
	again      []plan.Step           // ports that refused a Set: what do they hold?
	apart      map[topo.PortIdx]apart
	more       []plan.Step // for ports in apart
	open       int
	silence    int // Sets since the last answer
	sets       map[mad.AttrID]int
	failures   []Failure
	notHeld    []NotHeld
	held       bool              // no P_Key is taken away in this sweep
	reregister map[mad.GUID]bool // ports that are still to be asked to register again
}

// NotHeld is a port that acknowledges fields without keeping them.
type NotHeld struct {
	Node   mad.GUID
	Port   uint8
	Fields []string
}

func newProgram(c *Computed, s *state, reregister map[mad.GUID]bool) *program {
	p := &program{c: c, state: s, reregister: reregister, timeOuts: map[topo.NodeIdx]int{}, left: map[topo.NodeIdx]bool{}, apart: map[topo.PortIdx]apart{}, sets: map[mad.AttrID]int{}}
	p.enter()
	return p
}

// enter prepares a stage.
func (p *program) enter() {
	p.holdRemovals()
	for _, s := range p.c.Plan.Switches() {
		sw := &p.state.devices.Switches[s]
		sw.LFT = p.c.Plan.Targets()[s].Follow(sw.LFT)
		sw.Top = p.c.Topo.Nodes[p.c.Topo.Switches[s]].SwitchInfo.LinearFDBTop()
	}
}

// lookAgain marks the tag of a Get that follows a refused Set.
const lookAgain = 1 << 56

func stepTag(s plan.Step) uint64 {
	return uint64(s.Op)<<48 | uint64(s.Block)<<32 | uint64(uint32(s.Port))
}

func stepOf(tag uint64) plan.Step {
	return plan.Step{Op: plan.Op(tag >> 48), Block: uint16(tag >> 32), Port: topo.PortIdx(uint32(tag))}
}

// next is the next request, of this stage or of the following when this one has
// been answered.
func (p *program) next() (txn.Request, bool) {
	for {
		if n := len(p.again); n > 0 {
			st := p.again[n-1]
			p.again = p.again[:n-1]
			if set, ok := p.c.Plan.Set(st); ok || st.Op == plan.Activate {
				req := p.request(st, &set)
				req.Method, req.Data, req.Tag = mad.MethodGet, [mad.DataSize]byte{}, req.Tag|lookAgain
				p.open++
				return req, true
			}
		}
		st, ok := p.step()
		if !ok {
			return txn.Request{}, false
		}
		if p.silence >= maxSilence || p.timeOuts[p.c.Topo.Ports[st.Port].Node] >= maxNodeTimeOuts {
			p.skipPKeys(st)
			continue
		}
		if p.unready(st) {
			continue
		}
		set, ok := p.c.Plan.Set(st)
		if !ok {
			continue
		}
		if st.Op == plan.SetLFT {
			p.state.devices.Switches[p.c.Topo.SwitchOf(st.Port)].LFT.Take(int(st.Block), device.Sent)
		}
		p.sets[set.Attr]++
		p.open++
		return p.request(st, &set), true
	}
}

// step is the next of the plan, or one that has become needed beside it.
func (p *program) step() (plan.Step, bool) {
	if n := len(p.more); n > 0 {
		st := p.more[n-1]
		p.more = p.more[:n-1]
		return st, true
	}
	return p.c.Plan.Next()
}

func (p *program) request(st plan.Step, set *plan.Set) txn.Request {
	return txn.Request{
		Class: mad.ClassDirected, Route: set.Route, Method: mad.MethodSet, Attr: set.Attr, Mod: set.Mod, MKey: set.MKey,
		Data: set.Data, Node: int32(p.c.Topo.Ports[st.Port].Node), Tag: stepTag(st),
	}
}

// finished goes on to the next stage when this one has been answered, and reports
// whether there is none.
func (p *program) finished() bool {
	if p.open > 0 || len(p.again)+len(p.more) > 0 {
		return false
	}
	if !p.c.Plan.Advance() {
		return true
	}
	p.enter()
	return false
}

// unready reports whether a step must not be taken because the switch it would let
// data into does not hold its table.
func (p *program) unready(st plan.Step) bool {
	if st.Op != plan.Arm && st.Op != plan.Activate {
		return false
	}
	if why := p.c.Plan.Excluded(st.Port); why != "" {
		if st.Op == plan.Arm {
			p.fail(st, view.Excluded, "left in INIT: "+why)
		}
		return true
	}
	n := p.c.Topo.Ports[st.Port].Node
	if s := p.c.Topo.Nodes[n].Switch; s == topo.None || p.routed(s) {
		return false
	}
	if st.Op == plan.Arm && !p.left[n] {
		p.left[n] = true
		p.fail(plan.Step{Op: st.Op, Port: p.c.Topo.Nodes[n].First}, view.Unrouted, "its links are left in INIT: its forwarding table is incomplete")
	}
	return true
}

// routed reports whether a switch holds the table it is to have.
func (p *program) routed(s topo.SwitchIdx) bool {
	return p.state.devices.Switches[s].LFT.Complete() && p.c.Topo.Nodes[p.c.Topo.Switches[s]].SwitchInfo.LinearFDBTop() >= p.c.Tables.Top
}

// tally counts for each switch the sweeps in a row after which it did not hold its
// table. It reports whether one that was bypassed for that holds it now.
func (p *program) tally() (healed bool) {
	if p.c.Tables == nil {
		return false
	}
	for i, n := range p.c.Topo.Switches {
		sw := &p.state.devices.Switches[i]
		switch {
		case p.c.Topo.Nodes[n].Missed > 0:
		case p.routed(topo.SwitchIdx(i)):
			healed = healed || sw.Failed >= maxFailed
			sw.Failed = 0
		default:
			sw.Failed = min(sw.Failed+1, maxFailed)
		}
	}
	return healed
}

func (p *program) fail(st plan.Step, kind view.FaultKind, reason string) {
	port := &p.c.Topo.Ports[st.Port]
	node := &p.c.Topo.Nodes[port.Node]
	p.failures = append(p.failures, Failure{node.GUID, node.Desc.String(), port.Num, st.Op, kind, reason})
}

// done takes an outcome.
func (p *program) done(o *txn.Outcome) {
	p.open--
	if p.silence++; o.Result == txn.Replied {
		p.silence = 0
	}
	st := stepOf(o.Tag)
	if o.Attr == smp.AttrPKeyTable && (o.Result != txn.Replied || o.Status != mad.StatusOK) {
		p.c.Plan.PKeysFailed(st)
	}
	if st.Op == plan.DisableAR {
		p.arInfo(st, o)
		return
	}
	if o.Result != txn.Replied {
		p.timeOuts[p.c.Topo.Ports[st.Port].Node]++
		p.fail(st, view.NoAnswer, fmt.Sprintf("no answer to %v(%s)", o.Method, smp.AttrName(o.Attr)))
		return
	}
	switch {
	case o.Attr == smp.AttrPortInfo:
		p.port(st, o)
	case o.Attr == smp.AttrExtendedPortInfo:
		p.extended(st, o)
	case o.Status != mad.StatusOK:
		p.fail(st, view.Refused, fmt.Sprintf("%v(%s) refused: %v", o.Method, smp.AttrName(o.Attr), o.Status))
	case o.Attr == smp.AttrSwitchInfo:
		p.switchInfo(st, (*smp.SwitchInfo)(&o.Data))
	case o.Attr == smp.AttrLinearForwardingTable:
		p.lft(st, o)
	case o.Attr == smp.AttrPKeyTable:
		p.pkeys(st, o)
	}
}

// arInfo takes what came of turning the adaptive routing of a switch off. One that may
// have it on still does not forward by its table, and is left alone.
func (p *program) arInfo(st plan.Step, o *txn.Outcome) {
	n := p.c.Topo.Ports[st.Port].Node
	node := &p.c.Topo.Nodes[n]
	info := (*smp.ARInfo)(&o.Data)
	switch {
	case o.Result != txn.Replied:
		p.fail(st, view.NoAnswer, "no answer to who turned adaptive routing off")
	case o.Status != mad.StatusOK || info.Enabled():
		p.fail(st, view.Refused, fmt.Sprintf("adaptive routing stays on though it was turned off: %v", o.Status))
	default:
		node.AR, node.ARInfo = topo.AROff, *info
		return
	}
	p.timeOuts[n] = maxNodeTimeOuts
}

func (p *program) switchInfo(st plan.Step, info *smp.SwitchInfo) {
	node := &p.c.Topo.Nodes[p.c.Topo.Ports[st.Port].Node]
	sent := p.c.Plan.SwitchSent(st)
	node.SwitchInfo = *info
	if st.Op != plan.SetSwitch {
		return
	}
	p.state.devices.Switches[node.Switch].Top = info.LinearFDBTop()
	told := plan.Told{Sent: sent, Held: *info}
	if names := told.NotTaken(); names != nil {
		told.After(p.state.told[node.GUID])
		p.state.told[node.GUID] = told
		p.notHeld = append(p.notHeld, NotHeld{node.GUID, 0, names})
	}
	if p.c.Tables != nil && info.LinearFDBTop() != p.c.Tables.Top {
		p.fail(st, view.Refused, fmt.Sprintf("LinearFDBTop is %d though it was set to %d", info.LinearFDBTop(), p.c.Tables.Top))
	}
}

func (p *program) lft(st plan.Step, o *txn.Outcome) {
	node := &p.c.Topo.Nodes[p.c.Topo.Ports[st.Port].Node]
	held := p.state.devices.Switches[node.Switch].LFT
	if string(o.Data[:]) != string(held.Block(int(st.Block))) {
		held.Take(int(st.Block), device.Differs)
		p.fail(st, view.Refused, fmt.Sprintf("forwarding table block %d is not held as it was set", st.Block))
		return
	}
	held.Take(int(st.Block), device.Confirmed)
	p.check(st, o)
}

// check has a block read by the next light sweep, if it was sent more than once.
func (p *program) check(st plan.Step, o *txn.Outcome) {
	if o.Attempts > 1 {
		port := &p.c.Topo.Ports[st.Port]
		p.state.devices.Check(device.Block{Place: device.Place{Attr: o.Attr, Node: p.c.Topo.Nodes[port.Node].GUID, Port: port.Num}, Index: st.Block})
	}
}
