package sim_test

import (
	"testing"

	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net/nettest"
)

// Enhanced switch ports 0 get as many LIDs as hosts if they are to, and all of them are
// reached; a manager without the setting leaves them as it finds them.
func TestLMCOfPort0(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for i := range n.Nodes {
		n.Nodes[i].EnhancedPort0 = n.Nodes[i].Type == mad.Switch && i%3 > 0
	}
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.Sweep.Settings.LMC, cfg.Sweep.Settings.LMCPort0 = sweep.Given[uint8](2), sweep.Given(true)
	m := b.comeUp(cfg)
	judge := func(port0 uint8) {
		t.Helper()
		b.mustBeWhole(m)
		for at := range b.Fabric.EndPorts() {
			want := uint8(2)
			if node := &n.Nodes[at.Node]; node.Type == mad.Switch && node.EnhancedPort0 {
				want = port0
			} else if node.Type == mad.Switch {
				want = 0
			}
			if info := b.Fabric.PortInfo(at); info.LMC() != want {
				t.Errorf("port %v has LMC %d, want %d", at, info.LMC(), want)
			}
		}
	}
	judge(2)
	b.Kill(m.Manager)
	sets := b.sets()
	cfg = minhopConfig()
	cfg.Sweep.Settings.NoReregister = true
	m = b.comeUp(cfg)
	if now := b.sets(); now != sets {
		t.Errorf("%d Sets by the next manager", now-sets)
	}
	judge(2)
	b.Kill(m.Manager)
	cfg.Sweep.Settings.LMCPort0 = sweep.Given(false)
	m = b.comeUp(cfg)
	judge(0)
}
