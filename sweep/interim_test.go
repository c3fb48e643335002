package sweep

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/sssp"
	"ibsm/routing/verify"
	"ibsm/sweep/engines"
	"ibsm/sweep/routes"
	"ibsm/topo/net"
)

// slow is an engine that needs more work than there is a budget for, and counts how often it was asked without a
// budget.
func slow(name string, route routing.Engine, asked *int) engines.Engine {
	return engines.Engine{Name: name, NoCreditLoop: true,
		Route: func(ctx context.Context, in routing.In) (*routing.Tables, error) {
			routing.Spend(ctx, 1<<40)
			if ctx.Err() == nil {
				*asked++
			}
			return route(ctx, in)
		}}
}

// inTime is heavy for a sweep in which interim routes may serve.
func (b *harness) inTime() *Outcome {
	b.Helper()
	c := b.walk().Task(1).MayServe().Run(context.Background())
	if c == nil || c.Err != nil {
		b.Fatal("computing:", c)
	}
	return b.write(c)
}

// proved reports an error unless routes are whole and have no credit loop.
func (b *harness) proved(what string, out *Outcome) {
	b.Helper()
	if out.Report.Bad() > 0 || out.Report.Count[verify.Loop] > 0 || out.CreditLoop != nil {
		b.Errorf("%s: %v, %v", what, out.Report.Count,
			creditloop.Text(out.Topo, out.CreditLoop, creditloop.Description))
	}
}

// TestInterim: where the engine needs far more work than min-hop, proved routes without a credit loop serve at the
// first SUBNET UP, and stay until its own are there. Then these are taken: the same ones as without interim routes, for
// which the engine is not asked again.
func TestInterim(t *testing.T) {
	for _, c := range []struct{ spec, interim string }{{"fattree:k=4", "minhop"}, {"torus:dims=5x5", "updown"},
		{"random:switches=14,degree=4", "updown"}} {
		asked := 0
		chain := engines.Chain{slow("dfsssp", sssp.NewDeadlockFree(sssp.Settings{}), &asked), engines.MinHop}
		want := newHarness(t, c.spec, Config{Engines: chain}).heavy() // whoever may not serve waits
		if asked != 1 || want.Engine != "dfsssp" || want.Awaited != "" || want.Awaits() != nil {
			t.Fatalf("%s: asked %d times, %s, %q", c.spec, asked, want.Engine, want.Awaited)
		}
		b := newHarness(t, c.spec, Config{Engines: chain})
		first := b.inTime()
		b.proved(c.spec, first)
		task := first.Awaits()
		if asked != 1 || first.Engine != c.interim || first.Awaited != "dfsssp" || task == nil ||
			len(first.Refused) > 0 {
			t.Fatalf("%s: asked %d times, %s, %q, %v", c.spec, asked, first.Engine, first.Awaited, first.Refused)
		}
		again := b.inTime()
		if !again.Awaits().Same(task) || again.Awaited != "dfsssp" || again.Sets[smp.AttrLinearForwardingTable] > 0 {
			t.Errorf("%s, before it is ready: %q, %v", c.spec, again.Awaited, again.Sets)
		}
		b.Take(task.Run(t.Context()))
		taken := b.inTime()
		b.proved(c.spec, taken)
		if asked != 2 || taken.Engine != "dfsssp" || !taken.Taken || taken.Awaited != "" || taken.Awaits() != nil ||
			taken.Sets[smp.AttrLinearForwardingTable] == 0 {
			t.Errorf("%s, taken: asked %d times, %s, %t, %q, %v", c.spec, asked, taken.Engine, taken.Taken,
				taken.Awaited, taken.Sets)
		}
		if !slices.EqualFunc(taken.Tables.LFT, want.Tables.LFT, bytes.Equal) ||
			!taken.Tables.SLs.Equal(want.Tables.SLs) {
			t.Errorf("%s: other tables are taken than without interim routes", c.spec)
		}
		if later := b.inTime(); asked != 2 || later.Engine != "dfsssp" || later.Taken ||
			later.Sets[smp.AttrLinearForwardingTable] > 0 || later.Awaits() != nil {
			t.Errorf("%s, later: asked %d times, %s, %v", c.spec, asked, later.Engine, later.Sets)
		}
	}
}

// TestInterimPlan: a preview while interim routes serve waits for the engine. So does a sweep that is ordered to route,
// and whoever forbids min-hop gets no interim routes.
func TestInterimPlan(t *testing.T) {
	asked := 0
	dfsssp := slow("dfsssp", sssp.NewDeadlockFree(sssp.Settings{}), &asked)
	b := newHarness(t, "torus:dims=4x4", Config{Engines: engines.Chain{dfsssp, engines.MinHop}})
	b.inTime()
	found := b.walk()
	if p := found.Preview(false).Run(t.Context()); asked != 1 || p.Engine != "dfsssp" || p.Awaited != "" {
		t.Errorf("a preview: asked %d times, %s, %q", asked, p.Engine, p.Awaited)
	}
	found.Drop()
	b.Reroute()
	if out := b.inTime(); asked != 2 || out.Engine != "dfsssp" || !out.Taken {
		t.Errorf("an order: asked %d times, %s, %t", asked, out.Engine, out.Taken)
	}
	b = newHarness(t, "torus:dims=4x4", Config{Engines: engines.Chain{dfsssp}})
	if out := b.inTime(); asked != 3 || out.Engine != "dfsssp" || out.Awaited != "" {
		t.Errorf("no fallback: asked %d times, %s, %q", asked, out.Engine, out.Awaited)
	}
}

