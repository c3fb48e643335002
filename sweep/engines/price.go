package engines

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ibsm/routing"
	"ibsm/routing/layers"
	"ibsm/routing/quality"
)

// far is how many times as many routes or flows the busiest link has where tables are far worse than others.
const far = 2

// sampleOf has the figures of tables, which take less than the time of min-hop.
func sampleOf(ctx context.Context, in routing.In, tables *routing.Tables) (*quality.Sample, error) {
	routing.Spend(ctx, int(routing.MinHopWork(in.Topo, in.LIDs)))
	return quality.NewSample(ctx, in, tables.LFT)
}

// isFarWorse reports whether tables are far worse than others, in one of their figures.
func isFarWorse(f, o *quality.Sample) bool {
	unused := f.Unused - o.Unused
	return f.Fullest > far*o.Fullest || f.Shift > far*o.Shift || f.Unused > far*o.Unused && unused*10 > f.Links
}

// price is what all figures together say: the less the better.
func price(f *quality.Sample) float64 {
	return float64(f.Fullest) * max(1, f.Shift) / float64(max(1, f.Links-f.Unused))
}

// Asked is an engine with tables of it, which are proved to have no credit loop.
type Asked struct {
	Engine Engine
	Tables *routing.Tables
}

// Price decides whether auto uses the tables of the engine at a place of the chain, or far better ones of another
// engine that is free of credit loops: one that suits the subnet less, or min-hop with SLs as far as there are lanes.
// It compares the busiest link, unused links and some shifts: first with a bound that hardly any tables can improve on;
// if they are far worse than that, with the tables of min-hop, which has no rules; and only if they are far worse than
// those too, with the tables of others. ask returns proved tables of an engine, or why there are none. Notes describe
// the other tables, and the loss if the best ones are still far worse. The error is that of ctx.
func Price(ctx context.Context, in routing.In, chain Chain, at int, tables *routing.Tables,
	ask func(*Engine) (*routing.Tables, error)) (best Asked, notes []string, err error) {
	best = Asked{chain[at], tables}
	if !chain[at].Suits || len(in.Topo.Switches) < 2 {
		return best, nil, nil
	}
	figures, err := sampleOf(ctx, in, tables)
	if err != nil {
		return best, nil, err
	}
	least, err := quality.Least(ctx, in)
	if err != nil || !isFarWorse(figures, least) {
		return best, nil, err
	}
	in.Prev, in.Base, in.Keep = nil, nil, routing.KeepNone
	routing.Spend(ctx, int(routing.MinHopWork(in.Topo, in.LIDs)))
	free, err := MinHop.Route(ctx, in)
	if err != nil {
		return best, nil, err
	}
	if least, err = sampleOf(ctx, in, free); err != nil || !isFarWorse(figures, least) {
		return best, nil, err
	}
	for _, e := range candidates(chain[at+1:]) {
		other, refused := ask(&e)
		if ctx.Err() != nil {
			return best, nil, ctx.Err()
		}
		if refused != nil {
			continue
		}
		its, err := sampleOf(ctx, in, other)
		if err != nil {
			return best, nil, err
		}
		loser, worse := Asked{e, other}, its
		if isFarWorse(figures, its) && price(its) < price(figures) {
			best, loser, figures, worse = loser, best, its, figures
		}
		notes = append(notes, fmt.Sprintf("with %s %s, with %s %s", loser.Engine.Name, text(worse), best.Engine.Name,
			text(figures)))
	}
	if isFarWorse(figures, least) {
		notes = append(notes,
			fmt.Sprintf(
				"%s, with minhop, whose routes have a credit loop, %s: more lanes on all links, the missing cables, or another engine (-R) can change that", text(figures), text(least)))
	}
	return best, notes, nil
}

func suits(e Engine) bool { return e.Suits }

// candidates are the engines of a chain that suit the subnet, and min-hop with SLs.
func candidates(chain Chain) (list []Engine) {
	for _, e := range chain {
		if suits(e) {
			list = append(list, e)
		}
	}
	layered := MinHop
	layered.NoCreditLoop, layered.Layers = true, true
	return append(list, layered)
}

func text(f *quality.Sample) string {
	return fmt.Sprintf("the busiest link has %d routes, %.1f flows of shifts meet, and %d of %d links are unused",
		f.Fullest, f.Shift, f.Unused, f.Links)
}

// route has an engine of auto route a subnet, and proves that its routes have no credit loop.
func route(ctx context.Context, in routing.In, e *Engine) (*routing.Tables, error) {
	tables, err := e.Route(ctx, in)
	if err != nil {
		return nil, err
	}
	if err = MustHaveNoLoop(ctx, in, tables); err == nil || !e.Layers || ctx.Err() != nil {
		return tables, err
	}
	assigned, err := layers.Assign(ctx, layers.In{
		Topo: in.Topo, LIDs: in.LIDs, Forwarding: routing.NewForwarding(in.Topo, in.LIDs, tables),
		Lanes: int(routing.LeastLanes(in.Lanes)), Hosts: true, Workers: in.Workers,
	})
	switch {
	case err != nil:
		return nil, err
	case assigned.SLs == nil:
		return nil, errors.New("its routes have a credit loop, and there are too few lanes to avoid it by SLs")
	}
	with := *tables
	with.SLs = assigned.SLs
	return &with, nil
}

// auto is the engine that stands for the engines that suit the subnet. It returns the tables of the first one that
// routes the subnet and whose proof finds no credit loop, unless Price finds far better ones.
func auto(s *Settings) routing.Engine {
	return func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		chain, _ := Chain{Engine{Name: Auto, settings: *s}}.For(in.Topo)
		var refused []string
		for i := range chain {
			tables, err := route(ctx, in, &chain[i])
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				refused = append(refused, Refusal{chain[i].Name, err}.String())
				continue
			}
			best, notes, err := Price(ctx, in, chain, i, tables, func(e *Engine) (*routing.Tables, error) {
				return route(ctx, in, e)
			})
			if err != nil {
				return nil, err
			}
			return best.noted(notes), nil
		}
		return nil, errors.New(strings.Join(refused, "\n"))
	}
}

// noted are the tables with further notes.
func (a *Asked) noted(notes []string) *routing.Tables {
	if len(notes) == 0 {
		return a.Tables
	}
	tables := *a.Tables
	tables.Notes = append(tables.Notes[:len(tables.Notes):len(tables.Notes)], notes...)
	return &tables
}
