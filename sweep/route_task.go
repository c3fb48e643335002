package sweep

import (
	"bytes"
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/repair"
	"ibsm/routing/verify"
	"ibsm/sweep/device"
	"ibsm/sweep/discover"
	"ibsm/sweep/engines"
	"ibsm/sweep/lids"
	"ibsm/sweep/multicast"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/view"
)

// RouteTask is the part of a sweep that computes a plan from what a walk found. It runs
// outside the core, on a snapshot of the state, and returns the changes of the state. Each is
// run once; several may run at a time.
type RouteTask struct {
	noRequests
	found    *Found
	walked   walkResult
	settings Settings
	chain    engines.Chain
	state    *state // the snapshot, which the task may write to
	parts    Partitions
	reroute  rerouting
	drained  []routing.SwitchPort
	avoided  []Avoided
	cabling  Cabling
	without  []routing.SwitchPort // of a preview: what is taken out of the subnet
	now      int64
	mayServe bool // interim routes may serve

	multicastTop mad.LID
	reregister   map[mad.GUID]bool  // In.Reregister of the plan
	multicast    *multicast.Preview // nil: the plan does not show it
	trees        multicast.Trees

	// Workers compute. It may be set until Run is called.
	Workers routing.Workers
}

// walkResult is what the walk has left to the task, which writes to it.
type walkResult struct {
	builder *topo.Builder
	tables  map[mad.GUID]*device.Blocks
	ports   *device.Ports
}

// SweepPlan is the result of a RouteTask.
type SweepPlan struct {
	Topo *topo.Topo
	lids.Assigned
	Routes
	Values plan.Values
	Plan   *plan.Plan
	// MulticastTop is the wanted MulticastFDBTop of switches; 0 leaves it unchanged.
	MulticastTop mad.LID
	// Partitions are the wanted P_Key tables of ports.
	Partitions *partitions.Tables

	Lost        []mad.GUID     // nodes given up after MaxMissed sweeps
	CutOff      []string       // of a preview without something: hosts that cannot be reached then
	PairsCut    int            // likewise: pairs of ports of hosts that have no way to each other then
	Drained     []view.Drained // in the order of Config.Drained, then of Config.Avoided without links of hosts
	Cabling     *view.Cabling  // nil where there is nothing to compare, and nothing held back
	Unavoidable int            // unhealthy links that are still used, because there is no other path
	AR          int            // switches on which adaptive routing is on and is not turned off by DisableAR
	ARMode      ARMode
	Changed     bool // a switch of Topo had PortStateChange set, which the plan clears

	found     *Found
	compared  compared
	delta     delta
	multicast *multicast.Result // of a preview; may be nil
}

// Routes are the routes of a SweepPlan, what was proved of them, and how they came about.
type Routes struct {
	Tables     *routing.Tables // nil when routing failed or waits for adaptive routing to be off
	Err        error           // no engine routes the subnet
	Keep       routing.Keep
	Transition Transition // to Tables

	Engine  string            // that computed Tables; "" without Tables
	Awaited string            // the engine at work, where Tables are interim routes; else ""
	Taken   bool              // Tables take the place of interim routes
	Seen    string            // what kind of fabric it is, where the chain has auto
	Refused []engines.Refusal // by engines that were tried before Engine
	Unknown engines.Named     // what Engine's files name that is not there
	Members *engines.Members  // of port groups in files of engines; nil where they name none
	Foreign string            // the chosen engine, where it would compute other tables than those found, which are kept
	Unused  bool              // links were added that adopted routes do not use

	Report    *verify.Report // of Tables
	BeforeCut *verify.Report // of the engine's tables, if they had loops that were cut
	// among routes between hosts and multicast trees, on the lanes that ports will have; nil without any
	CreditLoop []creditloop.Channel
	// with CreditLoop: repaired routes, up to repair.MaxUnavoidable, to which no way was found that adds none
	Closing   []repair.Route
	Stopped   []creditloop.Finding // ports that stop packets between hosts, whose lane they lack
	StoppedSA SAStops              // those that stop packets to and from the SA
	Fitting   Fitting              // of SLs to tables found
}

