package sim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep/exclude"
	"ibsm/topo"
	"ibsm/topo/cabling"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// miswire changes cables at random: some are exchanged, some added where ports are free, and some end elsewhere. It
// returns one end of each cable that is not in the plan, without that of the manager.
func miswire(n *net.Net, self net.End, rng *rand.Rand) (wrong []net.End) {
	var cabled, free []net.End
	for i := range n.Nodes {
		for num := 1; num < len(n.Nodes[i].Ports); num++ {
			e := net.End{Node: int32(i), Port: uint8(num)}
			switch to := n.Nodes[i].Ports[num].Peer; {
			case e == self || to == self:
			case to.Node < 0:
				free = append(free, e)
			case n.Nodes[i].Type == mad.Switch && n.Nodes[to.Node].Type == mad.Switch && to.Node > e.Node ||
				n.Nodes[i].Type != mad.Switch:
				cabled = append(cabled, e)
			}
		}
	}
	plug := func(a, b net.End) {
		for _, e := range [][2]net.End{{a, b}, {b, a}} {
			p := &n.Nodes[e[0].Node].Ports[e[0].Port]
			p.Peer, p.Width, p.Speed = e[1], mad.Width4x, mad.HDR
		}
		wrong = append(wrong, a)
	}
	rng.Shuffle(len(cabled), func(i, j int) { cabled[i], cabled[j] = cabled[j], cabled[i] })
	rng.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	for i := 0; i+1 < 6; i += 2 { // exchanged
		a, b := cabled[i], cabled[i+1]
		to, other := n.Nodes[a.Node].Ports[a.Port].Peer, n.Nodes[b.Node].Ports[b.Port].Peer
		plug(a, other)
		plug(b, to)
	}
	for i := 0; i+1 < min(6, len(free)); i += 2 { // added
		if n.Nodes[free[i].Node].Type == mad.Switch && n.Nodes[free[i+1].Node].Type == mad.Switch &&
			free[i].Node != free[i+1].Node {
			plug(free[i], free[i+1])
		}
	}
	return wrong
}

// crosses counts ways from hosts to all end ports that pass a cable, and packets that hosts behind such a cable can
// send over it.
func (b *harness) crosses(hosts []net.End, cables []net.End) (n int) {
	b.Helper()
	bad := map[[2]int]bool{} // by node and port by which a packet leaves
	for _, e := range cables {
		bad[[2]int{int(e.Node), int(e.Port)}] = true
		to := b.Fabric.Peer(e)
		bad[[2]int{int(to.Node), int(to.Port)}] = true
	}
	for _, from := range hosts {
		for _, to := range hosts {
			info := b.Fabric.PortInfo(to)
			if info.LID() == 0 {
				continue
			}
			hops, _ := b.Fabric.Probe(from, info.LID(), mad.DefaultPKey, 0, nil)
			if slices.ContainsFunc(hops, func(h fabric.Hop) bool { return bad[[2]int{int(h.Node), int(h.Out)}] }) {
				n++
			}
		}
	}
	return n
}

