package sim_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"ibsm/finding"
	"ibsm/keys"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// addSpare adds a node without a cable to a net. An adapter has so many ports, a switch so many besides port 0.
func addSpare(n *net.Net, typ mad.NodeType, guid mad.GUID, ports int, portGUIDs ...mad.GUID) int32 {
	node := net.Node{ID: fmt.Sprintf("spare %v", guid), Desc: fmt.Sprintf("spare %v", guid), Type: typ, GUID: guid,
		SystemImageGUID: guid, Ports: make([]net.Port, ports+1)}
	for num := range node.Ports {
		node.Ports[num].Peer = net.NoEnd
		if typ == mad.CA && num > 0 {
			node.Ports[num].GUID = portGUIDs[num-1]
		}
	}
	n.Nodes = append(n.Nodes, node)
	return int32(len(n.Nodes) - 1)
}

// configurations are managers without M_Keys, and with one of each port.
func configurations() map[string]func() manager.Config {
	return map[string]func() manager.Config{
		"no M_Key": minhopConfig, "M_Keys of ports": func() manager.Config { return portMKeys(1) },
	}
}

// cost is what an event costs.
type cost struct {
	smps uint64        // until all is quiet
	took time.Duration // until packets reach the hosts
}

// costOf is what an event costs until packets from the manager's host reach the hosts. It fails the test where it costs
// more than most.
func (b *harness) costOf(what string, event func(), hosts []net.End, most cost) {
	b.Helper()
	before := allSMPs(b.Fabric.Stats())
	event()
	var got cost
	got.took = b.awaitUsable(hosts)
	b.pass(9 * time.Second) // less than until the next light sweep
	got.smps = allSMPs(b.Fabric.Stats()) - before
	b.Logf("%s: usable after %v, %d SMPs", what, got.took, got.smps)
	if got.took < 0 || got.took > most.took || got.smps > most.smps {
		b.Errorf("%s: usable after %v, %d SMPs; want at most %v and %d", what, got.took, got.smps, most.took, most.smps)
	}
}

// mustFind fails the test unless the manager has the findings about GUIDs and adapters, and no others of these kinds.
func (b *harness) mustFind(m *watched, want ...finding.Kind) {
	b.Helper()
	var got []finding.Kind
	for _, f := range m.View.Findings {
		switch f.Kind {
		case finding.DuplicateNodeGUID, finding.DuplicatePortGUID, finding.WasAdapter, finding.BranchCut:
			got = append(got, f.Kind)
		}
	}
	if !slices.Equal(got, want) {
		b.Errorf("findings of kinds %v, want %v", got, want)
	}
}

// plug connects two ports.
func (b *harness) plug(x, y net.End) { b.Fabric.Plug(x, y, mad.Width4x, mad.EDR) }

// TestHostMoves: a host that is moved to another port keeps its GUIDs. It is found there by the sweep for its link,
// with 60 SMPs. With M_Keys of ports that sweep takes 0.8 s longer, and 85 SMPs: the first request shows the key of
// whoever was there, or none, and the keys of those who left are tried when it has had no answer.
func TestHostMoves(t *testing.T) {
	for name, cfg := range ordered(configurations()) {
		t.Run(name, func(t *testing.T) {
			b := newHarness(t, nettest.Generate(t, "fattree:k=4"), fabric.Config{Seed: 1})
			m := b.comeUp(cfg())
			moves, other := host(b.net, 5), host(b.net, 9)
			place := b.Fabric.Peer(other)
			b.Fabric.Unplug(other)
			b.pass(settling)
			b.costOf("it moves at once", func() {
				b.Fabric.Unplug(moves)
				b.plug(moves, place)
			}, []net.End{moves}, cost{200, quickReturn})
			b.mustFind(m)
			back := net.End{Node: b.Fabric.Peer(host(b.net, 4)).Node, Port: 0}
			for e := range b.Fabric.Ports() {
				if e.Node == back.Node && e.Port > 0 && b.Fabric.Peer(e) == net.NoEnd {
					back = e
				}
			}
			b.Fabric.Unplug(moves)
			b.pass(time.Minute)
			b.costOf("it moves back after a minute", func() { b.plug(moves, back) }, []net.End{moves},
				cost{200, quickReturn})
			b.mustFind(m)
			b.pass(settling)
			b.mustBeWhole(m)
		})
	}
}

