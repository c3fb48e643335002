package sim_test

import (
	"testing"

	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo/net/nettest"
)

// TestReloadWithoutChoice: where nobody chose an engine, a reload of the settings of one does not give a fabric in use to auto. Neither does the choice of min-hop, which keeps
// the routes already, nor the end of that choice. Another engine, once it is chosen, computes all routes.
func TestReloadWithoutChoice(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.comeUp(minhopConfig()).retire()
	cfg := minhopConfig()
	cfg.Sweep.Engines = engines.Default(&engines.Settings{})
	m := b.add(host(n, 1), cfg)
	b.pass(settling)
	before := b.lfts()
	other := engines.Settings{}
	other.Nue.QoS = true
	for _, c := range []struct {
		name  string
		chain engines.Chain
	}{{"QoS of Nue", engines.Default(&other)}, {"min-hop is chosen", engines.Chain{engines.MinHop}}, {"nothing is chosen", cfg.Sweep.Engines}} {
		cfg.Sweep.Engines = c.chain
		b.Configure(m.Manager, cfg)
		b.pass(settling)
		if r := m.View.Routing; r.Engine != "minhop" || !r.Kept || len(changed(before, b.lfts())) > 0 {
			t.Errorf("%s: %+v, %d switches changed", c.name, r, len(changed(before, b.lfts())))
		}
	}
	updn, err := engines.New([]string{"updn"}, &other)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Sweep.Engines = updn
	b.Configure(m.Manager, cfg)
	b.pass(settling)
	if r := m.View.Routing; r.Engine != "updn" || r.Kept {
		t.Errorf("updn: %+v", r)
	}
	cfg.Sweep.Engines = engines.Default(&other)
	b.Configure(m.Manager, cfg)
	b.pass(settling)
	if r := m.View.Routing; r.Engine != "tree" || r.Kept {
		t.Errorf("no longer: %+v", r)
	}
}

// TestReloadOfAuto: where auto routes a subnet, settings of an engine that it does not try change nothing; others have all routes computed afresh.
func TestReloadOfAuto(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.Sweep.Engines = engines.Default(&engines.Settings{})
	m := b.add(host(n, 0), cfg)
	b.pass(settling)
	b.Fabric.LinkDown(uplink(n, n.Nodes[host(n, 40).Node].Ports[1].Peer.Node))
	b.pass(settling)
	before := b.lfts()
	other := engines.Settings{}
	other.Updn.ConnectRoots = true
	cfg.Sweep.Engines = engines.Default(&other)
	b.Configure(m.Manager, cfg)
	b.pass(settling)
	if r := m.View.Routing; r.Engine != "tree" || len(changed(before, b.lfts())) > 0 {
		t.Errorf("of updn: %+v, %d switches changed", r, len(changed(before, b.lfts())))
	}
	other.Tree.IO = map[mad.GUID]bool{n.Nodes[host(n, 1).Node].Ports[1].GUID: true}
	cfg.Sweep.Engines = engines.Default(&other)
	b.Configure(m.Manager, cfg)
	b.pass(settling)
	if r := m.View.Routing; r.Engine != "tree" || len(changed(before, b.lfts())) == 0 {
		t.Errorf("of tree: %+v, %d switches changed", r, len(changed(before, b.lfts())))
	}
}
