package sweep

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ibsm/routing"
	"ibsm/routing/updn"
	"ibsm/sweep/engines"
)

// TestPrice: auto does not take routes with far more on the fullest link than those of another engine that has no
// credit loop either, whether an engine that suits the subnet better refuses it or not; where there is no other it says
// what it gives up.
func TestPrice(t *testing.T) {
	refuses := engines.Engine{Name: "refuses", Suits: true, NoCreditLoop: true,
		Route: func(context.Context, routing.In) (*routing.Tables, error) {
			return nil, errors.New("no tree")
		}}
	poor := engines.Engine{Name: "poor", Suits: true, NoCreditLoop: true,
		Route: func(ctx context.Context, in routing.In) (*routing.Tables, error) {
			for _, n := range in.Topo.Switches { // all routes lead over one switch
				if strings.Contains(in.Topo.Nodes[n].Desc.String(), "spine") ||
					strings.Contains(in.Topo.Nodes[n].Desc.String(), "switch-1") {
					return updn.New(updn.Settings{Roots: append(updn.Settings{}.Roots, in.Topo.Nodes[n].GUID)},
						routing.Balancing{})(ctx, in)
				}
			}
			return nil, errors.New("no root")
		}}
	b := newHarness(t, "fattree:k=8,levels=2", Config{Engines: engines.Chain{refuses, poor, engines.MinHop}})
	first := b.heavy()
	if first.Engine != "minhop" || first.CreditLoop != nil || len(first.Refused) != 1 || len(first.Tables.Notes) != 1 ||
		!strings.HasPrefix(first.Tables.Notes[0], "with poor the busiest link has ") {
		t.Errorf("%s, %v, %q", first.Engine, first.Refused, first.Tables.Notes)
	}
	if again := b.heavy(); again.Engine != "minhop" || len(again.Refused) != 1 || len(again.Tables.Notes) != 1 {
		t.Errorf("%s, %v, %q", again.Engine, again.Refused, again.Tables.Notes)
	}
	alone := newHarness(t, "fattree:k=8,levels=2", Config{Engines: engines.Chain{poor, engines.MinHop}})
	// nothing that suits the subnet better refuses it
	if out := alone.heavy(); out.Engine != "minhop" || len(out.Refused) > 0 || len(out.Tables.Notes) != 1 {
		t.Errorf("%s, %v", out.Engine, out.Tables.Notes)
	}
	b = newHarness(t, "torus:dims=8x8,hosts=2", Config{Engines: engines.Chain{refuses, poor, engines.MinHop},
		Settings: Settings{MaxOpVLs: Given(uint8(1))}})
	out := b.heavy()
	if n := len(out.Tables.Notes); out.Engine != "poor" || len(out.Refused) != 2 || n == 0 ||
		!strings.Contains(out.Tables.Notes[n-1], "with minhop, whose routes have a credit loop, ") {
		t.Errorf("one lane: %s, %v, %q", out.Engine, out.Refused, out.Tables.Notes)
	}
}

// TestPriceOfKept: routes that change as little as possible of those computed before stay, although others would be far
// better, until all are computed again.
func TestPriceOfKept(t *testing.T) {
	var poor bool
	steady := engines.Engine{Name: "steady", Suits: true, NoCreditLoop: true, Steady: true,
		Route: func(ctx context.Context, in routing.In) (*routing.Tables, error) {
			if in.Base == nil && !poor {
				return engines.MinHop.Route(ctx, in)
			}
			for _, n := range in.Topo.Switches {
				if strings.Contains(in.Topo.Nodes[n].Desc.String(), "spine") {
					return updn.New(updn.Settings{Roots: append(updn.Settings{}.Roots, in.Topo.Nodes[n].GUID)},
						routing.Balancing{})(ctx, in)
				}
			}
			return nil, errors.New("no root")
		}}
	b := newHarness(t, "fattree:k=16,levels=2", Config{Engines: engines.Chain{steady, engines.MinHop}})
	if out := b.heavy(); out.Engine != "steady" || len(out.Tables.Notes) > 0 {
		t.Fatalf("%s, %q", out.Engine, out.Tables.Notes)
	}
	b.fabric.LinkDown(b.inner())
	if out := b.heavy(); out.Engine != "steady" || len(out.Tables.Notes) > 0 {
		t.Errorf("after a loss: %s, %q", out.Engine, out.Tables.Notes)
	}
	poor = true
	b.Reroute()
	if out := b.heavy(); out.Engine != "minhop" || len(out.Tables.Notes) != 1 {
		t.Errorf("all anew: %s, %q", out.Engine, out.Tables.Notes)
	}
}
