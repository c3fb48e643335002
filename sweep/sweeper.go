// Package sweep is the subnet manager proper: it discovers a subnet, computes what its
// devices should hold, and programs that. It is pure: it returns requests, takes their
// outcomes, and returns the next step; its owner carries them out.
//
// A heavy sweep walks the subnet, computes (elsewhere) and programs. Each phase is a type
// that only the phase before it returns:
//
//	Sweeper.Walk -> Walk.Found -> Found.Task -> RouteTask.Run -> Sweeper.Program -> Program.Outcome
//
// A light sweep only checks whether a heavy one is needed: Sweeper.Look -> Look.Verdict.
package sweep

import (
	"fmt"
	"maps"
	"slices"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/sweep/discover"
	"ibsm/sweep/engines"
	"ibsm/sweep/exclude"
	"ibsm/sweep/plan"
	"ibsm/sweep/proof"
	"ibsm/sweep/routes"
	"ibsm/sweep/vports"
	"ibsm/topo"
)

// Config of a Sweeper.
type Config struct {
	Settings      Settings
	Partitions    Partitions
	Engines       engines.Chain
	Drained       []routing.SwitchPort // that routes avoid; port 0 is a whole switch
	Avoided       []Avoided
	Cabling       exclude.Cabling
	IgnoreOtherSM bool
	AllowedSMs    []mad.GUID // see discover.Config
	// Nonces are those of Questions to other managers; nil where they are asked for no proof.
	Nonces   *proof.Nonces
	Restored Restored
	// Routes is the stored record, and later, on a standby, the record of the master that it follows; it may be the
	// zero value.
	Routes routes.Record
}

// Avoided is a link that routes avoid because it is sick: as long as no host needs it, some switch has no other way, or
// routes would have what they do not have with it, such as a credit loop. Routes cannot avoid the link of a host: its
// port can only be disabled.
type Avoided struct {
	routing.SwitchPort                    // one end
	Far                routing.SwitchPort // the other end
	Host               bool               // it is the link of a host, and Far is the host's port
	Ports              AvoidedPorts
}

// AvoidedPorts is what becomes of the ports of an Avoided link.
type AvoidedPorts uint8

// What becomes of the ports.
const (
	PortsStay    AvoidedPorts = iota
	PortDisabled              // the one from which the response arrives, once no route passes the link
	// the one that was disabled; then the link comes up, and is avoided until that is wanted no more
	PortEnabled
)

// Partitions are the partition policy and the settings for its tables. A nil Policy leaves
// the fabric's partitions unchanged.
type Partitions struct {
	Policy   *partitions.Policy
	Settings partitions.Settings
}

// enforced reports whether switches should check P_Keys.
func (p *Partitions) enforced() bool {
	return p.Policy != nil && p.Settings.Enforce != partitions.EnforceOff
}

// Sweeper keeps the state from sweep to sweep. One goroutine owns it and the phases that it
// returns. One sweep runs at a time, and previews beside it.
type Sweeper struct {
	cfg          Config
	state        *state
	walks        walkState
	program      *Program                         // that runs; nil for none
	asked        uint64                           // programs that began after walks that asked all ports
	sms          []smPort                         // other managers, in state.prev
	renamed      map[mad.GUID]smp.NodeDescription // since the walk began
	vPorts       *vports.Known
	reroute      routes.Rerouting
	storedRoutes routes.Record // RoutesRecord returned it last
	before       engines.Chain // the engines when CompareEngines was called; nil for no comparison
	// multicastTop is the wanted MulticastFDBTop of switches; 0 leaves multicast alone.
	multicastTop    mad.LID
	reregistrations reregistrations
}

// New returns a Sweeper that starts with the restored state of cfg.
func New(cfg Config) *Sweeper {
	s := &Sweeper{cfg: cfg, state: newState(cfg.Restored), walks: newWalkState(&cfg.Restored)}
	s.FollowRoutes()
	return s
}

// Configure sets another configuration. It applies from the next sweep on.
func (s *Sweeper) Configure(cfg Config) { s.cfg = cfg }

// SetMulticastTop sets the MulticastFDBTop that the next heavy sweep writes to all switches
// that have one; 0 leaves multicast alone.
func (s *Sweeper) SetMulticastTop(top mad.LID) { s.multicastTop = top }

