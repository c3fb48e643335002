package routes

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/repair"
	"ibsm/routing/verify"
	"ibsm/sweep/engines"
)

// attempt is one to route a subnet by the engines of a chain. Each engine begins with the same problem.
type attempt struct {
	*decision
	in        routing.In
	chain     engines.Chain
	rerouting Rerouting
	base      *base  // in place of the state's; may be nil
	asked     string // the engine that was asked last
}

// routed are tables with their proofs, and how they came about.
type routed struct {
	engine    *engines.Engine
	keep      routing.Keep
	tables    *routing.Tables
	computed  *routing.Tables // by the engine; nil where they were repaired
	report    *verify.Report
	beforeCut *verify.Report // of the engine's tables, if they had loops that were cut
	proof
	base    *base          // of the tables, if the engine needs one
	closing []repair.Route // repaired routes to which no way was found that adds no credit loop
}

// choose returns the tables for the subnet: those of the first engine that routes it, or the tables found, repaired, as
// long as they are another manager's. It returns nil if ctx is done, or if out.Err says why there are none.
func (a *attempt) choose(ctx context.Context) *routed {
	if a.in.Keep != routing.KeepWorking {
		return a.first(ctx, a.in.Keep)
	}
	a.out.Foreign = a.was.foreign
	if !a.chain[0].IsMinHop() && (a.First || a.was.interim != nil) {
		r := a.first(ctx, routing.KeepMinimal)
		if r != nil && r.engine.Steady && !a.keepsFound(r.tables) {
			if r = a.fromFound(ctx, r); r == nil {
				return nil
			}
		}
		if r != nil && !r.engine.IsMinHop() &&
			(a.next.whose == recordedRoutes && r.engine.Name == a.was.record.Engine || a.keepsFound(r.tables)) {
			a.next.whose = ownRoutes // the tables found are the engine's own
			return r
		}
		if ctx.Err() != nil {
			return nil
		}
		a.out.Foreign, a.out.Err = "", nil
		if r != nil && !r.engine.IsMinHop() {
			a.out.Foreign = r.engine.Name
		}
	}
	return a.repair(ctx)
}

// fromFound returns the tables of an engine that changes the tables found as little as possible, if it keeps all of
// them: they may be its own, in a subnet that has lost something, or another manager's that obey its rules. Otherwise
// it returns the tables that the engine computed from scratch; nil when ctx is done.
func (a *attempt) fromFound(ctx context.Context, afresh *routed) *routed {
	a.base = newBase(afresh.engine.Name, a.Topo, a.in.Prev)
	r, err := a.compute(ctx, afresh.engine, routing.KeepMinimal)
	a.base = nil
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil || !a.keepsFound(r.tables):
		return afresh
	case a.next.whose == recordedRoutes:
		return r
	}
	if r.base.uneven, err = a.isUneven(ctx, r.tables, afresh.tables); err != nil {
		return nil
	}
	return r
}

// isUneven reports whether the busiest link has more than five quarters of the routes that it has with other tables.
// The error is that of ctx.
func (a *attempt) isUneven(ctx context.Context, tables, others *routing.Tables) (bool, error) {
	most, err := a.fullest(ctx, tables)
	if err != nil {
		return false, err
	}
	least, err := a.fullest(ctx, others)
	return most*4 > least*5, err
}

// first returns the tables of the first engine that routes the subnet, or those of a Steady one that refuses it,
// repaired: where these have a credit loop, only if others have one, too, or they are in force already. It returns nil
// where no other engine routes it then: routes with a new credit loop are not written.
func (a *attempt) first(ctx context.Context, keep routing.Keep) *routed {
	a.out.Refused = nil
	if known := a.known(keep); known != nil {
		r, err := a.compute(ctx, known.again(), keep)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			a.out.Refused = known.refused
			return r
		}
	}
	var repaired *routed
	for i := range a.chain {
		e := &a.chain[i]
		r, err := a.compute(ctx, e, keep)
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case err != nil:
		case repaired != nil && r.credit.Loop != nil:
			return a.instead(repaired)
		default:
			return a.price(ctx, keep, r)
		}
		a.out.Refused = append(a.out.Refused, engines.Refusal{Engine: e.Name, Err: err})
		if r = a.ownRepaired(ctx, e, keep); r == nil {
			continue
		}
		if r.credit.Loop == nil || slices.EqualFunc(r.tables.LFT, a.in.Prev.LFT, bytes.Equal) {
			return a.instead(r)
		}
		repaired = r
	}
	if ctx.Err() != nil {
		return nil
	}
	var reasons []string
	for _, r := range a.out.Refused {
		reasons = append(reasons, r.String())
	}
	a.out.Err = fmt.Errorf("routing: %s", strings.Join(reasons, "; "))
	return nil
}

