package sweep

import (
	"context"
	"errors"
	"testing"

	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/sweep/engines"
)

// TestAnswers: a heavy sweep that finds the subnet as the last one left it asks no engine, also not one that has
// refused it, but proves and programs what there is; another link, an order to route, and other engines have all of
// them asked.
func TestAnswers(t *testing.T) {
	asked, refused := 0, 0
	refuses := engines.Engine{Name: "refuses", Route: func(context.Context, routing.In) (*routing.Tables, error) {
		refused++
		return nil, errors.New("it takes long")
	}}
	counts := engines.Engine{Name: "counts", Route: func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		asked++
		return minhop.Route(ctx, in)
	}}
	b := newHarness(t, "fattree:k=4", Config{Engines: engines.Chain{refuses, counts}})
	want := func(what string, times int) {
		t.Helper()
		out := b.heavy()
		if asked != times || refused != times {
			t.Errorf("%s: asked %d and %d times, want %d", what, refused, asked, times)
		}
		if out.Engine != "counts" || len(out.Refused) != 1 || out.Report == nil || out.CreditLoop != nil && times < 3 {
			t.Errorf("%s: %s, %v", what, out.Engine, out.Refused)
		}
		if out.Sets[smp.AttrLinearForwardingTable] > 0 && times == 1 && what != "the first" {
			t.Errorf("%s: tables were written", what)
		}
	}
	want("the first", 1)
	want("ports are ACTIVE", 1)
	want("nothing is new", 1)
	link := b.inner()
	b.fabric.LinkDown(link)
	want("a link is lost", 2)
	b.heavy() // what ports say of the lost link has changed
	asked, refused = 2, 2
	want("no other", 2)
	b.Reroute()
	want("an order", 3)
	b.Configure(Config{Engines: engines.Chain{refuses, counts, engines.MinHop}})
	want("another engine", 4)
}
