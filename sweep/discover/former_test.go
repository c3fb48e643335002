package discover

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// TestFormerIsBounded: who was behind ports of switches that are not found is remembered, up to maxFormer of them.
func TestFormerIsBounded(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	w := newWalker(t, n, firstHost(n), fabric.Config{Seed: 1})
	for _, c := range []struct{ before, after int }{{1, 1}, {maxFormer, maxFormer}, {maxFormer + 1, 0}} {
		former := map[Place]Resident{}
		for i := range c.before {
			former[Place{GUID: 0xbad00000 + mad.GUID(i/254), Port: uint8(i%254 + 1)}] = Resident{Node: 1, Agent: 1}
		}
		if got := w.walk(New(Config{Former: former})).Former; len(got) != c.after {
			t.Errorf("of %d places %d are remembered, want %d", c.before, len(got), c.after)
		}
	}
}

// TestFormerOfFewerPorts: a switch that says that it has fewer ports than before ends no walk.
func TestFormerOfFewerPorts(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	w := newWalker(t, n, firstHost(n), fabric.Config{Seed: 1})
	top := w.walk(New(Config{})).Builder.Freeze()
	beyond := Place{GUID: top.Nodes[top.Switches[0]].GUID, Port: top.Nodes[top.Switches[0]].NumPorts + 1}
	former := map[Place]Resident{beyond: {Node: 1, Agent: 1}}
	if got := w.walk(New(Config{Former: former})).Former; got[beyond] != former[beyond] {
		t.Errorf("%v are remembered", got)
	}
	w.meddle = func(req *txn.Request, o *txn.Outcome) {
		if info := (*smp.NodeInfo)(&o.Data); req.Attr == smp.AttrNodeInfo && info.NodeType() == mad.Switch &&
			info.LocalPortNum() < info.NumPorts() {
			info.SetNumPorts(info.NumPorts() - 1)
		}
	}
	w.walk(New(Config{Prev: top}))
}