// SameSubnet reports whether the subnet is as the last sweep left it.
func (c *SweepPlan) SameSubnet() bool { return c.compared != otherTopo }

// compared is how the Topo of a plan compares with that of the last sweep.
type compared uint8

const (
	otherTopo  compared = iota
	equalTopo           // a copy
	sharesTopo          // the same one, which nobody writes
)

// Found is the result of the walk.
func (c *SweepPlan) Found() *discover.Result { return c.found.Result }

// Restarted are the switches, by GUID, that have lost their tables, or may have, or were not known
// before.
func (c *SweepPlan) Restarted() (list []mad.GUID) {
	for i := range c.delta.switches {
		if w := &c.delta.switches[i]; w.Lost {
			list = append(list, w.GUID)
		}
	}
	return list
}

// delta are the changes that a task makes to the state.
type delta struct {
	switches     []device.Walked // by SwitchIdx
	lids         []lids.Assignment
	unresponsive map[plan.Key]uint8
	settings     Settings
	values       plan.Values
	routesState
	indexes     partitions.Indexes // nil: unchanged
	adaptive    map[mad.GUID]adaptiveSwitch
	ports       *device.Ports
	unsupported device.Unsupported
	unnamed     []unnamed
	restarted   func(mad.GUID) bool // nodes that have restarted, or left, or all where other settings are in force
}

// apply applies the changes of a task. Events since its snapshot take precedence: blocks that
// have become unknown since stay unknown.
func (s *state) apply(d *delta) {
	s.devices.Apply(d.switches, d.ports, d.unsupported)
	s.devices.Optional.Forget(d.restarted)
	s.lids, s.stale, s.unresponsive = d.lids, false, d.unresponsive
	s.settings, s.values, s.adaptive, s.unnamed = d.settings, d.values, d.adaptive, d.unnamed
	s.routesState = s.routesState.after(d.routesState)
	if d.indexes != nil {
		s.pkeys.indexes = d.indexes
	}
}

// Run computes the plan. SweepPlan.Err is why no engine routes the subnet; a cancelled context gives
// nil.
func (j *RouteTask) Run(ctx context.Context) *SweepPlan {
	s := j.state
	out, down := j.subnet()
	t, d := out.Topo, &out.delta
	d.switches, d.ports = s.walked(t, j.walked.tables, j.found.Replaced), j.walked.ports
	j.walked = walkResult{} // large, and not needed after this
	d.ports.KeepMissing(s.devices.Ports, func(guid mad.GUID) bool {
		n := t.FindNode(guid)
		return n != topo.None && t.Nodes[n].Missed > 0
	})
	d.routesState = s.routesState
	d.foreign, d.closing, d.answers, d.trees = "", nil, nil, nil
	j.decide(t, d)
	var dead, disabled []topo.PortIdx
	var grace bool
	most := uint8(topo.MaxMissed)
	if j.settings.PortMKeys.On() {
		most = maxHidden
	}
	d.unresponsive, dead, grace = s.unanswered(t, j.found.Hearing() != topo.Inconclusive, most)
	s.bypass(t, d.switches)
	out.Unavoidable, disabled = s.avoid(t)
	out.Drained = drain(t, j.drained)
	sick, marked := avoidSick(t, j.avoided)
	out.Drained = append(out.Drained, sick...)
	if s.prev != nil && len(marked) == 0 && t.Same(s.prev) { // one is enough: a large subnet takes much memory
		t, out.Topo, out.compared = s.prev, s.prev, sharesTopo
	}
	d.restarted = j.restarted(t, d.switches)
	s.devices.Optional.Forget(d.restarted)
	d.settings, d.values = j.settings, s.resolve(&j.settings, t)
	out.Values = d.values
	out.Values.ReregisterAll, out.Values.NoReregister = s.mastership == clientsUnknown, j.settings.NoReregister
	out.Values.Inherited = s.inherited

	var reserved []mad.LID
	if grace {
		reserved = lids.Unowned(t, d.switches)
	}
	j.assign(out, reserved)
	d.adaptive = j.adaptive(out)
	j.routeAvoiding(ctx, out, reserved, marked)
	stillUsed(t, out.LIDs, out.Tables, out.Drained)
	if out.Fitting.State == LanesFirst && ctx.Err() == nil {
		return out
	}
	off := j.turnOff(ctx, out)
	if ctx.Err() != nil {
		return nil
	}
	j.plan(out, append(dead, stillUp(t, down)...), append(disabled, toDisable(t, j.avoided, out.Drained)...), off)
	if out.compared == otherTopo && s.prev != nil && t.Equal(s.prev) {
		out.compared = equalTopo
	}
	if j.multicast != nil {
		out.multicast = j.multicast.Run(ctx, out.multicastSubnet(s.devices))
	}
	return out
}

