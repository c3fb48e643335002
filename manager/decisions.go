package manager

import (
	"cmp"
	"errors"
	"fmt"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	osmlog "ibsm/opensm/log"
	"ibsm/sa"
	"ibsm/sa/mirror"
	"ibsm/sweep"
	"ibsm/sweep/elect"
	"ibsm/topo"
	"ibsm/view"
)

// Errors that end a run with a single sweep, or a plan.
var (
	ErrPortDown    = errors.New("our own port is down")
	ErrWrongPort   = errors.New("the port has another GUID")
	ErrNotMaster   = errors.New("this subnet manager is not master")
	ErrOtherMaster = errors.New("another subnet manager is master")
	ErrIncomplete  = errors.New("the subnet came up with errors")

	errPaused = errors.New("this manager was paused; ask again")
)

// act does what the election has decided.
func (c *Core) act(do elect.Do) {
	switch do {
	case elect.BecomeMaster:
		c.becomeMaster()
	case elect.PrepareHandover:
		c.elect.locate(c.sweeps.found)
		c.becomeMaster()
	case elect.StandBy:
		c.standBy()
	case elect.HandOver:
		c.handOver()
	case elect.Offer:
		c.handover.offer(c.elect.Polled())
		c.elect.locateMet()
	case elect.End:
		c.exit(nil)
	case elect.AwaitHandover:
		c.elect.locate(c.sweeps.found)
		c.fx.log(warn, "two masters: waiting for the lower one to hand over", "guid", c.elect.Polled())
		c.pause()
	case elect.Discover, elect.TakeOver:
		c.abandon()
		c.sweeps.want(wishFull, "the mastership is vacant")
	case elect.Resweep:
		c.sweeps.want(wishFull, "another subnet manager")
	case elect.ReadAll:
		c.sweeps.readAll = true
		c.traps.sweep(c.fx.now, true, "another subnet manager handed its mastership over")
	case elect.BecomeInactive:
		c.abandon()
	case elect.Poll:
		key, guesses := c.elect.mkey.toPoll(c.elect.Polled(), c.sweeps.sweeper.Key)
		c.elect.poll(&c.fx, key, tagOf(guesses, tagPoll, tagGuess))
		if c.elect.across.guesses() {
			c.lookAcross()
		}
	case elect.Look:
		c.look()
	case elect.Inquire: // question has the port
	case elect.SendTrap:
		c.elect.askOwnPort(&c.fx, c.ownKey())
	}
	c.enter()
}

// enter reports the state that the election has come to, if it is another one.
func (c *Core) enter() {
	if !c.cfg.DryRun && c.elect.enter(&c.fx) {
		c.term.enter(c.elect.State())
	}
}

// becomeMaster begins a term, or goes on with it: routes are computed from what the walk has
// found, and then written.
func (c *Core) becomeMaster() {
	found, walked := c.sweeps.phase.(*sweep.Found)
	if !walked {
		return
	}
	c.elect.authority = confirmed
	first := c.term.begun == 0
	stoodBy := c.term.begin(&c.fx) == stoodBy
	if stoodBy && c.cfg.Registrar.DropSubscriptions {
		c.fx.do(ForRegistrar{sa.Forget{}})
	} else if from, known := c.mirror.source(c.fx.now); known {
		c.sweeps.sweeper.Inherit(from)
	}
	c.multicast.Lower()
	task := found.Task(c.term.timeOfDay(c.fx.now)).WithTrees(c.multicast.Multicast)
	again := c.sweeps.unwritten // of this term
	c.sweeps.unwritten = Compute{
		Task: c.sweeps.compute(task), Recall: c.cfg.HonorGUID2LID && stoodBy || again.Recall, Restore: first && !c.mirror.ever || again.Restore,
	}
	c.drifting.interrupt(&c.fx)
	c.fx.do(c.sweeps.unwritten)
}

