package sim_test

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep/plan"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// fdr10Sets counts Sets of ExtendedPortInfo.
func (b *harness) fdr10Sets() uint64 {
	return b.Fabric.Stats().SMPs[fabric.Kind{Method: mad.MethodSet, Attr: smp.AttrExtendedPortInfo}]
}

// FDR10 is turned off and on by one Set for each port that has it otherwise, counts from the
// next training on, and is not asked for where nothing is said. A port that does not hear is
// written twice.
func TestFDR10(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for i := range n.Nodes {
		n.Nodes[i].EnhancedPort0 = false
		for j := range n.Nodes[i].Ports {
			n.Nodes[i].Ports[j].Speed = mad.FDR10
		}
	}
	ignoring := host(n, 5)
	b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, _ *net.Node, c *fabric.Caps) {
		c.NVIDIA = true
		if i != ignoring.Node {
			return
		}
		c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
			if p.Method() == mad.MethodSet && p.AttrID() == smp.AttrExtendedPortInfo {
				(*smp.ExtendedPortInfo)(p.Data()).SetStateChangeEnable(0)
			}
			return obey(), true
		}
	}})
	cfg := minhopConfig()
	m := b.comeUp(cfg)
	if k := (fabric.Kind{Method: mad.MethodGet, Attr: smp.AttrExtendedPortInfo}); b.Fabric.Stats().SMPs[k] > 0 {
		t.Error("ports were asked though nothing is said of FDR10")
	}
	ports := uint64(96)
	for _, c := range []struct {
		name   string
		fdr10  plan.FDR10
		sets   uint64
		runs   bool // a link that trains then
		expect int  // how often the ignoring one has been logged
	}{
		{"off", plan.DisableFDR10, ports + 1, false, 1}, // once more to the ignoring one
		{"left", plan.LeaveFDR10, 0, false, 1},
		{"on", plan.EnableFDR10, ports - 1, true, 1}, // which has it on
	} {
		before := b.fdr10Sets()
		cfg.Sweep.Settings.FDR10 = c.fdr10
		b.Configure(m.Manager, cfg)
		b.pass(settling)
		for range 3 {
			b.Ask(m.Manager, manager.Heavy)
			b.pass(settling)
		}
		if sets := b.fdr10Sets() - before; sets != c.sets {
			t.Errorf("%s: %d Sets, want %d", c.name, sets, c.sets)
		}
		if logged := m.says("FDR10"); logged != c.expect {
			t.Errorf("%s: the ignoring port was logged %d times", c.name, logged)
		}
		up := uplink(n, firstSwitch(b))
		b.Fabric.LinkDown(up)
		b.Fabric.LinkUp(up)
		b.pass(settling)
		if runs := b.Fabric.RunsFDR10(up); runs != c.runs {
			t.Errorf("%s: a link trains to FDR10: %v", c.name, runs)
		}
		b.mustBeWhole(m)
	}
}