// subnet begins a plan with the subnet that the walk has found, without what the preview or the cabling leaves out. It
// also returns the links that are held back.
func (j *RouteTask) subnet() (out *SweepPlan, down []heldBack) {
	b, before := j.walked.builder, j.state.remembered()
	out = &SweepPlan{found: j.found, MulticastTop: j.multicastTop, ARMode: j.settings.AR, Changed: j.found.Changed}
	for _, n := range b.KeepMissing(before, j.found.Hearing()) {
		out.Lost = append(out.Lost, before.Nodes[n].GUID)
	}
	if j.without != nil {
		out.CutOff, out.PairsCut = cutOff(b, j.without)
	}
	out.Cabling, down, out.delta.unnamed = j.cabling.check(b)
	t := b.Freeze()
	out.Topo = t
	if out.Cabling != nil && len(out.Cabling.Held) > 0 && out.Changed { // by a switch that stays?
		out.Changed = slices.ContainsFunc(t.Switches, func(n topo.NodeIdx) bool {
			return t.Nodes[n].SwitchInfo.PortStateChange()
		})
	}
	return out, down
}

// assign gives the end ports of the subnet their LIDs and P_Keys.
func (j *RouteTask) assign(out *SweepPlan, reserved []mad.LID) {
	t, s, d := out.Topo, j.state, &out.delta
	out.Assigned = *lids.Assign(t, lids.In{
		LMC: out.Values.LMC, LMCPort0: out.Values.LMCPort0, Remembered: s.lids, Stale: s.stale, Reserved: reserved,
		Anew: j.settings.ReassignLIDs && s.mastership != swept,
	})
	d.lids = out.Retained(t, s.lids, j.now)
	out.Partitions = partitions.Compile(j.parts.Policy, j.parts.Settings, t, s.pkeys.indexes)
	d.indexes = out.Partitions.Remember
}

// plan computes what is written: dead ports are taken down, others disabled, and adaptive routing turned off on
// switches.
func (j *RouteTask) plan(out *SweepPlan, dead, disable []topo.PortIdx, off []topo.SwitchIdx) {
	t, s, d := out.Topo, j.state, &out.delta
	known := make([]*device.Blocks, len(d.switches))
	for i := range d.switches {
		known[i] = d.switches[i].LFT
	}
	d.unsupported = s.devices.Unsupported
	s.devices.WalkRead(j.found.Read)
	out.Plan = plan.New(plan.In{
		Topo: t, LIDs: out.LIDs, Tables: out.Tables, Known: known, Values: out.Values, SLs: d.sls,
		Lanes: out.uses(&j.settings), Ports: d.ports, Partitions: out.Partitions, Order: out.Transition.Order,
		Devices: s.devices, Dead: dead, Disable: disable, Enable: toEnable(t, j.avoided), DisableAR: off,
		Unsupported: d.unsupported, MulticastTop: j.multicastTop,
		Reregister: j.reregister, Knocked: s.knocked, SLtoVLSingly: j.settings.SLtoVLSingly,
	})
	for i, target := range out.Plan.Targets() {
		d.switches[i].Target = target
	}
}

