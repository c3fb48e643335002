package sweep

import (
	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/sweep/discover"
	"ibsm/sweep/engines"
	"ibsm/sweep/program"
	"ibsm/sweep/routes"
	"ibsm/topo"
)

// Phase is a phase of a sweep: a *Walk, *Found, *RouteTask, *Program or *Look. Next returns
// requests; the caller passes the outcome of each to Done.
type Phase interface {
	Next() (txn.Request, bool)
	Done(*txn.Outcome)
	phase()
}

func (*Walk) phase()      {}
func (*Found) phase()     {}
func (*RouteTask) phase() {}
func (*Program) phase()   {}
func (*Look) phase()      {}

// noRequests is a phase that makes no requests.
type noRequests struct{}

func (noRequests) Next() (req txn.Request, ok bool) { return req, false }
func (noRequests) Done(*txn.Outcome)                {}

// Walk discovers the subnet.
type Walk struct {
	s      *Sweeper
	extent Extent
	*discover.Machine
}

// Extent is what a walk asks about.
type Extent uint8

const (
	// Full asks about everything.
	Full Extent = iota
	// Second follows a sweep at once, to see what changed until that one cleared PortStateChange.
	// It asks about everything but ports that have answered a Set since.
	Second
	// Quick takes over the previous walk's ports of switches that report no change.
	Quick
	// Retry is Quick, and asks again about what did not answer the last sweep, or refused to.
	Retry
)

// lanesMatter reports whether a walk reads the tables of lanes: because they may have to be written, because SLs are
// fitted to them, or because ports may drop packets to the SA.
func (s *Sweeper) lanesMatter() bool {
	return s.cfg.Settings.QoS || s.cfg.Settings.EngineSLs || s.cfg.Settings.SMSL != 0 ||
		s.state.routes.LanesMatter()
}

// ReadLanes has walks read the tables of lanes as long as routes of another manager are kept.
func (s *Sweeper) ReadLanes() { s.state.routes.ReadLanes() }

// Walk begins a heavy sweep. master allows it to clear PortStateChange, as only the master of
// a subnet may.
func (s *Sweeper) Walk(master bool, of Extent) *Walk {
	var answered []bool
	if of == Second && s.state.prev != nil {
		answered = s.walks.answered
	}
	s.renamed, s.walks.answered = nil, nil
	s.state.devices.WalkBegins()
	s.walks.late.walk()
	known, homes := s.walks.mkeys.LastHomes()
	return &Walk{s, of, discover.New(discover.Config{
		Prev: s.state.prev, Before: s.state.before, Known: known, Homes: homes, Former: s.walks.former,
		Features: s.walks.features, Devices: s.state.devices, Clear: master,
		Uncleared: s.walks.repeats.Uncleared(), Quick: of == Quick || of == Retry, Retry: of == Retry,
		Failed: s.walks.failed, Answered: answered,
		IsLate: s.walks.late.has, Findings: s.walks.findings, MKey: s.cfg.Settings.MKey.Value, Keys: s.MKeys().Keys(),
		FDR10:         s.cfg.Settings.FDR10 != 0,
		IgnoreOtherSM: s.cfg.IgnoreOtherSM, AllowedSMs: s.cfg.AllowedSMs, Nonce: s.cfg.Nonces.Next(),
		Conditions: device.Conditions{Enforced: s.cfg.Partitions.enforced(), Lanes: s.lanesMatter()},
	})}
}

// Found ends the walk and returns its result, or nil while an outstanding request matters. The caller calls it when
// Next has no request.
func (w *Walk) Found() *Found {
	if !w.Finished() {
		return nil
	}
	found := &Found{s: w.s, extent: w.extent, Result: w.Result()}
	for _, node := range found.Unread {
		w.s.state.devices.MarkDirty(device.Place{Attr: smp.AttrPortInfo, Node: node})
	}
	w.s.walks.judgeStates(found.Builder)
	if (!found.Quick || found.Retry) && found.Evidence() == discover.Conclusive {
		w.s.state.devices.WalkHeard()
	}
	return found
}

// Drop abandons the walk. The caller has cancelled its requests.
func (w *Walk) Drop() { w.s.drop(w.Cleared()) }

// Found is what a walk found.
type Found struct {
	noRequests
	s      *Sweeper
	extent Extent // of the walk
	*discover.Result
}

