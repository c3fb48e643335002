// Package manager is one subnet manager on one port. Core is its mind: a value
// that takes events with their time and returns what is to be done, so that a run
// can be repeated to the byte. Run is the thin shell that gives it a port, a clock
// and a worker.
package manager

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/opensm/names"
	"ibsm/sa"
	"ibsm/store"
	"ibsm/sweep"
	"ibsm/sweep/discover"
	"ibsm/sweep/elect"
	"ibsm/view"
)

// Config of a manager. The zero value rules with OpenSM's defaults, but needs an
// engine.
type Config struct {
	Sweep sweep.Config
	Elect elect.Config
	Txn   txn.Config
	// GUID is the port that must be ours; 0 takes what is there.
	GUID mad.GUID
	// SweepInterval is the time between light sweeps; 0 for none.
	SweepInterval time.Duration
	// Resting holds all sweeps back until a configuration without it.
	Resting bool
	// ForceHeavy makes every sweep a heavy one.
	ForceHeavy bool
	// IgnoreTraps leaves changes that traps 128 and 144 tell of to the next sweep.
	IgnoreTraps bool
	SAKey       uint64
	MaxRate     mad.Rate // view.Subnet.MaxRate
	NoMulticast bool     // view.Subnet.NoMulticast
	// PrefixRoutes are the routers to other subnets, for path queries.
	PrefixRoutes []view.PrefixRoute
	// Names are those that the log calls nodes by; the others by their descriptions.
	Names names.Map
	// Once ends the run with the first sweep that is complete.
	Once bool
	// Epoch is the time of day at Step's time 0, in seconds since 1970. Run sets it.
	Epoch int64
	// LastReign is the last one before this manager's; the zero value for none. Resume
	// sets it.
	LastReign store.Reign
	// HonorGUID2LID has a manager that was standby and becomes master ask for the LIDs
	// of OpenSM's file, which then go before those that ports report.
	HonorGUID2LID bool
	// Registrar is of the SA's half that changes what is registered. Run sets its Began.
	Registrar sa.RegistrarConfig
	// DryRun asks and computes, shows the plan, and ends without having written
	// anything or taken part in an election.
	DryRun bool
}

// portPoll is how often a manager whose own port is down looks at it again.
const portPoll = time.Second

// maxBackoff bounds the time between sweeps that try again what failed.
const maxBackoff = 10 * time.Second

// Core is the manager of one port. It is owned by one goroutine, has no clock and
// no randomness, and does not compute for long: routing is handed out as a Job.
type Core struct {
	cfg     Config
	table   *txn.Table
	sweeper *sweep.Sweeper
	elect   *elect.Machine
	// multicast works beside the sweeper.
	multicast        *sweep.Multicast
	multicastTrouble string // as it was told of last
	multicastMissed  int

	now     time.Duration
	actions []Action
	send    []mad.Datagram
	ended   []txn.Outcome

	told      smp.SMState // the state last told of; 0xff none
	heavy     bool        // a heavy sweep is wanted
	full      bool        // and it must ask about everything
	quick     bool        // the sweep under way does not
	distrust  bool        // what the last sweep left is no ground for a quick one
	light     bool
	urgent    bool // a link has changed its state: a quick sweep goes before others
	why       string
	started   time.Duration // of the sweep under way
	slowSince time.Duration // when a sweep that may be put off for urgent ones was begun first; 0 none
	nextSweep time.Duration // timer; 0 none
	backoff   time.Duration
	trouble   string // what went wrong in the last sweep, to see whether it is the same again
	abdicate  bool   // mastership ended while a Job was out
	silences  int    // walks of a run of one sweep in which our own port did not answer
	portDown  bool   // it was told that our own port is down
	upOnce    bool   // SUBNET UP has been told
	twinTold  bool   // it was told that another manager has our GUID
	gen       uint64
	reign     store.Reign // as it was told of last
	stoodBy   bool        // since the last reign as master
	reigns    bool        // reign has been raised since this manager became master
	ruled     bool        // this manager has been master
	polledAt  mad.Route
	polledLID mad.LID
	rivals    []view.SM     // as in Stats
	others    []discover.SM // the same, with the ways to them
	leaving   leaving
	asked     bool // every other manager has been asked in this reign, and since we last stood still
	own       ownPort
	early     []mad.Datagram // requests that came before we knew who we are
	actCount  uint32
	unforced  string                    // links whose width and speed cannot be forced, as told
	overflows map[string]bool           // partition tables that are too small, as told
	known     map[discover.Finding]bool // findings of the last walk; true when told
	traps     traps
	renames   renames
	guids     guidWrites
	following following
	heir      mad.GUID   // of Yield
	view      *view.View // published last; nil when not master
	plan      planning
	stats     Stats
	phaseAt   time.Duration // when the phase in stats began
	lost, cut string        // examples of routes that the last sweep told of
	stopped   bool
}

