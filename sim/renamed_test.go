package sim_test

import (
	"fmt"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo"
	"ibsm/topo/net/nettest"
)

// mustKnowName fails the test unless a node is known by a description.
func (w *watched) mustKnowName(node int32, name string) {
	w.harness.Helper()
	t := w.View.Topo
	if n := t.FindNode(w.harness.net.Nodes[node].GUID); n == topo.None {
		w.harness.Errorf("node %d is not known", node)
	} else if got := t.Nodes[n].Desc.String(); got != name {
		w.harness.Errorf("node %d is known as %q, not %q", node, got, name)
	}
}

// A node that says that its description has changed is asked for it, whatever the manager is
// at: it says so once.
func TestRenamed(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8")
	for name, tt := range ordered(map[string]struct {
		protect uint8
		at      func(b *harness, m *watched) // when nodes are renamed
	}{
		"at rest":             {0, func(*harness, *watched) {}},
		"protected by M_Keys": {2, func(*harness, *watched) {}},
		"during a walk": {0, func(b *harness, m *watched) {
			b.Ask(m.Manager, manager.Heavy)
			b.pass(100 * time.Microsecond)
		}},
		"before the manager is paused": {0, func(b *harness, m *watched) {
			for i := range int32(40) {
				b.Fabric.SetNodeDescription(host(n, 10).Node+i, "passing")
			}
			b.pass(2 * latency)
			b.Sleep(m.Manager, 3*time.Second)
			b.pass(settling)
		}},
	}) {
		t.Run(name, func(t *testing.T) {
			b := newHarness(t, n, fabric.Config{Seed: 1})
			cfg := minhopConfig()
			cfg.Txn.MaxWindow = 8
			if tt.protect > 0 {
				cfg.Sweep.Settings.MKey = sweep.Given(mad.MKey(0x77))
				cfg.Sweep.Settings.MKeyProtect = sweep.Given(tt.protect)
			}
			m := b.comeUp(cfg)
			tt.at(b, m)
			for i := range int32(40) {
				b.Fabric.SetNodeDescription(host(n, 10).Node+i, fmt.Sprintf("renamed %d", i))
			}
			b.pass(settling)
			for i := range int32(40) {
				m.mustKnowName(host(n, 10).Node+i, fmt.Sprintf("renamed %d", i))
			}
		})
	}
}

// named makes an agent answer with a description that may change without a trap.
func named(name *string) fabric.Defect {
	return func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
		status := obey()
		if p.AttrID() == smp.AttrNodeDescription {
			(*smp.NodeDescription)(p.Data()).Set(*name)
		}
		return status, true
	}
}

// A trap 144 that says that a description has changed carries the capabilities, too, and no
// flag is there for them: of a port that has become a subnet manager's the manager asks more.
func TestRenamedAndIsSM(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for name, changed := range ordered(map[string]bool{"the same capabilities": false, "other capabilities": true}) {
		t.Run(name, func(t *testing.T) {
			b := newHarness(t, n, fabric.Config{Seed: 1})
			m := b.comeUp(minhopConfig())
			info := b.Fabric.PortInfo(host(n, 5))
			mask := info.CapabilityMask()
			if changed {
				mask |= smp.IsSM
			}
			b.Deliver(m.Manager,
				localChange(info.LID(), smp.ChangedNodeDescription, func(change *smp.LocalChangeDetails) {
					change.SetCapabilityMask(mask)
					change.SetCapabilityMask2(info.CapabilityMask2())
				}))
			sweeps := len(m.ups)
			b.pass(settling)
			if swept := len(m.ups) > sweeps; swept != changed {
				t.Errorf("a sweep followed: %t, want %t", swept, changed)
			}
		})
	}
}

// A node whose description has changed with something else is asked for it, too.
func TestRenamedAndMore(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	at, name := host(n, 5), "old"
	b := newHarness(t, n, fabric.Config{Seed: 1, Caps: defective(at.Node, named(&name))})
	m := b.comeUp(minhopConfig())
	m.mustKnowName(at.Node, "old")
	name = "new"
	info := b.Fabric.PortInfo(at)
	b.Deliver(m.Manager, localChange(info.LID(), smp.ChangedNodeDescription|smp.ChangedSMPriority,
		func(*smp.LocalChangeDetails) {}))
	sweeps := len(m.ups)
	b.pass(settling)
	m.mustKnowName(at.Node, "new")
	if len(m.ups) == sweeps {
		t.Error("nothing was asked about what else has changed")
	}
}

// localChange is trap 144 of the node with a LID, with some flags and what else fill writes.
func localChange(lid mad.LID, flags smp.ChangeFlags, fill func(*smp.LocalChangeDetails)) mad.Datagram {
	return trapFrom(smp.TrapLocalChange, lid, 1, func(n *smp.Notice) {
		change := n.LocalChange()
		change.SetLID(lid)
		change.SetOtherLocalChanges(true)
		change.SetChangeFlags(flags)
		fill(change)
	})
}

// TestRenamedBeforeActive: a host that comes up gets its description after the walk has read it, and sends no trap as
// its port is not ACTIVE yet.
func TestRenamedBeforeActive(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1, TrainTime: 5 * time.Millisecond})
	m := b.comeUp(minhopConfig())
	at := host(n, 5)
	b.Fabric.LinkDown(at)
	b.pass(settling)
	b.Fabric.LinkUp(at)
	if !b.Run(b.Fabric.Now()+settling, func() bool {
		info := b.Fabric.PortInfo(at)
		return info.PortState() == smp.PortArmed
	}) {
		t.Fatal("the port does not come up")
	}
	b.Fabric.SetNodeDescription(at.Node, "renamed")
	b.pass(settling)
	m.mustKnowName(at.Node, "renamed")
}
