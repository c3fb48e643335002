package sim_test

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// complain delivers traps 129 of a port, all alike, as its node sends them.
func (w *watched) complain(at net.End, count int) {
	w.harness.Helper()
	owner := at
	if w.harness.Fabric.NodeType(at.Node) == mad.Switch {
		owner.Port = 0
	}
	info := w.harness.Fabric.PortInfo(owner)
	for range count {
		w.harness.Deliver(w.Manager, trapFrom(smp.TrapLinkIntegrity, info.LID(), 1, func(n *smp.Notice) {
			n.PortError().SetLID(info.LID())
			n.PortError().SetPortNum(at.Port)
		}))
	}
}

// usesLink reports whether any route of the manager's view leads out of a port.
func (w *watched) usesLink(at net.End) bool {
	for lid, port := range w.harness.lfts()[at.Node] {
		if lid > 0 && port == at.Port {
			return true
		}
	}
	return false
}

// The link at a port that does not stop to complain is avoided until it has been quiet
// for a while, whatever the manager is at when that is over.
func TestUnhealthyPort(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for name, meanwhile := range ordered(map[string]func(*harness, *watched){
		"nothing": func(*harness, *watched) {},
		"a sweep computes": func(b *harness, m *watched) {
			b.ComputeTime = 3 * time.Second
			b.pass(57 * time.Second)
			b.Fabric.LinkDown(host(n, 9))
		},
		"the node is gone": func(b *harness, m *watched) {
			sw := firstSwitch(b)
			b.Fabric.NodeDown(sw)
			b.pass(2 * settling)
			b.Fabric.NodeUp(sw)
		},
	}) {
		t.Run(name, func(t *testing.T) {
			b := newHarness(t, n, fabric.Config{Seed: 1})
			cfg := minhopConfig()
			m := b.add(host(n, 9), cfg)
			if name == "a sweep computes" {
				m = b.add(host(n, 8), cfg)
			}
			t.Cleanup(m.dump)
			b.pass(settling)
			at := uplink(n, firstSwitch(b))
			if !m.usesLink(at) {
				t.Fatal("no route uses the link from the beginning")
			}
			m.complain(at, 10)
			b.pass(2 * time.Second)
			if m.usesLink(at) {
				t.Error("the link of an unhealthy port is used")
			}
			meanwhile(b, m)
			b.pass(3 * settling)
			if !m.usesLink(at) {
				t.Error("the link is avoided for ever")
			}
		})
	}
}

// A babbler is disabled at that end of its link which is nearer, where the answer still
// comes back and from where it can be enabled again; and never our own port.
func TestBabbler(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, tt := range []struct {
		name     string
		count    int
		at       net.End
		disabled bool
	}{
		{"a host", 250, host(n, 9), true},
		{"a switch towards a host", 250, n.Nodes[host(n, 9).Node].Ports[1].Peer, true},
		{"our own", 400, firstHost(n), false},
		{"what leads to us", 400, n.Nodes[firstHost(n).Node].Ports[1].Peer, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newHarness(t, n, fabric.Config{Seed: 1})
			cfg := minhopConfig()
			cfg.Sweep.Settings.DisableBabblers = true
			m := b.comeUp(cfg)
			m.complain(tt.at, tt.count)
			b.pass(settling)
			near := tt.at
			if n.Nodes[near.Node].Type == mad.CA {
				near = n.Nodes[near.Node].Ports[1].Peer
			}
			info, far := b.Fabric.PortInfo(near), b.Fabric.PortInfo(n.Nodes[near.Node].Ports[near.Port].Peer)
			if (info.PortPhysicalState() == smp.PhysDisabled) != tt.disabled ||
				far.PortPhysicalState() == smp.PhysDisabled {
				t.Errorf("the near end is %v, the far one %v", info.PortPhysicalState(), far.PortPhysicalState())
			}
			if logged := m.says("babbles and is disabled"); (logged == 1) != tt.disabled || logged > 1 {
				t.Errorf("logged %d times that it is disabled", logged)
			}
			if m.says("no answer") > 0 {
				t.Error("the answer was cut off")
			}
		})
	}
}

// Each unhealthy port is used again a minute after its last trap, whether or not anything
// else happens then.
func TestUnhealthyPortsHealInTime(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.SweepInterval = 0
	m := b.comeUp(cfg)
	var healed []time.Duration
	forward := m.OnAction
	m.OnAction = func(now time.Duration, a manager.Action) {
		if l, ok := a.(manager.Log); ok && l.Msg == "port is healthy again" {
			healed = append(healed, now)
		}
		forward(now, a)
	}
	began := b.Fabric.Now()
	up, down := uplink(n, firstSwitch(b)), n.Nodes[host(n, 9).Node].Ports[1].Peer
	m.complain(up, 10)
	b.pass(1234 * time.Millisecond)
	m.complain(down, 10)
	b.pass(70 * time.Second)
	m.complain(up, 10)
	b.pass(1234 * time.Millisecond)
	m.complain(down, 10)
	b.pass(1234 * time.Millisecond)
	m.complain(up, 1) // not quiet for long enough
	b.pass(3 * settling)
	var want []time.Duration
	for _, after := range []int{60_000, 61_234, 71_234 + 61_234, 71_234 + 62_468} {
		want = append(want, began+time.Duration(after)*time.Millisecond)
	}
	if !slices.Equal(healed, want) {
		t.Errorf("healthy again at %v, want %v", healed, want)
	}
	b.mustBeWhole(m)
}

// TestUnhealthyHost: an unhealthy port of a host causes no sweep, as no route can avoid its link: neither when its
// traps come nor when they have ended.
func TestUnhealthyHost(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	ups := len(m.ups)
	m.complain(host(n, 9), 10)
	b.pass(3 * settling)
	if m.says("port is unhealthy") != 1 || m.says("port is healthy again") != 1 || len(m.ups) > ups {
		t.Errorf("unhealthy %d times, healthy again %d times, %d sweeps", m.says("port is unhealthy"),
			m.says("port is healthy again"), len(m.ups)-ups)
	}
}
