// Package sweep is the subnet manager proper: what to ask a subnet, what it should
// hold, and how to bring it there. It is pure: it hands out requests, takes their
// outcomes, and says what is next; its owner does it.
//
// A heavy sweep walks the subnet, computes (elsewhere) and programs. Each phase is a type
// that only the one before it gives:
//
//	Sweeper.Walk -> Walk.Found -> Found.Task -> RouteTask.Run -> Sweeper.Program -> Program.Outcome
//
// A light sweep only asks whether a heavy one is needed: Sweeper.Look -> Look.Verdict. A phase
// that asks or writes gives out requests by Next, each of which must be answered by Done.
package sweep

import (
	"maps"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/sweep/discover"
	"ibsm/topo"
)

// Config of a Sweeper.
type Config struct {
	Settings      Settings
	Partitions    Partitions
	Engine        routing.Engine
	EngineName    string
	IgnoreOtherSM bool
	Restored      Restored
}

// Partitions are who may talk to whom, and how that becomes tables. A nil Policy leaves
// the fabric's partitions as they are.
type Partitions struct {
	Policy   *partitions.Policy
	Settings partitions.Settings
}

// Sweeper is what lasts from sweep to sweep. It is owned by one goroutine, as the phases
// are that it gives. One sweep is under way at a time, and previews beside it.
type Sweeper struct {
	cfg     Config
	state   *state
	program *Program                         // under way; nil for none
	sms     []smPort                         // other managers, in state.prev
	renamed map[mad.GUID]smp.NodeDescription // since the walk began
	reroute bool
	// multicastTop is the MulticastFDBTop that switches are to have; 0 leaves multicast alone.
	multicastTop    mad.LID
	reregistrations reregistrations
}

// New returns a Sweeper that knows what is kept from before.
func New(cfg Config) *Sweeper { return &Sweeper{cfg: cfg, state: newState(cfg.Restored)} }

// Configure takes another configuration, which counts from the next sweep on.
func (s *Sweeper) Configure(cfg Config) { s.cfg = cfg }

// SetMulticastTop gives all switches whose MulticastFDBTop counts another one with the next
// heavy sweep; with 0 what they have of multicast is left alone.
func (s *Sweeper) SetMulticastTop(top mad.LID) { s.multicastTop = top }

// Reroute makes the next heavy sweep compute all routes afresh.
func (s *Sweeper) Reroute() { s.reroute = true }

// Known reports whether there is a subnet to look at.
func (s *Sweeper) Known() bool { return s.state.prev != nil }

// Waiting reports whether some node has not answered but keeps its routes for a
// while yet: then only a heavy sweep tells.
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

// Outcome is what a heavy sweep came to.
type Outcome struct {
	*SweepPlan
	Found    *discover.Result
	Sets     map[mad.AttrID]int // sent, by attribute
	Failures []Failure
	NotHeld  []NotHeld
	Healed   bool // a switch that was bypassed has taken its table: routes may lead through it again
	devices  *device.Record
}

// managers are the ports at which there is another subnet manager, also those that did
// not say who they are: one that has just been started may not know yet.
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

// Abdicate gives up what is under way and forgets what another manager may change.
func (s *Sweeper) Abdicate() {
	s.rest()
	s.state.forgetMastership()
	s.sms = nil
}

// Isolate gives up what is under way when nothing can be reached any more, and forgets
// what another manager may change until that is over. A master of then tells the ports so:
// clients of those that still name us are registered here.
func (s *Sweeper) Isolate(found *Found) {
	if !s.state.swept {
		found.Drop()
		return
	}
	s.Abdicate()
	s.state.registered = true
}

// Inherit says that what clients have registered is known here, of those whose ports name us
// or the master at a LID: they are not asked to register again. It lasts until this manager
// abdicates.
func (s *Sweeper) Inherit(from mad.LID) { s.state.registered, s.state.inherited = true, from }

func (s *Sweeper) rest() {
	s.program = nil
	s.reregistrations.putBack()
}

// Rename gives nodes other descriptions, in a copy of the subnet that becomes the one
// known; nil when there is none. The sweep under way will know them, too.
func (s *Sweeper) Rename(descs map[mad.GUID]smp.NodeDescription) *topo.Topo {
	if s.renamed == nil {
		s.renamed = map[mad.GUID]smp.NodeDescription{}
	}
	maps.Copy(s.renamed, descs)
	if s.state.prev == nil {
		return nil
	}
	t := *s.state.prev
	t.Nodes = slices.Clone(t.Nodes)
	s.state.prev = &t
	rename(&t, descs)
	return &t
}

func rename(t *topo.Topo, descs map[mad.GUID]smp.NodeDescription) {
	for guid, desc := range descs {
		if n := t.FindNode(guid); n != topo.None {
			t.Nodes[n].Desc = desc
		}
	}
}

// Steps yields each step of the plan in words, in order.
func (c *SweepPlan) Steps(yield func(string) bool) {
	defer c.Plan.Rewind()
	for more := true; more; more = c.Plan.Advance() {
		for st, ok := c.Plan.Next(); ok; st, ok = c.Plan.Next() {
			if !yield(c.Plan.Tell(st)) {
				return
			}
		}
	}
	if c.multicast != nil {
		c.multicast.steps(yield)
	}
}
