package sim_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// last is the state that a manager logged last.
func (w *watched) last() smp.SMState {
	if len(w.states) == 0 {
		return 0xff
	}
	return w.states[len(w.states)-1]
}

// Of two managers the higher is master and the other stands by; when the first is killed
// the second takes over, and moves nothing.
func TestTwoManagers(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := minhopConfig(), minhopConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	second := b.add(host(n, 6), low)
	first := b.add(host(n, 0), high)
	t.Cleanup(first.dump)
	b.pass(settling)
	if first.last() != smp.Master || second.last() != smp.Standby {
		t.Fatalf("the higher is %v, the lower %v", first.last(), second.last())
	}
	b.mustBeWhole(first)
	if second.View != nil {
		t.Error("the standby answers")
	}
	before := b.snapshot()
	sets := b.sets()
	b.pass(settling)
	if b.sets() != sets {
		t.Errorf("%d Sets while both are at rest", b.sets()-sets)
	}
	first.retire()
	b.pass(2 * time.Minute)
	if second.last() != smp.Master {
		t.Fatalf("the second manager is %v", second.last())
	}
	b.mustBeWhole(second)
	b.mustBeAsBefore(before)
	own := b.Fabric.PortInfo(second.Station.At())
	for _, at := range b.endPorts() {
		if pi := b.Fabric.PortInfo(at); pi.MasterSMLID() != own.LID() {
			t.Errorf("port %v knows LID %d as its master", at, pi.MasterSMLID())
		}
	}
}

// A higher manager that comes later is handed the mastership, and knows that it is master.
func TestHandover(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := minhopConfig(), minhopConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	first := b.comeUp(low)
	before := b.snapshot()
	second := b.add(host(n, 6), high)
	b.pass(2 * time.Minute)
	if first.last() != smp.Standby || second.last() != smp.Master {
		t.Fatalf("the lower is %v, the higher %v", first.last(), second.last())
	}
	b.mustBeWhole(second)
	b.mustBeAsBefore(before)
	if first.Core.Stats().Terms != 1 || second.Core.Stats().Terms != 1 {
		t.Errorf("terms: %d of the lower, %d of the higher", first.Core.Stats().Terms, second.Core.Stats().Terms)
	}
}

// Two masters that grew up apart find each other, and one is left.
func TestTwoMasters(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	island := host(n, 6)
	b.Fabric.LinkDown(island)
	first := b.comeUp(minhopConfig())
	cfg := minhopConfig()
	cfg.Elect.Priority = 5
	cfg.Sweep.IgnoreOtherSM = false
	second := b.add(island, cfg)
	b.pass(settling)
	if second.last() != smp.Discovering {
		t.Errorf("without a link it is %v", second.last())
	}
	b.Fabric.LinkUp(island)
	b.pass(2 * time.Minute)
	if first.last() != smp.Standby || second.last() != smp.Master {
		t.Fatalf("the lower is %v, the higher %v", first.last(), second.last())
	}
	b.mustBeWhole(second)
}

// A manager whose own port is down says so once, waits, and begins when it is up.
func TestOwnPortDown(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.Fabric.LinkDown(firstHost(n))
	m := b.add(firstHost(n), minhopConfig())
	t.Cleanup(m.dump)
	b.pass(settling)
	if logged := m.says("SM port is down"); logged != 1 || len(m.ups) > 0 || m.Exited {
		t.Errorf("logged %d times, %d sweeps, exited %v", logged, len(m.ups), m.Exited)
	}
	b.Fabric.LinkUp(firstHost(n))
	b.pass(5 * time.Second)
	b.mustBeWhole(m)
	b.Fabric.LinkDown(firstHost(n))
	b.pass(settling)
	if m.View != nil {
		t.Error("it answers though its port is down")
	}
	b.Fabric.LinkUp(firstHost(n))
	b.pass(5 * time.Second)
	b.mustBeWhole(m)
	if logged := m.says("SM port is down"); logged != 2 {
		t.Errorf("logged %d times", logged)
	}
}

