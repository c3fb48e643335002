package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net/nettest"
)

// A configuration that is read again is in force after the heavy sweep that it asks for,
// and leaves alone what it does not change.
func TestReconfigure(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	sets := b.sets()

	b.Configure(m.Manager, minhopConfig())
	b.pass(settling)
	if m.says("HEAVY SWEEP", "configuration reloaded") != 1 || b.sets() != sets {
		t.Errorf("the same configuration: %d Sets, log %q", b.sets()-sets, m.log)
	}
	cfg := minhopConfig()
	cfg.Sweep.Settings.SubnetTimeOut = sweep.Given[uint8](15)
	cfg.Sweep.Settings.SMSL = 3
	cfg.SAKey = 0xabc
	cfg.MaxRate = 18
	cfg.SweepInterval = time.Hour
	cfg.Txn.MaxWindow = 7
	b.Configure(m.Manager, cfg)
	b.pass(settling)
	for _, at := range b.endPorts() {
		if pi := b.Fabric.PortInfo(at); at.Port != 0 && (pi.SubnetTimeOut() != 15 || pi.MasterSMSL() != 3) {
			t.Errorf("port %v has SubnetTimeOut %d and MasterSMSL %d", at, pi.SubnetTimeOut(), pi.MasterSMSL())
		}
	}
	if m.View.Subnet.SAKey != 0xabc || m.View.Subnet.MaxRate != 18 || m.Core.Stats().Txn.Window > 7 {
		t.Errorf("SA_Key 0x%x, rates up to %d, a window of %d", m.View.Subnet.SAKey, m.View.Subnet.MaxRate,
			m.Core.Stats().Txn.Window)
	}
	b.mustBeWhole(m)
	if last := m.ups[len(m.ups)-1]; len(last.Sets) != 1 || last.Sets[smp.AttrPortInfo] == 0 {
		t.Errorf("more than PortInfo was set: %s", last.SetsText())
	}
	asks := total(b.Fabric)
	b.pass(settling)
	if n := total(b.Fabric) - asks; n > 0 {
		t.Errorf("%d requests in a minute, with an hour between sweeps", n)
	}
}

// A priority that falls below another manager's ends the mastership.
func TestReconfigurePriority(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := minhopConfig(), minhopConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	first := b.add(firstHost(n), high)
	second := b.add(host(n, 6), low)
	b.pass(settling)
	high.Elect.Priority = 1
	b.Configure(first.Manager, high)
	b.pass(settling)
	if first.last() != smp.Standby || second.last() != smp.Master {
		t.Errorf("the one that fell is %v, the other %v", first.last(), second.last())
	}
}

// Without sweeps on traps a link that goes is noticed by the clock; with a heavy sweep
// each time, nothing need be said of it.
func TestSweepsByTheClock(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.IgnoreTraps = true
	m := b.comeUp(cfg)
	sweeps := len(m.ups)
	b.Fabric.LinkDown(uplink(n, firstSwitch(b)))
	b.pass(cfg.SweepInterval - 2*time.Second) // the last light sweep was before
	if len(m.ups) > sweeps+1 {
		t.Errorf("%d sweeps before the clock asked", len(m.ups)-sweeps)
	}
	b.pass(settling)
	if m.says("log_trap_info", "128") == 0 || m.says("Forcing heavy sweep") != 0 || len(m.ups) == sweeps {
		t.Errorf("%d traps, %d sweeps for them, %d sweeps", m.says("log_trap_info", "128"),
			m.says("Forcing heavy sweep"), len(m.ups)-sweeps)
	}
	cfg.ForceHeavy = true
	b.Configure(m.Manager, cfg)
	sweeps = len(m.ups)
	b.pass(3*cfg.SweepInterval + time.Second)
	if n := len(m.ups) - sweeps; n != 4 {
		t.Errorf("%d heavy sweeps in three intervals and at the change", n)
	}
}

// firstSwitch is a switch of the fabric.
func firstSwitch(b *harness) int32 {
	for i := range b.net.Nodes {
		if b.net.Nodes[i].Type == mad.Switch {
			return int32(i)
		}
	}
	panic("no switch")
}
