package sim_test

import (
	"testing"
	"time"

	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// Where one node is unresponsive though its link is up, a link that is lost elsewhere is seen as soon
// as in a fabric that is whole: whether the node was known and keeps what it had, has been
// given up, or never answered; whether it is a host or a switch; and also where a light sweep
// is waiting for its answer at that moment. When the node is not waited for any more,
// that needs no full walk.
func TestLinkLostBesideSilence(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8,levels=2")
	for _, tt := range []struct {
		name         string
		unresponsive int32
		first        bool          // it is unresponsive from the beginning
		sweeps       int           // heavy ones that are asked for when it has stopped answering
		later        time.Duration // and then
		look         bool          // a light sweep is under way
	}{
		{name: "a host, missed", unresponsive: host(n, 9).Node, sweeps: 1},
		{name: "a host, missed, during a light sweep", unresponsive: host(n, 9).Node, sweeps: 1, look: true},
		{name: "a host, given up", unresponsive: host(n, 9).Node, sweeps: 1, later: 3 * time.Minute},
		{name: "a host, never there", unresponsive: host(n, 9).Node, first: true, later: 3 * time.Minute},
		{name: "a host, never there, during a light sweep", unresponsive: host(n, 9).Node, first: true,
			later: 3 * time.Minute, look: true},
		{name: "a switch, missed", unresponsive: spine(n), sweeps: 1},
		{name: "a switch, given up", unresponsive: spine(n), sweeps: 1, later: 3 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newHarness(t, n, fabric.Config{Seed: 1, Latency: slowly})
			b.Fabric.SetUnresponsive(tt.unresponsive, tt.first)
			m := b.comeUp(minhopConfig())
			at := b.Fabric.Peer(host(n, 20))
			near := b.Fabric.Peer(host(n, 8)) // of a host at the same switch as the unresponsive one
			var times []time.Duration
			// what TestLinkLostDuringFullWalk finds, and a round trip to a switch whose change was read before
			quiet := 28 * slowly
			b.Fabric.SetUnresponsive(tt.unresponsive, true)
			for range tt.sweeps {
				m.sweep(manager.Heavy)
				b.pass(300 * time.Millisecond)
			}
			b.pass(tt.later)
			walks := m.Core.Stats().Sweeps[manager.HeavySweep]
			for _, lost := range []net.End{at, near} {
				if tt.look {
					b.Ask(m.Manager, manager.Light)
					b.pass(100 * time.Millisecond)
				}
				times = append(times, m.lose(lost))
			}
			t.Log("lost links are seen after ", times)
			for _, took := range times {
				if took > quiet {
					t.Errorf("a lost link is seen after %v, want at most %v", took, quiet)
				}
			}
			if now := m.Core.Stats().Sweeps[manager.HeavySweep]; now != walks && tt.later > 0 {
				t.Errorf("%d full walks were begun for it", now-walks)
			}
			b.Fabric.SetUnresponsive(tt.unresponsive, false)
			b.Fabric.LinkUp(at)
			b.Fabric.LinkUp(near)
			b.pass(settling)
			b.mustBeWhole(m)
		})
	}
}

// Quick sweeps do not count what is unresponsive: however many there are, a node keeps what it had
// for as long as it would without them. A port that stays unresponsive causes no full walks for
// ever, and a node that answers again is found.
func TestSilenceAndQuickSweeps(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8,levels=2")
	victim, flaps := host(n, 9), host(n, 20)
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	b.Fabric.SetUnresponsive(victim.Node, true)
	m.sweep(manager.Heavy)
	b.pass(time.Second)
	quick := m.Core.Stats().Sweeps[manager.QuickSweep]
	for range 20 {
		b.Fabric.LinkDown(flaps)
		b.pass(150 * time.Millisecond)
		b.Fabric.LinkUp(flaps)
		b.pass(150 * time.Millisecond)
	}
	if ran := m.Core.Stats().Sweeps[manager.QuickSweep] - quick; ran < 5 {
		t.Fatalf("no test: %d quick sweeps", ran)
	}
	if m.View.Topo.FindPort(b.Fabric.PortGUID(victim)) == topo.None {
		t.Error("quick sweeps have given up a node that was unresponsive for a few seconds")
	}
	b.pass(5 * time.Minute)
	if m.View.Topo.FindPort(b.Fabric.PortGUID(victim)) != topo.None {
		t.Error("it is never given up")
	}
	walks := m.Core.Stats().Sweeps[manager.HeavySweep]
	b.pass(5 * time.Minute)
	if now := m.Core.Stats().Sweeps[manager.HeavySweep]; now != walks {
		t.Errorf("%d full walks in five minutes for one port that stays unresponsive", now-walks)
	}
	if logged := m.says("no answer behind"); logged > 4 {
		t.Errorf("it was logged %d times", logged)
	}
	b.Fabric.SetUnresponsive(victim.Node, false)
	b.pass(30 * time.Second)
	b.mustBeWhole(m)
}