// A run of one sweep ends: well, with an error when its port is down, and with an
// error when another manager is master.
func TestOnce(t *testing.T) {
	once := minhopConfig()
	once.Once = true
	t.Run("port down", func(t *testing.T) {
		n := nettest.Generate(t, "fattree:k=4")
		b := newHarness(t, n, fabric.Config{Seed: 1})
		b.Fabric.LinkDown(firstHost(n))
		m := b.add(firstHost(n), once)
		b.pass(5 * time.Second)
		if !m.Exited || !errors.Is(m.Err, manager.ErrPortDown) {
			t.Error("exited", m.Exited, m.Err)
		}
	})
	t.Run("other master", func(t *testing.T) {
		n := nettest.Generate(t, "fattree:k=4")
		b := newHarness(t, n, fabric.Config{Seed: 1})
		b.comeUp(minhopConfig())
		sets := b.sets()
		m := b.add(host(n, 3), once)
		b.pass(5 * time.Second)
		if !m.Exited || !errors.Is(m.Err, manager.ErrOtherMaster) {
			t.Error("exited", m.Exited, m.Err)
		}
		if b.sets() != sets {
			t.Error("it has set something")
		}
	})
	t.Run("done", func(t *testing.T) {
		n := nettest.Generate(t, "fattree:k=4")
		b := newHarness(t, n, fabric.Config{Seed: 1})
		m := b.add(firstHost(n), once)
		b.pass(5 * time.Second)
		if !m.Exited || m.Err != nil {
			t.Error("exited", m.Exited, m.Err)
		}
		b.mustBeWhole(m)
	})
}

// A run of one sweep asks again where its own port did not answer at first, as on a machine that
// has too much to do, and gives up when it stays unresponsive.
func TestOnceUnanswered(t *testing.T) {
	once := minhopConfig()
	once.Once = true
	for _, answers := range []bool{true, false} {
		n := nettest.Generate(t, "fattree:k=4")
		b := newHarness(t, n, fabric.Config{Seed: 1})
		b.Fabric.SetUnresponsive(firstHost(n).Node, true)
		m := b.add(firstHost(n), once)
		b.pass(time.Second)
		if m.Exited {
			t.Fatal("exited", m.Err)
		}
		b.Fabric.SetUnresponsive(firstHost(n).Node, !answers)
		b.pass(30 * time.Second)
		if !m.Exited || errors.Is(m.Err, manager.ErrPortDown) == answers || (m.Err == nil) != answers {
			t.Errorf("the port answers: %t; exited %t, %v", answers, m.Exited, m.Err)
		}
	}
}

// A dry run writes nothing, answers nobody and shows what it would do: on a bare fabric
// everything, and beside a master only to write its LID to the ports as MasterSMLID.
func TestDryRun(t *testing.T) {
	dry := minhopConfig()
	dry.DryRun = true
	for _, wasMaster := range []bool{false, true} {
		n := nettest.Generate(t, "fattree:k=4")
		b := newHarness(t, n, fabric.Config{Seed: 1})
		if wasMaster {
			b.comeUp(minhopConfig())
		}
		b.Fabric.ResetStats()
		m := b.add(host(n, 3), dry)
		var d mad.Datagram
		d.Packet.SetDirected(&mad.Route{}, mad.MethodGet, smp.AttrSMInfo, 0)
		b.Deliver(m.Manager, d)
		if got := b.Fabric.Stats().SMPs[fabric.Kind{Method: mad.MethodGetResp, Attr: smp.AttrSMInfo}]; got > 0 {
			t.Error("it answers SMInfo")
		}
		b.pass(5 * time.Second)
		if b.sets() > 0 {
			t.Errorf("%d Sets", b.sets())
		}
		if pi := b.Fabric.PortInfo(host(n, 3)); pi.CapabilityMask().Has(smp.IsSM) {
			t.Error("IsSM is set")
		}
		if !m.Exited || m.Err != nil || len(m.shown) != 1 {
			t.Fatalf("exited %v, %v, %d plans", m.Exited, m.Err, len(m.shown))
		}
		announces, others := 0, 0
		for step := range m.shown[0].Steps {
			if _, what, _ := strings.Cut(step, ": "); strings.HasPrefix(what, "MasterSMLID") &&
				!strings.Contains(step, "Armed") {
				announces++
			} else {
				others++
			}
		}
		if wasMaster && (announces != len(n.Nodes) || others > 0) || !wasMaster && others < len(n.Nodes) {
			t.Errorf("was master %v: %d steps announce the master, %d do more", wasMaster, announces, others)
		}
	}
}