// standBy stops sweeping: another manager becomes or stays master.
func (c *Core) standBy() {
	c.term.standBy()
	c.fx.log(debug, osmlog.StandingBy)
	c.elect.locate(c.sweeps.found)
	if c.cfg.Once {
		c.exit(fmt.Errorf("%w: GUID %v", ErrOtherMaster, c.elect.Polled()))
		return
	}
	if found, walked := c.sweeps.phase.(*sweep.Found); walked {
		c.readAsStandby(found.Remember())
	}
	c.abandon()
}

// readAsStandby has the counters of the ports read that a walk has found, which nothing else is made
// of: its plan is abandoned.
func (c *Core) readAsStandby(t *topo.Topo) {
	if c.cfg.Counters.Interval == 0 || c.published.view != nil || t.Self == topo.None {
		return
	}
	base := make([]mad.LID, len(t.Ports))
	for _, p := range t.EndPorts {
		if lid := t.Ports[p].Info.LID(); lid.IsUnicast() {
			base[p] = lid
		}
	}
	c.fx.do(StoodBy{&view.View{Topo: t, LIDs: topo.NewLIDs(base, make([]uint8, len(t.Ports)))}})
}

// handOver hands the mastership over, to stand by or to end. What is under way is dropped first, so that a HANDOVER
// that is lost is sent again: a manager that is MASTER, too, learns by it that switches may hold what is not its own.
func (c *Core) handOver() {
	if c.handover.state != staying {
		c.abandon()
		c.handover.depart(&c.fx)
		c.elect.order(&c.fx, c.polledKey(), smp.ControlHandover, smp.Master, c.sent)
		return
	}
	c.elect.locate(c.sweeps.found)
	c.ownTerm()
	key := c.polledKey()
	c.fx.log(info, "handing the mastership over", "guid", c.elect.Polled())
	c.standBy()
	c.elect.order(&c.fx, key, smp.ControlHandover, smp.Master, c.sent)
}

// leave ends this manager, a MASTER when it has handed the mastership over, if there is
// a manager that takes it. Until then it answers from what was published, and writes nothing.
func (c *Core) leave() {
	if c.handover.state != staying {
		return
	}
	if c.elect.State() == smp.Master {
		c.pause()
	}
	c.handover.leave(c.fx.now)
	c.act(c.elect.Leave(c.fx.now, infos(c.elect.others)))
}

// abandon drops what is under way and what another manager may change.
func (c *Core) abandon() {
	c.term.end(&c.fx)
	c.halt(abandoned)
	c.sweeps.reset()
	c.unpublish()
	c.sweeps.plan.refuse(&c.fx, ErrNotMaster)
}

// pause writes nothing for now, but still answers from what was published.
func (c *Core) pause() {
	c.guids.refuse(&c.fx)
	c.halt(pausing)
}

// halt drops what is under way: nothing is written until every other manager has been
// asked.
func (c *Core) halt(how scheduleState) {
	c.elect.authority = unconfirmed
	c.cancel()
	c.multicast.Abdicate()
	c.sweeps.halt(&c.fx, how)
}

// cancel drops all requests that are outstanding.
func (c *Core) cancel() {
	c.cancelled = c.fx.table.Cancel(c.cancelled[:0]) // nobody takes them; ended may be under way
	c.port.stopReading()
	c.guids.drop()
	c.descriptions.cancelled()
	c.controls.state, c.inquiry = controlIdle, inquiry{}
}

// ownTerm notes that what clients have registered up to now is known here, if it is.
func (c *Core) ownTerm() {
	if c.published.view != nil {
		c.mirror.ownTerm(c.fx.now)
	}
}