// TestHoldBack brings up miswired fabrics whose plan is enforced: from the first sweep on, through a takeover, a
// failure and until the plan is no longer enforced, no packet passes a cable that is not in the plan, and such a cable
// does not become ACTIVE.
func TestHoldBack(t *testing.T) {
	seeds := []uint64{1, 6, 38} // the last two cut off a switch of the fat tree, which has links of its own
	if os.Getenv("IBSM_PROOF") != "" {
		for seeds = nil; len(seeds) < 40; {
			seeds = append(seeds, uint64(len(seeds)))
		}
	}
	for i, spec := range []string{"fattree:k=4", "torus:dims=4x4,hosts=2", "dragonfly:a=4,p=2,h=1",
		"hyperx:dims=3x3,hosts=2", "random:switches=12,degree=4,hosts=2"} {
		for _, seed := range seeds {
			t.Run(fmt.Sprintf("%s/%d", spec, seed), func(t *testing.T) {
				n := nettest.Generate(t, spec)
				plan := cabling.Of(n)
				wrong := miswire(n, host(n, 0), rand.New(rand.NewPCG(seed, uint64(i))))
				b := newHarness(t, n, fabric.Config{Seed: seed})
				var hosts []net.End
				for i := range n.Nodes {
					if n.Nodes[i].Type != mad.Switch {
						hosts = append(hosts, net.End{Node: int32(i), Port: 1})
					}
				}
				cfg := minhopConfig()
				cfg.Sweep.Cabling = exclude.Cabling{Plan: plan, Enforced: true}
				m := b.add(host(n, 0), cfg)
				check := func(when string) {
					t.Helper()
					hosts, wrong := hosts, wrong
					if when == "enforced again" { // what is cut off by that is left as it is
						is := func(e net.End) bool { return m.View.Topo.FindNode(n.Nodes[e.Node].GUID) != topo.None }
						hosts = slices.DeleteFunc(slices.Clone(hosts), func(e net.End) bool { return !is(e) })
						wrong = slices.DeleteFunc(slices.Clone(wrong), func(e net.End) bool {
							return !is(e) && !is(b.Fabric.Peer(e))
						})
					}
					if got := b.crosses(hosts, wrong); got > 0 {
						t.Errorf("%s: %d ways pass a cable that is not in the plan", when, got)
					}
					for _, e := range wrong {
						if info := b.Fabric.PortInfo(e); info.PortState() >= smp.PortArmed {
							t.Errorf("%s: port %v is %v", when, e, info.PortState())
						}
					}
				}
				for range 20 { // while it comes up
					b.pass(settling / 20)
					check("coming up")
				}
				if v := m.View; v == nil || v.Cabling == nil || len(v.Cabling.Held) != len(wrong) ||
					len(v.Cabling.Findings) == 0 {
					t.Fatalf("held back: %+v, not in the plan: %v", m.View, wrong)
				}
				reaches := b.reaches(hosts)
				if reaches < len(hosts)*len(hosts)/3 {
					t.Errorf("only %d of %d pairs reach each other", reaches, len(hosts)*len(hosts))
				}
				for _, kind := range []manager.Sweep{manager.Light, manager.Heavy, manager.Reroute} {
					b.Fabric.ResetStats()
					before := m.View
					m.sweep(kind)
					b.pass(settling)
					if sets := b.sets(); sets > 0 || m.View.Topo != before.Topo {
						t.Errorf("sweep %d: %d Sets, the same subnet: %v", kind, sets, m.View.Topo == before.Topo)
					}
				}
				check("swept again")
				m.retire()
				m = b.add(other(n, wrong), cfg)
				b.pass(settling)
				check("taken over")
				if now := b.reaches(hosts); now != reaches {
					t.Errorf("%d pairs reach each other after a takeover, not %d", now, reaches)
				}
				released := cfg
				released.Sweep.Cabling.Enforced = false
				b.Configure(m.Manager, released)
				b.pass(settling)
				m.sweep(manager.Reroute)
				b.pass(settling)
				if b.crosses(hosts, wrong) == 0 {
					t.Error("released, and nothing passes these cables")
				}
				b.mustBeWhole(m)
				b.Configure(m.Manager, cfg) // they are ACTIVE now, and taken down
				b.pass(settling)
				check("enforced again")
				ups := len(m.ups)
				if b.pass(settling); len(m.ups) > ups {
					t.Errorf("%d heavy sweeps for nothing", len(m.ups)-ups)
				}
			})
		}
	}
}

// other is the last host whose cable is in the plan.
func other(n *net.Net, wrong []net.End) (at net.End) {
	for i := range n.Nodes {
		if e := (net.End{Node: int32(i), Port: 1}); n.Nodes[i].Type == mad.CA && !slices.Contains(wrong, e) &&
			!slices.Contains(wrong, n.Nodes[i].Ports[1].Peer) {
			at = e
		}
	}
	return at
}

// TestHeldBackSwitch holds a switch back from the first sweep on, and releases it.
func TestHeldBackSwitch(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	node := int32(slices.IndexFunc(n.Nodes, func(o net.Node) bool { return o.Desc == "spine-01" }))
	var hosts []net.End
	for i := range n.Nodes {
		if n.Nodes[i].Type != mad.Switch {
			hosts = append(hosts, net.End{Node: int32(i), Port: 1})
		}
	}
	cfg := minhopConfig()
	held := cfg
	held.Sweep.Cabling = exclude.Cabling{HeldBack: []mad.GUID{n.Nodes[node].GUID, 0x99}}
	m := b.comeUp(held)
	quiet := func(when string) {
		t.Helper()
		if got := m.View.Cabling; got == nil || len(got.Held) != 4 || !got.Held[0].Switch || b.passes(hosts, node) > 0 {
			t.Errorf("%s: %+v, %d ways pass it", when, got, b.passes(hosts, node))
		}
		if m.View.Topo.FindNode(n.Nodes[node].GUID) != topo.None || b.reaches(hosts) != len(hosts)*len(hosts) {
			t.Errorf("%s: it is in the subnet, or only %d pairs reach each other", when, b.reaches(hosts))
		}
		for num := uint8(1); num <= 4; num++ {
			if info := b.Fabric.PortInfo(net.End{Node: node, Port: num}); info.PortState() != smp.PortInit {
				t.Errorf("%s: port %d is %v", when, num, info.PortState())
			}
		}
	}
	quiet("held back")
	b.Configure(m.Manager, cfg)
	b.pass(settling)
	m.sweep(manager.Reroute)
	b.pass(settling)
	if b.mustBeWhole(m); b.passes(hosts, node) == 0 || m.View.Cabling != nil {
		t.Errorf("released, and %d ways pass it", b.passes(hosts, node))
	}
	b.Configure(m.Manager, held)
	b.probes(t, "held back while it is in use", settling, hosts)
	quiet("held back again")
}

