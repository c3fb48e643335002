package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// A manager that rests answers, and sweeps for nobody; what changed meanwhile is seen when
// it goes on.
func TestResting(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	m := b.comeUp(cfg)
	cfg.Resting = true
	b.Configure(m.Manager, cfg)
	sweeps := m.Core.Stats().Sweeps
	b.Fabric.LinkDown(uplink(n, firstSwitch(b)))
	b.Ask(m.Manager, manager.Heavy)
	b.Ask(m.Manager, manager.Light)
	b.pass(3 * cfg.SweepInterval)
	if now := m.Core.Stats().Sweeps; now != sweeps {
		t.Errorf("it swept: %v, then %v", sweeps, now)
	}
	if m.says("log_trap_info", "128") == 0 || m.View == nil {
		t.Error("it does not listen or answer any more")
	}
	b.Ask(m.Manager, manager.Plan)
	b.pass(settling)
	if now := m.Core.Stats().Sweeps; now[manager.PlanSweep] != 1 {
		t.Errorf("%d plans, which write nothing", now[manager.PlanSweep])
	}
	cfg.Resting = false
	b.Configure(m.Manager, cfg)
	b.pass(settling)
	b.mustBeWhole(m)
}

// Every node is asked for its description once, as the window allows, and a view with the
// answers follows without a sweep.
func TestDescribe(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.SweepInterval, cfg.Txn.MaxWindow = time.Hour, 3
	m := b.comeUp(cfg)
	asked := func() uint64 {
		return b.Fabric.Stats().SMPs[fabric.Kind{Method: mad.MethodGet, Attr: smp.AttrNodeDescription}]
	}
	for _, renamed := range []bool{true, false} {
		gen, sweeps, before := m.View.Gen, m.Core.Stats().Sweeps, asked()
		b.Fabric.SetNodeDescription(host(n, 5).Node, "renamed")
		b.Ask(m.Manager, manager.Describe)
		b.pass(settling)
		if got := asked() - before; got != uint64(len(n.Nodes)) {
			t.Errorf("%d questions to %d nodes", got, len(n.Nodes))
		}
		m.mustKnowName(host(n, 5).Node, "renamed")
		if m.View.Gen != gen != renamed || m.Core.Stats().Sweeps != sweeps {
			t.Errorf("generation %d, then %d; sweeps %v, then %v", gen, m.View.Gen, sweeps, m.Core.Stats().Sweeps)
		}
	}
}
