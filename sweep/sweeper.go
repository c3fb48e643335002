// Package sweep is the subnet manager proper: what to ask a subnet, what it should
// hold, and how to bring it there. A Sweeper is pure: it hands out requests, takes
// their outcomes, and says what is to happen next; its owner does it.
//
// A heavy sweep walks the subnet, computes (in a Job, elsewhere) and programs. A
// light sweep only asks whether a heavy one is needed.
package sweep

import (
	"maps"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
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
	Kept          Kept
}

// Partitions are who may talk to whom, and how that becomes tables. A nil Policy leaves
// the fabric's partitions as they are.
type Partitions struct {
	Policy   *partitions.Policy
	Settings partitions.Settings
}

// Phase is what a Sweeper is at.
type Phase uint8

// Phases.
const (
	Idle        Phase = iota
	Walking           // asking
	Walked            // the walk is done: Job or Drop is next
	Computing         // a Job is out: Program, Drop or Abort is next
	Programming       // writing
	Programmed        // all is written: Finish is next
	Looking           // a light sweep
	Looked            // it is done: Verdict is next
)

func (p Phase) String() string {
	return [...]string{"idle", "walking", "walked", "computing", "programming", "programmed", "looking", "looked"}[p]
}

// Sweeper is owned by one goroutine.
type Sweeper struct {
	cfg     Config
	state   *state
	phase   Phase
	walk    *discover.Machine
	found   *discover.Result
	program *program
	light   *light
	sms     []smPort                         // other managers, in state.prev
	renamed map[mad.GUID]smp.NodeDescription // since the walk began
	reroute bool
	// multicastTop is the MulticastFDBTop that switches are to have; 0 leaves multicast alone.
	multicastTop    mad.LID
	reregistrations reregistrations
}

// New returns a Sweeper at rest that knows what is kept from before.
func New(cfg Config) *Sweeper { return &Sweeper{cfg: cfg, state: newState(cfg.Kept)} }

// Configure takes another configuration, which counts from the next sweep on.
func (s *Sweeper) Configure(cfg Config) { s.cfg = cfg }

// Phase is what the Sweeper is at.
func (s *Sweeper) Phase() Phase { return s.phase }

// Nodes is how many nodes the walk under way has found.
func (s *Sweeper) Nodes() int {
	if s.walk == nil {
		return 0
	}
	return s.walk.Nodes()
}

// Self is the GUID of our own port as the walk under way has found it, 0 if it has not.
func (s *Sweeper) Self() mad.GUID {
	if s.walk == nil {
		return 0
	}
	return s.walk.Self()
}

// SetMulticastTop gives all switches whose MulticastFDBTop counts another one with the next
// heavy sweep; with 0 what they have of multicast is left alone.
func (s *Sweeper) SetMulticastTop(top mad.LID) { s.multicastTop = top }

// Reroute makes the next heavy sweep compute all routes afresh.
func (s *Sweeper) Reroute() { s.reroute = true }

// Walk begins a heavy sweep. master allows what only the master of a subnet may do
// before it has decided anything: clear PortStateChange. quick believes the previous
// walk about switches that report no change.
func (s *Sweeper) Walk(master, quick bool) {
	s.phase, s.renamed = Walking, nil
	s.state.devices.WalkBegins()
	s.walk = discover.New(discover.Config{
		Prev: s.state.prev, Plain: s.state.plain, Devices: s.state.devices, Clear: master, Quick: quick,
		Findings: s.state.findings, MKey: s.cfg.Settings.MKey.Value, Keys: s.keys(), FDR10: s.cfg.Settings.FDR10 != 0, IgnoreOtherSM: s.cfg.IgnoreOtherSM,
		Enforced: s.cfg.Partitions.enforced(),
	})
}

// Look begins a light sweep. There must have been a heavy one.
func (s *Sweeper) Look() {
	s.phase = Looking
	s.light = newLight(s.state.prev, s.state, &s.cfg.Settings, s.sms)
}

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

// Next is the next request to make; ok is false when there is none now. Each must
// be answered by Done.
func (s *Sweeper) Next() (req txn.Request, ok bool) {
	switch s.phase {
	case Walking:
		return s.walk.Next()
	case Programming:
		return s.program.next()
	case Looking:
		return s.light.next()
	}
	return req, false
}

// Done takes the outcome of a request.
func (s *Sweeper) Done(o *txn.Outcome) {
	switch s.phase {
	case Walking:
		s.walk.Done(o)
	case Programming:
		s.program.done(o)
	case Looking:
		s.light.done(o)
	}
}

// Settle goes on to the next phase if everything of this one has been answered. It
// is to be called when Next has nothing. More reports that Next may have something
// again.
func (s *Sweeper) Settle() (more bool) {
	switch {
	case s.phase == Walking && s.walk.Finished():
		s.found = s.walk.Result()
		s.walk = nil
		s.phase = Walked
	case s.phase == Looking && s.light.open == 0:
		s.phase = Looked
	case s.phase == Programming && !s.program.waits():
		if !s.program.finished() {
			return true
		}
		s.phase = Programmed
	}
	return false
}

// Found is what the walk found, until Finish or Drop.
func (s *Sweeper) Found() *discover.Result { return s.found }

