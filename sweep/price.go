package sweep

import (
	"context"
	"fmt"
	"slices"

	"ibsm/routing"
	"ibsm/routing/quality"
	"ibsm/sweep/engines"
	"ibsm/topo"
)

// far is how many times as many routes the fullest link has where an engine's routes are far worse than others.
const far = 2

// price compares the routes of an engine of auto, where one that suits the subnet better refuses it, with those of min-hop, which knows no rule. Where their
// fullest link has far more routes it returns the best of all engines of auto that are free of credit loops, and of min-hop with SLs as far as there are
// lanes. Notes of the tables say what the others are like, and what is given up if the best is far worse still. It returns nil when ctx is done.
func (a *attempts) price(ctx context.Context, keep routing.Keep, r *routed) *routed {
	at := slices.IndexFunc(a.chain, func(e engines.Engine) bool { return e.Name == r.engine.Name && e.Suits })
	if at < 0 || suited(a.chain[:at]) == nil || len(a.out.Topo.Switches) < 2 {
		return r
	}
	in := a.in
	in.Prev, in.Keep = nil, routing.KeepNone
	free, err := engines.MinHop.Route(ctx, in)
	if err != nil {
		return nil
	}
	least, err := a.fullest(ctx, free)
	if err != nil {
		return nil
	}
	p := &prices{attempts: a, best: r}
	if p.most, err = a.fullest(ctx, r.tables); err != nil {
		return nil
	}
	if uint64(p.most) <= far*uint64(least) {
		return r
	}
	layered := engines.MinHop
	layered.NoCreditLoop, layered.Layers = true, true
	for _, e := range append(suited(a.chain[at+1:]), layered) {
		if p.try(ctx, keep, e); ctx.Err() != nil {
			return nil
		}
	}
	if uint64(p.most) > far*uint64(least) {
		p.notes = append(p.notes, fmt.Sprintf("the fullest link has %d routes, with minhop, whose routes have a credit loop, %d: "+
			"more lanes on all links, the missing cables, or another engine (-R) can change that", p.most, least))
	}
	return p.noted()
}

// prices are the best routes so far.
type prices struct {
	*attempts
	best  *routed
	most  uint32 // routes on its fullest link
	notes []string
}

// try has another engine route the subnet.
func (p *prices) try(ctx context.Context, keep routing.Keep, e engines.Engine) {
	r, err := p.compute(ctx, &e, keep)
	if err != nil {
		p.out.Refused = append(p.out.Refused, engines.Refusal{Engine: e.Name, Err: err})
		return
	}
	most, err := p.fullest(ctx, r.tables)
	if err != nil {
		return
	}
	if most < p.most {
		p.best, p.most, r, most = r, most, p.best, p.most
	}
	p.notes = append(p.notes, fmt.Sprintf("with %s the fullest link would have %d routes, with %s it has %d", r.engine.Name, most, p.best.engine.Name, p.most))
}

// noted is the best, and its tables have the notes.
func (p *prices) noted() *routed {
	add := func(tables *routing.Tables) *routing.Tables {
		if tables == nil {
			return nil
		}
		noted := *tables
		noted.Notes = slices.Concat(tables.Notes, p.notes)
		return &noted
	}
	p.best.tables, p.best.computed = add(p.best.tables), add(p.best.computed)
	return p.best
}

func suited(chain engines.Chain) (suited engines.Chain) {
	for _, e := range chain {
		if e.Suits {
			suited = append(suited, e)
		}
	}
	return suited
}

// fullest is the routes on the fullest link between switches. The error is that of ctx.
func (a *attempts) fullest(ctx context.Context, tables *routing.Tables) (most uint32, err error) {
	loads, err := quality.Loads(ctx, a.in, tables.LFT)
	for p, n := range loads {
		if a.out.Topo.BetweenSwitches(topo.PortIdx(p)) {
			most = max(most, n)
		}
	}
	return most, err
}