// TestInterimChanges: when the subnet changes meanwhile, interim routes avoid what is lost at once, and the engines
// begin anew; after three times a sweep waits for them. What was computed for another subnet is not taken.
func TestInterimChanges(t *testing.T) {
	const maxRestarts = 3 // of the engines; after that a sweep waits for them
	asked := 0
	b := newHarness(t, "torus:dims=5x5",
		Config{Engines: engines.Chain{slow("dfsssp", sssp.NewDeadlockFree(sssp.Settings{}), &asked), engines.MinHop}})
	task := b.inTime().Awaits()
	for i := range maxRestarts {
		old := task.Run(t.Context())
		b.fabric.LinkDown(net.End{Node: b.node(mad.Switch, 6*i), Port: 2})
		b.Take(old)
		out := b.inTime()
		b.proved("a link is lost", out)
		if out.Awaited != "dfsssp" || out.Taken || out.Awaits().Same(task) || asked != i+1 {
			t.Fatalf("lost %d: %q, %t, asked %d times", i, out.Awaited, out.Taken, asked)
		}
		task = out.Awaits()
		b.Take(old)
	}
	b.fabric.LinkDown(net.End{Node: b.node(mad.Switch, 6*maxRestarts), Port: 2})
	out := b.inTime()
	if b.proved("waited for", out); out.Engine != "dfsssp" || !out.Taken || asked != maxRestarts+1 {
		t.Errorf("%s, %t, asked %d times", out.Engine, out.Taken, asked)
	}
}

// TestInterimRestart: a manager that finds interim routes, after a restart or a failover, goes on to the engine, chosen
// or not.
func TestInterimRestart(t *testing.T) {
	for _, unchosen := range []bool{false, true} {
		asked := 0
		e := slow("dfsssp", sssp.NewDeadlockFree(sssp.Settings{}), &asked)
		e.Unchosen = unchosen
		b := newHarness(t, "torus:dims=5x5", Config{Engines: engines.Chain{e, engines.MinHop}})
		b.inTime()
		if record, changed := b.RoutesRecord(); !changed || record.Engine != "interim" ||
			routes.ParseRecord(record.Text()) != record {
			t.Errorf("record %v", record)
		}
		b.Abdicate()
		out := b.inTime()
		if out.Awaited != "dfsssp" || out.Sets[smp.AttrLinearForwardingTable] > 0 || out.Foreign != "" ||
			out.Keep == routing.KeepWorking {
			t.Errorf("found: %q, %v, %q, %v", out.Awaited, out.Sets, out.Foreign, out.Keep)
		}
		b.Take(out.Awaits().Run(t.Context()))
		if out = b.inTime(); out.Engine != "dfsssp" || !out.Taken ||
			unchosen != (b.state.routes.Record().Engine == "dfsssp") {
			t.Errorf("taken: %s, %t, record %v", out.Engine, out.Taken, b.state.routes.Record())
		}
		if next := b.inTime(); next.Keep == routing.KeepWorking {
			t.Error("its own routes are taken for another manager's")
		}
	}
}

// TestInterimTakeover: the tables of a subnet in use serve while a chosen engine finds out whether they are its own. If
// so it goes on with them, else they are kept.
func TestInterimTakeover(t *testing.T) {
	for _, own := range []bool{true, false} {
		asked := 0
		before := engines.Chain{engines.MinHop}
		chain := engines.Chain{slow("dfsssp", sssp.NewDeadlockFree(sssp.Settings{}), &asked), engines.MinHop}
		if own {
			before = chain
		}
		b := newHarness(t, "fattree:k=6", Config{Engines: before})
		was := b.heavy()
		b.Sweeper = New(Config{Engines: chain})
		asked = 0
		out := b.inTime()
		if asked != 0 || out.Awaited != "dfsssp" || out.Keep != routing.KeepWorking ||
			!slices.EqualFunc(out.Tables.LFT, was.Tables.LFT, bytes.Equal) {
			t.Fatalf("own %t: asked %d times, %q, %v", own, asked, out.Awaited, out.Keep)
		}
		b.Take(out.Awaits().Run(t.Context()))
		out = b.inTime()
		if asked != 1 || out.Awaited != "" || (out.Engine == "dfsssp") != own || (out.Foreign == "dfsssp") == own ||
			out.Sets[smp.AttrLinearForwardingTable] > 0 {
			t.Errorf("own %t: asked %d times, %q, %s, %q, %v", own, asked, out.Awaited, out.Engine, out.Foreign,
				out.Sets)
		}
		if out = b.inTime(); asked > 2 || (out.Engine == "dfsssp") != own || (out.Keep == routing.KeepWorking) == own {
			t.Errorf("own %t, later: asked %d times, %s", own, asked, out.Engine)
		}
	}
}

// TestInterimRefused: where the engine refuses the subnet, the next one of the chain follows, and the reason is kept.
func TestInterimRefused(t *testing.T) {
	asked := 0
	b := newHarness(t, "torus:dims=5x5",
		Config{Engines: engines.Chain{
			slow("refuses", func(ctx context.Context, in routing.In) (*routing.Tables, error) {
				return nil, errors.New("for a reason")
			}, &asked), engines.MinHop}})
	first := b.inTime()
	if first.Engine != "updown" || first.Awaited != "refuses" {
		t.Fatalf("%s, %q", first.Engine, first.Awaited)
	}
	b.Take(first.Awaits().Run(t.Context()))
	if out := b.inTime(); out.Engine != "minhop" || !out.Taken || len(out.Refused) != 1 || asked != 1 {
		t.Errorf("%s, %t, %v, asked %d times", out.Engine, out.Taken, out.Refused, asked)
	}
}
