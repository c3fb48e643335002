package sim_test

import (
	"strings"
	"testing"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// TestSMSLWithoutLane: where ports send to the SA on an SL that switches drop, as after power-up with one VL in use,
// the log and the faults say so. As with OpenSM, only qos changes the tables of lanes.
func TestSMSLWithoutLane(t *testing.T) {
	const warning = "ports drop packets to the SA, because no VL serves the SL of sm_sl"
	for _, c := range []struct {
		name         string
		oneVL        bool
		smSL         uint8
		warned, asks bool
	}{
		{"one VL in use", true, 3, true, true},
		{"SL 0", true, 0, false, false},
		{"lanes for all", false, 3, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4,levels=2")
			b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(_ int32, _ *net.Node, caps *fabric.Caps) {
				caps.OneVL, caps.VLCap = c.oneVL, 4
			}})
			cfg := minhopConfig()
			cfg.Sweep.Settings.SMSL = c.smSL
			faults := func(m *watched) (named int) {
				for i := range m.View.Findings {
					f := &m.View.Findings[i]
					if f.Kind == finding.StoppedSA && strings.Contains(f.Detail, "packets to and from the SA") &&
						strings.Contains(f.Detail, "SL 3") && strings.Contains(f.Detail, "VL 15") {
						named++
					}
				}
				return named
			}
			m := b.comeUp(cfg)
			if got := b.laneSMPs(mad.MethodGet) > 0; got != c.asks {
				t.Errorf("asks for tables of lanes: %v, want %v", got, c.asks)
			}
			for range 2 {
				m.sweep(manager.Heavy)
			}
			if got := faults(m) > 0; got != c.warned {
				t.Errorf("faults: %+v", m.View.Findings)
			}
			if got := m.says("WARN", warning, "sm_sl 3"); got != map[bool]int{true: 1}[c.warned] {
				t.Errorf("warned %d times in three sweeps", got)
			}
			if sets := b.laneSMPs(mad.MethodSet); sets > 0 {
				t.Errorf("%d tables of lanes are written without qos", sets)
			}
			cfg.Sweep.Settings.QoS, cfg.Sweep.Settings.Lanes = true, useOf(9)
			b.Configure(m.Manager, cfg)
			b.pass(settling)
			if m.sweep(manager.Heavy); faults(m) > 0 {
				t.Errorf("with qos: faults: %+v", m.View.Findings)
			}
		})
	}
}
