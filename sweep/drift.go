package sweep

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"ibsm/routing"
	"ibsm/routing/layers"
	"ibsm/routing/quality"
	"ibsm/routing/verify"
	"ibsm/sweep/engines"
)

// Drift is how good the routes in force are, beside those that the engines would compute afresh. Steady engines and repairs change as little as they can:
// after many losses routes are less even than they could be. It is immutable.
type Drift struct {
	Engine      string  // that computes the fresh routes
	Fullest     uint32  // routes between hosts on the fullest link
	Shift       float64 // flows that meet in shifts: quality.Brief
	BestFullest uint32  // the same of fresh routes
	BestShift   float64
}

// Percent is by how much the routes in force are worse: the greater of both figures, 0 if neither is worse.
func (d *Drift) Percent() int {
	over := func(is, best float64) int { return int(100*is/max(best, 1)+0.5) - 100 }
	return max(0, over(float64(d.Fullest), float64(d.BestFullest)), over(d.Shift, d.BestShift))
}

// DriftTask computes routes afresh and compares them with those in force. It runs outside the core, on values that nobody writes, and nothing
// but the figures is kept.
type DriftTask struct {
	problem
	tables *routing.Tables
}

// problem is what a sweep had to route, without the tables that were in force.
type problem struct {
	chain engines.Chain
	in    routing.In
}

// Drift is the task for the routes that a sweep left; nil if it has left none.
func (o *Outcome) Drift() *DriftTask {
	if o.Tables == nil || o.problem.in.Topo == nil || len(o.Topo.Switches) < 2 {
		return nil
	}
	j := &DriftTask{o.problem, o.Tables}
	j.in.Topo = o.Topo // the one of the sweep before, if nothing has changed
	return j
}

// Same reports whether two tasks compare the same.
func (j *DriftTask) Same(o *DriftTask) bool {
	return j == o || j.in.Topo == o.in.Topo && slices.Equal(j.in.LIDs.Owner, o.in.LIDs.Owner) && j.SameTables(o) && j.chain.Equal(o.chain)
}

// SameTables reports whether the same tables are in force for two tasks.
func (j *DriftTask) SameTables(o *DriftTask) bool {
	return j.tables == o.tables || slices.EqualFunc(j.tables.LFT, o.tables.LFT, bytes.Equal)
}

// Run compares. A cancelled context, and a subnet that no engine routes afresh, give nil.
func (j *DriftTask) Run(ctx context.Context) *Drift {
	in := j.in
	in.Workers = 1 // so that a sweep beside it is as fast as alone
	chain, _ := j.chain.For(in.Topo)
	for i := range chain {
		rows, err := fresh(ctx, in, &chain[i])
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			continue
		}
		d := &Drift{Engine: chain[i].Name}
		if d.BestFullest, d.BestShift, err = quality.Brief(ctx, in, rows); err == nil {
			d.Fullest, d.Shift, err = quality.Brief(ctx, in, j.tables.LFT)
		}
		if err != nil {
			return nil
		}
		return d
	}
	return nil
}

// fresh are the rows that a sweep would take from an engine, without loops. The error says why it would take none, or is that of ctx.
func fresh(ctx context.Context, in routing.In, e *engines.Engine) ([][]uint8, error) {
	tables, err := e.Route(ctx, in)
	if err != nil {
		return nil, err
	}
	report, err := verify.Check(ctx, in.Workers, in.Topo, in.LIDs, tables, nil)
	if err != nil {
		return nil, err
	}
	if report.Count[verify.Loop] > 0 {
		if e.Force != "" {
			return nil, errors.New("its routes have loops")
		}
		tables = verify.CutLoops(in.Topo, in.LIDs, tables, report)
	}
	if e.NoCreditLoop {
		err = engines.MustHaveNoLoop(ctx, in, tables)
	}
	if err != nil && e.Layers && ctx.Err() == nil {
		assigned, refused := layers.Assign(ctx, layers.In{
			Topo: in.Topo, LIDs: in.LIDs, Forwarding: routing.NewForwarding(in.Topo, in.LIDs, tables), Lanes: int(routing.LeastLanes(in.Lanes)), Hosts: true, Workers: in.Workers,
		})
		if refused == nil && assigned.SLs != nil {
			err = nil
		}
	}
	return tables.LFT, err
}
