package manager

import (
	"iter"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/view"
)

// Stats is where a manager stands, and what it has done since its start. It is a plain
// value: copies do not change.
type Stats struct {
	State  smp.SMState
	Terms  uint64 // as master, since the start
	Gen    uint64 // of the view published last
	Sweeps [4]uint64
	Phases [len(timedPhases)]PhaseTimes
	Txn    txn.Stats
	Self   view.SM
	// Received counts the packets that came to QP0.
	Received uint64
	// QueueFull counts the packets that found the receive queue full, and were dropped.
	QueueFull uint64
	// FromStandby says that the term as master that is, or was last, began in STANDBY.
	FromStandby bool
	Rivals      []view.SM // other managers, by GUID, as they were heard last; never written again
	// Ignored are those of Rivals that do not apply: elect.Machine.Ignores. Never written again.
	Ignored []mad.GUID
	// AwaitsStandby is set if a standby should be there: another manager that applies has been found since the start,
	// or allowed_sm_guids names another port.
	AwaitsStandby bool
	// OwnPort is the problem of the manager's own port, in the words of the log, or "".
	OwnPort string
	Progress

	traps  trapCounts
	alarms alarms
}

// Standbys is how many other managers are STANDBY and could take over.
func (s *Stats) Standbys() (n int) {
	for _, o := range s.Rivals {
		if smp.SMState(o.State) == smp.Standby && !slices.Contains(s.Ignored, o.GUID) {
			n++
		}
	}
	return n
}

// SweepKind is an index into Stats.Sweeps.
type SweepKind uint8

// Kinds of sweep.
const (
	LightSweep SweepKind = 0
	QuickSweep SweepKind = 1 // heavy, but switches that report no change are believed
	HeavySweep SweepKind = 2
	PlanSweep  SweepKind = 3 // heavy, to be looked at
)

func (k SweepKind) String() string { return [...]string{"light", "quick", "heavy", "plan"}[k] }

// timedPhases are those that take time.
var timedPhases = [...]Phase{Walking, Computing, Programming, Looking}

// Phase is a phase of a sweep.
type Phase uint8

// Phases.
const (
	Idle        Phase = iota // no sweep is under way
	Walking                  // asking
	Computing                // a route task is out
	Programming              // writing
	Looking                  // a light sweep
)

func (p Phase) String() string {
	return [...]string{"idle", "walking", "computing", "programming", "looking"}[p]
}

// PhaseBounds are the upper bounds of PhaseTimes' buckets.
var PhaseBounds = [...]time.Duration{
	time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, time.Second,
	3 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
}

// PhaseTimes is how long one phase of sweeps took.
type PhaseTimes struct {
	Buckets [len(PhaseBounds) + 1]uint64 // the last for what took longer than any bound
	Sum     time.Duration
}

// ByPhase are the times of each phase that takes time.
func (s *Stats) ByPhase() iter.Seq2[Phase, *PhaseTimes] {
	return func(yield func(Phase, *PhaseTimes) bool) {
		for i, p := range timedPhases {
			if !yield(p, &s.Phases[i]) {
				return
			}
		}
	}
}

// phaseTimes count sweeps, and how long their phases took.
type phaseTimes struct {
	count [4]uint64 // by SweepKind
	took  [len(timedPhases)]PhaseTimes
	phase Phase // as observe saw it last
	since time.Duration
}

// observe notes how long a phase took when it has just ended.
func (t *phaseTimes) observe(now time.Duration, phase Phase) {
	if phase == t.phase {
		return
	}
	t.add(t.phase, now-t.since)
	t.phase, t.since = phase, now
}

// add counts how long a phase took, if it is one that takes time.
func (t *phaseTimes) add(phase Phase, took time.Duration) {
	if i := slices.Index(timedPhases[:], phase); i >= 0 {
		times, bucket := &t.took[i], 0
		for bucket < len(PhaseBounds) && took > PhaseBounds[bucket] {
			bucket++
		}
		times.Buckets[bucket]++
		times.Sum += took
	}
}

// Stats returns where the manager stands and what it has done.
func (c *Core) Stats() Stats {
	return Stats{
		State: c.elect.State(), Terms: c.term.begun, FromStandby: c.term.fromStandby, Gen: c.published.gen,
		Sweeps: c.sweeps.count, Phases: c.sweeps.took, Txn: c.fx.table.Stats(), Self: c.elect.self(c.port.lid, c.sent),
		Received: c.received,
		Rivals:   c.elect.shown, Ignored: c.elect.ignored,
		AwaitsStandby: c.elect.awaitsStandby(c.port.guid, c.cfg.Elect.Allowed), OwnPort: ownPortTexts[c.port.state],
		Progress: c.Progress(), traps: c.traps.counts, alarms: c.alarms,
	}
}
