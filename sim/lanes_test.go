package sim_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep/device"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// A manager that reads SLtoVLMappingTables does not write them: another does, here.

// lanesOf is the table that writeLanes gives to a pair of ports, another one for each.
func lanesOf(node int32, in, out, salt uint8) (t smp.SLtoVLMappingTable) {
	for sl := range uint8(16) {
		t.SetVL(sl, uint8(node)*3+in+5*out+sl*(salt|1))
	}
	return t
}

// writeLanes gives each pair of ports a table of its own. It sends by LID, from a host
// without a manager.
func (b *harness) writeLanes(from net.End, salt uint8) {
	b.Helper()
	st, err := b.Fabric.Attach(from)
	if err != nil {
		b.Fatal(err)
	}
	defer st.Detach()
	set := func(to net.End, in, out uint8, mod uint32) {
		info := b.Fabric.PortInfo(to)
		d := mad.Datagram{Addr: mad.Addr{LID: info.LID()}}
		d.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodSet, smp.AttrSLtoVLMappingTable, mod)
		*d.Packet.Data() = lanesOf(to.Node, in, out, salt)
		st.Send([]mad.Datagram{d})
		b.pass(time.Millisecond)
	}
	for to := range b.Fabric.EndPorts() {
		if b.Fabric.NodeType(to.Node) != mad.Switch {
			set(to, 0, 0, 0)
			continue
		}
		for out := range b.Fabric.NumPorts(to.Node) + 1 {
			for in := range b.Fabric.NumPorts(to.Node) + 1 {
				set(to, in, out, smp.SLtoVLMod(in, out))
			}
		}
	}
}

// laneReads counts the tables that were asked for.
func (b *harness) laneReads() uint64 {
	return b.Fabric.Stats().SMPs[fabric.Kind{Method: mad.MethodGet, Attr: smp.AttrSLtoVLMappingTable}]
}

// lanes counts the tables that the view does not have, and those that it has otherwise than
// the fabric.
func (b *harness) lanes(m *watched) (unknown, wrong int) {
	b.Helper()
	t := m.View.Topo
	for p := range t.Ports {
		port := &t.Ports[p]
		node := &t.Nodes[port.Node]
		at, found := b.Fabric.Find(t.Ports[t.EndPort(topo.PortIdx(p))].GUID)
		if base := node.Type == mad.Switch && port.Num == 0 && !node.SwitchInfo.EnhancedPort0(); !found || !port.Seen || base {
			continue // a base port 0 sends on VL 15 alone
		}
		ins := uint8(0)
		if node.Type == mad.Switch {
			at.Port, ins = port.Num, node.NumPorts
		}
		held := m.View.Ports.Blocks(device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: node.GUID, Port: port.Num})
		for in := range ins + 1 {
			table := smp.SLtoVLMappingTable(held.Known(int(in)))
			if held.State(int(in)) != device.Known {
				unknown++
				continue
			}
			var want smp.SLtoVLMappingTable
			for sl := range uint8(16) {
				want.SetVL(sl, b.Fabric.VL(at, in, sl))
			}
			if table != want {
				wrong++
			}
		}
	}
	return unknown, wrong
}

// laneTables is the number of tables of a switch with ports 0 to 4: of each pair of ports, and
// none of a base port 0.
func laneTables(sw *net.Node) uint64 {
	if sw.EnhancedPort0 {
		return 5 * 5
	}
	return 4 * 5
}

