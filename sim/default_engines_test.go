package sim_test

import (
	"fmt"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/sweep/routes"
	"ibsm/topo/net/nettest"
)

// TestReloadWithoutChoice: where nobody chose an engine, a reload of the settings of one does not give a fabric in use
// to auto. Neither does the choice of min-hop, which keeps the routes already, nor the end of that choice. Another
// engine, once it is chosen, computes all routes.
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
	}{{"QoS of Nue", engines.Default(&other)}, {"min-hop is chosen", engines.Chain{engines.MinHop}},
		{"nothing is chosen", cfg.Sweep.Engines}} {
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

// TestReloadOfAuto: where auto routes a subnet, settings of an engine that it does not try change nothing; others have
// all routes computed afresh.
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

// TestRestartOfAuto: where nobody chose an engine, a manager that is started again goes on with the engine that
// computed the routes which it finds, also where cables were lost since all were computed afresh: nothing is written,
// and what was lost returns to its routes. Without its record, and where the tables are others than those of the
// record, it keeps and repairs them.
func TestRestartOfAuto(t *testing.T) {
	for spec, engine := range ordered(map[string]string{"fattree:k=8": "tree", "pods": "tree",
		"torus:dims=5x5,hosts=1": "torus-2QoS", "random:switches=10,hosts=1": "dfsssp"}) {
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
				if r := m.View.Routing; len(changed(before, b.lfts())) > 0 || r.Kept != (c != "its own") ||
					c == "its own" && (r.Engine != engine || r.Foreign != "") {
					t.Fatalf("started again: %+v, %d switches changed", r, len(changed(before, b.lfts())))
				}
				b.mustBeWhole(m)
				if engine == "tree" && c == "its own" {
					b.Fabric.LinkUp(cable)
					b.pass(settling)
					if r := m.View.Routing; r.Engine != engine || r.Kept || len(changed(whole, b.lfts())) > 0 {
						t.Errorf("the cable is back: %+v, %d switches differ from the beginning", r,
							len(changed(whole, b.lfts())))
					}
				}
			})
		}
	}
}

// TestTakeoverOfAuto: where nobody chose an engine, a standby that follows the master's record of routes goes on with
// the same engine when the master dies: no forwarding table is written, and what is lost and what returns changes what
// it would have changed under the master. Without the record it keeps and repairs the routes.
func TestTakeoverOfAuto(t *testing.T) {
	for _, c := range []struct {
		spec, engine    string
		follows, reborn bool // reborn: the master had computed them before it was started again
	}{{"fattree:k=8", "tree", true, false}, {"fattree:k=8", "tree", true, true}, {"fattree:k=8", "tree", false, false},
		{"pods:corners=2", "tree", true, true}, {"random:switches=10,hosts=1", "dfsssp", true, false}} {
		t.Run(fmt.Sprintf("%s follows %t reborn %t", c.spec, c.follows, c.reborn), func(t *testing.T) {
			n := nettest.Generate(t, c.spec)
			written := 0
			b := newHarness(t, n, fabric.Config{Seed: 1, OnSet: func(s fabric.Set) {
				if s.Attr == smp.AttrLinearForwardingTable {
					written++
				}
			}})
			high, low := registrarConfig(), registrarConfig()
			high.Elect.Priority, low.Elect.Priority = 9, 3
			for _, cfg := range []*manager.Config{&high, &low} {
				cfg.Sweep.Engines = engines.Default(&engines.Settings{})
			}
			disk := sim.NewDisk(time.Millisecond)
			if c.reborn {
				b.addKept(host(n, 0), high, disk)
				b.pass(settling)
				b.Kill(b.Managers[0])
			}
			kept := disk.Contents().Routes
			high.Registrar.Mirror.Policy = kept // as the daemon begins
			first := b.addKept(host(n, 0), high, disk)
			first.OnAction = func(now time.Duration, a manager.Action) {
				first.took(now, a)
				if p, is := a.(manager.Persist); is && p.Routes != nil {
					kept = p.Routes.Text()
				}
			}
			second := b.add(host(n, 6), low)
			t.Cleanup(second.dump)
			if c.follows {
				second.Mirrored = func(policy []byte) {
					low.Sweep.Routes = routes.ParseRecord(policy)
					b.Configure(second.Manager, low)
				}
			}
			send := func() {
				b.pass(settling)
				high.Registrar.Mirror.Policy, high.Unchanged = kept, true
				b.Configure(first.Manager, high)
				b.pass(5 * time.Second)
			}
			send()
			whole, cable := b.lfts(), uplink(n, n.Nodes[host(n, len(n.Nodes)/4).Node].Ports[1].Peer.Node)
			b.Fabric.LinkDown(cable)
			send()
			if r := first.View.Routing; r.Engine != c.engine || r.Kept || first.last() != smp.Master ||
				second.last() != smp.Standby {
				t.Fatalf("%+v", r)
			}
			before := b.lfts()
			written = 0
			b.Kill(first.Manager)
			b.pass(settling)
			if second.last() != smp.Master {
				t.Fatalf("the standby is %v", second.last())
			}
			if r := second.View.Routing; written > 0 || len(changed(before, b.lfts())) > 0 || r.Kept == c.follows ||
				c.follows && (r.Engine != c.engine || r.Foreign != "") {
				t.Fatalf("after the takeover: %+v, %d Sets of LinearForwardingTable", r, written)
			}
			b.mustBeWhole(second)
			if !c.follows || c.engine != "tree" {
				return
			}
			b.Fabric.LinkUp(cable)
			b.pass(settling)
			if r := second.View.Routing; r.Engine != c.engine || r.Kept || len(changed(whole, b.lfts())) > 0 {
				t.Errorf("the cable is back: %+v, %d switches differ from the beginning", r,
					len(changed(whole, b.lfts())))
			}
			b.Fabric.LinkDown(cable)
			b.pass(settling)
			if len(changed(before, b.lfts())) > 0 {
				t.Errorf("the cable is lost again: %d switches have other routes than under the old master",
					len(changed(before, b.lfts())))
			}
		})
	}
}
