// Package manager is one subnet manager on one port. Core is a value that takes events with
// their time and returns actions, so that a run can be repeated to the byte. It is
// composed of machines with named states; Shell gives it a port, a clock and workers.
package manager

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep"
	"ibsm/sweep/mkeys"
	"ibsm/sweep/multicast"
	"ibsm/sweep/vports"
)

// Core is the manager of one port: it routes events to its machines and orders their
// effects. It is owned by one goroutine, has no clock and no randomness, and does not compute
// for long: routing is handed out as a route task.
type Core struct {
	cfg   Config
	fx    effects       // of the Step under way
	waits time.Duration // from when on it has awaited an event

	port         ownPort            // the port that this manager is at
	ownLink      ownLink            // whether it has lost its link
	elect        election           // which manager is master
	term         term               // the mastership term
	handover     handover           // the mastership handed to another manager
	mirror       mirroring          // what clients have registered with another master
	sweeps       scheduler          // which sweep is made when, and plans
	leases       *mkeys.Leases      // of M_Keys, beside the sweeps
	multicast    *multicast.Machine // the multicast tables, beside the sweeps
	lateTables   lateClock          // how long these wait for late switches
	proving      proving            // what is proved of multicast trees, beside the sweeps
	vPorts       *vports.Machine    // virtual functions, beside the sweeps
	vPortList    *sweep.VPortList   // that is being made
	portsReset   []mad.GUID         // by the sweep under way
	vPortsUnread bool               // the last sweep left entries of tables alone that may be those of vPorts
	onceUntil    time.Duration      // when a run with Once ends at the latest that goes on because of vPorts
	awaiting     awaiting           // the engine for which interim routes serve
	traps        traps              // notices, and the sweeps that they cause
	descriptions descriptions       // NodeDescriptions, between sweeps
	guids        guidWrites         // GUIDs that the SA assigns
	inquiry      inquiry            // a manager that has named itself
	controls     control            // a control packet whose sender is not proved yet
	shows        showSMKey          // requests that wait until their sender has shown the SM_Key
	remembered   remembered         // what a standby has found
	alarms       alarms             // what hosts send that is not theirs to send
	partitions   partitioning       // of the configuration and of callers

	published publication
	logged    sweepLog
	received  uint64        // packets
	sent      uint32        // packets: ActCount
	replied   txn.Outcome   // of a reply while its owner takes it: one for all, since a sweep has very many
	ended     []txn.Outcome // likewise, of requests that nobody answered
	cancelled []txn.Outcome // likewise, of requests that were dropped
	late      []txn.Outcome // likewise, of requests that were not waited for any longer
}

// NewCore returns a manager that begins with a heavy sweep at its first Step.
func NewCore(cfg Config) *Core {
	cfg.Elect.Inactive = cfg.Elect.Inactive && !cfg.DryRun // which only looks
	cfg.Txn.MaxWindow = cfg.maxWindow()
	known := partitioning{configured: cfg.Sweep.Partitions}
	known.take(cfg.Registered)
	cfg.Sweep.Partitions, cfg.Registered = known.inForce(), nil
	own := newElection(&cfg)
	cfg.Sweep.Nonces = own.walkNonces()
	c := &Core{
		cfg: cfg, partitions: known, fx: effects{table: txn.New(cfg.Txn)}, elect: own,
		term:   term{last: cfg.LastTerm, epoch: cfg.Epoch},
		sweeps: scheduler{sweeper: sweep.New(cfg.Sweep)}, multicast: multicast.New(cfg.Sweep.Settings.MKeys()),
		lateTables: lateClock{owner: ownerMulticast},
		vPorts:     vports.New(cfg.Sweep.Settings.VPorts, cfg.Sweep.Settings.MKeys()),
		traps:      traps{series: map[trapKey]*trapSeries{}}, guids: newGUIDWrites(),
	}
	c.leases = c.sweeps.sweeper.Leases()
	c.descriptions.reset()
	c.sweeps.want(wishFull, "start")
	return c
}