// ownPort is what our own port was read to hold.
type ownPort struct {
	guid    mad.GUID
	lid     mad.LID
	mkey    mad.MKey
	protect uint8
}

// holds takes over what the port was read, or set, to hold.
func (o *ownPort) holds(p *smp.PortInfo) {
	o.lid, o.mkey, o.protect = p.LID(), p.MKey(), p.MKeyProtectBits()
}

// NewCore returns a manager that begins with a heavy sweep at its first Step.
func NewCore(cfg Config) *Core {
	cfg.Elect.Inactive = cfg.Elect.Inactive && !cfg.DryRun // which only looks
	return &Core{
		cfg: cfg, table: txn.New(cfg.Txn), sweeper: sweep.New(cfg.Sweep), elect: elect.New(cfg.Elect),
		multicast: sweep.NewMulticast(&cfg.Sweep.Settings),
		reign:     cfg.LastReign, heavy: true, full: true, why: "start", told: 0xff, known: map[discover.Finding]bool{},
		traps: traps{series: map[trapKey]*trapSeries{}}, renames: newRenames(0), guids: guidWrites{out: map[uint32]sa.GUIDBlock{}},
	}
}

// Sweep is a sweep that is asked for.
type Sweep uint8

// Sweeps.
const (
	NoSweep Sweep = iota
	Light
	Heavy
	Reroute     // heavy, with all routes computed afresh
	Plan        // what a heavy sweep would write: Planned answers, and nothing is written
	PlanReroute // the same for a reroute
	Describe    // no sweep: every node is asked for its NodeDescription
)

// Action is something to be done: one of the types below.
type Action interface{ action() }

// Send sends datagrams. They are only valid until the next Step.
type Send struct{ Datagrams []mad.Datagram }

// Compute runs a Job and returns its result as an event. Only one is out at a time.
// With Recall, the Job is first to Recall the LIDs of OpenSM's guid2lid. With Restore,
// what clients had registered before is to be restored first.
type Compute struct {
	Job     *sweep.Job
	Recall  bool
	Restore bool
}

// Cancel ends the Job that is out early; its result is still awaited.
type Cancel struct{}

// Publish makes a view the one that questions are answered from; nil for none.
type Publish struct{ View *view.View }

// Show is the plan of a dry run.
type Show struct{ Computed *sweep.Computed }

// Exit ends the run. A nil Err is success.
type Exit struct{ Err error }

func (Send) action()    {}
func (Compute) action() {}
func (Cancel) action()  {}
func (Publish) action() {}
func (Show) action()    {}
func (Exit) action()    {}

func (c *Core) do(a Action) { c.actions = append(c.actions, a) }

// Step takes an event at a time, which must not run backwards, and returns what is
// to be done in order. The slice is valid until the next Step.
func (c *Core) Step(now time.Duration, ev Event) []Action {
	slept := now - c.now
	c.now, c.actions, c.send = now, c.actions[:0], c.send[:0]
	if c.stopped {
		return nil
	}
	if slept > c.stall() && slept < now { // not the first step
		c.woken(slept)
	}
	c.take(ev)
	c.tell()
	c.timers()
	c.pump()
	c.tell()
	c.follow()
	c.yield()
	c.observe()
	c.send = c.table.Output(now, c.send)
	c.actCount += uint32(len(c.send))
	if len(c.send) > 0 {
		c.do(Send{c.send})
	}
	return c.actions
}

// take routes an event.
func (c *Core) take(ev Event) {
	switch ev := ev.(type) {
	case TimePassed:
	case Received:
		for i := range ev.Datagrams {
			c.receive(&ev.Datagrams[i])
		}
	case RoutesComputed:
		c.computed(ev.Result)
	case MulticastComputed:
		c.multicast.Grown(ev.Result)
	case SweepRequested:
		c.ask(ev.Sweep)
	case RegistryChanged:
		c.setRegistry(ev.State)
	case PartitionsChanged:
		c.cfg.Sweep.Partitions = ev.Partitions
		c.sweeper.Configure(c.cfg.Sweep)
		c.wantQuick("other partitions")
	case ConfigChanged:
		c.reconfigure(ev.Config)
	case WriteGUIDs:
		c.writeGUIDs(&ev.Block)
	case MirrorHeard:
		c.mirrored(&ev.Heard)
	case Reregister:
		c.sweeper.Reregister(ev.Ports)
		c.wantQuick("members of groups that have changed are to join again")
	case Resumed:
		if ev.Paused > c.stall() {
			c.woken(ev.Paused)
		}
	case StandbyComplete:
		c.act(c.elect.Complete(c.now, ev.GUID))
	case Leave:
		if c.leaving.by == 0 {
			c.leave()
		}
	}
}