// asked takes the outcome of a request of the election's.
func (c *Core) asked(o *txn.Outcome) {
	switch {
	case (o.Tag == tagPoll || o.Tag == tagGuess) && isOK(o):
		info := (*smp.SMInfo)(&o.Data)
		if c.elect.hidesSMKey(info) { // it may be well, and is asked again
			c.elect.mkey.refused()
			return
		}
		c.elect.mkey.heard(o, tagGuess)
		c.polled(info)
	case (o.Tag == tagPoll || o.Tag == tagGuess) && o.Result == txn.TimedOut:
		c.elect.mkey.heard(o, tagGuess)
		logUnanswered(&c.fx, smp.AttrSMInfo, c.elect.route)
	case o.Tag == tagHandover:
		if !isOK(o) {
			c.fx.log(warn, "the other subnet manager did not accept the mastership", "status", o.Status)
		}
		if c.handover.state != staying && c.handover.state != exited {
			c.exit(nil)
		}
	case o.Tag == tagInquiry:
		c.inquired(o)
	case o.Tag == tagControl:
		c.proved(o)
	default:
		c.act(c.elect.done(&c.fx, o, &c.port))
	}
}

// look reads the port of the polled manager, and the port at the other end of its cable.
func (c *Core) look() {
	c.elect.look(&c.fx, c.polledKey())
	if !c.elect.across.guesses() {
		c.lookAcross()
	}
}

// lookAcross reads the port at the other end of the cable of the polled manager's port.
func (c *Core) lookAcross() {
	ports := c.elect.route.Ports()
	if len(ports) == 0 {
		return
	}
	if agent, known := c.sweeps.sweeper.AgentAlong(ports[:len(ports)-1]); known {
		key, guesses := c.elect.across.toPoll(agent, c.sweeps.sweeper.Key)
		c.elect.lookAcross(&c.fx, key, tagOf(guesses, tagPeer, tagPeerGuess))
	}
}

func tagOf(guesses bool, known, guess uint64) uint64 {
	if guesses {
		return guess
	}
	return known
}

// polledKey is the M_Key of requests to the port of the polled manager, but for polls.
func (c *Core) polledKey() mad.MKey {
	return c.elect.mkey.known(c.elect.Polled(), c.sweeps.sweeper.Key)
}

// ownKey is the M_Key of requests to our own port.
func (c *Core) ownKey() mad.MKey {
	return c.sweeps.sweeper.Key(cmp.Or(c.port.guid, c.cfg.Sweep.Restored.Port), c.port.silences)
}

// polled takes the answer to a poll.
func (c *Core) polled(info *smp.SMInfo) {
	isMaster := info.SMState() == smp.Master
	if isMaster {
		c.mirror.polled(c.fx.now)
	}
	c.elect.heard(info)
	c.act(c.elect.Reply(c.fx.now, info))
	if isMaster && !c.elect.IsPeer() && c.elect.State() == smp.Standby {
		c.mirror.foreignMaster(&c.fx, c.elect.Polled())
	}
}

// followMaster says which master's registrations are mirrored: those of the one that is
// polled, unless anybody could say that it is the master.
func (c *Core) followMaster() {
	var m mirror.Master
	standby := c.elect.State() == smp.Standby
	if standby && c.cfg.Registrar.Mirror.On() && c.elect.lid != 0 && (c.elect.IsPeer() || c.elect.Foreign()) {
		m = mirror.Master{GUID: c.elect.Polled(), LID: c.elect.lid, Self: c.port.guid, Foreign: !c.elect.IsPeer()}
	}
	c.mirror.follow(&c.fx, m, standby)
}

// request takes what others ask of us on QP0: SMInfo, and traps. Everything else is
// the port's own agent's to answer. Before we know the GUID of our port there is
// nothing to say: requests wait for that. LID 0 is our own port's.
func (c *Core) request(d *mad.Datagram) {
	p := &d.Packet
	if !p.MgmtClass().IsSubnet() || c.cfg.DryRun {
		return
	}
	if c.port.guid == 0 {
		c.port.wait(d)
		return
	}
	if p.MgmtClass() == mad.ClassLIDRouted {
		from := *d
		if from.LID == 0 {
			from.LID = c.port.lid
		}
		if !from.LID.IsUnicast() {
			return
		}
		d = &from
	}
	switch {
	case p.AttrID() == smp.AttrSMInfo && c.isOutdated(d):
	case p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodGet:
		if c.port.mayRead(p.MKey()) {
			c.elect.answer(&c.fx, d, mad.StatusOK, &c.port, c.sent)
			c.question(d)
		}
	case p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodSet:
		if c.port.mayWrite(p.MKey()) {
			c.control(d)
		}
	case p.AttrID() == smp.AttrNotice && p.Method() == mad.MethodTrap:
		c.trap(d)
	}
}

