package manager

import (
	"slices"
	"time"

	"ibsm/finding"
	"ibsm/mad/txn"
	"ibsm/sweep"
)

// lateness is how long the phase of a sweep under way has waited for devices alone that answer late, or not at all.
// When it has waited long enough, what they have not answered by then is taken as out of time, and the sweep goes on:
// such a device delays what concerns itself, and not the others for longer than that.
//
// A sound device is far from it: it answers within a millisecond, and while any request is younger than the patience of
// the transactions, or can be sent, the sweep is not waiting. So what a large device or subnet needs does not matter.
// Where packets are lost, the limits leave time for the attempts of several requests.
type lateness struct {
	lateClock
	phase       sweep.Phase // to which that applies
	extended    uint8       // sweeps in a row that have left something out, up to maxExtended
	sets        bool        // the last sweep that has ended has not waited for the answers to some Sets
	linkChanged bool        // a link has changed its state since the last sweep that has ended
}

// lateClock is how long a user of the transactions has waited for late devices alone.
type lateClock struct {
	owner txn.Owner
	took  time.Duration // so far
	since time.Duration // since when it waits
	waits bool
}

// wait takes how it stands after a step. A user that waits for nothing begins anew.
func (l *lateClock) wait(now time.Duration, t *txn.Table) {
	if l.since, l.waits = now, t.WaitsForLate(l.owner); t.Open(l.owner) == 0 {
		l.took = 0
	}
}

// outOfTime returns the requests that are not waited for any longer.
func (l *lateClock) outOfTime(now, limit time.Duration, t *txn.Table, ended []txn.Outcome) []txn.Outcome {
	if !l.waits {
		return ended
	}
	if l.took, l.since = l.took+now-l.since, now; l.took < limit {
		return ended
	}
	return t.EndLate(l.owner, ended)
}

// until is when outOfTime has something to return; false for never.
func (l *lateClock) until(limit time.Duration) (time.Duration, bool) {
	return l.since + max(limit-l.took, 0), l.waits
}

// Limits, in the time that a request takes which nobody answers in any attempt.
const (
	// walkWaits is for a walk: a node that nobody has asked before may leave its NodeInfo unanswered, answer it to
	// another M_Key, and leave two further requests unanswered.
	walkWaits = 4
	// lossyWaits is for one that makes requests again because packets are lost, of a subnet that is not known yet: what
	// it leaves out is not in the subnet.
	lossyWaits = walkWaits << maxExtended
	// programWaits is for a program, a light sweep, and a round of the multicast tables.
	programWaits = 2
	// shortWaits is for a phase for which somebody else waits, and for a walk that only waits for what was late in
	// the last one too, and is known.
	shortWaits = 1
	// maxExtended is how often walkWaits and programWaits double, as long as sweeps leave something out: it is asked
	// for as long as nobody else waits.
	maxExtended = 2
)

// limit is how long the phase may wait. request is the time that a request takes which nobody answers.
func (s *scheduler) limit(request time.Duration) time.Duration {
	walk, walks := s.phase.(*sweep.Walk)
	switch {
	case walks && walk.IsLossy() && !s.sweeper.Known():
		return lossyWaits * request
	case s.wanted != 0, s.late.linkChanged, walks && walk.WaitsForKnown():
		return shortWaits * request
	case walks:
		return walkWaits * request << s.late.extended
	}
	return programWaits * request << s.late.extended
}

// waitForLate takes how the phase stands after a step.
func (s *scheduler) waitForLate(now time.Duration, t *txn.Table) {
	if s.late.phase != s.phase {
		s.late.phase, s.late.took = s.phase, 0
	}
	s.late.owner = ownerSweep
	s.late.wait(now, t)
	if walk, walks := s.phase.(*sweep.Walk); walks && walk.Self() == 0 {
		s.late.waits = false // how long our own port may take is decided elsewhere
	}
}

// endLate has what is not waited for any longer end, for the sweep and for the multicast tables.
func (c *Core) endLate() {
	if c.sweeps.late.waits || c.lateTables.waits {
		request := c.fx.table.RequestTime()
		c.late = c.sweeps.late.outOfTime(c.fx.now, c.sweeps.limit(request), c.fx.table, c.late[:0])
		c.late = c.lateTables.outOfTime(c.fx.now, programWaits*request, c.fx.table, c.late)
		for i := range c.late {
			c.outcome(&c.late[i])
		}
	}
}

// lateDue is when endLate has something to do; false for never.
func (c *Core) lateDue() (at time.Duration, ok bool) {
	request := c.fx.table.RequestTime()
	if c.sweeps.late.waits {
		at, ok = c.sweeps.late.until(c.sweeps.limit(request))
	}
	if end, waits := c.lateTables.until(programWaits * request); waits && (!ok || end < at) {
		at, ok = end, true
	}
	return at, ok
}

// sweptLate takes the end of a heavy sweep.
func (s *scheduler) sweptLate(out *sweep.Outcome) {
	s.late.linkChanged = false
	s.late.sets = slices.ContainsFunc(out.Failures, func(f finding.Finding) bool { return f.Kind == finding.SlowAgent })
	if s.late.sets || out.Found.LeftOut() {
		s.late.extended = min(s.late.extended+1, maxExtended)
	} else {
		s.late.extended = 0
	}
}
