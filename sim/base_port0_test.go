package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// A manager at the base port 0 of a switch, which has neither a state nor a link, brings up a
// subnet, and answers at once where it takes one over.
func TestManagerAtBasePort0(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	at := net.End{Node: firstHost(n).Node, Port: 0}
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.Switch {
			n.Nodes[i].EnhancedPort0 = false
			at.Node = min(at.Node, int32(i))
		}
	}
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.add(at, minhopConfig())
	t.Cleanup(m.dump)
	b.pass(settling)
	b.mustBeWhole(m)
	b.Kill(m.Manager)
	again := b.add(at, minhopConfig())
	t.Cleanup(again.dump)
	before, first := b.sets(), uint64(0)
	forward := again.OnAction
	again.OnAction = func(now time.Duration, a manager.Action) {
		if p, is := a.(manager.Publish); is && p.View != nil && first == 0 {
			first = 1 + b.sets() - before
		}
		forward(now, a)
	}
	b.pass(settling)
	b.mustBeWhole(again)
	if first != 1 {
		t.Errorf("%d Sets before the first view", int(first)-1)
	}
}
