package sim_test

import (
	"fmt"
	"testing"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/routing"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/topo/net/nettest"
)

// TestPlanWithout: a plan without switches or cables shows the routes, and the hosts that are cut off, as they are when
// these have really failed.
func TestPlanWithout(t *testing.T) {
	for _, c := range []struct {
		engine  string
		without []string // switches by description, with a port after a colon
		cut     int
	}{
		{"minhop", []string{"spine-01"}, 0}, {"minhop", []string{"leaf-02"}, 2}, {"minhop", []string{"agg-01:2"}, 0},
		{"tree", []string{"spine-01"}, 0},
		{"tree", []string{"leaf-02:3"}, 0}, {"updn", []string{"agg-02"}, 0}, {"minhop", []string{"leaf-02:1"}, 1},
		// all uplinks
		{"tree", []string{"leaf-02:3", "leaf-02:4"}, 2}, {"minhop", []string{"leaf-02:3", "leaf-02:4"}, 2},
		// line cards of a director
		{"tree", []string{"leaf-03", "leaf-04"}, 4}, {"tree", []string{"agg-01", "agg-03"}, 0},
		{"minhop", []string{"agg-01", "agg-03"}, 0},
	} {
		t.Run(fmt.Sprint(c.engine, c.without), func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4")
			b := newHarness(t, n, fabric.Config{Seed: 1})
			m := b.comeUp(chainConfig(t, engines.Settings{}, c.engine))
			before := b.snapshot()
			plan, err := m.planOf(
				manager.SweepRequested{Sweep: manager.Plan, Preview: manager.Preview{Without: b.items(c.without)}})
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.CutOff) != c.cut {
				t.Errorf("cut off: %v, want %d", plan.CutOff, c.cut)
			}
			b.mustBeAsBefore(before)
			b.fail(b.items(c.without))
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
						t.Errorf("switch %d LID %d: port %d in the plan, %d in fact", s, mad.LID(lid),
							plan.Tables.LFT[s][lid], v.Tables.LFT[s][lid])
					}
				}
			}
		})
	}
}

// TestPlanWithoutOurOwn: a plan without the switch that the manager's host hangs on, or without its own cable, cuts off
// everybody, and nothing else happens.
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
	}{{routing.SwitchPort{Switch: guid}, 15}, {routing.SwitchPort{Switch: guid, Port: leaf.Num}, 15},
		{routing.SwitchPort{Switch: own}, 0}, {routing.SwitchPort{Switch: own, Port: 200}, 0},
		{routing.SwitchPort{Switch: 1}, 0}} {
		plan, err := m.planOf(
			manager.SweepRequested{
				Sweep: manager.Plan, Preview: manager.Preview{Without: []routing.SwitchPort{c.without}},
			})
		if err != nil || len(plan.CutOff) != c.cut {
			t.Errorf("%+v: %v, %v", c.without, plan, err)
		}
	}
	b.mustBeWhole(m)
}
