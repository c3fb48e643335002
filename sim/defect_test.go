package sim_test

import (
	"fmt"
	"testing"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// defective gives one node a Defect.
func defective(node int32, defect fabric.Defect) func(int32, *net.Node, *fabric.Caps) {
	return func(i int32, _ *net.Node, c *fabric.Caps) {
		if i == node {
			c.Defect = defect
		}
	}
}

// refuses makes an agent refuse Sets of an attribute, or not answer when it is asked
// to.
func refuses(attr mad.AttrID, unresponsive bool) fabric.Defect {
	return func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
		if p.Method() != mad.MethodSet || p.AttrID() != attr {
			return obey(), true
		}
		return mad.StatusBadMethodAttr, !unresponsive
	}
}

// A switch that does not take its forwarding table, or its SwitchInfo, is named; its links stay as they are, everybody
// else's come up, and no route leads through it. When it has come to its senses it is used: at once after a sweep that
// is asked for, where it restarts, or where a link of it changes, else after some minutes.
func TestSwitchWithoutTable(t *testing.T) {
	recoveries := map[string]func(b *harness, m *watched, sick int32){
		"a sweep is asked for": func(b *harness, m *watched, _ int32) {
			m.sweep(manager.Heavy)
			b.pass(settling)
		},
		"restarts at once": func(b *harness, _ *watched, sick int32) {
			b.Fabric.Reboot(sick)
			b.pass(settling)
		},
		"restarts": func(b *harness, _ *watched, sick int32) {
			b.Fabric.NodeDown(sick)
			b.pass(20 * time.Second)
			b.Fabric.NodeUp(sick)
			b.pass(settling)
		},
		"a link changes": func(b *harness, _ *watched, sick int32) {
			at := net.End{Node: sick, Port: 1}
			b.Fabric.LinkDown(at)
			b.pass(time.Second)
			b.Fabric.LinkUp(at)
			b.pass(settling)
		},
		"by itself": func(b *harness, _ *watched, _ int32) { b.pass(6 * time.Minute) },
	}
	for _, attr := range []mad.AttrID{smp.AttrLinearForwardingTable, smp.AttrSwitchInfo} {
		for _, unresponsive := range []bool{false, true} {
			for name, recovers := range recoveries {
				if name == "restarts at once" && attr == smp.AttrSwitchInfo && unresponsive {
					continue // it has nothing that it could lose: it was not sent a LID either
				}
				t.Run(fmt.Sprintf("%s unresponsive %v %s", smp.AttrName(attr), unresponsive, name), func(t *testing.T) {
					switchWithoutTable(t, refuses(attr, unresponsive), recovers)
				})
			}
		}
	}
}

func switchWithoutTable(t *testing.T, defect fabric.Defect, recovers func(b *harness, m *watched, sick int32)) {
	n := nettest.Generate(t, "fattree:k=8,levels=2")
	sick, ill := spine(n), true
	b := newHarness(t, n,
		fabric.Config{Seed: 1, Caps: defective(sick, func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
			if ill {
				return defect(p, obey)
			}
			return obey(), true
		})})
	m := b.comeUp(minhopConfig())
	m.mustRest()
	b.mustBeActive(sick)
	for num := 1; num <= n.Nodes[sick].NumPorts(); num++ {
		at := net.End{Node: sick, Port: uint8(num)}
		if pi := b.Fabric.PortInfo(at); pi.PortState() > smp.PortInit {
			t.Errorf("port %v of the switch is %v", at, pi.PortState())
		}
	}
	if m.View == nil || m.ups[0].Errors {
		t.Error("the rest was withheld")
	}
	if logged := m.says(n.Nodes[sick].Desc, "WARN"); logged == 0 || logged > 10 {
		t.Errorf("the switch was named %d times", logged)
	}
	b.mustConnectHosts()
	ill = false
	recovers(b, m, sick)
	b.mustBeWhole(m)
	if !b.leadsThrough(sick) {
		t.Error("no route leads through the switch now that it is well")
	}
}

