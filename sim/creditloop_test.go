package sim_test

import (
	"fmt"
	"testing"
	"time"

	"ibsm/ctl/ctltest"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/registry"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/engines"
	"ibsm/topo/net/nettest"
)

// TestCreditLoop: shortest routes in a ring of five switches form a credit loop (each packet
// over two links waits in the first for the second). It is logged once, each of its ports says
// so, and it ends with a link.
func TestCreditLoop(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=5,hosts=1")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	b.mustBeWhole(m)
	m.sweep(manager.Heavy)
	const text = "the routes have a credit loop"
	if m.says(text, "WARN") != 1 {
		t.Errorf("logged %d times", m.says(text, "WARN"))
	}
	ports := 0
	for i := range n.Nodes {
		for num := range n.Nodes[i].Ports {
			if n.Nodes[i].Type != mad.Switch || num == 0 {
				continue
			}
			d := ctltest.Diagnose(t, server.Show(m.View), fmt.Sprintf("%s:%d", n.Nodes[i].Desc, num), "")
			if ctltest.HasReason(d, "credit loop", "in a credit loop: 5 links") {
				ports++
			}
			if !d.Works && d.State == "Active" {
				t.Errorf("%+v", d)
			}
		}
	}
	if ports != 5 || m.ups[len(m.ups)-1].CreditLoop != 5 {
		t.Errorf("%d ports say so, the sweep %+v", ports, m.ups[len(m.ups)-1])
	}
	b.Fabric.LinkDown(uplink(n, 0))
	b.pass(settling)
	if m.says("ended: the routes have a credit loop") != 1 || m.ups[len(m.ups)-1].CreditLoop != 0 {
		t.Error("a chain has a credit loop")
	}
}

// TestCreditLoopTakenOver: tables of another manager, which are kept, get SLs without a credit loop
// where ports have lanes. Where they have one, there is an error, because packets may have had SLs that
// nobody knows now.
func TestCreditLoopTakenOver(t *testing.T) {
	for lanes, level := range ordered(map[uint8]string{1: "ERROR", 5: "WARN"}) {
		n := nettest.Generate(t, "torus:dims=5,hosts=1")
		b := newHarness(t, n, fabric.Config{Seed: 1})
		cfg := minhopConfig()
		cfg.Sweep.Settings.MaxOpVLs = sweep.Given(lanes)
		b.comeUp(cfg).retire()
		m := b.add(host(n, 1), cfg)
		b.pass(settling)
		if m.says("the routes of another manager are kept", level) != 1 {
			t.Errorf("OperationalVLs %d: it is not said", lanes)
		}
		if m.says("existing connections keep theirs", level) != 1 {
			t.Errorf("OperationalVLs %d: nothing is said of the connections that there are", lanes)
		}
	}
}

// TestTreesProved: routes in force are proved with the multicast trees that joins make, before any heavy sweep. In a
// ring of five, lash has no credit loop with two lanes; a tree over all switches on one of these closes one.
func TestTreesProved(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=5,hosts=1")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.ProveTrees = true
	c := newChoir(b, chainConfig(t, engines.Settings{}, "lash"))
	var loops []manager.TreeLoop
	tasks := 0
	forward := c.m.OnAction
	c.m.OnAction = func(now time.Duration, a manager.Action) {
		switch a := a.(type) {
		case manager.Task:
			if a.Purpose == manager.ForTrees {
				tasks++
			}
		case manager.TreeLoop:
			loops = append(loops, a)
		}
		forward(now, a)
	}
	const says = "multicast trees and routes between hosts have a credit loop"
	// change expects one proof of what is registered, and no heavy sweep.
	change := func(links bool) {
		t.Helper()
		sweeps := len(c.m.ups)
		loops, tasks = nil, 0
		c.sing()
		c.pass(2 * time.Second)
		if tasks != 1 || len(loops) != 1 || (loops[0].Links > 0) != links || (loops[0].Text != "") != links ||
			len(c.m.ups) != sweeps {
			t.Errorf("%d proofs, %+v after %d sweeps, want a loop %t", tasks, loops, len(c.m.ups)-sweeps, links)
		}
	}
	c.group(0, 0)
	for i := range 5 {
		c.join(0, host(n, i), registry.FullMember)
	}
	change(true)
	if c.m.says(says, "WARN") != 1 {
		t.Errorf("the loop was logged %d times", c.m.says(says, "WARN"))
	}
	for i := range 4 {
		c.leave(0, host(n, i))
	}
	change(false)
	tasks = 0
	c.sing()
	c.pass(2 * time.Second)
	if tasks != 0 {
		t.Error("the same trees are proved again")
	}
}
