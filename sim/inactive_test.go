package sim_test

import (
	"errors"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// setSMInfo sends Set(SMInfo) to a port as the manager at another one, which is MASTER,
// and returns the status of the answer.
func (b *harness) setSMInfo(from, to *watched, mod uint32) (status mad.Status) {
	b.Helper()
	d := from.directedTo(to.Station.At(), mad.MethodSet, smp.AttrSMInfo, mod)
	p := &d.Packet
	p.SetTID(0xbeef)
	i := (*smp.SMInfo)(p.Data())
	i.SetGUID(b.Fabric.PortGUID(from.Station.At()))
	i.SetSMState(smp.Master)
	answered := false
	from.Heard = func(received []mad.Datagram) {
		for i := range received {
			if r := &received[i].Packet; r.TID() == 0xbeef {
				status, answered = r.Status(), true
			}
		}
	}
	from.Station.Send([]mad.Datagram{d})
	if !b.Run(b.Fabric.Now()+settling, func() bool { return answered }) {
		b.Fatal("no answer to Set(SMInfo)")
	}
	from.Heard = nil
	return status
}

// directedTo is an SMP to a port along the directed route of the manager, which is master.
func (w *watched) directedTo(at net.End, method mad.Method, attr mad.AttrID, mod uint32) (d mad.Datagram) {
	route, ok := w.View.Topo.RouteTo(w.View.Topo.FindPort(w.harness.Fabric.PortGUID(at)))
	if !ok {
		w.harness.Fatal("no route to", at)
	}
	d.LID = mad.PermissiveLID
	d.Packet.SetDirected(&route, method, attr, mod)
	return d
}

// A manager that starts NOT-ACTIVE asks its own port for its identity and no other port anything, whatever
// it is asked for, and is no rival of the master, whose STANDBY wakes it.
func TestInactive(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.Elect.Priority, cfg.Elect.Inactive = 9, true
	m := b.add(host(n, 3), cfg)
	t.Cleanup(m.dump)
	b.pass(settling)
	b.Ask(m.Manager, manager.Heavy)
	b.Ask(m.Manager, manager.Plan)
	b.pass(3 * cfg.SweepInterval)
	for k, count := range b.Fabric.Stats().SMPs {
		if k.Method != mad.MethodGet || k.Attr != smp.AttrPortInfo && k.Attr != smp.AttrNodeInfo || count != 1 {
			t.Errorf("%d of %+v", count, k)
		}
	}
	if m.last() != smp.NotActive || m.Core.Stats().Self.GUID != b.Fabric.PortGUID(host(n, 3)) {
		t.Errorf("%v, %+v", m.states, m.Core.Stats().Self)
	}
	low := minhopConfig()
	first := b.add(host(n, 0), low)
	t.Cleanup(first.dump)
	b.pass(settling)
	if first.last() != smp.Master || m.last() != smp.NotActive {
		t.Fatalf("%v, %v", first.states, m.states)
	}
	if rivals := first.Core.Stats().Rivals; len(rivals) != 1 || rivals[0].State != uint8(smp.NotActive) {
		t.Errorf("the master knows of %+v", rivals)
	}
	for _, mod := range []uint32{smp.ControlHandover, smp.ControlDiscover, smp.ControlDisable} {
		if status := b.setSMInfo(first, m, mod); status != mad.StatusBadField || m.last() != smp.NotActive {
			t.Errorf("Set %d: %v, %v", mod, status, m.last())
		}
	}
	if status := b.setSMInfo(first, m, smp.ControlStandby); status != mad.StatusOK {
		t.Errorf("STANDBY: %v", status)
	}
	b.pass(settling)
	if m.last() != smp.Master || first.last() != smp.Standby {
		t.Errorf("woken, the higher is %v, the other %v", m.states, first.states)
	}
	b.mustBeWhole(m)
}

// A manager that starts NOT-ACTIVE is woken by a configuration without that.
func TestInactiveConfigured(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.Elect.Inactive = true
	m := b.add(firstHost(n), cfg)
	t.Cleanup(m.dump)
	b.pass(settling)
	b.Configure(m.Manager, cfg)
	b.pass(settling)
	if len(m.states) != 1 {
		t.Fatal(m.states)
	}
	cfg.Elect.Inactive = false
	b.Configure(m.Manager, cfg)
	b.pass(settling)
	b.mustBeWhole(m)
}

// One sweep, and a dry run, of a manager that starts NOT-ACTIVE: the first ends at
// once, the second looks all the same.
func TestInactiveOnce(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	once, dry := minhopConfig(), minhopConfig()
	once.Elect.Inactive, once.Once = true, true
	dry.Elect.Inactive, dry.DryRun = true, true
	o, d := b.add(host(n, 0), once), b.add(host(n, 1), dry)
	b.pass(settling)
	if !o.Exited || !errors.Is(o.Err, manager.ErrNotMaster) {
		t.Errorf("exited %v, %v", o.Exited, o.Err)
	}
	if len(d.shown) != 1 {
		t.Errorf("%d plans shown", len(d.shown))
	}
}