// TestAdapterReplaced: an adapter is exchanged at its port: for another one, for one that has its port GUID and another
// node GUID, and one with two ports at two leaves for another one, port by port. The new one has no M_Key, and is found
// by the sweep for its link, with 40 to 100 SMPs. The other port of the old one stays where it is, and serves. When the
// first adapter comes back, with the M_Key that it had, it takes 0.8 s longer, as if it had moved.
func TestAdapterReplaced(t *testing.T) {
	const newNode, newPort = 0xabc000, 0xabc001
	for name, cfg := range ordered(configurations()) {
		t.Run(name, func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4")
			was, spot, spot2 := host(n, 5), host(n, 9), host(n, 13)
			other := addSpare(n, mad.CA, newNode, 1, newPort)
			same := addSpare(n, mad.CA, newNode+0x100, 1, n.Nodes[was.Node].Ports[1].GUID)
			two := addSpare(n, mad.CA, newNode+0x200, 2, newPort+0x200, newPort+0x201)
			next := addSpare(n, mad.CA, newNode+0x300, 2, newPort+0x300, newPort+0x301)
			b := newHarness(t, n, fabric.Config{Seed: 1})
			one, another := b.Fabric.Peer(spot), b.Fabric.Peer(spot2)
			b.plug(net.End{Node: two, Port: 1}, one)
			b.plug(net.End{Node: two, Port: 2}, another)
			m := b.comeUp(cfg())
			place := b.Fabric.Peer(was)
			replace := func(what string, by net.End, at net.End, stays ...net.End) {
				b.costOf(what, func() { b.plug(by, at) }, append(stays, by), cost{200, quickReturn})
				b.mustFind(m)
				b.pass(settling)
			}
			replace("another adapter", net.End{Node: other, Port: 1}, place)
			replace("the first one again", was, place)
			replace("the same port GUID", net.End{Node: same, Port: 1}, place)
			replace("one of two ports", net.End{Node: next, Port: 1}, one, net.End{Node: two, Port: 2})
			replace("the other of two ports", net.End{Node: next, Port: 2}, another, net.End{Node: next, Port: 1})
		})
	}
}

// TestSwitchBehindAdapterPort: a switch with two hosts is connected where an adapter was. The sweep for its link brings
// it up, with 340 SMPs, and an alarm is raised, which lasts until the port has been without it for a sweep.
func TestSwitchBehindAdapterPort(t *testing.T) {
	for name, cfg := range ordered(configurations()) {
		t.Run(name, func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4")
			sw := addSpare(n, mad.Switch, 0xabc000, 8)
			b := newHarness(t, n, fabric.Config{Seed: 1})
			was, behind := host(n, 5), []net.End{host(n, 10), host(n, 11)}
			for i, at := range behind {
				b.plug(at, net.End{Node: sw, Port: uint8(2 + i)})
			}
			m := b.comeUp(cfg())
			place := b.Fabric.Peer(was)
			b.costOf("a switch", func() { b.plug(net.End{Node: sw, Port: 1}, place) }, behind,
				cost{700, quickReturn})
			b.mustFind(m, finding.WasAdapter)
			if m.says("ERROR", finding.WasAdapter.Text()) != 1 {
				t.Error("there is no alarm, or more than one")
			}
			b.pass(10 * time.Minute)
			b.mustFind(m, finding.WasAdapter)
			b.Fabric.Unplug(place)
			b.pass(settling)
			b.plug(was, place)
			b.pass(settling)
			b.mustFind(m)
		})
	}
}