// Task is the computation that follows, which gets the Builder, Tables and Ports of the result for itself. now is in
// seconds since 1970.
func (f *Found) Task(now int64) *RouteTask {
	j := f.task()
	j.now, j.programs = now, true
	f.s.reroute, f.s.before, f.s.state.disabled = routes.KeepsRoutes, nil, nil
	j.reregister = f.s.reregistrations.take()
	return j
}

// Preview is the task of a sweep that is only shown: its plan is the caller's alone and
// changes no state. Drop is next, before the task has run: the next sweep need not wait.
func (f *Found) Preview(reroute bool) *RouteTask {
	j := f.task()
	if reroute {
		j.reroute = routes.ReroutesByAll
	}
	j.state.routes.ReadLanes() // it goes on with what is known of lanes
	return j
}

// WithEngines has a preview compute all routes afresh with other engines than the configured ones; nil changes nothing.
func (j *RouteTask) WithEngines(c engines.Chain) *RouteTask {
	if c != nil {
		j.chain, j.reroute = c, routes.ReroutesByAll
	}
	return j
}

// MayServe allows the task to return interim routes.
func (j *RouteTask) MayServe() *RouteTask {
	j.mayServe = true
	return j
}

// Without has a preview leave switches and cables out, as if they had failed; port 0 is a whole switch.
func (j *RouteTask) Without(what []routing.SwitchPort) *RouteTask {
	j.without = what
	return j
}

// Policy is the settings and partitions of a preview.
type Policy struct {
	Settings   Settings
	Partitions Partitions
}

// By has a preview compute by other settings and partitions; nil changes nothing.
func (j *RouteTask) By(p *Policy) *RouteTask {
	if p != nil {
		j.settings, j.parts = p.Settings, p.Partitions
	}
	return j
}

func (f *Found) task() *RouteTask {
	s, left := f.s, walkResult{f.Builder, f.Tables, f.Ports}
	f.Builder, f.Tables, f.Ports = nil, nil, nil
	return &RouteTask{found: f, walked: left, settings: s.cfg.Settings, chain: s.cfg.Engines, parts: s.cfg.Partitions,
		state: s.state.snapshot(), reroute: s.rerouting(), drained: s.cfg.Drained, avoided: s.cfg.Avoided,
		cabling: s.cfg.Cabling, knocked: s.walks.mkeys.Knocked(), multicastTop: s.multicastTop, vPorts: s.vPorts}
}

// Drop abandons the sweep: the plan of its task, if there is one, is not programmed.
func (f *Found) Drop() { f.s.drop(f.Cleared) }

// drop abandons a sweep whose walk has cleared PortStateChange on some switches: the next
// walk must still read their ports.
func (s *Sweeper) drop(cleared []mad.GUID) {
	for _, node := range cleared {
		s.state.devices.MarkDirty(device.Place{Attr: smp.AttrPortInfo, Node: node})
	}
	s.rest()
}

// Drop abandons the sweep: the plan of the task is not programmed. The task is not run any more.
func (j *RouteTask) Drop() { j.found.Drop() }

// Program begins to write the plan of a task.
func (s *Sweeper) Program(c *SweepPlan) *Program {
	if s.state.prev != nil {
		s.walks.features.Forget(c.delta.restarted)
	} else {
		s.walks.features.Prune(c.Topo)
	}
	answers := func(node mad.GUID) bool { return s.walks.unanswered[node] && !c.found.Unanswered[node] }
	s.walks.repeats.Wake(s.state.prev, c.Topo, c.found.Cleared, answers, c.delta.restarted)
	s.state.apply(&c.delta)
	s.state.devices.WalkRead(c.found.Read)
	s.program = s.newProgram(c)
	if !c.found.Quick {
		s.asked++
	}
	return s.program
}

// Program carries out a plan.
type Program struct {
	*program.Program
	s *Sweeper
	c *SweepPlan
}

func (s *Sweeper) newProgram(c *SweepPlan) *Program {
	return &Program{s: s, c: c, Program: program.New(program.In{
		Topo: c.Topo, Plan: c.Plan, Tables: c.Tables, Devices: s.state.devices,
		Features: s.walks.features, Before: s.walks.repeats, Stuck: s.state.stuck, RemovalsHeld: s.state.removalsHeld,
		Reregister: s.reregistrations.out, OptionalRead: c.found.Optional,
		IsOpen:     func(port mad.GUID) bool { return s.walks.mkeys.Knocked()[port] != 0 },
		Conclusive: c.found.Evidence() == discover.Conclusive, First: s.state.mastership != swept, Changed: c.Changed,
		Quick: c.found.extent == Quick, DisablesAR: c.ARMode == routes.DisableAR,
	})}
}

