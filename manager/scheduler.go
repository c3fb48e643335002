package manager

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/txn"
	osmlog "ibsm/opensm/log"
	"ibsm/sweep"
	"ibsm/sweep/discover"
	"ibsm/sweep/multicast"
)

// scheduler is the machine that decides when to run which sweep, and the owner of the Sweeper that runs them, one at a
// time.
//
// A link that changes its state causes a quick sweep, which costs little and ends soon. It takes precedence over longer
// work, which starts again after it. A storm of traps can defer that work only for a limited time.
type scheduler struct {
	sweeper *sweep.Sweeper
	state   scheduleState
	phase   sweep.Phase      // of the sweep under way; nil for none
	found   *discover.Result // of it, once its walk is done
	wanted  wishes
	reason  string // of the heavy sweep that is wanted
	checked string // the reason of the check that was wanted last
	plan    planning

	started  time.Duration // of the heavy sweep under way
	slow     time.Duration // when a sweep that is not quick was begun first and not done since; 0 never
	next     time.Duration // when the clock asks for a sweep; 0 never
	backoff  time.Duration // between sweeps that try again what failed
	trouble  string        // what went wrong in the last sweep, to see whether it is the same again
	needFull bool          // what the last sweep left is no ground for a quick one
	// the last sweep has not heard, or not brought about, something that the next one by the clock asks again
	unconfirmed bool
	lasts       bool // trouble has lasted for so long that the next one by the clock asks about everything
	readAll     bool // another manager has been master meanwhile: the next full sweep reads everything again
	// unwritten is the last computation for a sweep, as long as nothing of this term has been written.
	unwritten  Task
	unanswered int // walks of a run of one sweep in which our own port did not answer

	ended []txn.Outcome // scratch
	late  lateness
	phaseTimes
}

// scheduleState is the sweep that is under way.
type scheduleState uint8

const (
	noSweep      scheduleState = iota
	lightSweep                 // asks whether a heavy one is needed
	checkSweep                 // asks that of switches of which a trap has come whose change may have been read
	quickSweep                 // a heavy one that believes switches which report no change
	retrySweep                 // a quick one that asks again about what the one before has not heard
	secondSweep                // a heavy one that believes what has been answered to the Sets of the one before
	fullSweep                  // a heavy one that asks about everything
	previewSweep               // the walk of a full one, for a plan
	pausing                    // it was given up; the result of its task is awaited
	abandoned                  // the same, for a manager that is not master any more
)

// extent is what the walk of a heavy sweep asks about.
func (s scheduleState) extent() sweep.Extent {
	switch s {
	case quickSweep:
		return sweep.Quick
	case retrySweep:
		return sweep.Retry
	case secondSweep:
		return sweep.Second
	}
	return sweep.Full
}

const (
	// maxBackoff bounds the time between sweeps that try again what failed.
	maxBackoff = 10 * time.Second
	// maxDeferred is how long a sweep may be deferred, and begun again, for quick ones.
	maxDeferred = 5 * time.Second
)

// want requests a sweep, to start when the present one has ended. The reason is that of the first requested heavy
// sweep.
func (s *scheduler) want(w wishes, reason string) {
	if w.has(wishHeavy) && !s.wanted.has(wishHeavy) {
		s.reason = reason
	}
	if w.has(wishCheck) {
		s.checked = reason
	}
	s.wanted |= w
}

// becomeIdle takes that no sweep is under way any more.
func (s *scheduler) becomeIdle() { s.state, s.phase, s.found = noSweep, nil, nil }

// becomeWalking begins the walk of a heavy sweep.
func (s *scheduler) becomeWalking(state scheduleState, now time.Duration, mayWrite bool) {
	if s.state = state; state != quickSweep && s.slow == 0 {
		s.slow = now
	}
	s.phase = s.sweeper.Walk(mayWrite, state.extent())
}

// nextRequest is the next one of the sweep under way. unknown says that it may go to a device that
// is not known yet.
func (s *scheduler) nextRequest(unknown bool) (req txn.Request, ok bool) {
	if w, is := s.phase.(*sweep.Walk); is && !unknown {
		return w.NextKnown()
	}
	if s.phase != nil {
		req, ok = s.phase.Next()
	}
	return req, ok
}

// take takes the outcome of a request.
func (s *scheduler) take(o *txn.Outcome) {
	if s.phase != nil {
		s.phase.Done(o)
	}
}

// progress is the phase of the sweep under way, and how many nodes its walk has found. self is
// the GUID of our own port, if the walk has found that, else 0.
func (s *scheduler) progress() (phase Phase, nodes int, self mad.GUID) {
	switch p := s.phase.(type) {
	case *sweep.Walk:
		return Walking, p.Nodes(), p.Self()
	case *sweep.Found, *sweep.RouteTask:
		return Computing, 0, 0
	case *sweep.Program:
		return Programming, 0, 0
	case *sweep.Look:
		return Looking, 0, 0
	}
	return Idle, 0, 0
}