// instead says that the routes of an engine that refuses the subnet are repaired.
func (a *attempt) instead(repaired *routed) *routed {
	for i := range a.out.Refused {
		if r := &a.out.Refused[i]; r.Engine == repaired.engine.Name {
			r.Err = fmt.Errorf("%w; its routes are repaired", r.Err)
		}
	}
	return repaired
}

// ownRepaired repairs the tables in force of an engine, and returns to those that it computed afresh last, for a subnet
// that it refuses because of what has been lost since: no more changes than must. They may have a credit loop. It
// returns nil where another engine's tables are in force, and if ctx is done.
func (a *attempt) ownRepaired(ctx context.Context, e *engines.Engine, keep routing.Keep) *routed {
	if !e.Steady || a.was.engine != e.Name || a.in.Prev == nil || a.rerouting != KeepsRoutes {
		return nil
	}
	// whatever links there are: with another cable the repaired routes stay, too
	first := a.was.base.rows(e.Name, a.Topo)
	if first == nil {
		return nil
	}
	repairs, closing := *e, []repair.Route(nil)
	repairs.NoCreditLoop = false
	repairs.Route = func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		result, err := a.repairTables(ctx, in, a.fix(first, a.Reserved), nil)
		if err != nil {
			return nil, err
		}
		closing = result.Unavoidable
		return result.Tables, nil
	}
	r, err := a.compute(ctx, &repairs, keep)
	if err != nil {
		return nil
	}
	r.engine, r.closing, r.base, r.computed = e, closing, a.was.base, nil
	return r
}

// repairTables repairs the tables in force, of paths with SLs. first are those to return to.
func (a *attempt) repairTables(ctx context.Context, in routing.In, first *routing.Tables,
	sls *routing.SLs) (*repair.Result, error) {
	tables := *in.Prev
	tables.SLs = sls
	problem := repair.In{Topo: in.Topo, LIDs: in.LIDs, Tables: &tables, Base: first, Proof: a.was.credit,
		Workers: in.Workers}
	if rules := a.rules(sls, sls != nil); rules != nil {
		problem.Maps = rules.Maps
	}
	if was := a.was.report; was != nil {
		problem.Was, problem.Good = was.Forwarding(), was.Good()
	}
	return repair.Tables(ctx, problem)
}

// repair keeps the routes found if they work, or returns to those found first. If the combination of both has a credit
// loop, it only keeps.
func (a *attempt) repair(ctx context.Context) *routed {
	first := a.was.base.rows(found, a.Topo)
	r, err := a.repaired(ctx, first)
	if err == nil && r.credit.Loop != nil && first != nil {
		r, err = a.repaired(ctx, nil)
	}
	if err == nil && r.credit.Loop != nil {
		err = a.fit(ctx, r)
	}
	if err != nil && ctx.Err() == nil {
		a.out.Err = fmt.Errorf("routing: %w", err)
	}
	if err != nil {
		return nil
	}
	return r
}

// repaired are the routes found, repaired where they do not work. They count as min-hop's, because they promise no
// more. first are the routes found first.
func (a *attempt) repaired(ctx context.Context, first *routing.Tables) (*routed, error) {
	e, closing := *a.chain.Repairs(), []repair.Route(nil)
	if first != nil {
		first = a.fix(first, a.Reserved) // routes through entries that stay as they are do not return
	}
	e.Route = func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		var sls *routing.SLs
		if a.was.fitting.State == Fitted {
			sls = a.was.sls
		}
		result, err := a.repairTables(ctx, in, first, sls)
		if err != nil {
			return nil, err
		}
		closing = result.Unavoidable
		return result.Tables, nil
	}
	r, err := a.compute(ctx, &e, routing.KeepWorking)
	if err == nil {
		r.closing = closing
		if r.base = a.was.base; r.base == nil || r.base.engine != found {
			r.base = newBase(found, a.Topo, r.tables)
		}
	}
	return r, err
}