// Plan is what the program carries out. Replies change its Topo.
func (p *Program) Plan() *SweepPlan { return p.c }

// Outcome ends a heavy sweep; it is nil while a Set is left to send or has no outcome. The
// caller calls it when Next has no request; more says that Next may have one again. The Topo
// is as the replies left it and does not change any more. It is the one of the last sweep if
// nothing has changed.
func (p *Program) Outcome() (out *Outcome, more bool) {
	if p.Waits() {
		return nil, false
	}
	if !p.Finished() {
		return nil, true
	}
	s := p.s
	if p.c.compared != otherTopo && !p.Sent() {
		p.c.Topo = s.state.prev
	} else {
		rename(p.c.Topo, s.renamed)
		s.state.listed = p.c.vPorts
	}
	found, r := p.c.found.Result, p.End(p.c.Topo)
	out = &Outcome{SweepPlan: p.c, Found: found, Sets: r.Sets, Failures: r.Failures, NotKept: r.NotKept,
		Healed: r.Healed, devices: s.state.devices}
	s.walks.repeats, s.state.stuck, s.state.removalsHeld = r.Repeats, r.Stuck, r.RemovalsHeld
	out.GivenUp = s.state.devices.Optional.All()
	s.reregistrations.acknowledged(p.c)
	s.state.prev, s.state.before, s.state.mastership = p.c.Topo, nil, swept
	s.state.devices.Prune(p.c.Topo)
	s.walks.findings, s.walks.answered, s.walks.former = found.Findings, r.Heard, found.Former
	s.walks.unanswered, s.walks.failed = found.Unanswered, failedAt(p.c.Topo, r.Failures)
	s.walks.changed = map[mad.GUID]bool{}
	for _, node := range found.Cleared {
		s.walks.changed[node] = true
	}
	s.walks.mkeys.RememberKeys(p.c.Topo, p.c.found.extent == Full)
	s.walks.mkeys.Prune(p.c.Topo)
	s.MKeys().Remember(p.c.Topo, found.Tried)
	s.state.devices.WalkEnds()
	s.sms = s.managers(p.c.Topo, found)
	s.rest()
	return out, false
}

// failedAt are the nodes at whose ports Sets have failed, and those behind these ports: a device that acknowledges a
// Set which it does not carry out shows at its neighbour.
func failedAt(t *topo.Topo, failures []finding.Finding) map[mad.GUID]bool {
	nodes := map[mad.GUID]bool{}
	for i := range failures {
		f := &failures[i]
		nodes[f.Node] = true
		if p := t.FindNodePort(f.Node, f.Port); p != topo.None && t.Ports[p].Peer != topo.None {
			nodes[t.Nodes[t.Ports[t.Ports[p].Peer].Node].GUID] = true
		}
	}
	return nodes
}

// Look begins a light sweep. A heavy one must have ended before.
func (s *Sweeper) Look() *Look {
	l := newLook(s.state.prev, s.state, &s.walks, &s.cfg.Settings, s.sms)
	l.allowedSMs, l.nonce = s.cfg.AllowedSMs, s.cfg.Nonces.Next()
	return l
}

// Check begins a light sweep of the switches of which PortsChanged has said that their change may have been read. A
// heavy one must have ended before.
func (s *Sweeper) Check() *Look {
	l := newCheck(s.state.prev, s.state, &s.walks, &s.cfg.Settings)
	clear(s.walks.checks)
	return l
}

// Verdict is the result of a light sweep.
type Verdict struct {
	Reason string // why a heavy one is needed; "" when it is not
	Extent Extent // of that one: Quick, Retry or Full
	SMs    []SMReply
}

// Verdict ends a light sweep; ok is false while a request is open. The caller calls it when
// Next has no request.
func (l *Look) Verdict() (v Verdict, ok bool) {
	if l.open > 0 {
		return v, false
	}
	if !l.check {
		for i := range device.Attributes {
			l.state.devices.Checked(device.Attributes[i].ID)
		}
	}
	return Verdict{l.reason, l.extent, l.sms}, true
}
