package sim_test

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep/routes"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// adaptive makes switches of NVIDIA's make, one of them with adaptive routing on.
func adaptive(on int32) func(int32, *net.Node, *fabric.Caps) {
	return func(i int32, n *net.Node, c *fabric.Caps) {
		if n.Type == mad.Switch && n.VendorID == 0x2c9 {
			c.NVIDIA, c.AR = true, fabric.AROff
			if i == on {
				c.AR = fabric.AROn
			}
		}
	}
}

// setLog is the Sets of a run that write routes or adaptive routing, in order.
type setLog []fabric.Set

func (l *setLog) onSet(s fabric.Set) {
	switch s.Attr {
	case smp.AttrLinearForwardingTable, smp.AttrARInfo:
		*l = append(*l, s)
	case smp.AttrSwitchInfo:
		if info := smp.SwitchInfo(s.Data); info.LinearFDBTop() != 0 {
			*l = append(*l, s)
		}
	}
}

// holdConfig writes no routes while adaptive routing is on.
func holdConfig() manager.Config {
	cfg := minhopConfig()
	cfg.Sweep.Settings.AR = routes.HoldAR
	return cfg
}

// Where adaptive routing is on and ar_mode is hold, no route is written, on no switch.
func TestAdaptiveRoutingIsLeftAlone(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	var sets setLog
	b := newHarness(t, n, fabric.Config{Seed: 1, OnSet: sets.onSet, Caps: adaptive(2)})
	m := b.comeUp(holdConfig())
	m.mustRest()
	if len(sets) > 0 {
		t.Errorf("%d Sets of routes, the first %+v", len(sets), sets[0])
	}
	if m.says("adaptive routing is on") == 0 || !m.ups[0].Errors {
		t.Error("nothing was said")
	}
}

// A switch that refuses for a while to say whether it is on is taken to have it on still.
func TestAdaptiveRoutingIsNotReported(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	status := mad.StatusOK
	var sets setLog
	b := newHarness(t, n,
		fabric.Config{Seed: 1, OnSet: sets.onSet, Caps: func(i int32, node *net.Node, c *fabric.Caps) {
			if adaptive(2)(i, node, c); i == 2 {
				c.Defect = moods(smp.AttrARInfo, 0, &status)
			}
		}})
	m := b.comeUp(holdConfig())
	status = inNoMood
	m.sweep(manager.Heavy)
	status = mad.StatusOK
	m.sweep(manager.Heavy)
	if len(sets) > 0 {
		t.Errorf("%d Sets of routes, the first %+v", len(sets), sets[0])
	}
}

// When the operator wants it off it is turned off before any route is written.
func TestAdaptiveRoutingIsTurnedOff(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	var sets setLog
	b := newHarness(t, n, fabric.Config{Seed: 1, OnSet: sets.onSet, Caps: adaptive(2)})
	cfg := minhopConfig()
	cfg.Sweep.Settings.AR = routes.DisableAR
	m := b.comeUp(cfg)
	b.mustBeWhole(m)
	if len(sets) == 0 || sets[0].Attr != smp.AttrARInfo || sets[0].Node != 2 {
		t.Errorf("the first Set is %+v", sets[0])
	}
	for _, s := range sets[1:] {
		if s.Attr == smp.AttrARInfo {
			t.Errorf("adaptive routing is set on node %d", s.Node)
		}
	}
}

// A switch that refuses to turn it off, or does not answer, does not forward by its linear
// table: that is left alone.
func TestAdaptiveRoutingStaysOn(t *testing.T) {
	for _, unresponsive := range []bool{false, true} {
		n := nettest.Generate(t, "fattree:k=4")
		const sick = 2
		var sets setLog
		b := newHarness(t, n,
			fabric.Config{Seed: 1, OnSet: sets.onSet, Caps: func(i int32, n *net.Node, c *fabric.Caps) {
				adaptive(sick)(i, n, c)
				defective(sick, refuses(smp.AttrARInfo, unresponsive))(i, n, c)
			}})
		cfg := minhopConfig()
		cfg.Sweep.Settings.AR = routes.DisableAR
		m := b.comeUp(cfg)
		m.mustRest()
		for _, s := range sets {
			if s.Node == sick && s.Attr != smp.AttrARInfo {
				t.Fatalf("unresponsive %v: routes are set: %+v", unresponsive, s)
			}
		}
	}
}

// Attributes of NVIDIA's go to no one else.
func TestVendorAttributes(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for i := range n.Nodes {
		if i%2 == 1 {
			n.Nodes[i].VendorID = 0x1175
		}
	}
	asked := map[int32]int{}
	b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, n *net.Node, c *fabric.Caps) {
		adaptive(-1)(i, n, c)
		c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
			if p.AttrID() >= 0xff00 {
				asked[i]++
			}
			return obey(), true
		}
	}})
	m := b.comeUp(minhopConfig())
	b.mustBeWhole(m)
	for i := range n.Nodes {
		nvidia := n.Nodes[i].VendorID == 0x2c9 && n.Nodes[i].Type == mad.Switch
		if (asked[int32(i)] > 0) != nvidia {
			t.Errorf("%q of vendor %#x was asked %d times", n.Nodes[i].Desc, n.Nodes[i].VendorID, asked[int32(i)])
		}
	}
}
