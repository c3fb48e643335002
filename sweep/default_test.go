package sweep

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/sweep/engines"
	"ibsm/sweep/routes"
)

// TestNobodyChose: where nobody chose an engine, a subnet that nothing uses is routed by those that suit it, and stays
// so. One in use is kept and repaired without a computation of other routes; a reroute takes the better ones.
func TestNobodyChose(t *testing.T) {
	chain := engines.Default(&engines.Settings{})
	for _, c := range []struct{ spec, engine string }{{"fattree:k=8,levels=2", "tree"}, {"pods:corners=2", "tree"},
		{"random:switches=12,degree=4", "dfsssp"}} {
		b := newHarness(t, c.spec, Config{Engines: chain})
		first := b.heavy()
		if first.Engine != c.engine || first.Seen == "" || first.Keep != routing.KeepNone {
			t.Errorf("%s: %s, %q, %v", c.spec, first.Engine, first.Seen, first.Keep)
		}
		if second := b.heavy(); second.Engine != c.engine || second.Sets[smp.AttrLinearForwardingTable] > 0 {
			t.Errorf("%s, later: %s, %v", c.spec, second.Engine, second.Sets)
		}
		b.Pause() // its own routes are found, and known
		if again := b.heavy(); again.Engine != c.engine || again.Keep == routing.KeepWorking ||
			again.Sets[smp.AttrLinearForwardingTable] > 0 {
			t.Errorf("%s, after a pause: %s, %v, %v", c.spec, again.Engine, again.Keep, again.Sets)
		}
		record := b.state.routes.Record()
		b.Abdicate() // another manager may have been master, but the tables are those of the record
		if again := b.heavy(); again.Engine != c.engine || again.Keep == routing.KeepWorking || again.Foreign != "" ||
			again.Sets[smp.AttrLinearForwardingTable] > 0 || b.state.routes.Record() != record {
			t.Errorf("%s, as found: %s, %q, %v, %v, record %v, was %v", c.spec, again.Engine, again.Foreign, again.Keep,
				again.Sets, b.state.routes.Record(), record)
		}
		b.fabric.LinkDown(b.inner())
		b.Abdicate()
		if lost := b.heavy(); lost.Engine != c.engine || lost.Keep == routing.KeepWorking || lost.Foreign != "" ||
			b.state.routes.Record().Engine != c.engine {
			t.Errorf("%s, as found, but for a lost link: %s, %q, %v, record %v", c.spec, lost.Engine, lost.Foreign,
				lost.Keep, b.state.routes.Record())
		}
		if next := b.heavy(); next.Keep == routing.KeepWorking {
			t.Errorf("%s: its own routes are taken for another manager's", c.spec)
		}
		b.Abdicate()
		record = b.state.routes.Record()
		record.Sum++
		b.state.routes.Follow(record)
		if other := b.heavy(); other.Engine != "minhop" || other.Seen != "" || other.Keep != routing.KeepWorking ||
			other.Sets[smp.AttrLinearForwardingTable] > 0 || b.state.routes.Record() != (routes.Record{}) {
			t.Errorf("%s, others found: %s, %q, %v, %v, record %v", c.spec, other.Engine, other.Seen, other.Keep,
				other.Sets, b.state.routes.Record())
		}
	}

	b := newHarness(t, "fattree:k=8", Config{Engines: engines.Chain{engines.MinHop}})
	minhop := b.heavy()
	b.Abdicate()
	b.Configure(Config{Engines: chain})
	kept := b.heavy()
	if kept.Engine != "minhop" || kept.Keep != routing.KeepWorking ||
		!slices.EqualFunc(kept.Tables.LFT, minhop.Tables.LFT, bytes.Equal) || kept.Foreign != "" {
		t.Errorf("in use: %s, %v", kept.Engine, kept.Keep)
	}
	if again := b.heavy(); again.Engine != "minhop" || again.Keep != routing.KeepWorking {
		t.Errorf("later: %s, %v", again.Engine, again.Keep)
	}
	asked := 0
	b.Configure(
		Config{Engines: engines.Chain{
			{Name: "suits", Unchosen: true, Route: func(ctx context.Context, in routing.In) (*routing.Tables, error) {
				asked++
				return nil, errors.New("refused")
			}}, engines.MinHop}})
	if b.heavy(); asked > 0 {
		t.Error("an engine that nobody chose is asked, although the subnet is in use")
	}
	b.Reroute()
	if out := b.heavy(); asked != 1 || out.Engine != "minhop" || out.Keep != routing.KeepNone {
		t.Errorf("an order asks it %d times; %s, %v", asked, out.Engine, out.Keep)
	}
	b.Configure(Config{Engines: chain})
	b.Reroute()
	if after := b.heavy(); after.Engine != "tree" || after.Seen == "" ||
		after.Sets[smp.AttrLinearForwardingTable] == 0 {
		t.Errorf("a reroute: %s, %v", after.Engine, after.Sets)
	}
	if again := b.heavy(); again.Engine != "tree" {
		t.Errorf("after it: %s", again.Engine)
	}
}
