// Package program sends a plan to the devices of a subnet, step by step, and notes what they make of it: what they hold
// then, what they do not take, and what is sent again, or not, in the next sweep.
package program

import (
	"fmt"
	"slices"
	"strings"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// maxUnanswered is how many Sets in a row may remain without an answer before the rest is left to
// the next sweep: most likely our own port has lost its link. No more than that are on the wire.
const maxUnanswered = 128

// In is what a program goes by.
type In struct {
	Topo   *topo.Topo // which replies change; with an empty Plan nobody writes it
	Plan   *plan.Plan
	Tables *routing.Tables // nil where routes are left alone
	// Devices and Features are kept up to date with what devices answer.
	Devices  *device.Record
	Features *device.Features
	Before   Repeats // of the last sweep
	// Stuck are the sweeps in a row after which a link between switches was up and not ACTIVE, by its end that was not.
	Stuck        map[plan.Key]uint8
	RemovalsHeld uint8 // sweeps in a row in which no P_Key was removed, because one could not be added
	// Reregister are ports whose clients have not been asked to register again yet: those that are leave it.
	Reregister   map[mad.GUID]bool
	OptionalRead map[device.Place]bool // that the walk has read: see device.Optional.WalkRead
	IsOpen       func(mad.GUID) bool   // reports whether a port answers another manager for a moment
	Conclusive   bool                  // the walk heard everybody well
	First        bool                  // no sweep has been completed in this term of mastership
	Changed      bool                  // PortStateChange was set at a switch
	Quick        bool                  // the sweep believes what did not change, and may follow the last one at once
	DisablesAR   bool                  // adaptive routing is turned off everywhere
}

// MaxFailed is in how many sweeps in a row a switch may reject its table, or a link not become
// ACTIVE, before routes avoid it.
const MaxFailed = 2

// Program carries out a plan. One goroutine owns it.
type Program struct {
	In
	requests
	trouble
	wildcards
	report
	removals removals // of P_Keys
	mkeys    mkeyRack
}

// requests are those on the wire, and those that precede the next step of the plan.
type requests struct {
	open       []request   // by tag
	free       []int       // tags
	unanswered int         // Sets since the last answer
	again      []request   // Gets of what ports hold that were sent a Set
	more       []plan.Step // for ports in split, switches in fallbacks, and those that do not obey wildcards
}

// trouble is what devices have not taken in this sweep.
type trouble struct {
	timeOuts map[attrOfNode]int
	ofModels map[attrOfModel]unansweredModel
	trials   map[device.Place]device.Trial // of device.OptionalAttributes
	plain    map[topo.NodeIdx]plainTrial
	left     map[topo.NodeIdx]bool // switches whose links are left in INIT
	late     map[topo.NodeIdx]bool // nodes that have let a request run out of time
	split    map[topo.PortIdx]split
	repeats  map[setKey]repeat
	failure  failure // that the outcome at hand is, if it is one
}

// wildcards are Sets of the tables of several ports.
type wildcards struct {
	disobeys  map[mad.GUID]bool       // switches that have not done what one says
	witnesses map[plan.Step]plan.Step // those whose work is read, by the step that reads it
	fallbacks map[topo.NodeIdx]*fallback
}

// report is what the Outcome says.
type report struct {
	sets     map[mad.AttrID]int
	failures []finding.Finding
	notKept  []finding.Finding
	// ports that answered a Set, by index; nil where PortStateChange was not set at any switch
	heard []bool
	names map[smp.PortInfo][]string // of fieldNames
}

// request is a step that was sent, or a Get after a refused one.
type request struct {
	plan.Step
	asked asked
}

// asked is why a request is a Get.
type asked uint8

const (
	isSet      asked = iota
	wasRefused       // after a Set that was refused
	isJudged         // after one that was acknowledged, but may not be kept: what the device holds decides
)

// outcome says how the outcome of a step is handled.
type outcome struct {
	// answered handles a response.
	answered func(*Program, request, *txn.Outcome)
	// settled takes any outcome, before answered or failed.
	settled  func(*Program, request, *txn.Outcome)
	refused  bool // a response of any status; else only one without error
	repeats  bool // see repeat
	unread   bool // a block that no walk reads where its port is not in use
	required bool // if the step fails, nothing more is sent to the node
	// failed is called if the step was skipped or failed.
	failed func(*Program, plan.Step)
	// sending is called before the step is sent.
	sending func(*Program, plan.Step)
}

// Outcomes of several operations.
var (
	ofPKeys = outcome{repeats: true, answered: (*Program).pkeys, settled: (*Program).pkeysSettled,
		failed: (*Program).pkeysFailed, sending: (*Program).sendingPKeys}
	ofPort = outcome{repeats: true, answered: (*Program).port, settled: (*Program).valueSettled,
		sending: (*Program).sendingPort, refused: true}
	ofPortOnce = outcome{answered: (*Program).port, settled: (*Program).valueSettled, sending: (*Program).sendingPort,
		refused: true}
	ofLanes = outcome{repeats: true, unread: true, answered: (*Program).lanesAnswered, settled: (*Program).lanesSettled,
		sending: (*Program).sendingLanes}
	ofLanesAtOnce = outcome{repeats: true, unread: true, answered: (*Program).lanesAnswered,
		settled: (*Program).lanesSettled, sending: (*Program).sendingLanes, refused: true}
)

// outcomes are by plan.Op.
var outcomes = map[plan.Op]outcome{
	plan.ClearChange: {repeats: true, answered: (*Program).changeCleared},
	plan.DisableAR: {answered: (*Program).arInfo, settled: (*Program).valueSettled, sending: (*Program).sendingAR,
		refused: true, required: true},
	plan.SetSwitch: {repeats: true, answered: (*Program).switchInfo},
	plan.SetLFT: {repeats: true, unread: true, answered: (*Program).lft, settled: (*Program).lftSettled,
		sending: (*Program).sendingLFT},
	plan.AddPKeys: ofPKeys,
	plan.SetPKeys: ofPKeys,
	plan.SetPort:  ofPort,
	plan.Arm:      ofPort,
	plan.Activate: ofPort,
	plan.TakeDown: ofPortOnce,
	plan.ShutOff:  ofPortOnce,
	plan.TurnOn:   ofPortOnce,
	plan.SetFDR10: {answered: (*Program).extended, settled: (*Program).fdr10Settled,
		sending: (*Program).sendingFDR10, refused: true},
	plan.SetSLtoVLAll: ofLanesAtOnce,
	plan.SetSLtoVLOut: ofLanesAtOnce,
	plan.SetSLtoVL:    ofLanes,
	plan.SetTurns:     ofLanes,
	plan.SetMKey: {answered: (*Program).mkeySet, settled: (*Program).mkeySettled, refused: true,
		sending: (*Program).sendingMKey},
	plan.ReadMKey:     {answered: (*Program).mkeyRead, settled: (*Program).mkeySettled, failed: (*Program).mkeyUnread},
	plan.ReadHeldMKey: {answered: (*Program).mkeyHeld, settled: (*Program).mkeySettled},
	plan.ReadSLtoVL:   {answered: (*Program).wildcardRead, failed: (*Program).wildcardUnread},
}

// New begins a program.
func New(in In) *Program {
	p := &Program{
		In: in,
		trouble: trouble{
			timeOuts: map[attrOfNode]int{}, ofModels: map[attrOfModel]unansweredModel{},
			trials: map[device.Place]device.Trial{},
			plain:  map[topo.NodeIdx]plainTrial{}, left: map[topo.NodeIdx]bool{}, late: map[topo.NodeIdx]bool{},
			split: map[topo.PortIdx]split{}, repeats: map[setKey]repeat{},
		},
		wildcards: wildcards{
			disobeys: map[mad.GUID]bool{}, witnesses: map[plan.Step]plan.Step{},
			fallbacks: map[topo.NodeIdx]*fallback{},
		},
		report: report{sets: map[mad.AttrID]int{}, names: map[smp.PortInfo][]string{}},
	}
	if p.Changed {
		p.heard = make([]bool, len(p.Topo.Ports))
	}
	p.Plan.SetDevices(p.Devices)
	if held := p.Plan.LanePorts(); held != nil {
		p.Devices.Ports = held
	}
	p.enter()
	return p
}

// enter prepares a stage.
func (p *Program) enter() {
	p.holdRemovals()
	for _, s := range p.Plan.Switches() {
		sw := &p.Devices.Switches[s]
		sw.LFT = p.Plan.Targets()[s].Follow(sw.LFT)
		sw.Top = p.Topo.Nodes[p.Topo.Switches[s]].SwitchInfo.LinearFDBTop()
	}
}

// Next is the next request of the stage; ok is false when there is none now.
func (p *Program) Next() (txn.Request, bool) {
	for {
		if n := len(p.again); n > 0 {
			r := p.again[n-1]
			p.again = p.again[:n-1]
			if set, ok := p.Plan.Set(r.Step); ok || r.Op == plan.Activate {
				return p.get(p.request(r, &set), r.Step), true
			}
		}
		st, ok := p.step()
		if !ok {
			return txn.Request{}, false
		}
		readsMKey := st.Op == plan.ReadMKey || st.Op == plan.ReadHeldMKey
		if _, sent := p.mkeys.sent[st.Port]; readsMKey && !sent || p.singly(st) {
			continue
		}
		reads := readsMKey || st.Op == plan.ReadSLtoVL
		if p.unanswered >= maxUnanswered || !reads && p.skips(st) {
			p.failed(st)
			continue
		}
		if p.unready(st) {
			continue
		}
		set, ok := p.Plan.Set(st)
		if !ok {
			continue
		}
		if p.isResting(st, &set) {
			continue
		}
		if sending := outcomes[st.Op].sending; sending != nil {
			sending(p, st)
		}
		req := p.request(request{st, isSet}, &set)
		if reads {
			return p.get(req, st), true
		}
		p.sets[set.Attr]++
		return req, true
	}
}

// get makes a Get of the Set of a step.
func (p *Program) get(req txn.Request, st plan.Step) txn.Request {
	req.Method, req.Data = mad.MethodGet, [mad.DataSize]byte{}
	if req.Attr == smp.AttrPortInfo {
		port := &p.Topo.Ports[st.Port]
		req.Mod = smp.PortInfoMod(port.Num, p.Topo.Nodes[port.Node].GetsExtended)
	} else if table := device.Of(req.Attr); table != nil { // not a wildcard
		port := &p.Topo.Ports[st.Port]
		req.Mod = table.Modifier(&p.Topo.Nodes[port.Node], port.Num, st.Block)
	}
	return req
}

// step is the next of the plan, or one that has become needed beside it.
func (p *Program) step() (plan.Step, bool) {
	if n := len(p.more); n > 0 {
		st := p.more[n-1]
		p.more = p.more[:n-1]
		return st, true
	}
	return p.Plan.Next()
}

func (p *Program) request(r request, set *plan.Set) txn.Request {
	if len(p.free) == 0 {
		p.open, p.free = append(p.open, request{}), append(p.free, len(p.open))
	}
	tag := p.free[len(p.free)-1]
	p.open[tag], p.free = r, p.free[:len(p.free)-1]
	return txn.Request{
		Class: mad.ClassDirected, Route: set.Route, Method: mad.MethodSet, Attr: set.Attr, Mod: set.Mod, MKey: set.MKey,
		Data: set.Data, Tag: uint64(tag),
	}
}

// Waits reports whether a request has no outcome yet.
func (p *Program) Waits() bool { return len(p.free) < len(p.open) }

// failed handles a step that was skipped or failed.
func (p *Program) failed(st plan.Step) {
	if failed := outcomes[st.Op].failed; failed != nil {
		failed(p, st)
	}
}

// Finished goes on to the next stage when this one has all its outcomes, and reports whether there
// is none.
func (p *Program) Finished() bool {
	if p.confirmAR(); len(p.again)+len(p.more) > 0 {
		return false
	}
	p.endRack()
	if !p.Plan.Advance() {
		return true
	}
	p.enter()
	return false
}

// unready reports whether a step must not be taken yet, because it would let data into a switch
// that does not hold its table.
func (p *Program) unready(st plan.Step) bool {
	if st.Op != plan.Arm && st.Op != plan.Activate {
		return false
	}
	port := &p.Topo.Ports[st.Port]
	if why := p.Plan.Excluded(st.Port); why != "" {
		if st.Op == plan.Arm {
			p.fail(st, finding.Excluded, "left in INIT: "+why)
		} else if port.Info.PortState() == smp.PortArmed {
			p.fail(st, finding.Excluded, "left in ARMED: "+why)
		}
		return true
	}
	if st.Op == plan.Activate && port.Peer != topo.None && p.Plan.Excluded(port.Peer) != "" {
		return true // an ARMED port goes ACTIVE with the first packet
	}
	n := port.Node
	if s := p.Topo.Nodes[n].Switch; s == topo.None || p.routed(s) {
		return false
	}
	if st.Op == plan.Arm && !p.left[n] {
		p.left[n] = true
		reason := ""
		if p.Topo.Nodes[n].UsesPrivateLFT() {
			reason = "it forwards by private tables of another manager, and its own table is not known"
		}
		p.fail(plan.Step{Op: st.Op, Port: p.Topo.Nodes[n].First}, finding.Unrouted, reason)
	}
	return true
}

// routed reports whether a switch holds its target table.
func (p *Program) routed(s topo.SwitchIdx) bool {
	node := &p.Topo.Nodes[p.Topo.Switches[s]]
	return p.Devices.Switches[s].LFT.Complete() &&
		(node.SwitchInfo.LinearFDBTop() >= p.Tables.Top || node.UsesPrivateLFT())
}

// Result is what a program has come to.
type Result struct {
	Sets     map[mad.AttrID]int // sent, by attribute
	Failures []finding.Finding  // Sets that did not do what they should
	NotKept  []finding.Finding  // fields that ports have just shown not to keep
	// Heard are the ports that answered a Set, by index; nil where PortStateChange was not set at any switch.
	Heard []bool
	// Healed says that a switch that was bypassed has accepted its table, or that a link has become ACTIVE.
	Healed bool

	Repeats      Repeats            // In.Before of the next sweep
	Stuck        map[plan.Key]uint8 // In.Stuck of the next sweep
	RemovalsHeld uint8              // In.RemovalsHeld of the next sweep
}

// Sent reports whether a Set was sent.
func (p *Program) Sent() bool { return len(p.sets) > 0 }

// End ends a program that is Finished, and leaves the subnet as Topo says.
func (p *Program) End(t *topo.Topo) Result {
	p.Topo = t
	r := Result{Sets: p.sets, Failures: p.failures, NotKept: p.notKept, Heard: p.heard, Healed: p.tally()}
	p.tallyRepeats()
	p.tallyOptional()
	r.Repeats, r.Stuck, r.RemovalsHeld = p.repeats, p.Stuck, p.removals.after(p.RemovalsHeld)
	return r
}

// SendAgain has Sets that came to rest sent again.
func (p *Program) SendAgain() {
	p.Before = nil
	clear(p.repeats)
}

// Asks reports whether a request to a port has no outcome yet.
func (p *Program) Asks(at topo.PortIdx) bool {
	return slices.ContainsFunc(p.open, func(r request) bool { return r.Port == at })
}

// tally counts for each switch the sweeps in a row after which it did not hold its table. It
// reports whether a switch that was bypassed for that reason holds it now. Where the walk heard
// others badly, what a switch was sent may never have got there.
func (p *Program) tally() (healed bool) {
	if p.Tables == nil || !p.Conclusive {
		return false
	}
	for i, n := range p.Topo.Switches {
		sw := &p.Devices.Switches[i]
		switch {
		case p.Topo.Nodes[n].Missed > 0:
		case p.routed(topo.SwitchIdx(i)):
			healed = healed || sw.Failed >= MaxFailed
			sw.Failed = 0
		default:
			sw.Failed = min(sw.Failed+1, MaxFailed)
		}
	}
	return p.tallyLinks() || healed
}

// tallyLinks counts for each link between switches the sweeps in a row after which it was up
// and not ACTIVE. It reports whether one that was bypassed for that reason is ACTIVE now.
func (p *Program) tallyLinks() (healed bool) {
	t := p.Topo
	stuck := map[plan.Key]uint8{}
	for i := range t.Ports {
		i, port := topo.PortIdx(i), &t.Ports[i]
		state := port.Info.PortState()
		if state == smp.PortDown || state == smp.PortActive && len(p.Stuck) == 0 {
			continue
		}
		key := plan.Key{Node: t.Nodes[port.Node].GUID, Port: port.Num}
		if state == smp.PortActive {
			healed = healed || p.Stuck[key] >= MaxFailed
		} else if port.Peer != topo.None && t.IsSwitchPort(i) && t.IsSwitchPort(port.Peer) && t.Answers(i) {
			stuck[key] = min(p.Stuck[key]+1, MaxFailed)
		}
	}
	p.Stuck = stuck
	return healed
}

// fail adds what a step at a port did not bring about.
func (p *Program) fail(st plan.Step, kind finding.Kind, detail string) {
	p.note(st, kind, detail)
	p.countFailure(st, kind, detail)
}

// note adds a failure without counting it.
func (p *Program) note(st plan.Step, kind finding.Kind, detail string) {
	port := &p.Topo.Ports[st.Port]
	p.failures = append(p.failures, finding.Finding{Kind: kind, Node: p.Topo.Nodes[port.Node].GUID, Port: port.Num,
		Detail: detail})
}

// ignores adds fields that a port, or with port 0 a node, acknowledges without keeping them.
func (p *Program) ignores(node mad.GUID, port uint8, fields []string) {
	p.notKept = append(p.notKept, finding.Finding{Kind: finding.NotKept, Node: node, Port: port,
		Detail: strings.Join(fields, ", ")})
}

// Done takes the outcome of a request.
func (p *Program) Done(o *txn.Outcome) {
	r := p.open[o.Tag]
	p.open[o.Tag].Port = topo.None
	p.free = append(p.free, int(o.Tag))
	how, node := outcomes[r.Op], p.Topo.Ports[r.Port].Node
	switch o.Result {
	case txn.Replied:
		p.unanswered = 0
		p.answeredByModel(node, o.Attr)
	case txn.OutOfTime:
		p.late[node] = true
	default:
		p.unanswered++
	}
	good := o.Result == txn.Replied && o.Status == mad.StatusOK
	if r.asked == isSet && good && p.unconfirmed(r, o) {
		p.again = append(p.again, request{r.Step, isJudged})
		return
	}
	switch p.failure = isRefused; {
	case o.Result != txn.Replied || o.Status&mad.StatusBusy != 0:
		p.failure = isUnanswered
	case r.asked == isJudged:
		p.failure = isNotKept
	}
	if r.asked == isSet && o.Result == txn.Replied && !good {
		p.countFailure(r.Step, finding.Refused, o.Status.String())
	}
	if how.settled != nil {
		how.settled(p, r, o)
	}
	if o.Result != txn.OutOfTime && o.Method == mad.MethodSet && o.Attr == smp.AttrPortInfo && p.bit31(r, o, good) {
		return
	}
	if !good {
		p.failed(r.Step)
	}
	switch {
	case o.Result == txn.OutOfTime && o.Attempts == 0:
		delete(p.repeats, p.keyOf(r.Step)) // it was not sent
	case !good && (r.Op.IsWildcard() || r.Op == plan.ReadSLtoVL): // single tables follow
		p.unanswered = min(p.unanswered, maxUnanswered-1)
		p.countFailure(r.Step, finding.NoAnswer, "")
	case o.Result != txn.Replied:
		kind := finding.SlowAgent
		if o.Result != txn.OutOfTime {
			kind = finding.NoAnswer
			p.countTimeOut(node, r.Op, how.required)
		}
		p.fail(r.Step, kind, fmt.Sprintf("no answer to %v(%s)", o.Method, smp.AttrName(o.Attr)))
	case good || how.refused:
		how.answered(p, r, o)
	case r.Op == plan.SetLFT && p.refusedLFT(r.Step):
	default:
		p.failRefused(r, o)
	}
}

// failRefused notes the failure of a step whose request was refused.
func (p *Program) failRefused(r request, o *txn.Outcome) {
	p.fail(r.Step, finding.Refused, fmt.Sprintf("%v(%s) refused: %v", o.Method, smp.AttrName(o.Attr), o.Status))
}

func (p *Program) changeCleared(r request, o *txn.Outcome) {
	node := &p.Topo.Nodes[p.Topo.Ports[r.Port].Node]
	if node.SwitchInfo = o.Data; p.failure == isNotKept && node.SwitchInfo.PortStateChange() {
		p.fail(r.Step, finding.Refused, "PortStateChange stays set though it was cleared")
	}
}

func (p *Program) switchInfo(r request, o *txn.Outcome) {
	info := (*smp.SwitchInfo)(&o.Data)
	n := p.Topo.Ports[r.Port].Node
	node, wanted := &p.Topo.Nodes[n], p.Plan.WantedSwitch(n)
	node.SwitchInfo = *info
	p.Devices.Switches[node.Switch].Top = info.LinearFDBTop()
	bits, found := p.Devices.Unsupported.Learn(&device.SwitchInfo, p.Plan.Place(o.Attr, r.Port),
		(*device.Data)(&wanted), &o.Data)
	if found {
		p.ignores(node.GUID, 0, plan.SwitchFields((*smp.SwitchInfo)(&bits)))
	}
	if p.Tables != nil && info.LinearFDBTop() != p.Tables.Top && !node.UsesPrivateLFT() {
		p.fail(r.Step, finding.Refused, fmt.Sprintf("LinearFDBTop is %d though it was set to %d", info.LinearFDBTop(),
			p.Tables.Top))
	}
}