// Job is the computation that follows a walk. now is in seconds since 1970.
func (s *Sweeper) Job(now int64) *Job {
	s.phase = Computing
	j := &Job{found: s.found, settings: s.cfg.Settings, engine: s.cfg.Engine, parts: s.cfg.Partitions, state: s.state.snapshot(), reroute: s.reroute, now: now,
		multicastTop: s.multicastTop}
	s.reroute, s.state.babblers = false, nil
	j.reregister = s.reregistrations.take()
	return j
}

// Preview is the Job of a sweep that is only to be looked at: its outcome is the
// caller's alone, Drop is next, and nothing is remembered of it.
func (s *Sweeper) Preview(reroute bool) *Job {
	s.phase = Computing
	return &Job{found: s.found, settings: s.cfg.Settings, engine: s.cfg.Engine, parts: s.cfg.Partitions, state: s.state.snapshot(), reroute: reroute || s.reroute,
		multicastTop: s.multicastTop}
}

// Program begins to write what a Job computed.
func (s *Sweeper) Program(c *Computed) {
	s.phase = Programming
	s.state.apply(&c.delta)
	s.program = newProgram(c, s.state, s.reregistrations.out)
}

// Outcome is what a heavy sweep came to.
type Outcome struct {
	*Computed
	Found    *discover.Result
	Sets     map[mad.AttrID]int // sent, by attribute
	Failures []Failure
	NotHeld  []NotHeld
	Healed   bool // a switch that was bypassed has taken its table: routes may lead through it again
	devices  *device.Record
}

// Finish ends a heavy sweep. The Topo is as the replies left it, and is not written
// any more. It is the one of the last sweep where nothing is different.
func (s *Sweeper) Finish() *Outcome {
	p := s.program
	if p.c.same && len(p.sets) == 0 {
		p.c.Topo = s.state.prev
	} else {
		rename(p.c.Topo, s.renamed)
	}
	out := &Outcome{Computed: p.c, Found: s.found, Sets: p.sets, Failures: p.failures, NotHeld: p.notHeld, Healed: p.tally(), devices: s.state.devices}
	s.state.pkeys.tally(p.held)
	s.reregistrations.told(p.c)
	s.state.prev, s.state.swept = p.c.Topo, true
	s.state.rememberKeys(p.c.Topo)
	s.state.findings = s.found.Findings
	s.state.devices.WalkEnds()
	s.sms = s.managers(p.c.Topo)
	s.rest()
	return out
}

// managers are the ports at which there is another subnet manager, also those that did
// not say who they are: one that has just been started may not know yet.
func (s *Sweeper) managers(t *topo.Topo) (ports []smPort) {
	if s.cfg.IgnoreOtherSM {
		return nil
	}
	for _, p := range t.EndPorts {
		port := &t.Ports[p]
		if p == t.Self || !port.Info.CapabilityMask().Has(smp.IsSM) || t.Nodes[port.Node].Missed > 0 {
			continue
		}
		answered := slices.ContainsFunc(s.found.SMs, func(sm discover.SM) bool { return sm.Port == port.GUID })
		ports = append(ports, smPort{p, answered})
	}
	return ports
}

// Verdict ends a light sweep: why a heavy one is needed, "" when it is not, whether
// that has to ask about everything, and what other managers said.
func (s *Sweeper) Verdict() (reason string, full bool, sms []SMReply) {
	reason, full, sms = s.light.reason, s.light.full, s.light.sms
	s.state.devices.Checked()
	s.rest()
	return reason, full, sms
}

// Drop gives up whatever is under way. What was asked must have been cancelled, and
// a Job that is out must have returned.
func (s *Sweeper) Drop() {
	var cleared []mad.GUID
	switch {
	case s.walk != nil:
		cleared = s.walk.Cleared()
	case s.found != nil:
		cleared = s.found.Cleared
	}
	for _, node := range cleared {
		s.state.devices.Doubt(device.Place{Attr: smp.AttrPortInfo, Node: node})
	}
	s.rest()
}

// Abdicate gives up what is under way and forgets what another manager may change.
func (s *Sweeper) Abdicate() {
	s.rest()
	s.state.forgetMastership()
	s.sms = nil
}

// Isolate gives up what is under way when nothing can be reached any more, and forgets
// what another manager may change until that is over. Whoever then rules tells the
// ports so: clients of those that still name us are registered here.
func (s *Sweeper) Isolate() {
	if !s.state.swept {
		s.Drop()
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
	s.phase, s.walk, s.found, s.program, s.light = Idle, nil, nil, nil, nil
	s.reregistrations.putBack()
}

// Rename gives nodes other descriptions, in a copy of the subnet that becomes the one
// known; nil when there is none. The sweep under way will know them, too.
func (s *Sweeper) Rename(descs map[mad.GUID]smp.NodeDescription) *topo.Topo {
	if s.state.prev == nil {
		return nil
	}
	t := *s.state.prev
	t.Nodes = slices.Clone(t.Nodes)
	s.state.prev = &t
	if s.renamed == nil {
		s.renamed = map[mad.GUID]smp.NodeDescription{}
	}
	maps.Copy(s.renamed, descs)
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
func (c *Computed) Steps(yield func(string) bool) {
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