// TestOwnCable has the manager's own cable exchanged with another one: the other one is held back.
func TestOwnCable(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	plan := cabling.Of(n)
	a, z := host(n, 0), host(n, 5)
	to, other := n.Nodes[a.Node].Ports[1].Peer, n.Nodes[z.Node].Ports[1].Peer
	for _, e := range [][2]net.End{{a, other}, {z, to}} {
		n.Nodes[e[0].Node].Ports[1].Peer, n.Nodes[e[1].Node].Ports[e[1].Port].Peer = e[1], e[0]
	}
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.Sweep.Cabling = exclude.Cabling{Plan: plan, Enforced: true}
	m := b.add(a, cfg)
	b.pass(settling)
	if v := m.View; v == nil || len(v.Cabling.Held) != 1 || len(v.Cabling.Findings) != 1 ||
		v.Topo.FindNode(n.Nodes[z.Node].GUID) != topo.None || len(v.Topo.Nodes) != len(n.Nodes)-1 {
		t.Fatalf("%+v", v)
	}
	if info := b.Fabric.PortInfo(z); info.PortState() != smp.PortInit {
		t.Errorf("the other one is %v", info.PortState())
	}
}

// TestPlanOfOtherSubnet enforces plans that match too little: of a subnet in use everything stays, nothing of one that
// is not in use is brought up, and an error says what to do. A plan that is not enforced does not keep it down.
func TestPlanOfOtherSubnet(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	unknown := cabling.Of(n)
	for i := range unknown.Devices {
		unknown.Devices[i].GUID += 1 << 40
	}
	unknown.Adapters = nil
	recabled := cabling.Of(nettest.Generate(t, "fattree:k=4"))
	for i := range recabled.Cables { // to another port each
		recabled.Cables[i].Ends[0].Port += 100
	}
	for name, plan := range ordered(map[string]*cabling.Cabling{"unknown": unknown, "recabled": recabled}) {
		cfg := minhopConfig()
		enforced := cfg
		enforced.Sweep.Cabling = exclude.Cabling{Plan: plan, Enforced: true}
		const says = "topo_config_file differs too much from the subnet to be enforced"
		b := newHarness(t, n, fabric.Config{Seed: 1})
		m := b.comeUp(cfg)
		b.Fabric.ResetStats()
		b.Configure(m.Manager, enforced)
		b.pass(settling)
		b.mustBeWhole(m)
		if got := m.View.Cabling; got == nil || len(got.Held) > 0 || got.Applies() ||
			got.OtherSubnet() != (name == "unknown") || got.OtherSubnet() != (len(got.Findings) == 0) ||
			len(got.Spared) != 47 {
			t.Errorf("%s: %+v", name, got)
		}
		if b.sets() > 0 || m.says("ERROR", says, "topo_config_enabled FALSE") != 1 {
			t.Errorf("%s: %d Sets, or no error", name, b.sets())
		}

		b = newHarness(t, n, fabric.Config{Seed: 1})
		m = b.add(host(n, 0), enforced)
		b.pass(settling)
		if v := m.View; v == nil || len(v.Topo.Nodes) != 2 || m.says("ERROR", says, "topo_config_enabled FALSE") != 1 {
			t.Errorf("%s: brought up", name)
		}
		b.Configure(m.Manager, cfg)
		b.pass(settling)
		b.mustBeWhole(m)
	}
}

// TestHoldBackAtColdStart switches on a leaf alone, with hosts that are not in the plan: so little of the plan is there
// that it looks like one of another subnet, and still they get no LID.
func TestHoldBackAtColdStart(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8")
	plan := cabling.Of(n)
	self := host(n, 0)
	leaf := n.Nodes[self.Node].Ports[1].Peer.Node
	var added []net.End
	for num := 1; num < len(n.Nodes[leaf].Ports); num++ {
		p := n.Nodes[leaf].Ports[num].Peer
		switch {
		case p.Node < 0 || p.Node == self.Node:
		case n.Nodes[p.Node].Type == mad.Switch:
			n.Nodes[leaf].Ports[num].Peer, n.Nodes[p.Node].Ports[p.Port].Peer = net.NoEnd, net.NoEnd
		default:
			n.Nodes[p.Node].GUID += 1 << 40
			n.Nodes[p.Node].Ports[1].GUID += 1 << 40
			added = append(added, p)
		}
	}
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.Sweep.Cabling = exclude.Cabling{Plan: plan, Enforced: true}
	m := b.add(self, cfg)
	b.pass(settling)
	if v := m.View; v == nil || !v.Cabling.OtherSubnet() || len(v.Cabling.Held) != len(added) || len(added) != 3 {
		t.Fatalf("%+v", m.View)
	}
	for _, e := range added {
		if info := b.Fabric.PortInfo(e); info.PortState() != smp.PortInit || info.LID().IsUnicast() {
			t.Errorf("port %v is %v with LID %d", e, info.PortState(), info.LID())
		}
	}
}