// route takes the tables that the subnet gets.
func (j *RouteTask) route(ctx context.Context, out *SweepPlan, reserved []mad.LID) {
	t, s, d := out.Topo, j.state, &out.delta
	for _, n := range t.Switches {
		if t.Nodes[n].AR == topo.AROn && j.settings.AR != DisableAR {
			out.AR++
		}
	}
	if out.RoutesHeld() {
		return
	}
	if j.chain.Grouped() {
		j.chain, out.Members = j.chain.WithMembers(t, out.Partitions, s.members)
		if out.Members.Changed(s.members) {
			j.reroute = max(j.reroute, regroups)
		}
	}
	in := routing.In{Topo: t, LIDs: out.LIDs, Prev: previous(out), Keep: j.keep(out), Lanes: plan.Lanes(t, &out.Values),
		Tenants: tenants(t, out.Partitions), Workers: j.Workers}
	if in.Prev == nil {
		in.Keep = routing.KeepNone
	}
	if in.Keep == routing.KeepNone {
		d.whose = ownRoutes
	}
	if d.by == byChosen {
		j.chain = j.chain.Chosen()
	}
	if j.chain, out.Seen = j.chain.For(t); d.whose == recordedRoutes {
		j.chain = s.record.from(j.chain)
	}
	a := &attempts{RouteTask: j, out: out, in: in, reserved: reserved, groups: j.trees.Groups(t)}
	d.interim = nil
	r := a.chooseInTime(ctx)
	if r == nil {
		d.interim = s.interim
		return
	}
	out.Taken = s.interim != nil && d.interim == nil
	var err error
	if out.Transition, err = a.transition(ctx, r); err == nil { // else ctx is done
		a.take(r)
	}
}

// take takes routes for the plan, and what the next sweep must know of them.
func (a *attempts) take(r *routed) {
	out, t, s, d, tables := a.out, a.out.Topo, a.state, &a.out.delta, r.tables
	if r.base != nil && r.base.uneven {
		out.Foreign = r.engine.Name
	}
	if d.base = r.base; d.base == nil && slices.ContainsFunc(a.chain, func(e engines.Engine) bool {
		return s.base != nil && e.Name == s.base.engine
	}) {
		d.base = s.base // its engine may route the next subnet again
	}
	if d.interim == nil {
		d.answers = a.newAnswers(r)
	}
	out.Unknown = r.engine.Unknown(t)
	d.engine, d.members = r.engine.Name, out.Members
	d.foreign = out.Foreign
	out.Engine, out.Keep, out.Report, out.BeforeCut, out.Tables = r.engine.Name, r.keep, r.report, r.beforeCut, tables
	out.Unused = r.keep == routing.KeepWorking && s.prev != nil && linksAdded(s.prev, t) && r.base.lacks(linksOf(t))
	if out.Closing = r.closing; out.Closing == nil && r.credit.Loop != nil && r.keep == routing.KeepWorking {
		out.Closing = s.closing
	}
	d.closing = out.Closing
	out.Fitting, out.CreditLoop, out.Stopped, d.report, d.sls, d.proof = r.fitting, r.credit.Loop, r.credit.Findings,
		r.report, tables.SLs, r.proof
	out.StoppedSA = a.stopsToSA(r)
	d.record = a.record(r)
	for i, n := range t.Switches {
		sw := &d.switches[i]
		if t.Nodes[n].Missed > 0 {
			continue
		}
		if bytes.Equal(tables.LFT[i], sw.Row) {
			tables.LFT[i] = sw.Row // equal rows share memory, so that later comparisons are fast
		}
		sw.Row = tables.LFT[i]
	}
}

// tenants are the hosts that exchange packets by the partitions that they are about to get.
func tenants(t *topo.Topo, parts *partitions.Tables) *routing.Tenants {
	return routing.NewTenants(t, func(p topo.PortIdx) *topo.PKeyTable { return parts.Table(t, p) })
}

// keep decides how much of the previous tables stays. Routes of another manager stay as long
// as they work. Our own stay until a link between switches is added, so that new links are
// used.
func (j *RouteTask) keep(out *SweepPlan) routing.Keep {
	prev, adopted := j.state.prev, out.delta.whose.adopted()
	switch {
	case j.reroute > regroups || prev == nil && !adopted:
		return routing.KeepNone
	case adopted:
		return routing.KeepWorking
	case j.reroute == regroups || linksAdded(prev, out.Topo):
		return routing.KeepNone
	}
	return routing.KeepMinimal
}