// Reroute makes the next heavy sweep compute all routes afresh.
func (s *Sweeper) Reroute() { s.reroute = routes.ReroutesByAll }

// SendAgain has the next heavy sweep send what devices did not take before, although it was given up, and ask for
// features that they did not have.
func (s *Sweeper) SendAgain() {
	s.state.devices.Optional.Forget(func(mad.GUID) bool { return true })
	s.walks.features.Clear()
	if s.walks.repeats = nil; s.program != nil {
		s.program.SendAgain()
	}
}

// CompareEngines makes the next heavy sweep compare the engines configured then with the present ones. If they would
// route the subnet differently, it recomputes all routes.
func (s *Sweeper) CompareEngines() {
	if s.before == nil {
		s.before = s.cfg.Engines
	}
}

// rerouting is the kind of rerouting in the next heavy sweep. Engines that are not configured do not count while they
// do not route the subnet.
func (s *Sweeper) rerouting() routes.Rerouting {
	if s.before == nil || s.reroute != routes.KeepsRoutes {
		return s.reroute
	}
	return s.state.routes.Rerouting(s.before, s.cfg.Engines)
}

// FollowRoutes takes Config.Routes, if it is not zero, for the record of the routes in force: another manager computes
// them. It is the one that is stored.
func (s *Sweeper) FollowRoutes() {
	s.storedRoutes = s.cfg.Routes
	if s.cfg.Routes != (routes.Record{}) {
		s.state.routes.Follow(s.cfg.Routes)
	}
}

// RoutesRecord is the record of the routes computed last, and whether it is another one than this function returned
// before.
func (s *Sweeper) RoutesRecord() (r routes.Record, changed bool) {
	r = s.state.routes.Record()
	changed, s.storedRoutes = r != s.storedRoutes, r
	return r, changed
}

// Take gives the next heavy sweep what the engines have made of the subnet.
func (s *Sweeper) Take(r *routes.EngineResult) { s.state.routes.Take(r) }

// Known reports whether a sweep has found a subnet.
func (s *Sweeper) Known() bool { return s.state.prev != nil }

// Waiting reports whether some node has not answered but still keeps its routes: only a heavy
// sweep finds out whether it is gone.
func (s *Sweeper) Waiting() bool {
	if s.state.prev == nil {
		return false
	}
	for i := range s.state.prev.Nodes {
		if s.state.prev.Nodes[i].Missed > 0 {
			return true
		}
	}
	return len(s.state.unresponsive) > 0
}

// MayRetry reports whether a walk of the extent Retry can be made. Where ports have M_Keys, a node that does not answer
// may have refused to, and a full walk tries further keys.
func (s *Sweeper) MayRetry() bool {
	return !s.cfg.Settings.PortMKeys.On() && s.cfg.Settings.MKey.Value == 0
}

// Outcome is the result of a heavy sweep.
type Outcome struct {
	*SweepPlan
	Found    *discover.Result
	Sets     map[mad.AttrID]int // sent, by attribute
	Failures []finding.Finding  // Sets that did not do what they should
	NotKept  []finding.Finding  // fields that ports have just shown not to keep
	// GivenUp are the attributes that devices do not take and are not sent any more.
	GivenUp []device.Place
	// a switch that was bypassed has accepted its table, or a link has become ACTIVE: routes may use it again
	Healed  bool
	devices *device.Record
}

// Ports is what ports hold that is not in the Topo.
func (o *Outcome) Ports() *device.Ports {
	if o.devices == nil { // before anything was written
		return o.delta.ports
	}
	return o.devices.Ports
}

// managers are the ports with another subnet manager, including those that did not answer
// SMInfo: one that has just started may not answer yet.
func (s *Sweeper) managers(t *topo.Topo, found *discover.Result) (ports []smPort) {
	if s.cfg.IgnoreOtherSM {
		return nil
	}
	for _, p := range t.EndPorts {
		port := &t.Ports[p]
		if p == t.Self || !port.Info.CapabilityMask().Has(smp.IsSM) || t.Nodes[port.Node].Missed > 0 {
			continue
		}
		answered := slices.ContainsFunc(found.SMs, func(sm discover.SM) bool { return sm.Port == port.GUID })
		ports = append(ports, smPort{p, answered})
	}
	return ports
}