// With QoS a manager knows the SLtoVLMappingTable of each pair of ports, whoever wrote it; it
// reads one again only where that may have been lost.
func TestLanes(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	tables := uint64(8) // of hosts
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.Switch {
			tables += laneTables(&n.Nodes[i])
		}
	}
	b := newHarness(t, n, fabric.Config{Seed: 1, TrainTime: 5 * time.Millisecond})
	plain := b.comeUp(minhopConfig())
	if b.laneReads() > 0 || plain.View.Ports.Blocks(device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: plain.View.Topo.Nodes[0].GUID, Port: 1}) != nil {
		t.Error("lanes are read without QoS")
	}
	b.writeLanes(host(n, 3), 0)
	plain.retire()
	cfg := minhopConfig()
	cfg.Sweep.Settings.QoS = true
	cfg.Elect.Priority = 3
	m := b.add(host(n, 5), cfg)
	t.Cleanup(m.dump)
	expect := func(what string, reads uint64) {
		t.Helper()
		if got := b.laneReads(); got != reads {
			t.Errorf("%s: %d tables are read, want %d", what, got, reads)
		}
		if unknown, wrong := b.lanes(m); unknown+wrong > 0 {
			t.Errorf("%s: %d tables are not known, %d are not as the fabric has them", what, unknown, wrong)
		}
		b.Fabric.ResetStats()
	}
	b.pass(settling)
	expect("takeover", tables)
	for range 3 {
		m.sweep(manager.Heavy)
	}
	expect("heavy sweeps", 0)

	bounced := uplink(n, firstSwitch(b))
	b.Fabric.LinkDown(bounced)
	b.pass(settling)
	b.Fabric.LinkUp(bounced)
	b.pass(settling)
	expect("a link between switches comes back", 0)
	b.Fabric.Reboot(host(n, 2).Node)
	b.pass(settling)
	expect("a host reboots", 1)
	b.Fabric.Reboot(firstSwitch(b))
	b.pass(settling)
	behind := uint64(0) // hosts, whose links have been down
	for _, p := range n.Nodes[firstSwitch(b)].Ports {
		if p.Peer.Node >= 0 && n.Nodes[p.Peer.Node].Type == mad.CA {
			behind++
		}
	}
	expect("a switch reboots", laneTables(&n.Nodes[firstSwitch(b)])+behind)

	high := minhopConfig()
	high.Elect.Priority = 9
	other := b.add(host(n, 0), high)
	t.Cleanup(other.dump)
	b.pass(settling)
	if m.last() != smp.Standby {
		t.Fatalf("beside a higher manager it is %v", m.last())
	}
	b.writeLanes(host(n, 3), 2)
	b.Kill(other.Manager)
	b.Fabric.ResetStats()
	b.pass(2 * settling)
	expect("another manager was master", tables)

	cfg.Sweep.Settings.QoS = false
	b.Configure(m.Manager, cfg)
	b.pass(settling)
	if unknown, _ := b.lanes(m); b.laneReads() > 0 || unknown != int(tables) {
		t.Error("tables that do not matter any more are read, or still shown")
	}
}

// Of what is lost on the way, nothing wrong is believed, and it is read once nothing is lost
// any more. An agent that knows no tables, or does not say, costs the subnet nothing.
func TestLanesAreLost(t *testing.T) {
	for _, seed := range seeds(t) {
		n := nettest.Generate(t, "fattree:k=4,levels=2")
		silent, refuses := host(n, 2), host(n, 6)
		rng, lossy := rand.New(rand.NewPCG(seed, 0x51)), false
		b := newHarness(t, n, fabric.Config{Seed: seed, Caps: func(i int32, _ *net.Node, c *fabric.Caps) {
			c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
				switch {
				case p.AttrID() != smp.AttrSLtoVLMappingTable:
				case i == refuses.Node:
					return mad.StatusBadMethodAttr, true
				case i == silent.Node, lossy && rng.IntN(3) > 0:
					return mad.StatusOK, false
				}
				return obey(), true
			}
		}})
		m := b.comeUp(minhopConfig())
		b.writeLanes(host(n, 3), uint8(seed))
		cfg := minhopConfig()
		cfg.Sweep.Settings.QoS = true
		lossy = true
		b.Configure(m.Manager, cfg)
		b.pass(settling)
		if unknown, wrong := b.lanes(m); unknown <= 2 || wrong > 0 {
			t.Errorf("seed %d: %d tables are not known, %d are not what they are believed to be", seed, unknown, wrong)
		}
		lossy = false
		b.Ask(m.Manager, manager.Heavy)
		b.pass(2 * settling)
		if unknown, wrong := b.lanes(m); unknown != 2 || wrong > 0 {
			t.Errorf("seed %d: %d tables are not known, want those of the two hosts that do not show theirs; %d are wrong", seed, unknown, wrong)
		}
		if m.View.FaultsMore+len(m.View.Faults) > 0 {
			t.Errorf("seed %d: faults %v", seed, m.View.Faults)
		}
	}
}