// isOutdated reports whether a request waits until our own port has been read again. An M_Key that was made of our own secret is shown to the port itself: it
// knows whether it is the right one.
func (c *Core) isOutdated(d *mad.Datagram) bool {
	shown := d.Packet.MKey()
	if shown == c.port.mkey {
		return false
	}
	if c.isMade(d) {
		return c.port.outdated(c.fx.now, d, madeKey, func() bool { return c.port.read(&c.fx, shown) })
	}
	return c.port.outdated(c.fx.now, d, triedKey, func() bool { return c.port.read(&c.fx, c.sweeps.sweeper.Key(c.port.guid, c.port.tries)) })
}

// isMade reports whether a request shows an M_Key of our own port of the present number, the one before or the next. It does not pass that on: a stack that is
// printed has arguments of functions.
func (c *Core) isMade(d *mad.Datagram) bool {
	ports := &c.cfg.Sweep.Settings.PortMKeys
	if !ports.On() {
		return false
	}
	for number := max(ports.Number(), 2) - 1; number <= ports.Number()+1; number++ {
		if mad.MKey(ports.With(number, uint64(c.port.guid))) == d.Packet.MKey() {
			return true
		}
	}
	return false
}

// identified takes the GUID of our port, and the requests that have waited for it.
func (c *Core) identified(guid mad.GUID) {
	c.elect.SetGUID(guid)
	if c.cfg.DryRun {
		c.port.guid = guid
		return
	}
	for _, d := range c.port.identified(&c.fx, guid) {
		c.request(&d)
	}
}

// rest is what a manager does that has been NOT-ACTIVE from the start: it asks its own
// port who it is, to answer for itself, and nothing else.
func (c *Core) rest() {
	if c.cfg.Once {
		c.exit(fmt.Errorf("%w: it was started NOT-ACTIVE", ErrNotMaster))
		return
	}
	if c.port.guid == 0 && c.sweeps.next == 0 {
		c.port.identify(&c.fx, smp.AttrPortInfo, c.ownKey())
		c.sweeps.schedule(c.fx.now, portPoll)
	}
}

// identify takes what our own port answers, to rest or because a request showed another M_Key: of rest first its M_Key, which requests must
// show, and then its GUID, with which we begin to answer.
func (c *Core) identify(o *txn.Outcome) {
	switch {
	case o.Tag == tagRead:
		for _, d := range c.port.readAgain(c.fx.now, o) {
			c.request(&d)
		}
	case !isOK(o) || c.port.guid != 0:
		c.port.silences++
	case o.Attr == smp.AttrPortInfo:
		c.port.holds((*smp.PortInfo)(&o.Data))
		c.port.identify(&c.fx, smp.AttrNodeInfo, c.ownKey())
	default:
		guid := (*smp.NodeInfo)(&o.Data).PortGUID()
		if c.cfg.GUID != 0 && c.cfg.GUID != guid {
			c.exit(fmt.Errorf("%w: it is %v, not %v", ErrWrongPort, guid, c.cfg.GUID))
			return
		}
		c.identified(guid)
	}
}

// response is the request turned round.
func response(d *mad.Datagram, m mad.Method) mad.Datagram {
	r := mad.Datagram{Addr: d.Addr, Packet: d.Packet}
	r.Packet.SetMethod(m)
	if d.Packet.MgmtClass() == mad.ClassDirected {
		r.Packet.SetReturning()
	}
	return r
}
