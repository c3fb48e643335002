package manager

import (
	"cmp"
	"fmt"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	osmlog "ibsm/opensm/log"
	"ibsm/sa"
	"ibsm/sweep"
	"ibsm/sweep/discover"
	"ibsm/sweep/elect"
	"ibsm/sweep/routes"
)

// requested takes an operator's request.
func (c *Core) requested(r *SweepRequested) {
	switch r.Sweep {
	case Plan, PlanReroute:
		if r.Policy != nil {
			policy := *r.Policy
			policy.Partitions = c.partitions.beside(policy.Partitions)
			r.Policy = &policy
		}
		c.sweeps.plan.ask(planRequest{number: r.Number, reroute: r.Sweep == PlanReroute, Preview: r.Preview})
	case EndPlan:
		c.sweeps.endPlan(&c.fx, r.Number)
	case Describe:
		c.descriptions.wantAll(c.published.view)
	case NoSweep:
	case Light:
		c.sweeps.want(wishLight, "")
	case Heavy:
		c.sweeps.sweeper.SendAgain()
		c.multicast.SendAgain()
		c.vPorts.SendAgain(c.fx.now)
		c.sweeps.want(wishFull, "requested")
	case Reroute:
		c.sweeps.sweeper.Reroute()
		c.sweeps.want(wishFull, "requested")
	}
}

// periodic is the sweep that the clock asks for.
func (c *Core) periodic() {
	switch c.elect.State() {
	case smp.Discovering:
		c.sweeps.want(wishFull, "looking for a subnet")
	case smp.Master:
		c.sweeps.want(wishLight, "")
		if c.cfg.ForceHeavy {
			c.sweeps.want(wishFull, "force_heavy_sweep is set")
		}
		if of := c.sweeps.incomplete(); of != 0 {
			c.sweeps.want(of, "the last sweep was incomplete")
		}
		if c.sweeps.late.sets {
			c.sweeps.want(wishQuick, "Sets were not answered in time")
		}
		if c.port.state != ownPortUp {
			c.sweeps.want(wishFull, "our own port received too few answers from the subnet")
		}
	}
}

// pump keeps the window full, and goes from phase to phase.
func (c *Core) pump() {
	for c.handover.state != exited {
		c.observe()
		for c.fx.table.Room() > 0 && c.submit() {
		}
		if c.fx.table.Room() == 0 {
			c.settleMulticast()
			break
		}
		before := c.sweeps.phase
		more := c.settleMulticast()
		more = c.settleVPorts() || more
		more = c.settle() || more
		if !more && c.sweeps.phase == before {
			break
		}
	}
	c.finishOnce()
	c.observe()
}

// observe notes the phase that the sweep under way has come to.
func (c *Core) observe() {
	phase, _, _ := c.sweeps.progress()
	c.sweeps.observe(c.fx.now, phase)
}

// settle goes on to the next phase of the sweep under way when this one is done, and reports
// whether the same one has more to ask.
func (c *Core) settle() (more bool) {
	switch p := c.sweeps.phase.(type) {
	case nil:
		c.begin()
	case *sweep.Walk:
		if found := p.Found(); found != nil {
			if p.Open() > 0 {
				c.sweeps.ended = c.fx.table.CancelOwner(ownerSweep, c.sweeps.ended[:0])
			}
			c.walked(found)
		}
	case *sweep.Program:
		var out *sweep.Outcome
		if out, more = p.Outcome(); out != nil {
			c.finish(out)
		}
	case *sweep.Look:
		if verdict, ok := p.Verdict(); ok {
			c.looked(&verdict)
		}
	case *sweep.Found, *sweep.RouteTask: // an event goes on from there
	}
	return more
}

// submit has the next request of the multicast tables, the sweep or vPorts sent. It reports whether
// there was one.
func (c *Core) submit() bool {
	req, ok := c.multicast.Next()
	if req.Owner = ownerMulticast; !ok {
		req, ok = c.sweeps.nextRequest(c.fx.table.RoomForUnknown())
		req.Owner = ownerSweep
	}
	if !ok && c.elect.mayWrite() {
		req, ok = c.vPorts.Next(c.fx.now)
		req.Owner = ownerVPorts
	}
	if ok && !c.fx.request(&req) {
		c.outcome(&txn.Outcome{Owner: req.Owner, Tag: req.Tag, Method: req.Method, Attr: req.Attr, Mod: req.Mod,
			Result: txn.Cancelled})
	}
	return ok
}

