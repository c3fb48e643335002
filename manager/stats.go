package manager

import (
	"iter"
	"slices"
	"time"

	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep"
	"ibsm/view"
)

// Stats is where a manager stands, and what it has done since its start. It is a plain
// value: copies do not change.
type Stats struct {
	State  smp.SMState
	Reign  uint64 // mastership counted from 1; 0 not yet
	Gen    uint64 // of the view published last
	Sweeps [4]uint64
	Phases [len(timedPhases)]PhaseTimes
	Txn    txn.Stats
	Self   view.SM
	// Received counts the packets that came to QP0.
	Received uint64
	// FromStandby says that the reign that is, or was last, began in STANDBY.
	FromStandby bool
	Rivals      []view.SM // other managers, by GUID, as they were heard last; never written again
	Progress

	traps     [len(trapNumbers) + 2]uint64 // of each number, other generic ones, vendors'
	offenders offenders
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
var timedPhases = [...]sweep.Phase{sweep.Walking, sweep.Computing, sweep.Programming, sweep.Looking}

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
func (s *Stats) ByPhase() iter.Seq2[sweep.Phase, *PhaseTimes] {
	return func(yield func(sweep.Phase, *PhaseTimes) bool) {
		for i, p := range timedPhases {
			if !yield(p, &s.Phases[i]) {
				return
			}
		}
	}
}

// observe notes how long a phase took when it has just ended.
func (c *Core) observe() {
	phase := c.sweeper.Phase()
	if phase == c.stats.Phase {
		return
	}
	if i := slices.Index(timedPhases[:], c.stats.Phase); i >= 0 {
		took, times := c.now-c.phaseAt, &c.stats.Phases[i]
		bucket := 0
		for bucket < len(PhaseBounds) && took > PhaseBounds[bucket] {
			bucket++
		}
		times.Buckets[bucket]++
		times.Sum += took
	}
	c.stats.Phase, c.phaseAt = phase, c.now
}

// countHeavy counts a heavy sweep that has begun.
func (c *Core) countHeavy() {
	if c.quick {
		c.stats.Sweeps[QuickSweep]++
	} else {
		c.stats.Sweeps[HeavySweep]++
	}
}

// trapNumbers are those that are counted one by one.
var trapNumbers = [...]smp.TrapNumber{
	smp.TrapLinkState, smp.TrapLinkIntegrity, smp.TrapBufferOverrun, smp.TrapFlowControl, smp.TrapLocalChange,
	smp.TrapSystemImageGUID, smp.TrapBadMKey, smp.TrapBadPKey, smp.TrapBadQKey, smp.TrapSwitchBadPKey,
	smp.TrapVPortLocalChange, smp.TrapVPortStateChange, smp.TrapVPortBadPKey, smp.TrapVPortBadQKey,
}

// Traps that are not counted by number.
const (
	OtherTraps  smp.TrapNumber = 0
	VendorTraps smp.TrapNumber = 0xffff
)

// Traps are the numbers of traps received as master, by trap number.
func (s *Stats) Traps() iter.Seq2[smp.TrapNumber, uint64] {
	return func(yield func(smp.TrapNumber, uint64) bool) {
		for i, n := range trapNumbers {
			if !yield(n, s.traps[i]) {
				return
			}
		}
		_ = yield(OtherTraps, s.traps[len(trapNumbers)]) && yield(VendorTraps, s.traps[len(trapNumbers)+1])
	}
}

func (s *Stats) trap(n *smp.Notice) {
	i := slices.Index(trapNumbers[:], n.TrapNumber())
	switch {
	case !n.IsGeneric():
		i = len(trapNumbers) + 1
	case i < 0:
		i = len(trapNumbers)
	}
	s.traps[i]++
}

// Stats tells where the manager stands and what it has done.
func (c *Core) Stats() Stats {
	s := c.stats
	s.State, s.Gen = c.elect.State(), c.gen
	s.Txn, s.Progress = c.table.Stats(), c.Progress()
	s.Self = c.self(c.own.lid)
	s.Rivals = c.rivals
	return s
}
