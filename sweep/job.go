package sweep

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/routing/verify"
	"ibsm/sweep/discover"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// Job is the part of a sweep that computes: from what a walk found to a plan. It
// runs outside the core, on values that nobody else touches meanwhile.
type Job struct {
	found    *discover.Result
	settings Settings
	engine   routing.Engine
	memory   *Memory
	parts    Partitions
	reroute  bool // compute all routes afresh
	now      int64

	multicastTop mad.LID
	reregister   map[mad.GUID]bool // In.Reregister of the plan
	multicast    *multicastPlan    // nil: the plan does not show it
}

// Computed is the outcome of a Job.
type Computed struct {
	Topo   *topo.Topo
	LIDs   *topo.LIDs
	Tables *routing.Tables // nil when routing failed or is held back
	Values plan.Values
	Plan   *plan.Plan
	// MulticastTop is the MulticastFDBTop that switches are to have; 0 as they have it.
	MulticastTop mad.LID
	// Partitions are the partition tables that ports are to hold.
	Partitions *partitions.Tables

	Lost        []mad.GUID // nodes given up after MaxMissed sweeps
	Conflicts   []LIDConflict
	Exhausted   []mad.GUID     // end ports for which no LID is left
	Reclaimed   []KeptLID      // LIDs of absent ports that were given to others
	Absent      []KeptLID      // LIDs that are kept for ports that are not there
	Report      *verify.Report // of Tables as they are to be written
	Mended      *verify.Report // of the engine's tables, when they looped and were cut
	Keep        routing.Keep
	Unused      bool  // links were added that adopted routes do not use
	Unavoidable int   // unhealthy links that are used all the same, because nothing else leads on
	AR          int   // switches on which adaptive routing is on and holds routes back
	Err         error // the routing engine failed

	same      bool // Topo is as the last sweep left it
	held      []*plan.Held
	multicast *Grown // of a plan that is only to be looked at; may be nil
}

// Run computes. The only error in Computed is the engine's; a cancelled context
// gives nil.
func (j *Job) Run(ctx context.Context) *Computed {
	b, m := j.found.Builder, j.memory
	out := &Computed{MulticastTop: j.multicastTop}
	for _, n := range b.KeepMissing(m.prev, !j.found.Quick) {
		out.Lost = append(out.Lost, m.prev.Nodes[n].GUID)
	}
	t := b.Freeze()
	out.Topo = t
	m.learn(t, j.found.Tables)
	m.forgetSwitches(t)
	dead, grace := m.hush(t, !j.found.Quick)
	m.bypass(t)
	var babblers []topo.PortIdx
	out.Unavoidable, babblers = m.avoid(t)
	out.Values = m.resolve(&j.settings, t)
	out.Values.ReregisterAll, out.Values.NoReregister = !m.swept && !m.registered, j.settings.NoReregister
	out.Values.Inherited = m.inherited

	var reserved []mad.LID
	if grace {
		reserved = m.unowned(t)
	}
	a := assignLIDs(t, lidsIn{
		lmc: out.Values.LMC, lmc0: out.Values.LMCPort0, remembered: m.lids, stale: m.stale, reserved: reserved, anew: j.settings.ReassignLIDs && !m.swept,
	})
	out.LIDs, out.Conflicts, out.Exhausted, out.Reclaimed = a.lids, a.conflicts, a.exhausted, a.reclaimed
	m.remember(a, j.now)
	for _, k := range a.absent {
		out.Absent = append(out.Absent, m.lids[k.Port])
	}

	out.held = make([]*plan.Held, len(t.Switches))
	for s, n := range t.Switches {
		if known := m.switches[t.Nodes[n].GUID]; known != nil {
			out.held[s] = known.held
		}
	}
	out.Partitions = partitions.Compile(j.parts.Policy, j.parts.Settings, t, m.pkeys.indexes)
	j.route(ctx, out, reserved)
	if ctx.Err() != nil {
		return nil
	}
	out.Plan = plan.New(plan.In{
		Topo: t, LIDs: out.LIDs, Tables: out.Tables, Held: out.held, Values: out.Values, Partitions: out.Partitions,
		Dead: dead, Disable: babblers, DisableAR: j.settings.DisableAR, Refusals: m.refusals, Told: m.told, MulticastTop: j.multicastTop,
		Reregister: j.reregister,
	})
	out.same = m.prev != nil && t.Equal(m.prev)
	if j.multicast != nil {
		out.multicast = j.multicast.run(ctx, t)
	}
	return out
}

// unowned are the LIDs that some switch forwards and no port owns: perhaps they
// belong to a node that does not answer.
func (m *Memory) unowned(t *topo.Topo) (lids []mad.LID) {
	owned := make([]bool, int(mad.MaxUnicastLID)+1)
	for _, p := range t.EndPorts {
		if l := t.Ports[p].Info.LID(); l.IsUnicast() {
			owned[l] = true
		}
	}
	for _, n := range t.Switches {
		s := m.switches[t.Nodes[n].GUID]
		if s == nil || s.held == nil {
			continue
		}
		for l := 1; l < len(s.held.Row) && l < len(owned) && l <= int(s.held.Top); l++ {
			if s.held.Row[l] != routing.NoPath && !owned[l] {
				owned[l] = true
				lids = append(lids, mad.LID(l))
			}
		}
	}
	return lids
}

