package discover

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/sweep/device"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// TestAnswered: ports that have answered a Set are not read where their switch reports no change, and a host's port
// only where the link to it is such a port; where the switch reports a change, or one is suspected, all are.
func TestAnswered(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2") // 4 leaves, 2 spines, 8 hosts
	w := newWalker(t, n, firstHost(n), fabric.Config{Seed: 1})
	record := device.NewRecord()
	walk := func(prev *topo.Topo, answered []bool) *topo.Topo {
		return w.walk(New(Config{Prev: prev, Clear: true, Devices: record, Answered: answered})).Builder.Freeze()
	}
	prev := walk(nil, nil)
	all := w.count[smp.AttrPortInfo]
	answered := make([]bool, len(prev.Ports))
	of := func(wanted func(p *topo.Port) bool) []bool {
		clear(answered)
		for i := range prev.Ports {
			answered[i] = wanted(&prev.Ports[i])
		}
		return answered
	}
	isSwitch := func(p *topo.Port) bool { return prev.Nodes[p.Node].Type == mad.Switch }
	switches := of(isSwitch)
	ports := 0
	for _, is := range switches {
		if is {
			ports++
		}
	}
	for _, c := range []struct {
		name     string
		answered func(p *topo.Port) bool
		before   func()
		read     int
	}{
		{"none", func(*topo.Port) bool { return false }, nil, all},
		{"all", func(*topo.Port) bool { return true }, nil, 1}, // our own
		{"those of switches", isSwitch, nil, all - ports},
		{"those of hosts", func(p *topo.Port) bool { return !isSwitch(p) }, nil, all},
		{"all, and our leaf is suspected", func(*topo.Port) bool { return true }, func() {
			record.MarkDirty(device.Place{Attr: smp.AttrPortInfo, Node: prev.Nodes[prev.Switches[0]].GUID})
		}, 5 + 2}, // the leaf's, and those of the hosts on it
		{"all, and a link of another leaf went down and up", func(*topo.Port) bool { return true }, func() {
			record.WalkBegins()
			record.WalkEnds()
			w.fabric.LinkDown(net.End{Node: int32(len(n.Nodes) - 1), Port: 1})
			w.fabric.LinkUp(net.End{Node: int32(len(n.Nodes) - 1), Port: 1})
		}, 1 + 5 + 2},
	} {
		if c.before != nil {
			c.before()
		}
		got := walk(prev, of(c.answered))
		if w.count[smp.AttrPortInfo] != c.read {
			t.Errorf("%s: %d ports are read, want %d of %d", c.name, w.count[smp.AttrPortInfo], c.read, all)
		}
		if len(got.Nodes) != len(prev.Nodes) || len(got.Ports) != len(prev.Ports) {
			t.Errorf("%s: %d nodes, %d ports", c.name, len(got.Nodes), len(got.Ports))
		}
	}
}