// mustConnectHosts fails the test unless data passes between all adapters.
func (b *harness) mustConnectHosts() {
	b.Helper()
	for _, from := range b.endPorts() {
		for _, to := range b.endPorts() {
			if b.Fabric.NodeType(from.Node) == mad.Switch || b.Fabric.NodeType(to.Node) == mad.Switch {
				continue
			}
			info := b.Fabric.PortInfo(to)
			if hops, end := b.Fabric.Probe(from, info.LID(), mad.DefaultPKey, 0, nil); end != fabric.Delivered {
				b.Errorf("data from %v to %v: %v, by way of %v", from, to, end, hops)
			}
		}
	}
}

// leadsThrough reports whether another switch sends anything to a switch that is not
// for itself.
func (b *harness) leadsThrough(sw int32) bool {
	own := b.Fabric.PortInfo(net.End{Node: sw})
	for node, row := range b.lfts() {
		for lid, port := range row {
			if node != sw && port != 0 && port != 255 && mad.LID(lid) != own.LID() &&
				b.Fabric.Peer(net.End{Node: node, Port: port}).Node == sw {
				return true
			}
		}
	}
	return false
}

// A host that refuses its PortInfo is named, and the rest comes up.
func TestHostRefusesPortInfo(t *testing.T) {
	for _, unresponsive := range []bool{false, true} {
		t.Run(fmt.Sprint("unresponsive ", unresponsive), func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4")
			sick := host(n, 5)
			b := newHarness(t, n,
				fabric.Config{Seed: 1, Caps: defective(sick.Node, refuses(smp.AttrPortInfo, unresponsive))})
			m := b.comeUp(minhopConfig())
			m.mustRest()
			b.mustBeActive(sick.Node)
			if m.says(n.Nodes[sick.Node].Desc, "WARN") == 0 {
				t.Error("the host was not named")
			}
			if m.View == nil || m.ups[0].Errors {
				t.Error("the rest was withheld")
			}
		})
	}
}

// A port that refuses a Set for one field is sent the rest as it holds it: it comes
// up, as it does where a manager sets parameters and states apart, and is left alone then.
func TestRefusedField(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	const leaf = 0
	sick := map[string]int32{"switch": leaf, "host": host(n, 5).Node}
	for name, node := range ordered(sick) {
		t.Run(name, func(t *testing.T) {
			refused := 0
			b := newHarness(t, n,
				fabric.Config{Seed: 1,
					Caps: defective(node, func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
						if info := (*smp.PortInfo)(p.Data()); p.AttrID() == smp.AttrPortInfo &&
							p.Method() == mad.MethodSet &&
							info.OverrunErrors() == 8 {
							refused++
							return mad.StatusBadField, true
						}
						return obey(), true
					})})
			m := b.comeUp(minhopConfig())
			b.mustBeActive()
			b.mustConnectHosts()
			if m.says("ignores fields of a Set", n.Nodes[node].GUID.String()) == 0 {
				t.Error("it was not logged")
			}
			refused = 0
			m.sweep(manager.Heavy)
			if refused > 0 {
				t.Errorf("%d Sets are refused in a sweep over an unchanged fabric", refused)
			}
			b.Fabric.LinkDown(host(n, 5))
			b.pass(time.Second)
			b.Fabric.LinkUp(host(n, 5))
			b.pass(settling)
			b.mustBeActive()
			m.mustRest()
		})
	}
}

// A port that refuses its state once, as one whose link was just training, comes up in the
// same sweep with everything that it should hold.
func TestRefusedOnce(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	sick, refused := host(n, 5), 0
	b := newHarness(t, n,
		fabric.Config{Seed: 1,
			Caps: defective(sick.Node, func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
				if info := (*smp.PortInfo)(p.Data()); p.AttrID() == smp.AttrPortInfo && p.Method() == mad.MethodSet &&
					info.PortState() == smp.PortArmed && refused == 0 {
					refused++
					return mad.StatusBadField, true
				}
				return obey(), true
			})})
	cfg := minhopConfig()
	cfg.Sweep.Settings.Overruns = sweep.Given[uint8](3)
	m := b.comeUp(cfg)
	if m.ups[0].Failures > 0 || m.says("ignores fields") > 0 || refused == 0 {
		t.Errorf("%d failures, %d Sets refused", m.ups[0].Failures, refused)
	}
	if pi := b.Fabric.PortInfo(sick); pi.PortState() != smp.PortActive || pi.OverrunErrors() != 3 {
		t.Errorf("the port is %v and holds %d for OverrunErrors", pi.PortState(), pi.OverrunErrors())
	}
	b.mustBeWhole(m)
}