// TestOwnLeafRefused has the leaf of the manager replaced, or held back: in a subnet in use nothing is taken down, and
// a manager that starts takes it over whole. In a subnet that is not in use nothing is brought up behind the leaf. In
// either case an error says what to do.
func TestOwnLeafRefused(t *testing.T) {
	for _, replaced := range []bool{true, false} {
		t.Run(fmt.Sprint("replaced=", replaced), func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4")
			want := exclude.Cabling{Plan: cabling.Of(n), Enforced: true}
			self := host(n, 0)
			leaf := n.Nodes[self.Node].Ports[1].Peer.Node
			if n.Nodes[leaf].GUID += 1 << 40; !replaced {
				want = exclude.Cabling{HeldBack: []mad.GUID{n.Nodes[leaf].GUID}}
			}
			cfg := minhopConfig()
			enforced := cfg
			enforced.Sweep.Cabling = want
			b := newHarness(t, n, fabric.Config{Seed: 1})
			m := b.comeUp(cfg)
			check := func(when string) {
				t.Helper()
				b.mustBeWhole(m)
				if v := m.View.Cabling; v == nil || v.CutOff == 0 || len(v.Held) > 0 || len(v.Spared) != 3 {
					t.Errorf("%s: %+v", when, *v)
				}
				if m.says("ERROR", "lead to most of the subnet", "topo_config_enabled FALSE") != 1 {
					t.Errorf("%s: no error", when)
				}
			}
			b.Fabric.ResetStats()
			b.Configure(m.Manager, enforced)
			b.pass(settling)
			check("enforced")
			if b.sets() > 0 {
				t.Errorf("%d Sets", b.sets())
			}
			m.retire()
			m = b.add(self, enforced)
			b.Fabric.ResetStats()
			b.pass(settling)
			check("restarted")

			b = newHarness(t, n, fabric.Config{Seed: 1})
			m = b.add(self, enforced)
			b.pass(settling)
			if v := m.View; v == nil || len(v.Topo.Nodes) != 2 || v.Cabling.CutOff == 0 || len(v.Cabling.Held) != 3 {
				t.Errorf("cold: %+v", v)
			}
			if m.says("ERROR", "lead to most of the subnet") != 1 {
				t.Error("cold: no error")
			}
			b.Configure(m.Manager, cfg)
			b.pass(settling)
			b.mustBeWhole(m)
		})
	}
}

// TestNamesOfPlan: where the plan has names alone, a host whose adapter has its default description is held back until
// it has its name, without an order of anybody.
func TestNamesOfPlan(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	plan := cabling.Of(n)
	for i := range plan.Devices {
		plan.Devices[i].GUID = 0
	}
	plan.Adapters = nil
	late := host(n, 5)
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.Fabric.SetNodeDescription(late.Node, "MT4123 ConnectX6   Mellanox Technologies")
	cfg := minhopConfig()
	cfg.SweepInterval = 10 * time.Second
	cfg.Sweep.Cabling = exclude.Cabling{Plan: plan, Enforced: true}
	m := b.add(host(n, 0), cfg)
	b.pass(settling)
	if info := b.Fabric.PortInfo(late); info.PortState() != smp.PortInit || len(m.View.Cabling.Held) != 1 {
		t.Fatalf("booting: %v, %d held back", info.PortState(), len(m.View.Cabling.Held))
	}
	ups := len(m.ups)
	if b.pass(settling); len(m.ups) > ups {
		t.Errorf("%d heavy sweeps for nothing", len(m.ups)-ups)
	}
	b.Fabric.SetNodeDescription(late.Node, n.Nodes[late.Node].Desc)
	b.pass(2 * cfg.SweepInterval)
	if m.says("heavy sweep needed", "which is held back, has another description") != 1 {
		t.Error("no sweep for the description")
	}
	b.mustBeWhole(m)
}

// reaches counts pairs of hosts between which packets pass.
func (b *harness) reaches(hosts []net.End) (n int) {
	for _, from := range hosts {
		for _, to := range hosts {
			info := b.Fabric.PortInfo(to)
			if _, end := b.Fabric.Probe(from, info.LID(), mad.DefaultPKey, 0, nil); info.LID() != 0 &&
				end == fabric.Delivered {
				n++
			}
		}
	}
	return n
}