// compute hands a route task out.
func (s *scheduler) compute(j *sweep.RouteTask) *sweep.RouteTask {
	s.phase = j
	return j
}

// begin starts a sweep that is wanted, if there is one. Resting holds all but plans back.
func (s *scheduler) begin(fx *effects, mayWrite, resting bool) {
	switch {
	case s.beginsHeavy(resting):
		s.beginHeavy(fx, mayWrite)
	case s.plan.wanted():
		s.plan.begin()
		s.count[PlanSweep]++
		// which clears nothing, so that no change is lost to the next sweep
		s.becomeWalking(previewSweep, fx.now, false)
	case s.wanted.has(wishLight) && !resting:
		s.beginLight(fx)
	case s.wanted.has(wishCheck) && !resting:
		s.count[LightSweep]++
		s.wanted, s.state, s.phase = s.wanted&^wishCheck, checkSweep, s.sweeper.Check()
	}
}

// beginsHeavy reports whether the next sweep is a heavy one.
func (s *scheduler) beginsHeavy(resting bool) bool {
	return !resting && (s.wanted.has(wishHeavy) || s.wanted.has(wishLight|wishCheck) && !s.sweeper.Known())
}

func (s *scheduler) beginLight(fx *effects) {
	if s.state = lightSweep; s.slow == 0 {
		s.slow = fx.now
	}
	s.wanted &^= wishLight
	s.count[LightSweep]++
	fx.log(debug, osmlog.LightSweep)
	s.phase = s.sweeper.Look()
}

// beginHeavy starts a heavy sweep: a quick one where that is enough, or where a link has
// changed its state and the other questions can wait for it.
func (s *scheduler) beginHeavy(fx *effects, mayWrite bool) {
	state, kind := fullSweep, HeavySweep
	switch first := s.wanted.has(wishLink) && !s.deferredTooLong(fx.now); {
	case s.mayQuick(mayWrite) && (first || !s.wanted.has(wishFull|wishRetry)):
		state, kind = quickSweep, QuickSweep
	case s.mayQuick(mayWrite) && s.sweeper.MayRetry() && !s.wanted.has(wishFull):
		state, kind = retrySweep, QuickSweep
	case s.wanted&wishHeavy == wishSecond:
		state = secondSweep
	}
	fx.log(debug, osmlog.HeavySweep, "reason", s.reason, "quick", state == quickSweep || state == retrySweep)
	s.late.linkChanged = s.late.linkChanged || s.wanted.has(wishLink)
	switch state {
	case quickSweep:
		s.wanted &^= wishQuick | wishLink | wishCheck // the ports of these switches are read
	case retrySweep:
		if s.wanted &^= wishQuick | wishLink | wishCheck | wishRetry; s.backoff < maxBackoff {
			s.wanted &^= wishLight // it asks each switch as well, and the next one by the clock is near
		}
	default:
		s.wanted = 0
	}
	if state != quickSweep || s.trouble == "" {
		s.next = 0
	}
	s.started = fx.now
	s.count[kind]++
	s.becomeWalking(state, fx.now, mayWrite)
}

// mayQuick reports whether enough of the subnet is known for a quick sweep.
func (s *scheduler) mayQuick(mayWrite bool) bool {
	return mayWrite && !s.needFull && !s.readAll && s.sweeper.Known()
}

// deferredTooLong reports whether a sweep has been deferred for as long as it may be.
func (s *scheduler) deferredTooLong(now time.Duration) bool {
	return s.slow > 0 && now-s.slow > maxDeferred
}

// preempt has a quick sweep look at once where a link has changed its state. A slower sweep
// that is still asking is begun again after it, unless that has been going on for too long.
func (s *scheduler) preempt(fx *effects, mayWrite bool) {
	s.wanted |= wishLink
	if !s.mayQuick(mayWrite) || s.deferredTooLong(fx.now) {
		return
	}
	_, walking := s.phase.(*sweep.Walk)
	switch {
	case s.state == checkSweep:
	case s.state == lightSweep:
		s.wanted |= wishLight
	case s.state == previewSweep && walking:
		s.plan.putOff(fx)
	case s.state == fullSweep && walking:
		s.wanted |= wishFull
	case s.state == retrySweep && walking:
		s.wanted |= wishRetry
	default:
		return
	}
	fx.log(debug, "interrupting the sweep for a quick sweep")
	s.breakOff(fx)
}

