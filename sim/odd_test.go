package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// mustBeActive fails the test unless every link is ACTIVE, but for those of the nodes
// that are left out.
func (b *harness) mustBeActive(leftOut ...int32) {
	b.Helper()
	out := map[int32]bool{}
	for _, node := range leftOut {
		out[node] = true
	}
	for at := range b.Fabric.Ports() {
		peer := b.Fabric.Peer(at)
		pi := b.Fabric.PortInfo(at)
		if peer != net.NoEnd && !out[at.Node] && !out[peer.Node] && pi.PortState() != smp.PortActive {
			b.Errorf("port %v of %q is %v", at, b.net.Nodes[at.Node].Desc, pi.PortState())
		}
	}
}

// mustRest fails the test where heavy sweeps follow each other without an end.
func (w *watched) mustRest() {
	w.harness.Helper()
	w.mustSweepAtMost(20)
}

// mustSweepAtMost fails the test where there are more heavy sweeps in two minutes.
func (w *watched) mustSweepAtMost(limit int) {
	w.harness.Helper()
	before := len(w.ups)
	w.harness.pass(2 * time.Minute)
	if n := len(w.ups) - before; n > limit {
		w.harness.Errorf("%d heavy sweeps in two minutes of quiet", n)
	}
}

// Two adapters with the same GUIDs: it is logged once, and the rest comes up.
func TestDuplicateHost(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	duplicate := host(n, 7)
	n.Nodes[duplicate.Node].GUID = n.Nodes[host(n, 4).Node].GUID
	n.Nodes[duplicate.Node].Ports[1].GUID = n.Nodes[host(n, 4).Node].Ports[1].GUID
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	m.mustSweepAtMost(2)
	b.mustBeActive(host(n, 4).Node, duplicate.Node)
	if logged := m.says("Found duplicated node GUID"); logged != 1 {
		t.Errorf("logged %d times", logged)
	}
}

// Two adapters with one port GUID.
func TestDuplicatePort(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	duplicate := host(n, 7)
	n.Nodes[duplicate.Node].Ports[1].GUID = n.Nodes[host(n, 4).Node].Ports[1].GUID
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	m.mustSweepAtMost(2)
	b.mustBeActive(host(n, 4).Node, duplicate.Node)
	if logged := m.says("Found duplicated port GUID"); logged != 1 {
		t.Errorf("logged %d times", logged)
	}
}

// Two switches with one GUID, cabled alike and not.
func TestDuplicateSwitch(t *testing.T) { duplicateSwitch(t, func(*net.Node, *net.Node) {}) }

// The same with one SystemImageGUID, as the chips of a director have: they differ in nothing
// but their links.
func TestDuplicateSwitchOfDirector(t *testing.T) {
	duplicateSwitch(t, func(a, z *net.Node) { z.SystemImageGUID = a.SystemImageGUID })
}

func duplicateSwitch(t *testing.T, alike func(a, z *net.Node)) {
	for name, count := range ordered(map[string]int{"same ports": 0, "other ports": 2}) {
		t.Run(name, func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=8,levels=2")
			a := spine(n)
			z := a + 1
			n.Nodes[z].GUID, n.Nodes[z].Ports[0].GUID = n.Nodes[a].GUID, n.Nodes[a].Ports[0].GUID
			alike(&n.Nodes[a], &n.Nodes[z])
			b := newHarness(t, n, fabric.Config{Seed: 1})
			for num := 1; num <= count; num++ { // what the one has, the other lacks
				b.Fabric.LinkDown(net.End{Node: a, Port: uint8(num)})
				b.Fabric.LinkDown(net.End{Node: z, Port: uint8(8 - num + 1)})
			}
			m := b.comeUp(minhopConfig())
			m.mustSweepAtMost(2)
			if m.says("Found duplicated node GUID") == 0 {
				t.Error("it was not logged")
			}
			for at := range b.Fabric.Ports() {
				peer := b.Fabric.Peer(at)
				if pi := b.Fabric.PortInfo(at); peer != net.NoEnd && n.Nodes[at.Node].Type == mad.CA &&
					pi.PortState() != smp.PortActive {
					t.Errorf("port %v is %v", at, pi.PortState())
				}
			}
		})
	}
}

// A loopback plug, and a cable from a switch to itself.
func TestLoopback(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for range 3 {
		n.Nodes[2].Ports = append(n.Nodes[2].Ports, net.Port{Peer: net.NoEnd})
	}
	for _, tt := range []struct {
		name string
		a, z uint8
		text string
	}{{"plug", 5, 5, "loopback plug"}, {"cable", 6, 7, "ports 6 and 7"}} {
		t.Run(tt.name, func(t *testing.T) {
			b := newHarness(t, n, fabric.Config{Seed: 1})
			b.Fabric.Plug(net.End{Node: 2, Port: tt.a}, net.End{Node: 2, Port: tt.z}, mad.Width4x, mad.HDR)
			m := b.comeUp(minhopConfig())
			m.mustRest()
			m.sweep(manager.Heavy)
			b.mustBeWhole(m)
			if logged := m.says(tt.text); logged != 1 {
				t.Errorf("logged %d times", logged)
			}
			before := b.sets()
			m.sweep(manager.Heavy)
			if b.sets() != before {
				t.Errorf("%d Sets in a sweep over an unchanged fabric", b.sets()-before)
			}
		})
	}
}

// An enhanced port 0 goes through the states of a port, but where it does not the switch is
// as good as any other: no sweep follows another for it.
func TestPort0StaysInInit(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, honest := range []bool{false, true} {
		b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(_ int32, n *net.Node, c *fabric.Caps) {
			c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
				info := (*smp.PortInfo)(p.Data())
				if n.Type != mad.Switch || p.AttrID() != smp.AttrPortInfo || uint8(p.AttrMod()) != 0 {
					return obey(), true
				}
				state := info.PortState()
				if honest && p.Method() == mad.MethodSet && state != smp.PortNoChange {
					return mad.StatusBadField, true
				}
				info.SetPortState(smp.PortNoChange)
				return obey(), true
			}
		}})
		m := b.comeUp(minhopConfig())
		for i, up := range m.ups {
			if up.Failures > 0 {
				t.Errorf("honest %v: %d failures in sweep %d", honest, up.Failures, i)
			}
		}
		m.mustSweepAtMost(0)
		b.mustConnectHosts()
		if len(m.View.Findings) == 0 {
			t.Error("nothing was said")
		}
	}
}

// A base port 0 has no link and no state: what its PortInfo says there does not count.
func TestBasePort0(t *testing.T) {
	for _, state := range []smp.PortState{smp.PortNoChange, smp.PortDown, smp.PortInit, smp.PortArmed} {
		t.Run(state.String(), func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4")
			for i := range n.Nodes {
				n.Nodes[i].EnhancedPort0 = false
			}
			b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(_ int32, n *net.Node, c *fabric.Caps) {
				c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
					status := obey()
					if n.Type == mad.Switch && p.AttrID() == smp.AttrPortInfo && uint8(p.AttrMod()) == 0 {
						(*smp.PortInfo)(p.Data()).SetPortState(state)
					}
					return status, true
				}
			}})
			m := b.comeUp(minhopConfig())
			if first := m.ups[0]; first.Errors || first.Failures > 0 {
				t.Errorf("%d failures in the first sweep", first.Failures)
			}
			before := b.sets()
			m.sweep(manager.Heavy)
			if b.sets() != before {
				t.Errorf("%d Sets in a sweep over an unchanged fabric", b.sets()-before)
			}
			b.mustConnectHosts()
		})
	}
}
