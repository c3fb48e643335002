package sweep

import (
	"context"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/sweep/discover"
	"ibsm/sweep/engines"
	"ibsm/sweep/exclude"
	"ibsm/sweep/lids"
	"ibsm/sweep/multicast"
	"ibsm/sweep/plan"
	"ibsm/sweep/routes"
	"ibsm/sweep/vports"
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
	reroute  routes.Rerouting
	drained  []routing.SwitchPort
	avoided  []Avoided
	cabling  exclude.Cabling
	without  []routing.SwitchPort // of a preview: what is taken out of the subnet
	now      int64
	mayServe bool                       // interim routes may serve
	programs bool                       // the plan is carried out, unless the sweep is given up
	knocked  map[mad.GUID]time.Duration // mkeys.Memory.Knocked

	multicastTop mad.LID
	reregister   map[mad.GUID]bool  // In.Reregister of the plan
	multicast    *multicast.Preview // nil: the plan does not show it
	trees        multicast.Trees
	vPorts       *vports.Known

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
	routes.Result
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
	Changed     bool           // a switch of Topo had PortStateChange set, which the plan clears

	found        *Found
	compared     compared
	delta        delta
	multicast    *multicast.Result // of a preview; may be nil
	vPorts       *vports.Known     // of Topo
	vPortsUnread bool
}

// SameSubnet reports whether the subnet is as the last sweep left it.
func (c *SweepPlan) SameSubnet() bool { return c.compared != otherTopo }

// compared is the comparison of a plan's Topo with that of the last sweep.
type compared uint8