// begin starts a sweep that is wanted, if this manager is in a state to.
func (c *Core) begin() {
	state := c.elect.State()
	if state != smp.Master && state != smp.Discovering || c.handover.state != staying {
		c.sweeps.wanted = 0
		c.sweeps.plan.refuse(&c.fx, ErrNotMaster)
		if state == smp.NotActive {
			c.rest()
		}
		return
	}
	if state != smp.Master && c.sweeps.plan.wanted() && !c.sweeps.beginsHeavy(c.cfg.Resting) {
		c.sweeps.plan.refuse(&c.fx, ErrNotMaster)
		return
	}
	if c.sweeps.sweeper.EndKnocks(c.fx.now) {
		c.sweeps.want(wishQuick, "ports that were opened for another manager are protected again")
	}
	if c.sweeps.readAll && c.sweeps.beginsHeavy(c.cfg.Resting) {
		c.sweeps.readAll = false
		c.pause()
	}
	c.sweeps.begin(&c.fx, c.elect.mayWrite(), c.cfg.Resting)
}

// walked decides what comes of a walk.
func (c *Core) walked(found *sweep.Found) {
	c.sweeps.walked(found)
	if c.sweeps.state == previewSweep {
		c.sweeps.preview(&c.fx, found, c.multicast)
		return
	}
	c.readOwn(found.Result)
	switch found.Own {
	case discover.OwnDown:
		c.ownPortDown(found)
		return
	case discover.OwnUnresponsive:
		c.ownPortUnresponsive(found)
		return
	}
	if found.Quick && (!found.IsLocal() || found.Strange() > c.logged.strange ||
		!c.sweeps.sweeper.MayRetry() && (found.TimedOut > 0 || found.Moved)) {
		c.sweeps.inconclusive(found)
		return
	}
	c.port.walked(&c.fx, found.Result)
	c.logged.walked(&c.fx, found.Result, c.cfg.Names)
	c.fx.log(debug, osmlog.HeavySweepDone)
	if c.cfg.GUID != 0 && c.cfg.GUID != c.port.guid {
		c.exit(fmt.Errorf("%w: it is %v, not %v", ErrWrongPort, c.port.guid, c.cfg.GUID))
		return
	}
	if c.cfg.DryRun {
		task := found.Task(c.term.timeOfDay(c.fx.now))
		c.fx.do(routeTask(ForSweep, c.sweeps.compute(task).WithMulticast(c.multicast)))
		return
	}
	c.met(found.SMs)
	others := infos(found.SMs)
	if c.isDuplicate(found, others) {
		return
	}
	if c.postpones(found, others) {
		if c.elect.waits == waitsMKey {
			c.open(found.OpenOwn())
		}
		c.sweeps.drop(found)
		c.sweeps.schedule(c.fx.now, portPoll)
		return
	}
	c.leases.Found(c.sweeps.started, found.Builder)
	c.act(c.elect.Decide(c.fx.now, others))
}

// computed takes the result of a sweep's route task.
func (c *Core) computed(r *sweep.SweepPlan) {
	switch {
	case c.sweeps.state >= pausing || r == nil:
		c.sweeps.giveUp(c.sweeps.state)
	case r.Fitting.State == routes.LanesFirst:
		c.sweeps.phase.(*sweep.RouteTask).Drop()
		c.sweeps.becomeIdle()
		c.sweeps.readLanes()
	case c.cfg.DryRun:
		c.fx.do(Show{r})
		c.exit(r.Err)
	default:
		if !r.SameSubnet() {
			c.proving.end(&c.fx)
		}
		c.fx.log(debug, osmlog.LIDsAssigned)
		c.logged.computed(&c.fx, r, c.cfg.Names)
		program := c.sweeps.sweeper.Program(r)
		c.sweeps.phase, c.sweeps.unwritten = program, Task{}
		if lids, forgotten := c.sweeps.sweeper.Changes(); len(lids)+len(forgotten) > 0 {
			c.fx.do(Persist{LIDs: lids, Forgotten: forgotten})
		}
		if routes, changed := c.sweeps.sweeper.RoutesRecord(); changed {
			c.fx.do(Persist{Routes: &routes})
		}
		reset, hosts := portsReset(r)
		c.portsReset = append(c.portsReset, reset...)
		if reset != nil {
			c.fx.do(ForRegistrar{sa.PortsReset{Ports: reset}})
		}
		c.restarted(reset, hosts, r.Restarted())
		c.publishFirst(program)
	}
}

// restarted says what a sweep found to have restarted: ports in INIT, with their nodes, and switches without
// their tables. In the first sweep of a term all switches are among these.
func (c *Core) restarted(ports, nodes, switches []mad.GUID) {
	if c.published.view != nil {
		nodes = append(nodes, switches...)
	}
	if ports = append(ports, switches...); len(ports) > 0 {
		c.fx.do(Restarted{ports, nodes})
	}
}

// portsReset are the ports, and their nodes, that a sweep found in INIT and is going to make ACTIVE.
func portsReset(r *sweep.SweepPlan) (ports, nodes []mad.GUID) {
	for _, p := range r.Topo.EndPorts {
		port := &r.Topo.Ports[p]
		if port.Num != 0 && port.Seen && port.Info.PortState() == smp.PortInit && r.Topo.Answers(p) {
			ports, nodes = append(ports, port.GUID), append(nodes, r.Topo.Nodes[port.Node].GUID)
		}
	}
	return ports, nodes
}

