package sweep

import (
	"context"
	"testing"

	"ibsm/mad"
	"ibsm/routing/minhop"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
)

// TestDriftTask: routes that were kept while cables were lost are worse than fresh ones; a reroute makes them as good. Tasks that compare the same are known.
func TestDriftTask(t *testing.T) {
	chain, err := engines.New([]string{"auto"}, &engines.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	b := newHarness(t, "fattree:k=12,levels=2", Config{Engines: chain})
	first := b.heavy()
	task := first.Drift()
	d := task.Run(t.Context())
	if d == nil || d.Engine != "tree" || d.Percent() != 0 || d.Fullest != d.BestFullest || d.Shift != d.BestShift || d.Shift != 1 {
		t.Fatalf("%+v", d)
	}
	if !task.Same(b.heavy().Drift()) {
		t.Error("the same is measured again")
	}
	var out *Outcome
	leaves := 0
	for i := range b.net.Nodes {
		node := &b.net.Nodes[i]
		if node.Type != mad.Switch || node.Ports[1].Peer.Node < 0 || b.net.Nodes[node.Ports[1].Peer.Node].Type == mad.Switch || leaves > 5 {
			continue
		}
		leaves++
		for port := range node.Ports {
			if peer := node.Ports[port].Peer.Node; peer >= 0 && b.net.Nodes[peer].Type == mad.Switch && (port+leaves)%3 == 0 {
				b.fabric.LinkDown(net.End{Node: int32(i), Port: uint8(port)})
				out = b.heavy()
			}
		}
	}
	after := out.Drift()
	if task.Same(after) {
		t.Error("other routes are the same")
	}
	if d = after.Run(t.Context()); d == nil || d.Percent() < 10 || d.Fullest <= d.BestFullest {
		t.Errorf("%+v", d)
	}
	b.Reroute()
	if d := b.heavy().Drift().Run(t.Context()); d == nil || d.Percent() != 0 {
		t.Errorf("after a reroute: %+v", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d := after.Run(ctx); d != nil {
		t.Errorf("a cancelled task: %+v", d)
	}
}

// TestDriftOfRefused: routes that a sweep does not take, as they break the promise of their engine, are not those that routes in force are compared with.
func TestDriftOfRefused(t *testing.T) {
	b := newHarness(t, "torus:dims=5x5", Config{Engines: engines.Chain{{Name: "promises", Route: minhop.Route, NoCreditLoop: true}, engines.MinHop}})
	out := b.heavy()
	if len(out.Refused) != 1 || out.Engine != "minhop" {
		t.Fatalf("%s, %v", out.Engine, out.Refused)
	}
	if d := out.Drift().Run(t.Context()); d == nil || d.Engine != "minhop" {
		t.Errorf("%+v", d)
	}
	b.Configure(Config{Engines: engines.Chain{{Name: "promises", Route: minhop.Route, NoCreditLoop: true}}})
	other := out.Drift()
	if other.chain = b.cfg.Engines; other.Run(t.Context()) != nil {
		t.Error("no engine routes afresh, and there is a result")
	}
}

// TestDriftOfLayers: routes that have no credit loop by SLs alone are those that routes in force are compared with, as in a sweep.
func TestDriftOfLayers(t *testing.T) {
	b := newHarness(t, "torus:dims=5x5", Config{Engines: engines.Chain{{Name: "layers", Route: minhop.Route, NoCreditLoop: true, Layers: true}, engines.MinHop}})
	out := b.heavy()
	if out.Engine != "layers" || out.Tables.SLs == nil {
		t.Fatalf("%s, %v", out.Engine, out.Refused)
	}
	if d := out.Drift().Run(t.Context()); d == nil || d.Engine != "layers" || d.Percent() != 0 {
		t.Errorf("%+v", d)
	}
}