// forgets makes an agent acknowledge a field that it does not keep. An honest one
// shows so in its answer.
func forgets(forget func(kept *smp.PortInfo), honest bool) fabric.Defect {
	return func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
		if p.AttrID() != smp.AttrPortInfo || p.Method() != mad.MethodSet {
			return obey(), true
		}
		asked := *p.Data()
		forget((*smp.PortInfo)(p.Data()))
		status := obey()
		if !honest {
			state := (*smp.PortInfo)(p.Data()).PortState()
			*p.Data() = asked
			(*smp.PortInfo)(p.Data()).SetPortState(state)
		}
		return status, true
	}
}

// A field that a port does not hold is recorded and not sent again with each sweep.
func TestFieldNotHeld(t *testing.T) {
	fields := map[string]func(*smp.PortInfo){
		"HOQLife":       func(i *smp.PortInfo) { i.SetHOQLife(3) },
		"VLStallCount":  func(i *smp.PortInfo) { i.SetVLStallCount(0) },
		"SubnetTimeOut": func(i *smp.PortInfo) { i.SetSubnetTimeOut(5) },
		"PhyErrors":     func(i *smp.PortInfo) { i.SetLocalPhyErrors(1) },
	}
	for name, forget := range ordered(fields) {
		for _, honest := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s honest %v", name, honest), func(t *testing.T) {
				n := nettest.Generate(t, "fattree:k=4")
				sick := int32(0)
				if name == "SubnetTimeOut" {
					sick = host(n, 3).Node
				}
				b := newHarness(t, n, fabric.Config{Seed: 1, Caps: defective(sick, forgets(forget, honest))})
				m := b.comeUp(minhopConfig())
				for range 3 {
					m.sweep(manager.Heavy)
				}
				before := b.sets()
				for range 3 {
					m.sweep(manager.Heavy)
				}
				m.mustRest()
				if b.sets() != before {
					t.Errorf("%d Sets in later sweeps", b.sets()-before)
				}
				b.mustBeWhole(m)
			})
		}
	}
}

// A device that refuses the modifier's bit 31 is asked without it, and asked so from
// then on.
func TestPlainSpeeds(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,speed=NDR")
	refused := 0
	b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(_ int32, n *net.Node, c *fabric.Caps) {
		c.Extended = fabric.ExtendedRefused
		c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
			status := obey()
			if status != mad.StatusOK {
				refused++
			}
			return status, true
		}
	}})
	m := b.comeUp(minhopConfig())
	b.mustBeWhole(m)
	if refused == 0 {
		t.Error("nobody was asked with bit 31")
	}
	refused = 0
	b.Fabric.Reboot(1)
	b.pass(settling)
	m.sweep(manager.Heavy)
	if refused > 0 {
		t.Errorf("asked with bit 31 %d times again", refused)
	}
	b.mustBeWhole(m)
}

// A switch that holds no complete table is one fault of the view, of the node as a whole,
// however many links are left in INIT for it.
func TestUnroutedSwitchIsOneFault(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8,levels=2")
	sick := spine(n)
	b := newHarness(t, n, fabric.Config{Seed: 1, Caps: defective(sick, refuses(smp.AttrLinearForwardingTable, false))})
	m := b.comeUp(minhopConfig())
	var found []finding.Finding
	for _, f := range m.View.Findings {
		if f.Kind == finding.Unrouted {
			found = append(found, f)
		}
	}
	if len(found) != 1 || found[0].Node != n.Nodes[sick].GUID || found[0].Port != 0 {
		t.Errorf("%d faults: %+v", len(found), found)
	}
}