// Deadline is when Step is to be called even if nothing happens; false for never.
func (c *Core) Deadline() (at time.Duration, ok bool) {
	if c.stopped {
		return 0, false
	}
	earlier := func(t time.Duration, set bool) {
		if set && (!ok || t < at) {
			at, ok = t, true
		}
	}
	earlier(c.table.Deadline())
	earlier(c.elect.Due())
	earlier(c.now+c.stall()/2, true)
	earlier(c.nextSweep, c.nextSweep > 0)
	earlier(c.leaving.by, c.leaving.by > 0)
	earlier(c.trapDeadline())
	earlier(c.renames.due, c.renames.due > 0)
	earlier(c.multicast.Due(), c.multicast.Due() > 0)
	return at, ok
}

// receive takes one datagram.
func (c *Core) receive(d *mad.Datagram) {
	if !d.TimedOut {
		c.stats.Received++
	}
	if !d.TimedOut && !d.Packet.IsResponse() {
		c.request(d)
		return
	}
	if o, ok := c.table.Match(c.now, d); ok {
		c.outcome(&o)
		return
	}
	if d.TimedOut {
		return
	}
	c.multicast.Stray(c.now, &d.Packet)
	if c.sweeper.Stray(&d.Packet) {
		c.want(true, "an old block of a table has been taken")
	}
}

// timers does what is due.
func (c *Core) timers() {
	c.ended = c.table.Expire(c.now, c.ended[:0])
	for i := range c.ended {
		c.outcome(&c.ended[i])
	}
	c.watch()
	if c.leaving.by > 0 && c.leaving.by <= c.now && !c.stopped {
		c.exit(nil)
	}
	c.trapsDue()
	c.rename()
	if c.nextSweep > 0 && c.nextSweep <= c.now {
		c.nextSweep = 0
		c.periodic()
	}
}

// pump keeps the window full, and goes from phase to phase.
func (c *Core) pump() {
	for !c.stopped {
		c.observe()
		for c.table.Room() > 0 {
			req, ok := c.multicast.Next()
			if req.Owner = ownerMulticast; !ok {
				req, ok = c.sweeper.Next()
				req.Owner = ownerSweep
			}
			if !ok {
				break
			}
			if !c.table.Submit(&req) {
				o := txn.Outcome{Owner: req.Owner, Tag: req.Tag, Node: req.Node, Method: req.Method, Attr: req.Attr, Mod: req.Mod, Result: txn.Cancelled}
				c.outcome(&o)
			}
		}
		if c.table.Room() == 0 {
			c.multicastOn()
			return
		}
		before := c.sweeper.Phase()
		more := c.multicastOn()
		more = c.sweeper.Settle() || more
		switch c.sweeper.Phase() {
		case sweep.Idle:
			c.begin()
		case sweep.Walked:
			c.walked()
		case sweep.Programmed:
			c.finish()
		case sweep.Looked:
			c.looked()
		}
		if !more && c.sweeper.Phase() == before {
			return
		}
	}
}

// Owners of requests.
const (
	ownerElection txn.Owner = iota
	ownerSweep
	ownerMulticast
	ownerDescriptions
	ownerGUIDs
)

// outcome gives the end of a request to its owner.
func (c *Core) outcome(o *txn.Outcome) {
	switch o.Owner {
	case ownerElection:
		c.heardOf(o)
	case ownerSweep:
		c.sweeper.Done(o)
		c.introduce()
	case ownerMulticast:
		c.multicast.Done(o)
	case ownerDescriptions:
		c.renamed(o)
	case ownerGUIDs:
		c.wroteGUIDs(o)
	}
}

// cancelSweep drops what the sweeper has outstanding, and nothing else.
func (c *Core) cancelSweep() {
	c.ended = c.table.CancelOwner(ownerSweep, c.ended[:0])
}

// cancel drops everything that is outstanding: the reign it belongs to is over.
func (c *Core) cancel() {
	c.ended = c.table.Cancel(c.ended[:0])
	clear(c.guids.out)
	c.renames.cancelled()
}

// TxnStats counts the requests of this manager.
func (c *Core) TxnStats() txn.Stats { return c.table.Stats() }