const (
	otherTopo  compared = iota
	equalTopo           // a copy
	sharesTopo          // the same one, which nobody writes; the plan is empty, or is not carried out
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

// InForce are the tables that the subnet uses: the computed ones or, if routes are left alone, those that the switches
// hold.
func (c *SweepPlan) InForce() *routing.Tables {
	if c.Tables != nil {
		return c.Tables
	}
	return c.delta.routes.Held(c.Topo, c.LIDs, c.delta.switches)
}

// NotAdaptive are the switches on which adaptive routing was on and is off, though it was not
// DisableAR that turned it off.
func (c *SweepPlan) NotAdaptive() []routes.NotAdaptive {
	if c.ARMode == routes.DisableAR {
		return nil
	}
	return c.delta.routes.NotAdaptive(c.Topo)
}

// Private are the switches that forward by private tables.
func (c *SweepPlan) Private() (nodes []topo.NodeIdx) {
	for _, n := range c.Topo.Switches {
		if c.Topo.Nodes[n].UsesPrivateLFT() {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// LanesLeft are ports of such switches whose lanes are not as wanted.
func (c *SweepPlan) LanesLeft() []topo.PortIdx {
	if c.Plan == nil {
		return nil
	}
	return c.Plan.LanesLeft()
}

// Awaits is the task for the routes that a sweep has left; nil if it has left no interim routes.
func (o *Outcome) Awaits() *routes.EngineTask {
	if o.Tables == nil {
		return nil
	}
	return o.delta.routes.Awaits()
}

// delta are the changes that a task makes to the state.
type delta struct {
	switches     []device.Walked // by SwitchIdx
	lids         []lids.Assignment
	unresponsive map[plan.Key]uint8
	settings     Settings
	values       plan.Values
	routes       routes.State
	indexes      partitions.Indexes // nil: unchanged
	ports        *device.Ports
	unsupported  device.Unsupported
	unnamed      []exclude.Unnamed
	restarted    func(mad.GUID) bool // nodes that have restarted, or left, or all where other settings are in force
}

// apply applies the changes of a task. Events since its snapshot take precedence: blocks that
// have become unknown since stay unknown.
func (s *state) apply(d *delta) {
	s.devices.Apply(d.switches, d.ports, d.unsupported)
	s.devices.Optional.Forget(d.restarted)
	s.lids, s.stale, s.unresponsive = d.lids, false, d.unresponsive
	s.settings, s.values, s.unnamed = d.settings, d.values, d.unnamed
	s.routes = s.routes.After(d.routes)
	if d.indexes != nil {
		s.removed = d.indexes
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
	if d.restarted = s.devices.Restarted(s.prev, t, d.switches); s.mastership == swept && j.settings != s.settings {
		d.restarted = func(mad.GUID) bool { return true } // devices may accept what they did not before
	}
	s.devices.Optional.Forget(d.restarted)
	d.settings, d.values = j.settings, s.resolve(&j.settings, t)
	out.Values = d.values
	out.Values.ReregisterAll, out.Values.NoReregister = s.mastership == clientsUnknown, j.settings.NoReregister
	out.Values.Inherited = s.inherited

	var reserved []mad.LID
	unread := j.settings.VPorts.Mode == vports.Enable && !j.vPorts.Read(t)
	if grace || unread {
		reserved = lids.Unowned(t, d.switches)
		out.vPortsUnread = unread && len(reserved) > 0
	}
	j.assign(out, reserved)
	if j.route(ctx, out, reserved, marked); ctx.Err() != nil {
		return nil
	}
	if out.Fitting.State == routes.LanesFirst {
		return out
	}
	j.plan(out, append(dead, exclude.StillUp(t, down)...), append(disabled, toDisable(t, j.avoided, out.Drained)...))
	switch {
	case out.compared == otherTopo && s.prev != nil && t.Equal(s.prev):
		out.compared = equalTopo
	case out.compared == sharesTopo && j.programs && !out.Plan.Empty(): // replies to its Sets change it
		out.Topo, out.compared = t.Clone(), equalTopo
		out.Plan.SetTopo(out.Topo)
	}
	if j.multicast != nil {
		out.multicast = j.multicast.Run(ctx, out.multicastSubnet(s.devices))
	}
	return out
}

// subnet begins a plan with the subnet that the walk has found, without what the preview or the cabling leaves out. It
// also returns the links that are held back.
func (j *RouteTask) subnet() (out *SweepPlan, down []exclude.Held) {
	b, before := j.walked.builder, j.state.remembered()
	out = &SweepPlan{found: j.found, MulticastTop: j.multicastTop, Changed: j.found.Changed,
		vPorts: j.vPorts}
	for _, n := range b.KeepMissing(before, j.found.Hearing()) {
		out.Lost = append(out.Lost, before.Nodes[n].GUID)
	}
	if j.without != nil {
		out.CutOff, out.PairsCut = exclude.CutOff(b, j.without)
	}
	out.Cabling, down, out.delta.unnamed = j.cabling.Check(b)
	t := b.Freeze()
	t.VPorts = j.vPorts.On(t)
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
		Anew:   j.settings.ReassignLIDs && s.mastership != swept,
		Unread: j.settings.VPorts.Mode == vports.Enable && !j.vPorts.Read(t),
	})
	d.lids = out.Retained(t, s.lids, j.now)
	out.Partitions = partitions.Compile(j.parts.Policy, j.parts.Settings, t, s.removed)
	d.indexes = out.Partitions.Remember
}

// route decides on the routes. sick are avoided links, by one port of each, that they may pass.
func (j *RouteTask) route(ctx context.Context, out *SweepPlan, reserved []mad.LID, sick []topo.PortIdx) {
	t, s, d := out.Topo, j.state, &out.delta
	out.Result, d.routes = routes.Decide(ctx, routes.In{
		Topo: t, LIDs: out.LIDs, Switches: d.switches, Ports: d.ports, Devices: s.devices, Partitions: out.Partitions,
		Lanes: plan.Lanes(t, &out.Values), Reserved: reserved, Groups: j.trees.Groups(t), Prev: s.prev,
		Before: s.before, First: s.mastership != swept, Sick: sick, Chain: j.chain, Rerouting: j.reroute,
		Settings: j.settings.routes(), MayServe: j.mayServe, Workers: j.Workers,
	}, s.routes)
	if ctx.Err() != nil {
		return
	}
	passed(t, out.Passed, out.Drained)
	stillUsed(t, out.LIDs, out.Tables, out.Drained)
	for i, n := range t.Switches {
		if out.Tables != nil && t.Nodes[n].Missed == 0 {
			d.switches[i].Row = out.Tables.LFT[i]
		}
	}
}

// plan computes the Sets: dead ports are taken down, others are disabled, and adaptive routing is turned off on
// switches.
func (j *RouteTask) plan(out *SweepPlan, dead, disable []topo.PortIdx) {
	t, s, d := out.Topo, j.state, &out.delta
	known := make([]*device.Blocks, len(d.switches))
	for i := range d.switches {
		known[i] = d.switches[i].LFT
	}
	d.unsupported = s.devices.Unsupported
	s.devices.WalkRead(j.found.Read)
	out.Plan = plan.New(plan.In{
		Topo: t, LIDs: out.LIDs, Tables: out.Tables, Known: known, Values: out.Values, SLs: d.routes.SLs(),
		Lanes: out.Lanes, Ports: d.ports, Partitions: out.Partitions, Order: out.Transition.Order,
		Devices: s.devices, Dead: dead, Disable: disable, Enable: toEnable(t, j.avoided), DisableAR: out.TurnOff,
		Unsupported: d.unsupported, MulticastTop: j.multicastTop,
		Reregister: j.reregister, Knocked: j.knocked, SLtoVLSingly: j.settings.SLtoVLSingly,
	})
	for i, target := range out.Plan.Targets() {
		d.switches[i].Target = target
	}
}
