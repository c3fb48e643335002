package sim_test

import (
	"fmt"
	"testing"

	"ibsm/ctl/ctltest"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/sim/fabric"
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
			if ctltest.HasReason(d, "credit loop", "in a credit loop of 5 links") {
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
	if m.says("no credit loop any more") != 1 || m.ups[len(m.ups)-1].CreditLoop != 0 {
		t.Error("a chain has a credit loop")
	}
}

// TestCreditLoopTakenOver: tables of another manager, which are kept, get an error, because they
// may be free of credit loops with SLs that nobody knows now.
func TestCreditLoopTakenOver(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=5,hosts=1")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.comeUp(minhopConfig()).retire()
	m := b.add(host(n, 1), minhopConfig())
	b.pass(settling)
	if m.says("the routes of another manager are kept", "ERROR") != 1 {
		t.Error("it is not said")
	}
}
