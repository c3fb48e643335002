package sweep

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// adaptiveSwitches are Caps: switches have adaptive routing, which is off.
func adaptiveSwitches(_ int32, n *net.Node, c *fabric.Caps) {
	if n.Type == mad.Switch {
		c.NVIDIA, c.AR = true, fabric.AROff
	}
}

// adaptive is how many of some switches forward by their groups.
func (b *harness) adaptive(switches ...int32) (count int) {
	for _, s := range switches {
		if b.fabric.AdaptiveRoutes(s) {
			count++
		}
	}
	return count
}

// TestGroupsOfUnheard: groups to a port that did not answer when they were first seen, or had just booted and had no
// LID, stay when it has its LID again, which the tables have led to all along; also where another switch forwards by
// its table meanwhile.
func TestGroupsOfUnheard(t *testing.T) {
	for _, c := range []struct {
		name                   string
		of                     mad.NodeType
		boots, restored, loses bool
	}{
		{name: "a host does not answer", of: mad.CA},
		{name: "a host does not answer, and a switch loses adaptive routing", of: mad.CA, loses: true},
		{name: "a host has just booted", of: mad.CA, boots: true},
		{name: "a host has just booted, and the manager has restarted", of: mad.CA, boots: true, restored: true},
		{name: "a switch has just booted", of: mad.Switch, boots: true},
		{name: "a switch has just booted, and the manager has restarted", of: mad.Switch, boots: true, restored: true},
	} {
		n := nettest.Generate(t, "fattree:k=4")
		b := newHarnessWith(t, n, Config{}, adaptiveSwitches)
		b.heavy()
		b.heavy()
		var switches []int32
		for i := range n.Nodes {
			if n.Nodes[i].Type == mad.Switch {
				b.fabric.AdaptiveOn(int32(i), false)
				switches = append(switches, int32(i))
			}
		}
		victim, unresponsive := b.node(c.of, 6), true
		b.meddle = func(req *txn.Request, o *txn.Outcome) {
			if !c.boots && unresponsive && req.Attr == smp.AttrNodeInfo && o.Result == txn.Replied &&
				(*smp.NodeInfo)(&o.Data).NodeGUID() == n.Nodes[victim].GUID {
				o.Result = txn.TimedOut
			}
		}
		if c.restored {
			b.cfg.Restored.LIDs = b.state.lids
			b.Sweeper = New(b.cfg)
		} else {
			b.Abdicate()
		}
		if c.boots {
			b.fabric.Reboot(victim)
			b.fabric.Advance(b.fabric.Now() + 5*time.Second)
		}
		b.heavy()
		want := len(switches)
		if c.of == mad.Switch {
			want--
		}
		if c.loses {
			core := switches[slices.IndexFunc(switches, func(s int32) bool {
				return !slices.ContainsFunc(n.Nodes[s].Ports, func(p net.Port) bool {
					return p.Peer != net.NoEnd && n.Nodes[p.Peer.Node].Type == mad.CA
				})
			})]
			b.fabric.Reboot(core)
			b.fabric.Advance(b.fabric.Now() + 5*time.Second)
			b.heavy()
			if want = b.adaptive(switches...); want == 0 || want == len(switches) {
				t.Fatalf("%s: %d switches have adaptive routing on", c.name, want)
			}
		}
		unresponsive = false
		for range 2 {
			b.heavy()
		}
		if got := b.adaptive(switches...); got != want {
			t.Errorf("%s: adaptive routing is on at %d switches, not at %d", c.name, got, want)
		}
	}
}
