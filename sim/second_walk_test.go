package sim_test

import (
	"os"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// TestSecondWalk: a subnet comes up with no port read twice that has answered a Set.
func TestSecondWalk(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	b.mustBeWhole(m)
	ports := 0
	for i := range n.Nodes {
		if ports += n.Nodes[i].NumPorts(); n.Nodes[i].Type == mad.Switch {
			ports++
		}
	}
	gets := uint64(0)
	for k, count := range b.Fabric.Stats().SMPs {
		if k.Method == mad.MethodGet && k.Attr == smp.AttrPortInfo {
			gets += count
		}
	}
	if sweeps := m.Core.Stats().Sweeps[manager.HeavySweep]; sweeps != 2 || gets > uint64(ports+10) {
		t.Errorf("%d heavy sweeps, %d Gets of PortInfo of %d ports", sweeps, gets, ports)
	}
}

// TestChangeBeforeCleared: what changes between the first walk and the moment when PortStateChange is
// cleared is found, though no trap reports it, and what changes after that as well. The regular sweep is off.
func TestChangeBeforeCleared(t *testing.T) {
	const spec = "fattree:k=4"
	step := 7
	if os.Getenv("IBSM_PROOF") != "" {
		step = 1
	}
	swap := func(f *fabric.Fabric, n *net.Net) {
		a, b := host(n, 6), host(n, 11)
		far, farther := f.Peer(a), f.Peer(b)
		f.Unplug(a)
		f.Plug(a, farther, mad.Width4x, mad.EDR)
		f.Plug(b, far, mad.Width4x, mad.EDR)
	}
	for name, change := range ordered(map[string]func(f *fabric.Fabric, n *net.Net){
		"two hosts change places": swap,
		"a host restarts":         func(f *fabric.Fabric, n *net.Net) { f.Reboot(host(n, 6).Node) },
		"a leaf restarts":         func(f *fabric.Fabric, n *net.Net) { f.Reboot(f.Peer(host(n, 6)).Node) },
		"a spine restarts":        func(f *fabric.Fabric, n *net.Net) { f.Reboot(spine(n)) },
		"a host's link goes down": func(f *fabric.Fabric, n *net.Net) { f.LinkDown(host(n, 6)) },
		"a link between switches goes down": func(f *fabric.Fabric, n *net.Net) {
			f.LinkDown(uplink(n, f.Peer(host(n, 6)).Node))
		},
		"a link between switches goes round": func(f *fabric.Fabric, n *net.Net) {
			at := uplink(n, f.Peer(host(n, 6)).Node)
			f.LinkDown(at)
			f.LinkUp(at)
		},
	}) {
		t.Run(name, func(t *testing.T) {
			for after, more := 1, true; more; after += step {
				n := nettest.Generate(t, spec)
				sent := 0
				b := newHarness(t, n, fabric.Config{Seed: 1, TrainTime: 2 * time.Microsecond, OnSet: func(fabric.Set) {
					sent++
				}})
				cfg := minhopConfig()
				cfg.SweepInterval = 0
				m := b.add(firstHost(n), cfg)
				more = b.Run(settling, func() bool { return sent >= after || len(m.ups) > 0 }) && len(m.ups) == 0
				change(b.Fabric, n)
				b.pass(settling)
				for _, fault := range b.judge(m.View) {
					t.Errorf("after %d Sets: %s", after, fault)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// TestChangeClearedByDuplicate: a trap has the ports of its switch read, also when a late duplicate of a Set has
// cleared PortStateChange before anybody read it.
func TestChangeClearedByDuplicate(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.SweepInterval = 0
	m := b.comeUp(cfg)
	at := host(n, 6)
	b.Fabric.LinkDown(at)
	b.pass(settling)
	st, err := b.Fabric.Attach(host(n, 7)) // on the same leaf
	if err != nil {
		t.Fatal(err)
	}
	defer st.Detach()
	b.Fabric.LinkUp(at)
	info := b.Fabric.SwitchInfo(b.Fabric.Peer(at).Node)
	if !info.PortStateChange() {
		t.Fatal("no change")
	}
	var d mad.Datagram
	route := mad.MakeRoute(1)
	d.Packet.SetDirected(&route, mad.MethodSet, smp.AttrSwitchInfo, 0)
	*d.Packet.Data() = info
	st.Send([]mad.Datagram{d})
	b.pass(settling)
	b.mustBeWhole(m)
}
