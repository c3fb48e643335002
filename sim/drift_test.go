package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// losing takes away one cable after the other, so that the routes of the engine tree become uneven.
func losing(b *harness, n *net.Net) {
	for i := range 6 {
		leaf := n.Nodes[host(n, 6*i+1).Node].Ports[1].Peer.Node
		for port := range n.Nodes[leaf].Ports {
			if peer := n.Nodes[leaf].Ports[port].Peer.Node; peer >= 0 && n.Nodes[peer].Type == mad.Switch && (port+i)%3 == 0 {
				b.Fabric.LinkDown(net.End{Node: leaf, Port: uint8(port)})
				b.pass(time.Second)
			}
		}
	}
}

// TestDrift: routes that have drifted from fresh ones are offered once, in the log and to whoever is notified. In the maintenance window, and not before, all are
// computed afresh, once. Nothing is measured while routes change, and a sweep that computes routes ends what is being measured.
func TestDrift(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=12,levels=2")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.ComputeTime = 100 * time.Millisecond
	cfg := chainConfig(t, engines.Settings{}, "tree")
	cfg.Maintenance.Threshold = 10
	m := b.add(host(n, 0), cfg)
	var drifted []manager.Drifted
	measures, ended := 0, 0
	m.OnAction = func(now time.Duration, a manager.Action) {
		m.took(now, a)
		switch a := a.(type) {
		case manager.Measure:
			measures++
		case manager.EndMeasure:
			ended++
		case manager.Drifted:
			drifted = append(drifted, a)
		}
	}
	b.pass(settling + time.Minute)
	b.mustBeWhole(m)
	if len(drifted) != 1 || drifted[0].Percent() != 0 || drifted[0].Offered || drifted[0].Engine != "tree" || drifted[0].Fullest != drifted[0].BestFullest {
		t.Fatalf("%+v", drifted)
	}
	losing(b, n)
	if measures != 1 {
		t.Errorf("%d were measured while routes changed", measures)
	}
	b.pass(2 * time.Minute)
	last := drifted[len(drifted)-1]
	if measures != 2 || len(drifted) != 2 || !last.Offered || last.Percent() <= 10 || m.says("WARN", "better routes are offered") != 1 {
		t.Fatalf("%d measured, %+v", measures, last.Drift)
	}
	m.sweep(manager.Heavy)
	b.pass(2 * time.Minute)
	if measures != 2 || m.says("WARN", "better routes are offered") != 1 {
		t.Errorf("%d measured, although nothing has changed", measures)
	}
	before := b.lfts()
	now := b.Fabric.Now() // time of day, as it begins at midnight
	cfg.Maintenance.From, cfg.Maintenance.To = (now + 10*time.Minute).Truncate(time.Second), (now + 20*time.Minute).Truncate(time.Second)
	b.Configure(m.Manager, cfg)
	b.pass(9 * time.Minute)
	if len(changed(before, b.lfts())) > 0 {
		t.Fatal("routes change before the window")
	}
	b.pass(4 * time.Minute)
	b.mustBeWhole(m)
	last = drifted[len(drifted)-1]
	if len(drifted) != 3 || last.Offered || last.Percent() != 0 || m.says("INFO", "maintenance window") != 1 || len(changed(before, b.lfts())) == 0 {
		t.Errorf("in the window: %d measured, %+v", measures, last.Drift)
	}
	b.pass(20 * time.Minute)
	if m.says("INFO", "maintenance window") != 1 || measures != 3 || ended != 0 {
		t.Errorf("after it: %d measured, %d ended", measures, ended)
	}
	leaf := n.Nodes[host(n, 40).Node].Ports[1].Peer.Node
	b.Fabric.LinkDown(uplink(n, leaf))
	b.Run(b.Fabric.Now()+time.Minute, func() bool { return measures == 4 })
	b.Fabric.LinkUp(uplink(n, leaf))
	b.pass(2 * time.Minute)
	if ended != 1 || measures != 5 {
		t.Errorf("a sweep beside it: %d ended, %d measured", ended, measures)
	}
}
