package sweep

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/topo/netwalk"
)

// twoStars is a subnet with links of every kind: a switch above two with three hosts
// each.
func twoStars(t testing.TB) *topo.Topo {
	t.Helper()
	n := nettest.Generate(t, "tree:depth=2,fanout=2,hosts=3")
	top, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// ports calls set for the ports of a kind: "host", "leaf" (switch towards a host),
// "inner" (between switches), "port0".
func ports(t *topo.Topo, kind string, set func(i int, p *smp.PortInfo)) (count int) {
	for i := range t.Ports {
		p := &t.Ports[i]
		is := ""
		switch node := &t.Nodes[p.Node]; {
		case p.Num == 0 && node.Type == mad.Switch:
			is = "port0"
		case p.Peer == topo.None:
		case node.Type != mad.Switch:
			is = "host"
		case t.Nodes[t.Ports[p.Peer].Node].Type == mad.Switch:
			is = "inner"
		default:
			is = "leaf"
		}
		if is == kind {
			set(count, &p.Info)
			count++
		}
	}
	return count
}

// held is a subnet that runs on other values than the defaults.
func held(t *testing.T) *topo.Topo {
	top := twoStars(t)
	active(top, smp.PortActive)
	vls := func(_ int, p *smp.PortInfo) {
		p.SetVLCap(4)
		p.SetOperationalVLs(4)
	}
	hosts := ports(top, "host", func(i int, p *smp.PortInfo) {
		vls(i, p)
		p.SetGidPrefix(0xfec0000000000001)
		p.SetLMC(1)
		p.SetSubnetTimeOut(20)
		p.SetLocalPhyErrors(3)
		p.SetOverrunErrors(4)
	})
	inner := ports(top, "inner", func(i int, p *smp.PortInfo) {
		vls(i, p)
		p.SetHOQLife(15)
		p.SetVLStallCount(2)
	})
	leaf := ports(top, "leaf", func(i int, p *smp.PortInfo) {
		vls(i, p)
		p.SetHOQLife(13)
		p.SetVLStallCount(3)
	})
	if hosts < 3 || inner < 2 || leaf < 3 {
		t.Fatalf("%d hosts, %d and %d switch ports", hosts, inner, leaf)
	}
	for _, n := range top.Switches {
		top.Nodes[n].SwitchInfo.SetLifeTimeValue(11)
	}
	return top
}

var (
	defaults = plan.Values{
		Prefix: mad.DefaultPrefix, SubnetTimeOut: 18, LifeTimeValue: 18, MaxOpVLs: 5, HOQLife: 18, LeafHOQLife: 16,
		VLStallCount: 7, LeafVLStall: 7, PhyErrors: 8, Overruns: 8, KeepMKey: true, KeepMKeyLease: true,
		KeepMKeyProtect: true,
	}
	adopted = plan.Values{
		Prefix: 0xfec0000000000001, LMC: 1, SubnetTimeOut: 20, LifeTimeValue: 11, MaxOpVLs: 5, HOQLife: 15,
		LeafHOQLife:  13,
		VLStallCount: 2, LeafVLStall: 3, PhyErrors: 3, Overruns: 4, KeepMKey: true, KeepMKeyLease: true,
		KeepMKeyProtect: true,
	}
	given = Settings{
		SubnetPrefix: Given[mad.Prefix](0xfec0000000000002), LMC: Given[uint8](2), SubnetTimeOut: Given[uint8](19),
		PacketLifeTime: Given[uint8](12),
		MaxOpVLs:       Given[uint8](2), HOQLife: Given[uint8](10), LeafHOQLife: Given[uint8](9),
		VLStallCount: Given[uint8](1), LeafVLStall: Given[uint8](4),
		PhyErrors: Given[uint8](5), Overruns: Given[uint8](6), MKey: Given[mad.MKey](7), MKeyLease: Given[uint16](30),
		MKeyProtect: Given[uint8](1), SMSL: 3,
	}
	asGiven = plan.Values{
		Prefix: 0xfec0000000000002, LMC: 2, SubnetTimeOut: 19, LifeTimeValue: 12, MaxOpVLs: 2, HOQLife: 10,
		LeafHOQLife: 9, VLStallCount: 1,
		LeafVLStall: 4, PhyErrors: 5, Overruns: 6, MKeys: plan.MKeys{One: 7}, MKeyLease: 30, MKeyProtect: 1, SMSL: 3,
	}
)

func with(v plan.Values, change func(*plan.Values)) plan.Values {
	change(&v)
	return v
}

// enhanced makes ports 0 enhanced ones, with an LMC.
func enhanced(lmc uint8) func(t *topo.Topo) {
	return func(t *topo.Topo) {
		for _, n := range t.Switches {
			t.Nodes[n].SwitchInfo.SetEnhancedPort0(true)
		}
		ports(t, "port0", func(_ int, p *smp.PortInfo) { p.SetLMC(lmc) })
	}
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings Settings
		spoil    func(*topo.Topo)
		want     plan.Values
	}{
		{"a subnet in use", Settings{}, func(*topo.Topo) {}, adopted},
		{"one that is not", Settings{}, func(t *topo.Topo) { active(t, smp.PortInit) }, defaults},
		{"only ARMED", Settings{}, func(t *topo.Topo) { active(t, smp.PortArmed) },
			with(defaults, func(v *plan.Values) { v.LifeTimeValue = 11 })}, // switches may pass data to an ARMED port
		{"given", given, func(*topo.Topo) {}, asGiven},
		{"given, though nothing is in use", given, func(t *topo.Topo) { active(t, smp.PortInit) }, asGiven},
		{"given as 0", Settings{LMC: Given[uint8](0), MKey: Given[mad.MKey](0)}, func(*topo.Topo) {},
			with(adopted, func(v *plan.Values) {
				v.LMC, v.KeepMKey, v.KeepMKeyLease, v.KeepMKeyProtect = 0, false, false, false
			})},
		{"a lease, and no M_Key", Settings{MKeyLease: Given[uint16](60)}, func(*topo.Topo) {},
			with(adopted, func(v *plan.Values) {
				v.MKeyLease, v.KeepMKeyLease = 60, false
			})},
		{"protection, and no M_Key", Settings{MKeyProtect: Given[uint8](2)}, func(*topo.Topo) {},
			with(adopted, func(v *plan.Values) {
				v.MKeyProtect, v.KeepMKeyProtect = 2, false
			})},
		{"ports 0 as other ports", Settings{LMCPort0: Given(true)}, enhanced(0), with(adopted, func(v *plan.Values) {
			v.LMCPort0 = 1
		})},
		{"ports 0 of a subnet in use", Settings{}, enhanced(1), with(adopted, func(v *plan.Values) { v.LMCPort0 = 1 })},
		{"ports 0 with another LMC", Settings{LMC: Given[uint8](3)}, enhanced(1), with(adopted, func(v *plan.Values) {
			v.LMC, v.LMCPort0 = 3, 3
		})},
		{"ports 0 with one LID", Settings{LMCPort0: Given(false)}, enhanced(1), adopted},
		{"the majority counts", Settings{}, func(t *topo.Topo) {
			ports(t, "host", func(i int, p *smp.PortInfo) {
				if i < 2 {
					p.SetSubnetTimeOut(5)
					p.SetLMC(7)
				}
			})
		}, adopted},
		{"of equals the default", Settings{}, func(t *topo.Topo) {
			ports(t, "inner", func(i int, p *smp.PortInfo) { p.SetHOQLife([]uint8{18, 15}[i%2]) })
		}, with(adopted, func(v *plan.Values) { v.HOQLife = 18 })},
		{"of equals the lower", Settings{}, func(t *topo.Topo) {
			ports(t, "inner", func(i int, p *smp.PortInfo) { p.SetHOQLife([]uint8{17, 15}[i%2]) })
		}, with(adopted, func(v *plan.Values) { v.HOQLife = 15 })},
		{"VLs that somebody capped", Settings{}, func(t *topo.Topo) {
			for _, kind := range []string{"inner", "leaf", "host"} {
				ports(t, kind, func(_ int, p *smp.PortInfo) { p.SetOperationalVLs(2) })
			}
		}, with(adopted, func(v *plan.Values) { v.MaxOpVLs = 2 })},
		{"VLs that the devices cap", Settings{}, func(t *topo.Topo) {
			ports(t, "host", func(_ int, p *smp.PortInfo) {
				p.SetVLCap(1)
				p.SetOperationalVLs(1)
			})
			ports(t, "leaf", func(_ int, p *smp.PortInfo) { p.SetOperationalVLs(1) })
		}, adopted},
		{"ports that were not read", Settings{}, func(t *topo.Topo) {
			for i := range t.Ports {
				t.Ports[i].Seen = false
			}
		}, defaults},
		{"base port 0 without a state", Settings{}, func(t *topo.Topo) {
			ports(t, "port0", func(_ int, p *smp.PortInfo) { p.SetPortState(0) })
		}, adopted},
	} {
		top := held(t)
		c.spoil(top)
		for range 10 { // whatever the order of a map
			if got := resolve(&c.settings, top); got != c.want {
				t.Errorf("%s:\n%+v, want\n%+v", c.name, got, c.want)
			}
		}
	}
}

// TestResolveOnce: what ports do not hold of what we sent them is not taken for the
// operator's wish.
func TestResolveOnce(t *testing.T) {
	m, top, s := newState(Restored{}), held(t), Settings{}
	if m.values = m.resolve(&s, top); m.values != adopted {
		t.Errorf("first sweep: %+v", m.values)
	}
	m.mastership = swept
	ports(top, "host", func(_ int, p *smp.PortInfo) { p.SetSubnetTimeOut(31) })
	if got := m.resolve(&s, top); got != adopted {
		t.Errorf("later sweep: %+v", got)
	}
	s.LMC = Given[uint8](3)
	if got := m.resolve(&s, top); got.LMC != 3 {
		t.Errorf("after the settings changed: %+v", got)
	}
	m.forgetMastership()
	s = Settings{}
	if got := m.resolve(&s, top); got.SubnetTimeOut != 31 {
		t.Errorf("in another mastership: %+v", got)
	}
}

// active puts every port that has a link, and port 0, into a state.
func active(t *topo.Topo, s smp.PortState) {
	for i := range t.Ports {
		if p := &t.Ports[i]; p.Peer != topo.None || p.Num == 0 {
			p.Info.SetPortState(s)
		}
	}
}