// Abdicate abandons the sweep and forgets what another manager may change.
func (s *Sweeper) Abdicate() {
	s.rest()
	s.state.devices.ForeignMaster()
	s.forgetMastership()
	s.state.routes.Abdicate()
	s.sms, s.before = nil, nil
}

// Pause is Abdicate for a manager that may not have been master for a moment, and probably continues as master: it
// forgets values that another manager may have changed, but neither the nodes of the subnet nor the subnet to which
// groups of adaptive routing belong. A node that does not answer the next walk does not count as gone.
func (s *Sweeper) Pause() {
	before := s.state.remembered()
	s.rest()
	s.state.devices.Pause()
	s.forgetMastership()
	s.state.routes.Pause()
	s.state.before, s.sms = before, nil
}

// Isolate abandons the sweep when nothing can be reached any more, and forgets what another
// manager may change meanwhile. A port that still names this manager as its master has had
// no other one: its clients are still registered here.
func (s *Sweeper) Isolate(found *Found) {
	if s.state.mastership != swept {
		found.Drop()
		return
	}
	s.Pause()
	s.state.mastership = clientsKnown
}

// Inherit says that the registrations of the clients whose ports name this manager or the
// master at a LID are known here: they are not asked to register again. It applies until
// Abdicate.
func (s *Sweeper) Inherit(from mad.LID) {
	s.state.mastership, s.state.inherited = max(s.state.mastership, clientsKnown), from
}

func (s *Sweeper) forgetMastership() {
	s.state.forgetMastership()
	s.walks.forgetMastership()
}

func (s *Sweeper) rest() {
	s.program = nil
	s.reregistrations.putBack()
}

// Rename sets the descriptions of nodes in a copy of the subnet, which it returns and which replaces the present one;
// nil if there is no subnet, or all nodes already have these descriptions. A running sweep gets them too.
func (s *Sweeper) Rename(descs map[mad.GUID]smp.NodeDescription) *topo.Topo {
	if s.renamed == nil {
		s.renamed = map[mad.GUID]smp.NodeDescription{}
	}
	maps.Copy(s.renamed, descs)
	if s.state.prev == nil || !renames(s.state.prev, descs) {
		return nil
	}
	t := *s.state.prev
	t.Nodes = slices.Clone(t.Nodes)
	s.state.prev = &t
	rename(&t, descs)
	return &t
}

// renames reports whether a node has another description.
func renames(t *topo.Topo, descs map[mad.GUID]smp.NodeDescription) bool {
	for guid, desc := range descs {
		if n := t.FindNode(guid); n != topo.None && t.Nodes[n].Desc != desc {
			return true
		}
	}
	return false
}

func rename(t *topo.Topo, descs map[mad.GUID]smp.NodeDescription) {
	for guid, desc := range descs {
		if n := t.FindNode(guid); n != topo.None {
			t.Nodes[n].Desc = desc
		}
	}
}

// Steps yields a line of text for each step of the plan, in order.
func (c *SweepPlan) Steps(yield func(string) bool) {
	defer c.Plan.Rewind()
	for _, n := range c.Private() {
		node := &c.Topo.Nodes[n]
		if !yield(fmt.Sprintf("switch %v %q: no forwarding table is written: private tables are in use", node.GUID,
			node.Desc.String())) {
			return
		}
	}
	for more := true; more; more = c.Plan.Advance() {
		for st, ok := c.Plan.Next(); ok; st, ok = c.Plan.Next() {
			if st.Op != plan.ReadMKey && !yield(c.Plan.Describe(st)) {
				return
			}
		}
	}
	if c.vPortSteps(yield) && c.multicast != nil {
		c.multicast.Steps(yield)
	}
}

// Moves are what the plan takes from traffic that passes now, and the number of SLtoVLMappingTables that it writes.
func (c *SweepPlan) Moves() (moves plan.Moves, lanes int) {
	counts := c.Plan.Counts()
	return c.Plan.Moves(), counts[plan.SetSLtoVLAll] + counts[plan.SetSLtoVLOut] + counts[plan.SetSLtoVL]
}

// Summary is the number of Sets by purpose; the rest are multicast forwarding table blocks.
func (c *SweepPlan) Summary() []string { return c.Plan.Summary() }
