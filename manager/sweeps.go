package manager

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"strings"
	"time"

	"ibsm/mad/smp"
	osmlog "ibsm/opensm/log"
	"ibsm/sa/mirror"
	"ibsm/sweep"
	"ibsm/sweep/discover"
	"ibsm/sweep/elect"
	"ibsm/topo"
)

// Errors that end a run that was to sweep once, or a plan.
var (
	ErrPortDown    = errors.New("our own port is down")
	ErrWrongPort   = errors.New("the port has another GUID")
	ErrNotMaster   = errors.New("this subnet manager is not master")
	ErrOtherMaster = errors.New("another subnet manager is master")
	ErrIncomplete  = errors.New("the subnet came up with errors")
)

// want asks for a sweep as soon as the one under way is done.
func (c *Core) want(heavy bool, why string) {
	if heavy {
		c.full = true
		c.wantQuick(why)
	}
	c.light = c.light || !heavy
}

// wantQuick asks for a heavy sweep that need only look where ports have changed their
// state.
func (c *Core) wantQuick(why string) {
	if !c.heavy {
		c.heavy, c.why = true, why
	}
}

// ask takes an operator's wish.
func (c *Core) ask(s Sweep) {
	switch s {
	case Plan, PlanReroute:
		c.plan.wanted, c.plan.reroute = true, s == PlanReroute
		return
	case Describe:
		c.describeAll()
		return
	case Reroute:
		c.sweeper.Reroute()
	}
	c.want(s != Light, "asked for")
}

// periodic is the sweep that the clock asks for.
func (c *Core) periodic() {
	switch c.elect.State() {
	case smp.Discovering:
		c.want(true, "looking for a subnet")
	case smp.Master:
		c.want(c.cfg.ForceHeavy, "force_heavy_sweep asks for it")
		c.want(c.distrust || c.sweeper.Waiting() || !c.sweeper.Known(), "the last sweep was incomplete")
		c.want(false, "")
	}
}

// schedule sets the timer of the next sweep.
func (c *Core) schedule(after time.Duration) {
	if after > 0 {
		c.nextSweep = c.now + after
	}
}

// scheduleNext sets it for when it is time, or what went wrong is to be tried again.
func (c *Core) scheduleNext() {
	after := c.cfg.SweepInterval
	if c.trouble != "" && c.backoff > 0 && (after == 0 || c.backoff < after) {
		after = c.backoff
	}
	c.schedule(after)
}

// backOff makes the time longer until what went wrong is tried again.
func (c *Core) backOff() { c.backoff = min(max(2*c.backoff, time.Second), maxBackoff) }

// begin starts a sweep that is wanted, if this manager is in a state to.
func (c *Core) begin() {
	state := c.elect.State()
	if state != smp.Master && state != smp.Discovering || c.leaving.by > 0 {
		c.heavy, c.light = false, false
		c.refusePlan(ErrNotMaster)
		if state == smp.NotActive {
			c.rest()
		}
		return
	}
	rest := c.cfg.Resting
	switch {
	case !rest && (c.heavy || c.light && !c.sweeper.Known()):
		c.beginHeavy()
	case c.plan.wanted:
		c.beginPlan(state)
	case c.light && !rest:
		c.beginSlow()
		c.light = false
		c.stats.Sweeps[LightSweep]++
		c.log(debug, osmlog.LightSweep)
		c.sweeper.Look()
	}
}

// walked decides what comes of a walk.
func (c *Core) walked() {
	if !c.quick || c.plan.under {
		c.slowSince = 0
	}
	found := c.sweeper.Found()
	if c.plan.under {
		c.planWalked(found.SelfDown)
		return
	}
	c.readOwn(found)
	if found.SelfDown {
		c.ownPortDown(found.TimedOut > 0)
		return
	}
	if c.quick && (found.TimedOut > 0 || found.Moved || len(found.Findings) > len(c.known)) {
		c.sweeper.Drop()
		c.distrust = true
		c.want(true, "a quick walk met more than it could tell")
		return
	}
	if c.portDown {
		c.portDown = false
		c.log(sys, osmlog.PortIsUp)
	}
	c.findings(found)
	c.log(debug, osmlog.HeavySweepDone)
	if c.cfg.GUID != 0 && c.cfg.GUID != c.own.guid {
		c.exit(fmt.Errorf("%w: it is %v, not %v", ErrWrongPort, c.own.guid, c.cfg.GUID))
		return
	}
	if c.cfg.DryRun {
		c.do(Compute{Job: c.sweeper.Job(c.timeOfDay()).WithMulticast(c.multicast)})
		return
	}
	others := make([]smp.SMInfo, len(found.SMs))
	for i := range found.SMs {
		others[i] = found.SMs[i].Info
	}
	c.met(found.SMs)
	if c.twin(found.Twin, others) {
		return
	}
	c.act(c.elect.Decide(c.now, others))
}