// compute runs one engine, removes loops that the proof finds, and looks for credit loops. The error says why the
// engine does not route the subnet, or is that of ctx.
func (a *attempt) compute(ctx context.Context, e *engines.Engine, keep routing.Keep) (*routed, error) {
	t, in := a.Topo, a.in
	in.Keep, a.asked = keep, e.Name
	from := a.base
	if from == nil {
		from = a.was.base
	}
	if e.Steady && a.rerouting == KeepsRoutes {
		in.Base = from.tables(e.Name, t)
	}
	computed, err := e.Route(ctx, in)
	if err != nil {
		return nil, err
	}
	r := &routed{engine: e, keep: keep, computed: computed, tables: a.fix(computed, a.Reserved)}
	switch {
	case in.Base != nil:
		r.base = from
	case e.Steady:
		r.base = newBase(e.Name, t, computed)
	}
	if keep == routing.KeepWorking && a.was.fitting.State == Fitted {
		r.fitting = a.was.fitting
	} else if r.tables.SLs.Equal(a.was.sls) {
		r.tables.SLs = a.was.sls // the proof before this one is about them
	}
	if r.report, err = verify.Check(ctx, in.Workers, t, a.LIDs, r.tables, a.was.report); err != nil {
		return nil, err
	}
	if r.report.Count[verify.Loop] > 0 {
		r.beforeCut = r.report
		r.tables = a.fix(verify.CutLoops(t, a.LIDs, r.tables, r.report), nil)
		if r.report, err = verify.Check(ctx, in.Workers, t, a.LIDs, r.tables, r.report); err != nil {
			return nil, err
		}
	}
	if err = a.prove(ctx, r); err == nil && e.Layers && r.credit.Loop != nil {
		err = a.layer(ctx, r)
	}
	if err == nil && e.Force != "" && r.beforeCut != nil {
		err = fmt.Errorf(
			"packets would go round in circles, of %d pairs of a switch and a LID; %s uses the other routes all the same", r.beforeCut.Count[verify.Loop], e.Force)
	}
	if err == nil && e.NoCreditLoop && r.credit.Loop != nil {
		err = a.mustAvoidLoop(ctx, r, computed)
	}
	return r, err
}

// mustAvoidLoop returns an error if the tables that r's engine has computed have a credit loop
// themselves. Tables of switches that do not answer stay: what they add is not the engine's, nor is what
// multicast trees add.
func (a *attempt) mustAvoidLoop(ctx context.Context, r *routed, computed *routing.Tables) error {
	t := a.Topo
	own, err := creditloop.Find(ctx, creditloop.In{
		Topo: t, LIDs: a.LIDs, Forwarding: routing.NewForwarding(t, a.LIDs, computed), SLs: r.tables.SLs,
		Maps: r.tables.SLs.Lanes(), Traffic: creditloop.BetweenHosts, Workers: a.Workers,
	})
	switch {
	case err != nil || own.Loop == nil:
		return err
	case r.engine.Force != "":
		return fmt.Errorf(
			"the proof finds a credit loop among its routes, and there are not lanes enough for SLs without one; %s uses them all the same: %s",
			r.engine.Force, creditloop.Text(t, own.Loop, creditloop.Description))
	}
	return fmt.Errorf("the proof finds a credit loop among its routes, which it promises to avoid: %s",
		creditloop.Text(t, own.Loop, creditloop.Description))
}

// keepsFound reports whether tables have every entry by which packets arrive in the tables that
// were found.
func (a *attempt) keepsFound(tables *routing.Tables) bool {
	if a.in.Prev == nil {
		return false
	}
	found := a.in.Prev.LFT
	tracer, trace := routing.NewTracer(a.Topo, a.LIDs), routing.NewTrace(len(found))
	for block := range routing.RowLen(a.LIDs.Top) / routing.BlockSize {
		tracer.Block(found, block, routing.WholeBlock, trace)
		for lid := mad.LID(block * routing.BlockSize); int(lid) < (block+1)*routing.BlockSize; lid++ {
			for s, fate := range trace.Fates(lid) {
				if fate >= routing.Arrived && found[s][lid] != tables.LFT[s][lid] {
					return false
				}
			}
		}
	}
	return true
}
