package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// After one change a quick walk asks each switch once, and little more.
func TestQuickWalk(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8")
	b := newHarness(t, n, fabric.Config{Seed: 1, TrainTime: 5 * time.Millisecond})
	cfg := minhopConfig()
	cfg.SweepInterval = 0
	m := b.comeUp(cfg)
	const switches = 80
	sw := b.Fabric.Peer(host(n, 7)).Node
	events := []struct {
		name  string
		begin func()
		asks  int // Gets allowed beyond one a switch and sweep
	}{
		// the trap of one end comes when its change has been read
		{"a link between switches down", func() { b.Fabric.LinkDown(uplink(n, sw)) }, 40},
		{"and up", func() { b.Fabric.LinkUp(uplink(n, sw)) }, 30},
		{"a host's link down", func() { b.Fabric.LinkDown(host(n, 7)) }, 15},
		// two for its P_Keys, its description once more, and SwitchInfo because of the trap
		{"and up", func() { b.Fabric.LinkUp(host(n, 7)) }, 19},
		{"a host reboots", func() { b.Fabric.Reboot(host(n, 9).Node) }, 30},
		{"a switch reboots", func() { b.Fabric.Reboot(sw) }, 160},
	}
	for _, ev := range events {
		b.Fabric.ResetStats()
		ups := len(m.ups)
		at := b.Fabric.Now()
		ev.begin()
		b.Run(at+settling, func() bool {
			_, bad := b.Fabric.FirstNotActive()
			return !bad && len(m.ups) > ups && b.Fabric.Now() > at+20*time.Millisecond
		})
		took := b.Fabric.Now() - at
		b.pass(time.Second)
		b.mustBeWhole(m)
		sweeps := len(m.ups) - ups
		t.Logf("%s: %d sweeps, %d SMPs, ACTIVE after %v: %s", ev.name, sweeps, total(b.Fabric), took, asked(b.Fabric))
		if got := total(b.Fabric) - int(b.sets()) - sweeps*switches; got > ev.asks {
			t.Errorf("%s: %d Gets beyond one a switch and sweep, want at most %d", ev.name, got, ev.asks)
		}
	}
}

// What a quick walk believes is what a full one finds.
func TestQuickWalkFindsTheSame(t *testing.T) {
	for _, spec := range []string{"fattree:k=4", "torus:dims=3x3,hosts=2",
		"random:switches=12,degree=4,hosts=2,seed=3"} {
		t.Run(spec, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			n := nettest.Generate(t, spec)
			b := newHarness(t, n, fabric.Config{Seed: 1, TrainTime: 5 * time.Millisecond})
			cfg := minhopConfig()
			cfg.SweepInterval = 0
			m := b.comeUp(cfg)
			self := b.Fabric.Peer(firstHost(n))
			for range 40 {
				change(b, rng, self.Node)
				b.pass(2 * time.Second)
				quick := m.View
				m.sweep(manager.Heavy)
				if text := difference(quick.Topo, m.View.Topo); text != "" {
					t.Fatal(text)
				}
				b.mustBeWhole(m)
			}
		})
	}
}

// change does one thing to the fabric, not to the manager's own switch as a whole.
func change(b *harness, rng *rand.Rand, own int32) {
	at := b.endOfCable(rng)
	node := int32(rng.IntN(len(b.net.Nodes)))
	for node == own || node == firstHost(b.net).Node {
		node = int32(rng.IntN(len(b.net.Nodes)))
	}
	switch rng.IntN(4) {
	case 0:
		b.Fabric.LinkDown(at)
	case 1:
		b.Fabric.Reboot(node)
	default:
		for at := range b.Fabric.Ports() {
			b.Fabric.LinkUp(at)
		}
	}
}

// endOfCable is a switch's end of some cable, not the manager's.
func (b *harness) endOfCable(rng *rand.Rand) net.End {
	for {
		node := rng.IntN(len(b.net.Nodes))
		n := &b.net.Nodes[node]
		num := 1 + rng.IntN(n.NumPorts())
		at := net.End{Node: int32(node), Port: uint8(num)}
		if n.Type == mad.Switch && n.Ports[num].Peer.Node >= 0 && n.Ports[num].Peer != firstHost(b.net) {
			return at
		}
	}
}

// difference names the first thing in which two topos differ, routes apart: a quick
// walk may come by another way.
func difference(a, b *topo.Topo) string {
	if len(a.Nodes) != len(b.Nodes) || len(a.Ports) != len(b.Ports) {
		return fmt.Sprintf("%d nodes and %d ports, but %d and %d", len(a.Nodes), len(a.Ports), len(b.Nodes),
			len(b.Ports))
	}
	for i := range a.Nodes {
		x, y := a.Nodes[i], b.Nodes[i]
		x.Route, y.Route = mad.Route{}, mad.Route{}
		x.Info.SetLocalPortNum(0)
		y.Info.SetLocalPortNum(0)
		if x.Type != mad.Switch { // the port that answered depends on the way
			x.Info.SetPortGUID(0)
			y.Info.SetPortGUID(0)
		}
		if x != y {
			return fmt.Sprintf("node %v: %+v, but %+v", x.GUID, x, y)
		}
	}
	for i := range a.Ports {
		x, y := a.Ports[i], b.Ports[i]
		x.Info.SetLocalPortNum(0)
		y.Info.SetLocalPortNum(0)
		if x != y {
			return fmt.Sprintf("node %v port %d: %+v, but %+v", a.Nodes[x.Node].GUID, x.Num, x, y)
		}
	}
	return ""
}

// TestCapabilitiesChange: a port that says that its capabilities have changed costs a request to each switch and one to
// the port, whose capabilities are known then.
func TestCapabilitiesChange(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.SweepInterval, cfg.Sweep.IgnoreOtherSM = 0, true // nobody would answer SMInfo
	m := b.comeUp(cfg)
	at, err := b.Fabric.Attach(host(n, 7))
	if err != nil {
		t.Fatal(err)
	}
	const switches = 80
	for _, is := range []bool{true, false} {
		b.Fabric.ResetStats()
		at.SetIsSM(is)
		b.pass(settling)
		const most = switches + 4 // ports of both ends of the walk, the NodeInfo of its own node, the trap
		if got := total(b.Fabric); got > most {
			t.Errorf("IsSM %t: %s; want at most %d", is, asked(b.Fabric), most)
		}
		p := m.View.Topo.FindPort(b.Fabric.PortGUID(host(n, 7)))
		if got := m.View.Topo.Ports[p].Info.CapabilityMask().Has(smp.IsSM); got != is {
			t.Errorf("IsSM is known to be %t, want %t", got, is)
		}
		b.mustBeWhole(m)
	}
}
