package sim_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/routing/torus"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// fabricsOfEngines are fabrics that the engines can route.
var fabricsOfEngines = map[string]string{
	"minhop": "fattree:k=4", "updn": "fattree:k=4,levels=2", "dnup": "fattree:k=4,levels=2", "dor": "mesh:dims=3x3",
	"ftree": "fattree:k=4",
	"lash":  "torus:dims=3x3", "sssp": "random:switches=8,degree=3,hosts=1", "dfsssp": "torus:dims=3x3",
	"torus-2QoS": "torus:dims=5x5,hosts=1",
	"nue":        "random:switches=8,degree=3,hosts=1", "tree": "fattree:k=4", "dragonfly": "dragonfly:a=4,p=2,h=1",
	"hyperx": "hyperx:dims=3x3,hosts=1",
	"file":   "fattree:k=4,levels=2", "auto": "dragonfly+:l=3,s=2,p=1,h=2,groups=3",
}

// TestSweepsOfEveryEngine takes managers with each routing engine through bring-up, a lost link, a
// lost switch, plans, reroutes, a handover, a failover, and a takeover of foreign routes. Each
// second seed is one with QoS and under loss.
func TestSweepsOfEveryEngine(t *testing.T) {
	if want, got := slices.Sorted(slices.Values(engines.Names())),
		slices.Sorted(maps.Keys(fabricsOfEngines)); !slices.Equal(want, got) {
		t.Errorf("the engines are %q, and those with a fabric %q", want, got)
	}
	for _, seed := range seedsOf(t, uint64(2*len(fabricsOfEngines)), uint64(2*len(fabricsOfEngines))) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer repeat(t, seed)
			sweepOfEngine(t, seed)
		})
	}
}

func sweepOfEngine(t *testing.T, seed uint64) {
	names := slices.Sorted(maps.Keys(fabricsOfEngines))
	name := names[seed/2%uint64(len(names))]
	rng := rand.New(rand.NewPCG(seed, 0xe7e))
	n := nettest.Generate(t, fmt.Sprintf("%s,seed=%d", fabricsOfEngines[name], rng.Uint32()))
	b := newHarness(t, n, fabric.Config{Seed: rng.Uint64()})
	cfg := chainConfig(t, engines.Settings{Torus: torusOf(t, n)}, name)
	if seed%2 == 1 {
		cfg.Sweep.Settings.QoS, cfg.Sweep.Settings.Lanes = true, useOf(7)
		b.Fabric.SetFaults(fabric.Faults{Loss: 0.01, Duplicate: 0.02, Reorder: 0.02, ReorderBy: time.Millisecond})
	}
	high := cfg
	high.Elect.Priority = 9
	m := b.add(host(n, 0), cfg)
	b.pass(30 * time.Second)
	if r := m.View.Routing; r.Engine != name && name != engines.Auto {
		t.Fatalf("the engine is not %s: %+v", name, r)
	}
	for _, s := range []manager.Sweep{manager.Light, manager.Heavy, manager.Plan, manager.Reroute,
		manager.PlanReroute} {
		b.changeFabric(rng, m.Station.At().Node)
		b.Ask(m.Manager, s)
		b.pass(3 * time.Second)
	}
	second := b.add(host(n, 3), high)
	b.pass(30 * time.Second)
	b.Kill(second.Manager)
	b.changeFabric(rng, m.Station.At().Node)
	b.pass(time.Minute)
	b.Configure(m.Manager, minhopConfig())
	b.pass(15 * time.Second)
	b.Kill(m.Manager)
	b.add(host(n, 1), cfg) // it finds routes that are none of its engine's
	b.pass(30 * time.Second)
	b.changeFabric(rng, host(n, 1).Node)
	b.Ask(b.Managers[len(b.Managers)-1], manager.Reroute)
	b.pass(30 * time.Second)
}

// torusOf is a torus_config; nil for a fabric that is no torus of 5 x 5 switches.
func torusOf(t *testing.T, n *net.Net) *torus.Settings {
	guid := map[string]mad.GUID{}
	for i := range n.Nodes {
		guid[n.Nodes[i].Desc] = n.Nodes[i].GUID
	}
	if guid["switch-4-4"] == 0 {
		return nil
	}
	settings, _, errs := torus.Parse("torus", fmt.Appendf(nil, "torus 5 5 1\nxp_link %#x %#x\nyp_link %#x %#x\n",
		uint64(guid["switch-1-1"]), uint64(guid["switch-2-1"]), uint64(guid["switch-1-1"]), uint64(guid["switch-1-2"])))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return settings
}
