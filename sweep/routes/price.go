package routes

import (
	"context"
	"slices"

	"ibsm/routing"
	"ibsm/routing/quality"
	"ibsm/sweep/engines"
	"ibsm/topo"
)

// price takes the tables of another engine in place of r where auto has chosen r, and they are far better: see
// engines.Price. Notes of the tables say what the others are like. Tables that change as little as possible of those
// computed before are used as they are: another engine would change them all. It returns nil when ctx is done.
func (a *attempt) price(ctx context.Context, keep routing.Keep, r *routed) *routed {
	at := slices.IndexFunc(a.chain, func(e engines.Engine) bool { return e.Name == r.engine.Name && e.Suits })
	if at < 0 || r.base != nil && (r.base == a.base || r.base == a.was.base) {
		return r
	}
	known := map[*routing.Tables]*routed{r.tables: r}
	best, notes, err := engines.Price(ctx, a.in, a.chain, at, r.tables,
		func(e *engines.Engine) (*routing.Tables, error) {
			other, err := a.compute(ctx, e, keep)
			if err != nil {
				a.out.Refused = append(a.out.Refused, engines.Refusal{Engine: e.Name, Err: err})
				return nil, err
			}
			known[other.tables] = other
			return other.tables, nil
		})
	if err != nil {
		return nil
	}
	chosen := known[best.Tables]
	chosen.note(notes)
	return chosen
}

// note has the tables say more.
func (r *routed) note(notes []string) {
	if len(notes) == 0 {
		return
	}
	add := func(tables *routing.Tables) *routing.Tables {
		if tables == nil {
			return nil
		}
		noted := *tables
		noted.Notes = slices.Concat(tables.Notes, notes)
		return &noted
	}
	r.tables, r.computed = add(r.tables), add(r.computed)
}

// fullest is the routes on the fullest link between switches. The error is that of ctx.
func (a *attempt) fullest(ctx context.Context, tables *routing.Tables) (most uint32, err error) {
	loads, err := quality.Loads(ctx, a.in, tables.LFT)
	for p, n := range loads {
		if a.Topo.BetweenSwitches(topo.PortIdx(p)) {
			most = max(most, n)
		}
	}
	return most, err
}