// route computes, proves and, where the proof fails, mends the tables.
func (j *Job) route(ctx context.Context, out *Computed, reserved []mad.LID) {
	t, m := out.Topo, j.memory
	for _, n := range t.Switches {
		if t.Nodes[n].AR == topo.AROn && !j.settings.DisableAR {
			out.AR++
		}
	}
	if out.AR > 0 {
		return
	}
	in := routing.In{Topo: t, LIDs: out.LIDs, Prev: j.previous(out), Keep: j.keep(t)}
	out.Keep = in.Keep
	out.Unused = in.Keep == routing.KeepWorking && m.prev != nil && grown(m.prev, t)
	tables, err := j.engine(ctx, in)
	if err != nil {
		out.Err = fmt.Errorf("routing: %w", err)
		return
	}
	tables = fix(out, tables, reserved)
	report, err := verify.Check(ctx, t, out.LIDs, tables, m.report)
	if err != nil {
		return
	}
	if report.Count[verify.Loop] > 0 {
		out.Mended = report
		tables = fix(out, verify.CutLoops(t, out.LIDs, tables, report), nil)
		if report, err = verify.Check(ctx, t, out.LIDs, tables, report); err != nil {
			return
		}
	}
	out.Report, out.Tables, m.report = report, tables, report
	for s, n := range t.Switches {
		known := m.switches[t.Nodes[n].GUID]
		if known == nil || t.Nodes[n].Missed > 0 {
			continue
		}
		if bytes.Equal(tables.LFT[s], known.row) {
			tables.LFT[s] = known.row // so that others see at once that it has not changed
		}
		known.row = tables.LFT[s]
	}
}

// keep decides how much of the previous tables stays. Routes of another manager
// stay as long as they work. Our own stay while nothing was added to the network of
// switches; what was added is to be used.
func (j *Job) keep(t *topo.Topo) routing.Keep {
	switch {
	case j.reroute || j.memory.prev == nil && !j.memory.adopted:
		j.memory.adopted = false
		return routing.KeepNone
	case j.memory.adopted:
		return routing.KeepWorking
	case grown(j.memory.prev, t):
		return routing.KeepNone
	}
	return routing.KeepMinimal
}

// previous are the tables that were meant to be in force, or those found in
// switches that were never routed by us; nil when there are none.
func (j *Job) previous(out *Computed) *routing.Tables {
	t := out.Topo
	size, any := routing.RowLen(out.LIDs.Top), false
	prev := &routing.Tables{LFT: make([][]uint8, len(t.Switches)), Top: out.LIDs.Top}
	var empty []uint8
	for s, n := range t.Switches {
		known := j.memory.switches[t.Nodes[n].GUID]
		switch {
		case known != nil && known.row != nil:
			prev.LFT[s], any = resized(known.row, size), true
		case known != nil && known.held != nil:
			prev.LFT[s], any = resized(known.held.Row, size), true
		default:
			if empty == nil {
				empty = resized(nil, size)
			}
			prev.LFT[s] = empty
		}
	}
	if !any {
		return nil
	}
	return prev
}

// resized is a row of a length, the same one when it has that length.
func resized(row []uint8, size int) []uint8 {
	if len(row) == size {
		return row
	}
	r := make([]uint8, size)
	for i := copy(r, row); i < size; i++ {
		r[i] = routing.NoPath
	}
	return r
}

// fix puts into the tables what cannot be otherwise: switches that do not answer
// go on with what they hold, and reserved LIDs keep their entries everywhere.
func fix(out *Computed, tables *routing.Tables, reserved []mad.LID) *routing.Tables {
	top := out.LIDs.Top
	for _, l := range reserved {
		top = max(top, l)
	}
	size := routing.RowLen(top)
	fixed := &routing.Tables{LFT: make([][]uint8, len(tables.LFT)), Top: top}
	for s, row := range tables.LFT {
		held := out.held[s]
		switch {
		case held != nil && out.Topo.Nodes[out.Topo.Switches[s]].Missed > 0:
			row = held.Row
		case held != nil && len(reserved) > 0:
			row = withReserved(row, held.Row, size, reserved)
		}
		fixed.LFT[s] = resized(row, size)
	}
	return fixed
}

// withReserved copies the entries of reserved LIDs from the held row.
func withReserved(row, held []uint8, size int, reserved []mad.LID) []uint8 {
	r := slices.Clone(resized(row, size))
	for _, l := range reserved {
		if int(l) < len(held) {
			r[l] = held[l]
		}
	}
	if string(r) == string(held) {
		return held
	}
	return r
}