// Step takes an event at a time, which must not run backwards, and returns what must
// be done, in order. The slice is valid until the next Step. Waits has to be called when that is done.
func (c *Core) Step(now time.Duration, ev Event) []Action {
	paused := now - max(c.fx.now, c.waits)
	c.fx.begin(now)
	if c.handover.state == exited {
		return nil
	}
	if paused > c.elect.stall() && paused < now { // not the first step
		c.resumed(paused)
	}
	c.enter() // the first state; others are reported as they come
	c.take(ev)
	c.tick()
	c.pump()
	c.followMaster()
	c.handover.prepare(&c.fx, c.elect.Target())
	c.fx.flush()
	c.sweeps.waitForLate(c.fx.now, c.fx.table)
	c.lateTables.wait(c.fx.now, c.fx.table)
	c.sent += uint32(len(c.fx.send))
	if len(c.fx.send) > 0 {
		c.fx.do(Send{c.fx.send})
	}
	return c.fx.actions
}

// Waits takes from when on the next event is awaited. A manager that awaits it for longer than until Deadline was
// paused; what Step has computed before, and what its actions have taken, is no pause.
func (c *Core) Waits(now time.Duration) { c.waits = now }

// take routes an event.
func (c *Core) take(ev Event) {
	switch ev := ev.(type) {
	case TimePassed:
	case Received:
		for i := range ev.Datagrams {
			c.receive(&ev.Datagrams[i])
		}
	case TaskDone:
		c.taskDone(ev)
	case SweepRequested:
		c.requested(&ev)
	case RegistryChanged:
		c.multicast.SetRegistry(ev.State)
		if c.elect.State() != smp.Master {
			c.sweeps.sweeper.MKeys().Mirror(ev.State)
		}
		c.sweeps.sweeper.SetMulticastTop(c.multicast.Top())
		c.raiseTop()
		c.partitionsChanged(ev.State)
	case PartitionsChanged:
		c.partitions.configured = ev.Partitions
		c.repartition()
	case ConfigChanged:
		c.reconfigure(ev.Config)
	case WriteGUIDs:
		c.guids.write(&c.fx, &ev.Block, c.published.view, c.elect.mayWrite(), &c.cfg.Sweep.Settings)
	case MirrorHeard:
		c.mirror.heard(&c.fx, &ev.Heard)
	case OtherVersion:
		logOtherVersion(&c.fx, ev.OtherVersion)
	case MLIDShareReached:
		c.fx.log(
			warn, "a port has created multicast groups on as many MLIDs as are still free: further groups from it share an MLID with groups of the same P_Key, MTU, rate and SL, or are rejected",
			"guid", ev.Port)
	case Reregister:
		if ports := c.reregisterVPorts(ev.Ports); len(ports) > 0 {
			c.sweeps.sweeper.Reregister(ports)
			c.sweeps.want(wishQuick, "members of changed groups must join again")
		}
	case Resumed:
		if ev.Paused > c.elect.stall() {
			c.resumed(ev.Paused)
		}
	case ClockSet:
		c.cfg.Epoch = ev.Epoch
	case StandbyComplete:
		c.act(c.elect.Complete(c.fx.now, ev.GUID))
	case Leave:
		c.leave()
	}
}

// receive takes one datagram.
func (c *Core) receive(d *mad.Datagram) {
	if !d.TimedOut {
		c.received++
		if !d.Packet.IsResponse() {
			c.request(d)
			return
		}
	}
	var matched bool
	if c.replied, matched = c.fx.table.Match(c.fx.now, d); matched {
		c.outcome(&c.replied)
		return
	}
	if d.TimedOut {
		return
	}
	c.multicast.UnmatchedReply(c.fx.now, &d.Packet)
	if c.sweeps.sweeper.UnmatchedReply(&d.Packet) {
		// held off: anybody can send such a reply
		c.traps.sweep(c.fx.now, wishFull, "a device accepted a stale table block")
	}
}

