package routes

import (
	"context"
	"slices"

	"ibsm/routing"
	"ibsm/routing/updown"
	"ibsm/sweep/device"
	"ibsm/sweep/engines"
)

// The first SUBNET UP of a mastership does not wait for an engine that needs far more work than min-hop: interim
// routes, which are proved like others, serve until an EngineTask has what the engines make of the subnet. A later
// sweep takes that, like the routes of any sweep. In a subnet in use the tables that were found serve.

// The budget of engines before the first SUBNET UP, in units of routing.Budget: a multiple of min-hop's work, or on
// small subnets a fixed amount that takes no noticeable time.
const (
	budgetMinHops = 4
	leastBudget   = 10e6
)

// maxRestarts is the number of times that the engines start again because the subnet has changed. After that a sweep
// waits for them, as later sweeps do.
const maxRestarts = 3

// interimEngines route every connected subnet in about the time of min-hop. The first whose routes have no credit loop
// is used.
var interimEngines = []engines.Engine{engines.MinHop, {Name: "updown", Route: updown.Route, NoCreditLoop: true}}

// problem is what a sweep had to route, without the tables that were in force.
type problem struct {
	chain engines.Chain
	in    routing.In
}

// interim is what interim routes serve for. It is immutable.
type interim struct {
	problem
	settings Settings
	engine   string // that was at work when the budget was spent
	restarts int
}

// same reports whether the engines are asked the same.
func (p *interim) same(a *attempt) bool {
	return p != nil && p.chain.Equal(a.chain) && p.in.Keep == a.in.Keep && asksAlike(&p.in, &a.in)
}

// asksAlike reports whether engines get the same input, whatever tables are in force.
func asksAlike(p, o *routing.In) bool {
	return slices.Equal(p.Lanes, o.Lanes) && slices.Equal(p.LIDs.Base, o.LIDs.Base) &&
		slices.Equal(p.LIDs.LMC, o.LIDs.LMC) &&
		p.Tenants.Equal(o.Tenants) && routedAlike(p.Topo, o.Topo)
}

// chooseInTime is choose with a budget if interim routes are permitted. Conversely, if the engines have finished
// meanwhile, their routes replace the interim routes.
func (a *attempt) chooseInTime(ctx context.Context) *routed {
	serves := a.was.interim
	if serves != nil && a.in.Keep != routing.KeepWorking {
		a.in.Keep = routing.KeepNone // interim routes are nothing to keep
	}
	switch {
	case !a.MayServe || a.rerouting != KeepsRoutes ||
		!slices.ContainsFunc(a.chain, func(e engines.Engine) bool {
			return e.IsMinHop()
		}):
		return a.choose(ctx)
	case serves == nil && !a.First:
		return a.choose(ctx)
	case serves.same(a) && a.was.ready != nil:
		return a.choose(ctx)
	case serves.same(a):
		return a.serve(ctx, serves)
	case serves != nil && serves.restarts < maxRestarts:
		again := a.newInterim(serves.engine)
		again.restarts = serves.restarts + 1
		return a.serve(ctx, again)
	case serves != nil:
		return a.choose(ctx)
	}
	return a.chooseWithin(ctx, max(leastBudget, budgetMinHops*routing.MinHopWork(a.Topo, a.LIDs)))
}

// chooseWithin is choose with a budget of work; interim routes serve where that is too little.
func (a *attempt) chooseWithin(ctx context.Context, units int64) *routed {
	bounded, budget, end := routing.WithBudget(ctx, units)
	whose := a.next.whose
	r := a.choose(bounded)
	end()
	if !budget.Spent() || ctx.Err() != nil {
		return r
	}
	a.next.whose = whose
	return a.serve(ctx, a.newInterim(a.asked))
}

func (a *attempt) newInterim(engine string) *interim {
	return &interim{problem{a.chain, a.in}, a.Settings, engine, 0}
}

// serve returns interim routes: the routes found, repaired, or those of the first interim engine. If none of them can
// be proved, it returns the result of choose.
func (a *attempt) serve(ctx context.Context, p *interim) *routed {
	a.out.Refused, a.out.Err, a.out.Foreign = nil, nil, ""
	r := a.interim(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if r == nil {
		a.out.Err = nil
		return a.choose(ctx)
	}
	a.next.interim, a.out.Awaited = p, p.engine
	return r
}

func (a *attempt) interim(ctx context.Context) *routed {
	if a.in.Keep == routing.KeepWorking {
		return a.repair(ctx)
	}
	keep, first := routing.KeepNone, 0
	if a.in.Prev != nil {
		keep = routing.KeepMinimal
	}
	if a.was.interim != nil { // the engine that serves goes on
		first = max(0, slices.IndexFunc(interimEngines, func(e engines.Engine) bool {
			return e.Name == a.was.engine
		}))
	}
	for i := first; i < len(interimEngines); i++ {
		r, err := a.compute(ctx, &interimEngines[i], keep)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil && r.beforeCut == nil && r.credit.Loop == nil && r.report.Bad() == 0 {
			return r
		}
	}
	return nil
}

// EngineTask runs the engines for a subnet with interim routes. It runs outside the core, on values that no other
// goroutine writes.
type EngineTask struct{ *interim }

// EngineResult is what came of an EngineTask.
type EngineResult struct {
	of      *interim
	answers *answers // nil if no engine routes the subnet: the next sweep finds out why
}

// Engine is the engine that interim routes serve for.
func (j *EngineTask) Engine() string { return j.engine }

// Same reports whether two tasks are one.
func (j *EngineTask) Same(o *EngineTask) bool {
	if j == nil || o == nil {
		return j == o
	}
	return j.interim == o.interim
}

// Awaits is the task for the routes that a sweep has left; nil if it has left no interim routes.
func (s *State) Awaits() *EngineTask {
	if s.interim == nil {
		return nil
	}
	return &EngineTask{s.interim}
}

// Run asks the engines. A cancelled context gives nil.
func (j *EngineTask) Run(ctx context.Context) *EngineResult {
	in, keep := j.in, j.in.Keep
	in.Workers = 1 // so that a sweep beside it is as fast as alone
	if keep == routing.KeepWorking {
		keep = routing.KeepMinimal // as choose asks
	}
	a := &attempt{in: in, chain: j.chain, decision: &decision{was: &State{}, In: &In{
		Topo: in.Topo, LIDs: in.LIDs, Switches: make([]device.Walked, len(in.Topo.Switches)), Ports: &device.Ports{},
		Devices: device.NewRecord(), Settings: j.settings, Workers: 1,
	}}}
	r := a.first(ctx, keep)
	if ctx.Err() != nil {
		return nil
	}
	result := &EngineResult{of: j.interim}
	if r != nil {
		result.answers = a.newAnswers(r)
	}
	return result
}

// Take gives the next sweep what the engines have made of the subnet.
func (s *State) Take(r *EngineResult) {
	if s.interim == r.of {
		s.ready = r
	}
}