// halves is two fat trees that have nothing in common, and a free port of a top switch of each.
func halves(t *testing.T) (n *net.Net, a, z net.End) {
	n = nettest.Generate(t, "fattree:k=4")
	other := nettest.Generate(t, "fattree:k=4")
	first := int32(len(n.Nodes))
	for i := range other.Nodes {
		node := &other.Nodes[i]
		node.ID, node.GUID, node.SystemImageGUID = "other "+node.ID, node.GUID+0x1000000, node.SystemImageGUID+0x1000000
		for num := range node.Ports {
			p := &node.Ports[num]
			if p.GUID != 0 {
				p.GUID += 0x1000000
			}
			if p.Peer.Node >= 0 {
				p.Peer.Node += first
			}
		}
		n.Nodes = append(n.Nodes, *node)
	}
	free := func(node int32) net.End {
		ports := &n.Nodes[node].Ports
		*ports = append(*ports, net.Port{Peer: net.NoEnd})
		return net.End{Node: node, Port: uint8(len(*ports) - 1)}
	}
	top := spine(n)
	return n, free(top), free(top + first)
}

// twoMasters is two halves with a master each.
func twoMasters(t *testing.T, cfg, otherCfg manager.Config) (b *harness, masters [2]*watched, a, z net.End) {
	n, a, z := halves(t)
	b = newHarness(t, n, fabric.Config{Seed: 1})
	masters[0] = b.comeUp(cfg)
	masters[1] = b.add(host(n, 16), otherCfg)
	t.Cleanup(masters[1].dump)
	b.pass(settling)
	for _, m := range masters {
		if m.last() != smp.Master || len(m.View.Topo.Nodes) != len(n.Nodes)/2 {
			t.Fatalf("a half is not up: %v", m.states)
		}
	}
	return b, masters, a, z
}

// TestHalvesJoined: a cable connects two subnets of one secret that have a master each, and the same LIDs. One of the
// masters becomes master of all, the LIDs of its half stay, and no node counts as a duplicate. That takes a sweep of
// each without M_Keys: 11 ms and 1,600 SMPs. With M_Keys of ports the switches of the other half are opened to whoever
// shows the key for being let in, and the ports behind them answer when their leases have ended: 64 s and 8,800 SMPs.
func TestHalvesJoined(t *testing.T) {
	most := map[string]cost{"no M_Key": {3000, time.Second}, "M_Keys of ports": {20_000, 2 * time.Minute}}
	for name, cfg := range ordered(configurations()) {
		t.Run(name, func(t *testing.T) {
			b, masters, a, z := twoMasters(t, cfg(), cfg())
			lids := [2]map[net.End]mad.LID{b.lidsOf(masters[0]), b.lidsOf(masters[1])}
			began, before := b.Fabric.Now(), allSMPs(b.Fabric.Stats())
			b.plug(a, z)
			b.Run(began+20*time.Minute, func() bool {
				return slices.ContainsFunc(masters[:], func(m *watched) bool {
					return m.last() == smp.Master && len(m.View.Topo.Nodes) == len(b.net.Nodes)
				})
			})
			got := cost{allSMPs(b.Fabric.Stats()) - before, b.Fabric.Now() - began}
			t.Logf("joined after %v, %d SMPs", got.took, got.smps)
			if got.took > most[name].took || got.smps > most[name].smps {
				t.Errorf("joined after %v, %d SMPs; want at most %v and %d", got.took, got.smps, most[name].took,
					most[name].smps)
			}
			b.pass(settling)
			if masters[0].last() == masters[1].last() {
				t.Fatalf("both are %v", masters[0].last())
			}
			for i, m := range masters {
				if m.last() != smp.Master {
					continue
				}
				b.mustBeWhole(m)
				b.mustFind(m)
				for at, lid := range lids[i] {
					if info := b.Fabric.PortInfo(at); info.LID() != lid {
						t.Errorf("port %v had LID %d, has %d", at, lid, info.LID())
					}
				}
			}
		})
	}
}

