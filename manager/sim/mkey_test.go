package sim_test

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/fabric"
	"ibsm/mad/smp"
	"ibsm/sweep"
)

// When the M_Key is changed no port is shown a wrong one, whatever else changes with it:
// the ports of a switch have one key (IBA 14.2.4), and it becomes another in the middle.
func TestOtherMKey(t *testing.T) {
	n := generate(t, "fattree:k=4")
	for _, protect := range []uint8{0} {
		b := newBed(t, n, fabric.Config{Seed: 1})
		cfg := minhopConfig()
		cfg.Sweep.Settings.MKey = sweep.Given(mad.MKey(0x77))
		cfg.Sweep.Settings.MKeyProtect = sweep.Given(protect)
		m := b.comeUp(cfg)
		for _, key := range []mad.MKey{0x78, 0} {
			before := b.Fabric.Stats().Drops[fabric.DropMKey]
			cfg.Sweep.Settings.MKey = sweep.Given(key)
			cfg.Sweep.Settings.HOQLife = sweep.Given(uint8(9 + key%2))
			b.Configure(m.Manager, cfg)
			b.pass(settling)
			if refused := b.Fabric.Stats().Drops[fabric.DropMKey] - before; refused > 0 || m.says("no answer") > 0 {
				t.Errorf("protection %d, M_Key %v: %d SMPs refused", protect, key, refused)
			}
			for at := range b.Fabric.EndPorts() {
				if pi := b.Fabric.PortInfo(at); pi.PortState() > smp.PortDown && pi.MKey() != key {
					t.Errorf("protection %d: port %v has M_Key %v, want %v", protect, at, pi.MKey(), key)
				}
			}
			b.mustBeWhole(m)
		}
	}
}
