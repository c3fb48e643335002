package sim_test

import (
	"time"

	"testing"

	"ibsm/mad"
	"ibsm/sim"
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

// TestRestartOfAuto: where nobody chose an engine, a manager that is started again goes on with the engine that computed the routes which it finds, also where
// cables were lost since all were computed afresh: nothing is written, and what was lost returns to its routes. Without its record, and where the tables are
// others than those of the record, it keeps and repairs them.
func TestRestartOfAuto(t *testing.T) {
	for spec, engine := range map[string]string{"fattree:k=8": "tree", "torus:dims=5x5,hosts=1": "torus-2QoS", "random:switches=10,hosts=1": "dfsssp"} {
		for _, c := range []string{"its own", "without a record", "others"} {
			t.Run(spec+" "+c, func(t *testing.T) {
				n := nettest.Generate(t, spec)
				b := newHarness(t, n, fabric.Config{Seed: 1})
				cfg := minhopConfig()
				cfg.Sweep.Engines = engines.Default(&engines.Settings{})
				disk := sim.NewDisk(time.Millisecond)
				m := b.addKept(host(n, 0), cfg, disk)
				b.pass(settling)
				whole, cable := b.lfts(), uplink(n, n.Nodes[host(n, len(n.Nodes)/4).Node].Ports[1].Peer.Node)
				if engine == "tree" {
					b.Fabric.LinkDown(cable)
					b.pass(settling)
				}
				if r := m.View.Routing; r.Engine != engine || r.Kept {
					t.Fatalf("%+v", r)
				}
				m.retire()
				before := b.lfts()
				switch c {
				case "without a record":
					disk = sim.NewDisk(time.Millisecond)
				case "others":
					other := b.add(host(n, 1), minhopConfig())
					b.pass(settling)
					b.Configure(other.Manager, chainConfig(t, engines.Settings{}, "nue"))
					b.pass(settling)
					other.retire()
					before = b.lfts()
				}
				m = b.addKept(host(n, 0), cfg, disk)
				b.pass(settling)
				if r := m.View.Routing; len(changed(before, b.lfts())) > 0 || r.Kept != (c != "its own") || c == "its own" && (r.Engine != engine || r.Foreign != "") {
					t.Fatalf("started again: %+v, %d switches changed", r, len(changed(before, b.lfts())))
				}
				b.mustBeWhole(m)
				if engine == "tree" && c == "its own" {
					b.Fabric.LinkUp(cable)
					b.pass(settling)
					if r := m.View.Routing; r.Engine != engine || r.Kept || len(changed(whole, b.lfts())) > 0 {
						t.Errorf("the cable is back: %+v, %d switches differ from the beginning", r, len(changed(whole, b.lfts())))
					}
				}
			})
		}
	}
}