// twin reports whether this manager must not rule, as another one has its GUID: neither can
// tell from the other's SMInfo which of them ranks higher. Who rules already goes on.
func (c *Core) twin(is bool, others []smp.SMInfo) bool {
	if c.twinTold = c.twinTold && is; !is {
		return false
	}
	ruled := c.elect.State() == smp.Master || slices.ContainsFunc(others, func(o smp.SMInfo) bool { return o.SMState() == smp.Master })
	if !c.twinTold {
		c.twinTold = true
		c.log(erro, "another subnet manager has this one's GUID: while it is there, the one that came later does not rule; end one of them, and give each port a GUID of its own", "guid", c.own.guid)
	}
	if ruled {
		return false
	}
	if c.cfg.Once {
		c.exit(fmt.Errorf("%w: it has GUID %v, as this one", ErrOtherMaster, c.own.guid))
		return true
	}
	c.sweeper.Drop()
	c.schedule(portPoll)
	return true
}

// maxSilences is how often a run of one sweep lets its own agent leave a question
// unanswered, as on a machine that has too much to do, before it gives up.
const maxSilences = 5

// ownPortDown waits for our own port. A run of one sweep does not, unless it is not
// known to be down.
func (c *Core) ownPortDown(silent bool) {
	if c.cfg.Once || c.cfg.DryRun {
		if c.silences++; silent && c.silences < maxSilences {
			c.sweeper.Drop()
			c.want(true, "our own port did not answer")
			return
		}
		c.exit(ErrPortDown)
		return
	}
	if !c.portDown {
		c.portDown = true
		c.log(sys, osmlog.PortIsDown)
		c.unpublish()
	}
	c.elect.PortDown()
	c.following.from, c.following.heard = mirror.Master{}, 0 // the master may go on without us
	c.asked = false
	c.sweeper.Isolate()
	c.multicast.Abdicate()
	c.schedule(portPoll)
}

// readOwn takes over what our own port is, if it was found.
func (c *Core) readOwn(found *discover.Result) {
	b := found.Builder
	self := b.Self()
	if self == topo.NoEnd {
		return
	}
	c.own.guid = b.PortGUID(self)
	if p := b.Port(self); p != nil {
		c.own.holds(p)
	}
	c.elect.SetGUID(c.own.guid)
}

// act does what the election wants.
func (c *Core) act(do elect.Do) {
	switch do {
	case elect.Rule, elect.Yield:
		c.asked = true
		if do == elect.Yield {
			c.rememberPolled()
		}
		stoodBy := c.stoodBy
		recall := c.cfg.HonorGUID2LID && stoodBy
		c.reignBegins()
		c.inherit(stoodBy)
		restore := !c.ruled && !c.following.ever
		c.ruled = true
		c.multicast.Lower()
		c.do(Compute{c.sweeper.Job(c.timeOfDay()), recall, restore})
	case elect.StandBy:
		c.standBy()
	case elect.HandOver:
		if c.leaving.by > 0 {
			c.depart()
			break
		}
		c.handOver()
		c.standBy()
	case elect.Offer:
		c.offer()
	case elect.End:
		c.exit(nil)
	case elect.Wait:
		c.rememberPolled()
		c.log(warn, "two masters: waiting for the lower one to hand over", "guid", c.elect.Polled())
		c.pause()
	case elect.Discover, elect.BeMaster:
		c.abandon()
		c.want(true, "the mastership is vacant")
	case elect.Resweep:
		c.want(true, "another subnet manager")
	case elect.Rest:
		c.abandon()
	case elect.Poll:
		c.poll()
	case elect.Look:
		c.look()
	case elect.Petition:
		c.petition()
	}
}

// standBy stops sweeping: another manager is to rule.
func (c *Core) standBy() {
	c.stoodBy = true
	c.log(debug, osmlog.StandingBy)
	c.rememberPolled()
	if c.cfg.Once {
		c.exit(fmt.Errorf("%w: GUID %v", ErrOtherMaster, c.elect.Polled()))
		return
	}
	c.abandon()
}

// abandon drops what is under way and what another manager may change.
func (c *Core) abandon() {
	c.reignEnds()
	c.halt()
	c.heavy, c.full, c.light, c.urgent, c.distrust, c.nextSweep, c.slowSince, c.trouble, c.backoff = false, false, false, false, false, 0, 0, "", 0
	c.unpublish()
	c.refusePlan(ErrNotMaster)
}

