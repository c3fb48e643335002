package sim_test

import (
	"fmt"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// moods makes an agent refuse Gets of an attribute for as long as status is not 0: all of
// them, or with a port other than 0 those of its PortInfo.
func moods(attr mad.AttrID, port uint8, status *mad.Status) fabric.Defect {
	return func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
		if p.Method() == mad.MethodGet && p.AttrID() == attr && (port == 0 || uint8(p.AttrMod()) == port) &&
			*status != mad.StatusOK {
			return *status, true
		}
		return obey(), true
	}
}

// inNoMood is a status that no agent has a reason for.
const inNoMood = mad.Status(0x7700)

// A node that refuses to answer a question for a while keeps what it had, and so does what is
// behind it: nobody counts as missed, no route moves, and a link that is lost elsewhere is
// seen as soon as ever. Full walks do not go on for ever because of it.
func TestRefusingNode(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8,levels=2")
	leaf := n.Nodes[host(n, 9).Node].Ports[1].Peer.Node
	for name, node := range ordered(map[string]int32{"leaf": leaf, "spine": spine(n), "host": host(n, 9).Node}) {
		for _, attr := range []mad.AttrID{smp.AttrPortInfo, smp.AttrSwitchInfo, smp.AttrPKeyTable} {
			for _, mood := range []mad.Status{inNoMood, mad.StatusBadField} {
				if attr == smp.AttrSwitchInfo && n.Nodes[node].Type != mad.Switch {
					continue
				}
				t.Run(fmt.Sprint(name, " ", smp.AttrName(attr), " ", mood), func(t *testing.T) {
					status := mad.StatusOK
					b := newHarness(t, n,
						fabric.Config{Seed: 1, Latency: slowly, Caps: defective(node, moods(attr, 0, &status))})
					m := b.comeUp(minhopConfig())
					before, view := b.lfts(), m.View
					status = mood
					for range 8 { // more than an unresponsive node is waited for
						m.sweep(manager.Heavy)
					}
					b.mustHaveKept(m, view.Topo)
					if diff := changed(before, b.lfts()); len(diff) > 0 {
						t.Errorf("routes changed, by switch: %v", diff)
					}
					b.pass(time.Minute)
					walks := m.Core.Stats().Sweeps[manager.HeavySweep]
					b.pass(5 * time.Minute)
					if now := m.Core.Stats().Sweeps[manager.HeavySweep] - walks; now > 0 && attr != smp.AttrSwitchInfo {
						t.Errorf("%d full walks in five minutes", now)
					}
					b.mustHaveKept(m, view.Topo)
					if took := m.lose(b.Fabric.Peer(host(n, 20))); took > 26*slowly && attr != smp.AttrSwitchInfo {
						t.Errorf("a lost link is seen after %v", took)
					}
					status = mad.StatusOK
					b.Fabric.LinkUp(host(n, 20))
					b.pass(15 * time.Second)
					b.mustBeWhole(m)
					if found := m.View.Findings; len(found) > 0 {
						t.Errorf("what is well again is still reported: %v", found)
					}
				})
			}
		}
	}
}

// mustHaveKept fails the test unless the view has all ports of another one with their cables,
// and no node is being waited for.
func (b *harness) mustHaveKept(m *watched, before *topo.Topo) {
	b.Helper()
	now := m.View.Topo
	if len(now.Ports) != len(before.Ports) {
		b.Fatalf("%d ports, there were %d", len(now.Ports), len(before.Ports))
	}
	for i := range now.Nodes {
		if now.Nodes[i].Missed > 0 {
			b.Errorf("node %v counts as missed", now.Nodes[i].GUID)
		}
	}
	for i := range now.Ports {
		if now.Ports[i].Peer != before.Ports[i].Peer {
			b.Errorf("port %d of %v has lost its cable", now.Ports[i].Num, now.Nodes[now.Ports[i].Node].GUID)
		}
	}
}

// Where a node refuses to answer from the beginning, so that nobody knows what is behind it, it
// is asked again soon, and everything comes up within seconds of its change of mind.
func TestRefusingNewNode(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8,levels=2")
	port := n.Nodes[host(n, 9).Node].Ports[1].Peer
	for name, at := range ordered(map[string]net.End{
		"leaf": {Node: port.Node}, "port of a leaf": port, "spine": {Node: spine(n)}, "host": {Node: host(n, 9).Node},
	}) {
		for _, attr := range []mad.AttrID{smp.AttrPortInfo, smp.AttrSwitchInfo, smp.AttrPKeyTable} {
			if attr == smp.AttrSwitchInfo && n.Nodes[at.Node].Type != mad.Switch || attr != smp.AttrPortInfo &&
				at.Port != 0 {
				continue
			}
			for _, interval := range []time.Duration{0, 10 * time.Second} {
				t.Run(fmt.Sprint(name, " ", smp.AttrName(attr), " ", interval), func(t *testing.T) {
					status := inNoMood
					b := newHarness(t, n,
						fabric.Config{Seed: 1, Caps: defective(at.Node, moods(attr, at.Port, &status))})
					cfg := minhopConfig()
					cfg.SweepInterval = interval
					m := b.add(firstHost(n), cfg)
					t.Cleanup(m.dump)
					b.pass(2 * time.Second)
					status = mad.StatusOK
					b.pass(4 * time.Second)
					b.mustBeWhole(m)
					if found := m.View.Findings; len(found) > 0 {
						t.Errorf("what is well is still reported: %v", found)
					}
				})
			}
		}
	}
}

// A host that refuses its PortInfo is believed to be as it was while the switch in front says
// that the link is ARMED or ACTIVE. When the link has been down since, nothing is known of it.
func TestRefusedPortInfoAndItsLink(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	at := host(n, 9)
	near := n.Nodes[at.Node].Ports[1].Peer
	for _, c := range []struct {
		name     string
		state    smp.PortState // in place of the one that the switch has; 0 for that
		lost     bool
		believed bool
	}{{"ACTIVE", 0, false, true}, {"ARMED", smp.PortArmed, false, true}, {"down and up again", 0, true, false}} {
		t.Run(c.name, func(t *testing.T) {
			status, state := mad.StatusOK, smp.PortState(0)
			b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, node *net.Node, caps *fabric.Caps) {
				defective(at.Node, moods(smp.AttrPortInfo, 0, &status))(i, node, caps)
				defective(near.Node, func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
					get := p.Method() == mad.MethodGet && p.AttrID() == smp.AttrPortInfo &&
						uint8(p.AttrMod()) == near.Port
					s := obey()
					if get && state != 0 {
						(*smp.PortInfo)(p.Data()).SetPortState(state)
					}
					return s, true
				})(i, node, caps)
			}})
			m := b.comeUp(minhopConfig())
			status, state = inNoMood, c.state
			if c.lost {
				b.Fabric.LinkDown(at)
				b.Fabric.LinkUp(at)
			}
			b.pass(2 * time.Second)
			m.sweep(manager.Heavy)
			v := m.View.Topo
			p := v.FindPort(b.Fabric.PortGUID(at))
			if believed := p != topo.None && v.Nodes[v.Ports[p].Node].Missed == 0 &&
				v.Ports[p].Info.PortState() == smp.PortActive; believed != c.believed {
				t.Errorf("the port is believed to be ACTIVE: %t", believed)
			}
			status, state = mad.StatusOK, 0
			b.pass(15 * time.Second)
			b.mustBeWhole(m)
		})
	}
}