// outcome gives the end of a request to its owner, which must not keep o.
func (c *Core) outcome(o *txn.Outcome) {
	switch o.Owner {
	case ownerElection:
		c.asked(o)
	case ownerControl:
		c.proved(o)
	case ownerInquiry:
		c.inquired(o)
	case ownerShown:
		c.showing(o)
	case ownerPlace:
		c.port.isPlace(o)
	case ownerSweep:
		c.sweeps.take(o)
		if p, is := c.sweeps.phase.(*sweep.Program); is {
			c.publishFirst(p)
		}
		if walk, is := c.sweeps.phase.(*sweep.Walk); is && len(c.port.places) == 0 {
			c.port.places = walk.Places()
		}
		if _, _, guid := c.sweeps.progress(); guid != 0 && c.port.identity == ownUnknown {
			c.identified(guid)
		}
	case ownerMulticast:
		c.multicast.Done(o)
	case ownerDescriptions:
		c.descriptions.done(c.fx.now, o)
	case ownerGUIDs:
		c.guids.done(&c.fx, o)
	case ownerPort:
		c.identify(o)
	case ownerKeyRead:
		c.readAgain(o)
	case ownerLeases:
		c.renewed(o)
	case ownerOwnLink:
		c.ownLinkSeen(o)
	case ownerVPorts:
		c.vPorts.Done(c.fx.now, o)
		c.dropResetVPorts()
	}
}

// tick does what is due.
func (c *Core) tick() {
	c.ended = c.fx.table.Expire(c.fx.now, c.ended[:0])
	for i := range c.ended {
		c.outcome(&c.ended[i])
	}
	c.endLate()
	for do, ok := c.elect.tick(&c.fx); ok; do, ok = c.elect.tick(&c.fx) {
		c.act(do)
	}
	if c.handover.over(c.fx.now) {
		c.exit(nil)
	}
	c.traps.heal(&c.fx, c.sweeps.sweeper.Heal)
	if want, due := c.traps.tick(c.fx.now); due {
		c.trapSweep(want)
	}
	c.renewLeases()
	c.ownLink.tick(&c.fx, c.watchesOwnLink(), c.ownKey())
	c.descriptions.ask(&c.fx, c.published.view, c.sweeps.sweeper)
	c.publishDescriptions()
	if c.sweeps.tick(c.fx.now) {
		c.periodic()
	}
	c.proving.tick(&c.fx, c.multicast)
}

// Deadline is when Step is wanted even if nothing happens; false for never.
func (c *Core) Deadline() (at time.Duration, ok bool) {
	if c.handover.state == exited {
		return 0, false
	}
	earlier := func(t time.Duration, set bool) {
		if set && (!ok || t < at) {
			at, ok = t, true
		}
	}
	earlier(c.fx.table.Deadline())
	earlier(c.elect.Due())
	earlier(c.fx.now+c.elect.stall()/2, true)
	earlier(c.sweeps.deadline())
	earlier(c.lateDue())
	earlier(c.leasesDue())
	earlier(c.ownLink.due, c.ownLink.due > 0)
	earlier(c.handover.deadline())
	earlier(c.traps.deadline())
	earlier(c.descriptions.due, c.descriptions.due > 0)
	earlier(c.multicast.Due(), c.multicast.Due() > 0)
	earlier(c.vPortsDue())
	earlier(c.onceUntil, c.onceUntil != 0)
	earlier(c.proving.deadline())
	return at, ok
}

// resumed asks every other manager again after this one was paused, before anything is
// written.
func (c *Core) resumed(paused time.Duration) {
	c.elect.Resumed(c.fx.now)
	if state := c.elect.State(); state != smp.Master && state != smp.Discovering {
		return
	}
	c.fx.log(warn, "this manager was paused: querying all other managers before writing anything", "for",
		paused.Round(time.Millisecond))
	c.sweeps.plan.refuse(&c.fx, errPaused)
	c.ownTerm()
	c.pause()
	c.sweeps.want(wishFull, "this manager was paused")
}

func (c *Core) exit(err error) {
	c.handover.state = exited
	c.fx.do(Exit{err})
}