// pause writes nothing for now, but still answers from what was published.
func (c *Core) pause() {
	c.refuseGUIDs()
	c.halt()
}

// halt drops what is under way: nothing is written until every other manager has been
// asked.
func (c *Core) halt() {
	c.asked = false
	c.cancel()
	c.multicast.Abdicate()
	if c.sweeper.Phase() == sweep.Computing {
		c.abdicate = true
		c.do(Cancel{})
		return
	}
	c.sweeper.Abdicate()
}

// computed takes the result of a Job.
func (c *Core) computed(r *sweep.Computed) {
	switch {
	case c.abdicate || r == nil:
		c.abdicate = false
		c.sweeper.Abdicate()
	case c.plan.under:
		c.planned(r)
	case c.cfg.DryRun:
		c.do(Show{r})
		c.exit(r.Err)
	default:
		c.log(debug, osmlog.LIDsAssigned)
		c.report(r)
		c.sweeper.Program(r)
		c.keepLIDs()
		c.resets(r)
		c.serveSoon(r)
	}
}

// finish ends a heavy sweep.
func (c *Core) finish() {
	out := c.sweeper.Finish()
	c.own.holds(&out.Topo.Ports[out.Topo.Self].Info)
	c.multicast.SetSubnet(out)
	c.publish(out)
	c.raise()
	trouble, grave := c.summarise(out)
	c.distrust = grave || out.Found.Changed // the plan cleared it, with whatever happened since the walk
	switch {
	case trouble != "" && c.trouble == "":
		c.backoff = 0
		c.want(true, "links changed, or Sets failed, during the last sweep")
	case trouble != "" && trouble != c.trouble:
		c.backoff = time.Second
	case trouble != "" && !c.quick:
		c.backOff()
	case c.distrust:
		c.want(true, "what may have changed before it was listened to")
	case out.Healed:
		c.want(true, "a switch takes its forwarding table again")
	}
	goesOn := c.quick && trouble == c.trouble && c.nextSweep > 0 // the timer
	c.trouble = trouble
	if c.cfg.Once && !c.heavy {
		c.finishOnce(trouble)
		return
	}
	c.light = c.light || out.Found.Stirred
	if !goesOn {
		c.scheduleNext()
	}
}

// finishOnce ends a run of one sweep.
func (c *Core) finishOnce(trouble string) {
	if trouble != "" {
		c.exit(fmt.Errorf("%w: %s", ErrIncomplete, trouble))
		return
	}
	c.exit(nil)
}

// looked ends a light sweep.
func (c *Core) looked() {
	c.slowSince = 0
	reason, full, sms := c.sweeper.Verdict()
	c.log(debug, osmlog.LightSweepDone)
	for i := range sms {
		sm := &sms[i]
		if sm.OK {
			c.heard(&sm.Info)
		}
		switch {
		case sm.Known && !sm.OK:
			c.want(true, "a subnet manager has gone")
		case sm.OK && (!sm.Known || c.elect.Seen(&sm.Info) == elect.Resweep):
			c.want(true, "another subnet manager")
		}
	}
	if reason != "" {
		c.log(info, "something changed", "reason", reason)
		c.full, c.distrust = c.full || full, c.distrust || full
		c.wantQuick(reason)
	}
	c.do(Swept{})
	c.backOff()
	c.scheduleNext()
}

func (c *Core) exit(err error) {
	c.stopped = true
	c.do(Exit{err})
}

// troubles is what went wrong in a sweep, in an order that makes two of them comparable.
// grave says that only a full walk tells whether it has passed; for the rest, light sweeps ask.
func troubles(out *sweep.Outcome) (text string, grave bool) {
	var all []string
	for _, f := range out.Failures {
		all = append(all, f.String())
	}
	grave = len(all) > 0 || out.Found.Moved || out.Err != nil
	for _, f := range out.Found.Findings {
		switch f.Kind {
		case discover.UnreadPKeys:
			grave = true
			fallthrough
		case discover.Unresponsive, discover.Incomplete, discover.Refused, discover.RefusedPKeys:
			all = append(all, f.String())
		}
	}
	if out.Found.Moved {
		all = append(all, "links changed while they were walked")
	}
	if out.Err != nil {
		all = append(all, out.Err.Error())
	}
	sort.Strings(all)
	return strings.Join(all, "; "), grave
}

const (
	debug = slog.LevelDebug
	info  = slog.LevelInfo
	warn  = slog.LevelWarn
	erro  = slog.LevelError
	sys   = osmlog.LevelSys
)