// lidsOf are the LIDs of the ports that a manager knows.
func (b *harness) lidsOf(m *watched) map[net.End]mad.LID {
	lids := map[net.End]mad.LID{}
	for _, p := range m.View.Topo.EndPorts {
		if at, found := b.Fabric.Find(m.View.Topo.Ports[p].GUID); found {
			lids[at] = m.View.LIDs.Base[p]
		}
	}
	return lids
}

// TestHalvesOfTwoSecrets: a cable connects two subnets of different secrets. Each master keeps its own half, and writes
// nothing in the other one. What it costs is a time-out in each sweep: 6,300 SMPs in ten minutes.
func TestHalvesOfTwoSecrets(t *testing.T) {
	secret, err := keys.New(bytes.NewReader([]byte("the secret of another fabric, 32")))
	if err != nil {
		t.Fatal(err)
	}
	other := portMKeys(1)
	other.Sweep.Settings.MKey, other.Sweep.Settings.PortMKeys = sweep.Given(mad.MKey(secret.MKey())), secret.Ports(1)
	b, masters, a, z := twoMasters(t, portMKeys(1), other)
	before := b.snapshot()
	counted := allSMPs(b.Fabric.Stats())
	b.plug(a, z)
	b.pass(10 * time.Minute)
	if smps := allSMPs(b.Fabric.Stats()) - counted; smps > 15_000 {
		t.Errorf("%d SMPs in ten minutes", smps)
	}
	for _, m := range masters {
		if m.last() != smp.Master || len(m.View.Topo.Nodes) != len(b.net.Nodes)/2 {
			t.Errorf("%v of %d nodes", m.last(), len(m.View.Topo.Nodes))
		}
	}
	for _, at := range []net.End{a, z} { // the new link comes up, and nobody answers behind it
		delete(before, fmt.Sprint(at))
	}
	b.mustBeAsBefore(before)
}

// TestStarts: a manager is killed, and started again in a subnet whose ports have M_Keys of their own. With a store, or
// OpenSM's files, it asks each port once and writes nothing: 10 ms and 333 SMPs. With neither it waits until leases
// have ended, hop by hop, and asks again meanwhile: 7 minutes and 29,500 SMPs. It writes nothing until it knows all,
// and then what the leases have taken away.
func TestStarts(t *testing.T) {
	for store, most := range ordered(map[string]cost{"links": {1000, time.Second}, "files": {1000, time.Second},
		"none": {60_000, 10 * time.Minute}}) {
		t.Run(store, func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4")
			b := newHarness(t, n, fabric.Config{Seed: 1})
			first, cfg := b.comeUp(portMKeys(1)), portMKeys(1)
			switch store {
			case "links":
				cfg.Sweep.Restored = b.kept(firstHost(n))
			case "files":
				cfg.Sweep.Restored = restoredFrom(t, first)
			}
			first.retire()
			before, began, counted, sets := b.snapshot(), b.Fabric.Now(), allSMPs(b.Fabric.Stats()), b.sets()
			m := b.add(firstHost(n), cfg)
			t.Cleanup(m.dump)
			b.Run(began+20*time.Minute, func() bool {
				return m.View != nil && len(m.View.Topo.Nodes) == len(n.Nodes)
			})
			got := cost{allSMPs(b.Fabric.Stats()) - counted, b.Fabric.Now() - began}
			t.Logf("whole after %v, %d SMPs, %d Sets", got.took, got.smps, b.sets()-sets)
			if got.took > most.took || got.smps > most.smps {
				t.Errorf("whole after %v, %d SMPs; want at most %v and %d", got.took, got.smps, most.took, most.smps)
			}
			b.pass(10 * time.Minute)
			b.mustHoldPortMKeys(1)
			b.mustBeWhole(m)
			b.mustFind(m)
			if store != "none" {
				b.mustBeAsBefore(before)
			}
		})
	}
}

// allSMPs is the number of SMPs that agents were asked.
func allSMPs(s fabric.Stats) (count uint64) {
	for _, n := range s.SMPs {
		count += n
	}
	return count
}
