package manager

import (
	"errors"
	"fmt"

	"ibsm/mad/smp"
	"ibsm/mad/txn"
	osmlog "ibsm/opensm/log"
	"ibsm/sa"
	"ibsm/sweep"
	"ibsm/sweep/elect"
)

// Errors that end a run with a single sweep, or a plan.
var (
	ErrPortDown    = errors.New("our own port is down")
	ErrWrongPort   = errors.New("the port has another GUID")
	ErrNotMaster   = errors.New("this subnet manager is not master")
	ErrOtherMaster = errors.New("another subnet manager is master")
	ErrIncomplete  = errors.New("the subnet came up with errors")

	errPaused = errors.New("this manager was paused: query again")
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
		c.fx.log(warn, "two masters: waiting for the one with lower rank to hand over", "guid", c.elect.Polled())
		c.pause()
	case elect.Discover, elect.TakeOver:
		c.elect.masterLost()
		c.abandon()
		c.sweeps.want(wishFull, "no other manager is master")
	case elect.Resweep:
		c.sweeps.want(wishFull, "another subnet manager")
	case elect.ReadAll:
		c.sweeps.readAll = true
		c.traps.sweep(c.fx.now, wishFull, "another subnet manager handed over mastership")
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
	task := found.Task(c.term.timeOfDay(c.fx.now)).WithTrees(c.multicast.Trees())
	if !c.cfg.Once {
		task.MayServe()
	}
	before := c.sweeps.unwritten // of this term
	out := routeTask(ForSweep, c.sweeps.compute(task))
	out.Recall = c.cfg.HonorGUID2LID && stoodBy || before.Recall
	out.Restore = first && !c.mirror.ever || before.Restore
	c.sweeps.unwritten = out
	c.fx.do(out)
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
		c.remember(found.Standby())
	}
	c.abandon()
}

// handOver hands the mastership over, either to become standby or to exit. It first drops pending work, so that a lost
// HANDOVER is sent again: a receiver that is MASTER too learns by it that switches may hold tables of another manager.
func (c *Core) handOver() {
	if c.handover.state != staying {
		c.abandon()
		c.handover.depart(&c.fx)
		c.elect.order(&c.fx, c.polledKey(), smp.ControlHandover, c.handover.to, smp.Master, c.sent)
		return
	}
	c.elect.locate(c.sweeps.found)
	c.ownTerm()
	key := c.polledKey()
	c.fx.log(info, "handing the mastership over", "guid", c.elect.Polled())
	c.standBy()
	c.elect.order(&c.fx, key, smp.ControlHandover, c.elect.Polled(), smp.Master, c.sent)
}

// leave ends this manager. A MASTER first hands the mastership over, if there is a manager that accepts it; until then
// it answers from the published view, and writes nothing.
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

// abandon drops pending work, and all state that another manager may change.
func (c *Core) abandon() {
	c.term.end(&c.fx)
	c.halt(abandoned)
	c.sweeps.reset()
	c.leases.Forget()
	c.unpublish()
	c.sweeps.plan.refuse(&c.fx, ErrNotMaster)
}

// pause stops writing until other managers have been queried; requests are still answered from the published view.
func (c *Core) pause() {
	c.guids.refuse(&c.fx)
	c.halt(pausing)
}

// halt drops pending work: nothing is written until every other manager has been queried.
func (c *Core) halt(how scheduleState) {
	c.elect.authority = unconfirmed
	c.cancel()
	c.multicast.Abdicate()
	c.haltVPorts(how)
	c.sweeps.halt(&c.fx, how)
}

// cancel drops all requests that are outstanding.
func (c *Core) cancel() {
	c.cancelled = c.fx.table.Cancel(c.cancelled[:0]) // nobody takes them; ended may be under way
	c.port.reread.stop()
	c.guids.drop()
	c.descriptions.cancelled()
	c.leases.Cancelled()
	c.controls.state, c.inquiry, c.shows = controlIdle, inquiry{}, showSMKey{}
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
		proved := c.elect.verifyPoll(info)
		if c.elect.hidesSMKey(info) { // it may be well, and is asked again
			c.elect.mkey.refused()
			return
		}
		c.elect.mkey.heard(o, tagGuess)
		c.polled(info, proved)
	case (o.Tag == tagPoll || o.Tag == tagGuess) && o.Result == txn.TimedOut:
		c.elect.mkey.heard(o, tagGuess)
		logUnanswered(&c.fx, smp.AttrSMInfo, c.elect.route)
	case o.Tag == tagHandover:
		if !isOK(o) {
			c.fx.log(warn, "the other subnet manager did not accept mastership", "status", o.Status)
		}
		if c.handover.state != staying && c.handover.state != exited {
			c.exit(nil)
		}
	default:
		c.act(c.elect.done(&c.fx, o, &c.port))
	}
}
