package sim_test

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/routing"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// TestPlanWithout: a plan without a switch or a cable shows the routes, and the hosts that are cut off, as they are when it has really failed.
func TestPlanWithout(t *testing.T) {
	for _, c := range []struct {
		engine, node string
		port         uint8
		cut          int
	}{
		{"minhop", "spine-01", 0, 0}, {"minhop", "leaf-02", 0, 2}, {"minhop", "agg-01", 2, 0}, {"tree", "spine-01", 0, 0}, {"tree", "leaf-02", 3, 0}, {"updn", "agg-02", 0, 0},
		{"minhop", "leaf-02", 1, 1},
	} {
		t.Run(c.engine+" "+c.node, func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4")
			b := newHarness(t, n, fabric.Config{Seed: 1})
			m := b.comeUp(chainConfig(t, engines.Settings{}, c.engine))
			node := int32(slices.IndexFunc(n.Nodes, func(o net.Node) bool { return o.Desc == c.node }))
			before := b.snapshot()
			plan, err := m.planOf(manager.SweepRequested{Sweep: manager.Plan, Preview: manager.Preview{Without: []routing.SwitchPort{{Switch: n.Nodes[node].GUID, Port: c.port}}}})
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.CutOff) != c.cut {
				t.Errorf("cut off: %v, want %d", plan.CutOff, c.cut)
			}
			b.mustBeAsBefore(before)
			if c.port == 0 {
				b.Fabric.NodeDown(node)
			} else {
				b.Fabric.Unplug(net.End{Node: node, Port: c.port})
			}
			b.pass(settling)
			m.sweep(manager.Heavy)
			v := m.View
			if len(plan.Topo.Switches) != len(v.Topo.Switches) {
				t.Fatalf("%d switches in the plan, %d are left", len(plan.Topo.Switches), len(v.Topo.Switches))
			}
			for s, at := range v.Topo.Switches {
				if plan.Topo.Nodes[plan.Topo.Switches[s]].GUID != v.Topo.Nodes[at].GUID {
					t.Fatal("other switches are left")
				}
				for lid, owner := range v.LIDs.Owner {
					if owner != topo.None && plan.Tables.LFT[s][lid] != v.Tables.LFT[s][lid] {
						t.Errorf("switch %d LID %d: port %d in the plan, %d in fact", s, mad.LID(lid), plan.Tables.LFT[s][lid], v.Tables.LFT[s][lid])
					}
				}
			}
		})
	}
}

// TestPlanWithoutOurOwn: a plan without the switch that the manager's host hangs on, or without its own cable, cuts off everybody, and nothing else
// happens.
func TestPlanWithoutOurOwn(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	own := m.View.Topo.Nodes[m.View.Topo.Ports[m.View.Topo.Self].Node].GUID
	leaf := m.View.Topo.Ports[m.View.Topo.Ports[m.View.Topo.Self].Peer]
	guid := m.View.Topo.Nodes[leaf.Node].GUID
	for _, c := range []struct {
		without routing.SwitchPort
		cut     int
	}{{routing.SwitchPort{Switch: guid}, 15}, {routing.SwitchPort{Switch: guid, Port: leaf.Num}, 15}, {routing.SwitchPort{Switch: own}, 0}, {routing.SwitchPort{Switch: own, Port: 200}, 0}, {routing.SwitchPort{Switch: 1}, 0}} {
		plan, err := m.planOf(manager.SweepRequested{Sweep: manager.Plan, Preview: manager.Preview{Without: []routing.SwitchPort{c.without}}})
		if err != nil || len(plan.CutOff) != c.cut {
			t.Errorf("%+v: %v, %v", c.without, plan, err)
		}
	}
	b.mustBeWhole(m)
}
