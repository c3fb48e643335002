package sim_test

import (
	"maps"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// lids are those that end ports hold.
func (b *harness) lids() map[mad.GUID]mad.LID {
	lids := map[mad.GUID]mad.LID{}
	for at := range b.Fabric.EndPorts() {
		pi := b.Fabric.PortInfo(at)
		lids[b.Fabric.PortGUID(at)] = pi.LID()
	}
	return lids
}

// begin brings a fabric up, in an order that gives LIDs in no order, and loses a host
// for good. It returns the manager, which has a disk, and the LIDs.
func begin(t *testing.T, onSet func(fabric.Set)) (b *harness, m *watched, gone net.End, lids map[mad.GUID]mad.LID) {
	n := nettest.Generate(t, "fattree:k=4")
	b = newHarness(t, n, fabric.Config{Seed: 1, OnSet: onSet})
	late := []net.End{host(n, 2), host(n, 5), host(n, 7)}
	for _, at := range late {
		b.Fabric.NodeDown(at.Node)
	}
	m = b.addKept(firstHost(n), minhopConfig(), sim.NewDisk(10*time.Millisecond))
	t.Cleanup(m.dump)
	b.pass(settling)
	for _, at := range []int{2, 0, 1} {
		b.Fabric.NodeUp(late[at].Node)
		b.pass(settling)
	}
	lids = b.lids()
	gone = host(n, 4)
	b.Fabric.NodeDown(gone.Node)
	b.pass(2 * settling)
	return b, m, gone, lids
}

// again starts the manager again with its disk.
func (w *watched) again() *watched {
	w.harness.Helper()
	next := w.harness.addKept(w.Station.At(), minhopConfig(), w.Disk)
	w.harness.Cleanup(next.dump)
	w.harness.pass(settling)
	if len(next.ups) == 0 {
		w.harness.Fatal("the subnet did not come up again")
	}
	return next
}

// A manager that was killed and started again at once writes nothing: no LID, no route,
// no request to register again.
func TestRestart(t *testing.T) {
	b, m, _, _ := begin(t, nil)
	m.retire()
	before, sets := b.snapshot(), b.sets()
	m = m.again()
	b.mustBeWhole(m)
	b.mustBeAsBefore(before)
	if n := b.sets() - sets; n > 0 {
		t.Errorf("%d Sets: %s", n, m.ups[0].SetsText())
	}
}

// After a while another manager may have been master at the port: clients are asked to register
// again, and nothing else is written.
func TestRestartAfterAWhile(t *testing.T) {
	asked := 0
	b, m, _, _ := begin(t, func(s fabric.Set) {
		if info := (*smp.PortInfo)(&s.Data); s.Attr == smp.AttrPortInfo && info.ClientReregister() {
			asked++
		}
	})
	m.retire()
	b.pass(2 * time.Minute)
	before, sets := b.snapshot(), b.sets()
	asked = 0
	m.again()
	b.mustBeAsBefore(before)
	if n := b.sets() - sets; asked == 0 || n != uint64(asked) {
		t.Errorf("%d Sets, of which %d ask to register again", n, asked)
	}
}

// The fabric loses its power while no manager runs: every port gets the LID that it had,
// and the host that had gone before still has its own when it comes back.
func TestRestartAfterPowerCut(t *testing.T) {
	b, m, gone, lids := begin(t, nil)
	m.retire()
	for node := range b.Fabric.NumNodes() {
		b.Fabric.Reboot(int32(node))
	}
	m = m.again()
	newcomers := b.lids()
	lost := b.Fabric.PortGUID(gone)
	want := maps.Clone(lids)
	delete(want, lost)
	delete(newcomers, lost)
	if !maps.Equal(newcomers, want) {
		t.Errorf("LIDs %v, had %v", newcomers, want)
	}
	b.Fabric.NodeUp(gone.Node)
	b.pass(settling)
	b.mustBeWhole(m)
	if now := b.lids(); !maps.Equal(now, lids) {
		t.Errorf("with the host that was gone LIDs %v, had %v", now, lids)
	}
}

// A manager that stood by when it ended does not know better than the fabric.
func TestRestartAfterStandby(t *testing.T) {
	b, m, _, _ := begin(t, nil)
	n := b.net
	cfg := minhopConfig()
	cfg.Elect.Priority = 9
	cfg.Sweep.Settings.ReassignLIDs = true
	other := b.add(host(n, 1), cfg)
	b.pass(2 * settling)
	if m.last() != smp.Standby || other.last() != smp.Master {
		t.Fatalf("the first is %v, the second %v", m.last(), other.last())
	}
	m.retire()
	other.retire()
	lids := b.lids()
	m = m.again()
	b.mustBeWhole(m)
	if now := b.lids(); !maps.Equal(now, lids) {
		t.Errorf("LIDs %v, had %v", now, lids)
	}
	if terms := m.Disk.Contents().Terms; len(terms) != 3 || !terms[0].Master || terms[1].Master || !terms[2].Master ||
		terms[2].Number != 3 {
		t.Errorf("terms %+v", terms)
	}
}

// A standby that honours OpenSM's file takes its LIDs from there when it becomes master;
// one that does not, from the ports.
func TestHonorGUID2LID(t *testing.T) {
	for _, honor := range []bool{false, true} {
		n := nettest.Generate(t, "fattree:k=4")
		b := newHarness(t, n, fabric.Config{Seed: 1})
		first := b.comeUp(minhopConfig())
		cfg := minhopConfig()
		cfg.HonorGUID2LID = honor
		recalls := 0
		m := b.add(host(n, 3), cfg)
		forward := m.OnAction
		m.OnAction = func(now time.Duration, a manager.Action) {
			if t, ok := a.(manager.Task); ok && t.Recall {
				recalls++
			}
			forward(now, a)
		}
		b.pass(settling)
		first.retire()
		b.pass(3 * settling)
		if m.last() != smp.Master || (recalls == 1) != honor || recalls > 1 {
			t.Errorf("honor %t: %v, the file was asked for %d times", honor, m.last(), recalls)
		}
	}
}