// breakOff gives up a sweep that is still asking.
func (s *scheduler) breakOff(fx *effects) {
	s.ended = fx.table.CancelOwner(ownerSweep, s.ended[:0])
	if walk, walking := s.phase.(*sweep.Walk); walking {
		walk.Drop()
	}
	s.becomeIdle()
}

// endPlan gives up a plan whose asker has left, with its walk.
func (s *scheduler) endPlan(fx *effects, number uint64) {
	s.plan.left(fx, number)
	if s.state == previewSweep && !s.plan.underWay() {
		s.breakOff(fx)
	}
}

// preview goes on from the walk of a plan to its task, which the next sweep need not wait for.
func (s *scheduler) preview(fx *effects, found *sweep.Found, m *multicast.Machine) {
	of := &s.plan.begun
	task := found.Preview(of.reroute).WithMulticast(m).WithEngines(of.Engines).Without(of.Without).By(of.Policy)
	s.drop(found)
	if found.Own != discover.OwnUp {
		s.plan.refuse(fx, ErrPortDown)
		return
	}
	s.plan.compute(fx, task)
}

// previewed takes its result.
func (s *scheduler) previewed(fx *effects, r *sweep.SweepPlan) {
	s.add(Computing, fx.now-s.plan.since)
	s.plan.done(fx, r, s.started >= s.plan.since || s.wanted.has(wishHeavy))
}

// inconclusive drops a quick sweep that has met more than it can interpret.
func (s *scheduler) inconclusive(found *sweep.Found) {
	s.drop(found)
	s.needFull = true
	s.want(wishFull, "quick sweep inconclusive")
}

// readLanes has the next sweep read the lanes of ports.
func (s *scheduler) readLanes() {
	s.sweeper.ReadLanes()
	s.want(wishFull, "the routes found have a credit loop: reading the lanes of ports to find a fix")
}

// drop gives up a sweep whose walk is done.
func (s *scheduler) drop(found *sweep.Found) {
	found.Drop()
	s.becomeIdle()
}

// walked takes the end of a walk.
func (s *scheduler) walked(found *sweep.Found) {
	s.phase, s.found = found, found.Result
	if s.state != quickSweep {
		s.slow = 0
	}
}

// halt gives up pending work, and state that another manager may change. It first waits for the result of a task that
// still computes. how is pausing or abandoned.
func (s *scheduler) halt(fx *effects, how scheduleState) {
	s.plan.putOff(fx)
	if _, out := s.phase.(*sweep.RouteTask); out {
		s.state = max(s.state, how)
		fx.do(Cancel{ForSweep})
		return
	}
	s.giveUp(how)
}

// giveUp forgets what another manager may change; one that is abandoned, also the subnet.
func (s *scheduler) giveUp(how scheduleState) {
	s.unwritten = Task{}
	if how == abandoned {
		s.sweeper.Abdicate()
	} else {
		s.sweeper.Pause()
	}
	s.becomeIdle()
}

// isolate gives up pending work while no node can be reached.
func (s *scheduler) isolate(found *sweep.Found) {
	s.sweeper.Isolate(found)
	s.becomeIdle()
}

// reset forgets wanted sweeps and failures.
func (s *scheduler) reset() {
	s.wanted, s.next, s.slow, s.trouble, s.backoff, s.needFull, s.readAll = 0, 0, 0, "", 0, false, false
	s.unconfirmed, s.lasts = false, false
	s.late = lateness{}
}

// looked takes what came of a light sweep.
func (s *scheduler) looked(fx *effects, v *sweep.Verdict) {
	if v.Reason == "" {
		return
	}
	fx.log(info, "heavy sweep needed", "reason", v.Reason)
	switch v.Extent {
	case sweep.Full:
		s.needFull = true
		s.want(wishQuick|wishFull, v.Reason)
	case sweep.Retry:
		s.want(wishRetry, v.Reason)
	default:
		s.want(wishQuick, v.Reason)
	}
}

// schedule sets when the clock asks for the next sweep; after 0 leaves that as it is.
func (s *scheduler) schedule(now, after time.Duration) {
	if after > 0 {
		s.next = now + after
	}
}

// scheduleNext sets it to the interval, 0 for none, or to when what went wrong is tried again.
func (s *scheduler) scheduleNext(now, interval time.Duration) {
	if s.trouble != "" && s.backoff > 0 && (interval == 0 || s.backoff < interval) {
		interval = s.backoff
	}
	s.schedule(now, interval)
}

// tick reports whether the clock asks for a sweep.
func (s *scheduler) tick(now time.Duration) bool {
	if s.next == 0 || s.next > now {
		return false
	}
	s.next = 0
	return true
}

// deadline is when tick has something to do; false for never.
func (s *scheduler) deadline() (time.Duration, bool) { return s.next, s.next > 0 }