// finish ends a heavy sweep.
func (c *Core) finish(out *sweep.Outcome) {
	c.port.holds(&out.Topo.Ports[out.Topo.Self].Info)
	c.multicast.SetSubnet(out.MulticastSubnet())
	c.setVPorts(out)
	program := programFindings(out, c.cfg.Names)
	c.publish(out, program)
	if c.cfg.Congestion.Enabled && out.Err == nil {
		c.fx.do(Congestion{c.published.view})
	}
	c.raiseTop()
	if out.Fitting.State == routes.LanesUnread {
		c.sweeps.readLanes()
	}
	trouble := troubles(out)
	c.logged.finished(&c.fx, out, program, c.fx.now-c.sweeps.started, c.cfg.Names)
	goesOn := c.sweeps.finished(c.fx.now, out, trouble)
	switch {
	case c.cfg.Once && c.sweeps.wanted.has(wishHeavy):
	case c.cfg.Once && trouble.text != "":
		c.exit(fmt.Errorf("%w: %s", ErrIncomplete, trouble.text))
		return
	case c.cfg.Once && c.vPorts.Busy():
		c.onceUntil = cmp.Or(c.onceUntil, c.fx.now+onceVPorts)
	case c.cfg.Once:
		c.exit(nil)
		return
	}
	c.awaiting.swept(&c.fx, out.Awaits())
	c.askForSLs(out)
	c.proving.begin(&c.fx, out)
	if out.Found.Stirred {
		c.sweeps.want(wishLight, "")
	}
	if !goesOn {
		c.sweeps.scheduleNext(c.fx.now, c.cfg.SweepInterval)
	}
}

// onceVPorts is for how long a run with Once goes on because of vPorts.
const onceVPorts = time.Minute

// finishOnce ends a run with Once that went on because of vPorts.
func (c *Core) finishOnce() {
	idle := c.sweeps.phase == nil && !c.sweeps.wanted.has(wishHeavy) && !c.vPorts.Busy() && c.vPortList == nil
	if c.onceUntil != 0 && c.handover.state != exited && (idle || c.fx.now >= c.onceUntil) {
		c.exit(nil)
	}
}

// looked ends a light sweep.
func (c *Core) looked(v *sweep.Verdict) {
	if c.sweeps.state == checkSweep {
		c.sweeps.becomeIdle()
		if v.Reason != "" && v.Extent != sweep.Quick {
			c.sweeps.looked(&c.fx, v)
		} else if v.Reason != "" {
			c.sweeps.want(linkSweep, c.sweeps.checked)
		}
		return
	}
	c.sweeps.slow = 0
	c.sweeps.becomeIdle()
	c.fx.log(debug, osmlog.LightSweepDone)
	for i := range v.SMs {
		sm := &v.SMs[i]
		if sm.OK {
			c.elect.heard(&sm.Info, c.elect.Verify(&sm.Asked, &sm.Info))
			c.judgeManager(&sm.Info, 0, mad.Route{})
		}
		switch {
		case sm.Known && !sm.OK:
			c.sweeps.want(wishFull, "a subnet manager has gone")
		case sm.OK && (!sm.Known || c.elect.Seen(&sm.Info) == elect.Resweep):
			c.sweeps.want(wishFull, "another subnet manager")
		}
	}
	if v.Reason == "" {
		c.port.looked()
	}
	c.sweeps.looked(&c.fx, v)
	c.fx.do(Swept{})
	c.sweeps.backOff()
	c.sweeps.scheduleNext(c.fx.now, c.cfg.SweepInterval)
}

// raiseTop asks for a sweep that raises MulticastFDBTop where it is too low: also after one for
// which the groups came too late that need it.
func (c *Core) raiseTop() {
	if c.published.view != nil && c.multicast.Short() {
		c.sweeps.want(wishQuick, "switches need a higher MulticastFDBTop")
	}
}

// settleMulticast goes on with the multicast tables, and reports whether there is more to be
// asked. It publishes the tables of a round that is over.
func (c *Core) settleMulticast() (more bool) {
	task, done, more := c.multicast.Settle(c.fx.now)
	if task != nil {
		c.fx.do(newTask(ForMulticast, task.Run))
	}
	if done != nil {
		replace(&c.fx, &c.logged.multicast, multicastFindings(done, c.multicast.Avoided()), c.nameNode)
		c.published.replaceMulticast(&c.fx, c.multicast.MFTs, c.logged.multicast)
		c.fx.do(Forwarded{*done})
		c.proving.regrown(c.fx.now)
		if c.multicast.NeedsWalk() {
			c.sweeps.want(wishRetry, "a switch did not answer to its multicast table")
		}
	}
	return more
}
