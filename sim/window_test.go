package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/txn"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// speeds are how long agents take for an SMP, in microseconds: those of switches, of the switch next to the
// manager, and of adapters.
type speeds struct{ switches, leaf, adapters time.Duration }

// caps gives the agents of a fabric their speeds.
func (s speeds) caps(n *net.Net) func(int32, *net.Node, *fabric.Caps) {
	leaf := fabric.New(n, fabric.Config{}).Peer(firstHost(n)).Node
	return func(i int32, node *net.Node, c *fabric.Caps) {
		takes := s.adapters
		switch {
		case i == leaf:
			takes = s.leaf
		case node.Type == mad.Switch:
			takes = s.switches
		}
		c.SMATime = takes * time.Microsecond
	}
}

// TestDevicesDiffer: where switches pass SMPs on in hardware, and devices differ in speed, a subnet comes up in at most
// a tenth more time than the fabric allows, and no agent drops an SMP. What the fabric allows is the time of the same
// manager with max_wire_smps 32, its bound without a choice: then nothing but that, the two requests to a device, and
// the two to unknown ones, holds SMPs back, however long round trips are.
func TestDevicesDiffer(t *testing.T) {
	for _, spec := range []string{"fattree:k=16,levels=2", "fattree:k=8", "torus:dims=16,hosts=2"} {
		for _, s := range []speeds{{20, 20, 20}, {20, 20, 45}, {20, 20, 60}, {20, 20, 150}, {40, 20, 20}, {20, 60, 20},
			{100, 20, 30}} {
			n := nettest.Generate(t, spec)
			devices := fabric.Config{SMA: slowAgents, Latency: 10 * time.Microsecond, Caps: s.caps(n)}
			took, dropped, _ := slowBringUp(t, n, devices, txn.Config{})
			allows, _, _ := slowBringUp(t, n, devices, txn.Config{MaxWindow: 32, Chosen: true})
			t.Logf("%s %v: %v, the fabric allows %v", spec, s, took, allows)
			if took == 0 || dropped > 0 || float64(took) > 1.1*float64(allows) {
				t.Errorf("%s, %v: up after %v, %d SMPs dropped; the fabric allows %v", spec, s, took, dropped, allows)
			}
		}
	}
}

// TestDevicesDifferInAgents: where agents pass SMPs on, and devices differ in speed, the window stays at 4, so that no
// agent drops an SMP; a subnet comes up as soon as with OpenSM's window, or a hundredth later.
func TestDevicesDifferInAgents(t *testing.T) {
	sma := slowAgents
	sma.Transit = true
	for _, spec := range []string{"fattree:k=8,levels=2", "torus:dims=16,hosts=2"} {
		for _, s := range []speeds{{20, 20, 45}, {20, 20, 150}, {40, 20, 20}, {20, 60, 20}, {10, 10, 150}} {
			n := nettest.Generate(t, spec)
			devices := fabric.Config{SMA: sma, Latency: 10 * time.Microsecond, Caps: s.caps(n)}
			took, dropped, _ := slowBringUp(t, n, devices, txn.Config{})
			opensm, _, _ := slowBringUp(t, n, devices, fixedWindow(4))
			t.Logf("%s %v: %v, OpenSM's window %v", spec, s, took, opensm)
			if took == 0 || dropped > 0 || float64(took) > 1.01*float64(opensm) {
				t.Errorf("%s, %v: up after %v, %d SMPs dropped; with a window of 4 %v", spec, s, took, dropped, opensm)
			}
		}
	}
}

// TestLossesAfterATrial: losses shrink the window also where a trial has shown hardware.
func TestLossesAfterATrial(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=16,levels=2")
	b := newHarness(t, n, fabric.Config{Seed: 1, SMA: slowAgents, Latency: 10 * time.Microsecond,
		Caps: speeds{20, 20, 150}.caps(n)})
	m := b.comeUp(minhopConfig())
	if st := m.Core.Stats().Txn; st.PathLimited || st.Window < 16 {
		t.Fatalf("a window of %d before", st.Window)
	}
	b.Fabric.SetFaults(fabric.Faults{Loss: 0.05})
	m.sweep(manager.Heavy)
	b.pass(2 * time.Second)
	if st := m.Core.Stats().Txn; st.Cuts == 0 || st.Window >= 16 {
		t.Errorf("a window of %d after %d cuts", st.Window, st.Cuts)
	}
}
