package sim_test

import (
	"maps"
	"slices"
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

// spine is a switch without hosts of a fabric that has two levels.
func spine(n *net.Net) int32 {
	for i := range n.Nodes {
		if n.Nodes[i].Type != mad.Switch {
			continue
		}
		hosts := 0
		for _, p := range n.Nodes[i].Ports {
			if p.Peer.Node >= 0 && n.Nodes[p.Peer.Node].Type != mad.Switch {
				hosts++
			}
		}
		if hosts == 0 {
			return int32(i)
		}
	}
	panic("no spine")
}

// lfts is what all switches hold, by node.
func (b *harness) lfts() map[int32][]uint8 {
	tables := map[int32][]uint8{}
	for node := range int32(b.Fabric.NumNodes()) {
		if b.Fabric.NodeType(node) == mad.Switch {
			tables[node] = slices.Clone(b.Fabric.LFT(node))
		}
	}
	return tables
}

// changed counts the entries that differ, by node.
func changed(before, after map[int32][]uint8) map[int32]int {
	count := map[int32]int{}
	for node, row := range before {
		for lid := range row {
			if row[lid] != after[node][lid] {
				count[node]++
			}
		}
	}
	return count
}

// When a link is lost only the routes that went over it move, and when it is back
// they may.
func TestLostLink(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8,levels=2")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	before := b.lfts()
	at := uplink(n, 0)
	peer := b.Fabric.Peer(at)
	b.Fabric.LinkDown(at)
	b.pass(settling)
	b.mustBeWhole(m)
	for node, row := range b.lfts() {
		for lid, port := range row {
			was := before[node][lid]
			if was == port || node == at.Node && was == at.Port || node == peer.Node && was == peer.Port {
				continue
			}
			// A switch that reached the LID through the one that lost its way may move.
			if leads := b.Fabric.Peer(net.End{Node: node, Port: was}); leads.Node != at.Node &&
				leads.Node != peer.Node {
				t.Errorf("switch %d moved LID %d from port %d to %d, which has nothing to do with the lost link", node,
					lid, was, port)
			}
		}
	}
	b.Fabric.LinkUp(at)
	b.pass(settling)
	b.mustBeWhole(m)
}

// A switch that has rebooted gets back the table it had, and no other is touched.
func TestRebootedSwitch(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8,levels=2")
	written := map[int32]bool{}
	b := newHarness(t, n, fabric.Config{Seed: 1, TrainTime: 100 * time.Millisecond, OnSet: func(s fabric.Set) {
		if s.Attr == smp.AttrLinearForwardingTable {
			written[s.Node] = true
		}
	}})
	m := b.comeUp(minhopConfig())
	before := b.lfts()
	clear(written)
	sw := spine(n)
	b.Fabric.SetUnresponsive(sw, true) // it is back before anybody has missed it
	b.Fabric.Reboot(sw)
	b.pass(150 * time.Millisecond)
	b.Fabric.SetUnresponsive(sw, false)
	b.pass(settling)
	b.mustBeWhole(m)
	if diff := changed(before, b.lfts()); len(diff) > 0 {
		t.Errorf("entries changed, by switch: %v", diff)
	}
	if !written[sw] {
		t.Error("the switch that rebooted was not written")
	}
}

// A switch that reboots after it has been walked and before it is written must not be
// taken for one that holds its table, although the sweep writes its LinearFDBTop, a
// block of its table and some of its ports.
func TestRebootWithinSweep(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=12,levels=2") // tables of two blocks
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.ComputeTime = 300 * time.Millisecond
	m := b.comeUp(minhopConfig())
	computing := false
	forward := m.OnAction
	m.OnAction = func(now time.Duration, a manager.Action) {
		if t, ok := a.(manager.Task); ok && t.Routes != nil {
			computing = true
		}
		forward(now, a)
	}
	for count := 6; count < 36; count += 6 {
		for _, away := range []bool{false, true} {
			newcomer := host(n, count)
			b.Fabric.LinkDown(newcomer)
			b.pass(settling)
			if away { // a manager that is not master yet clears no change when it sees it
				b.Fabric.LinkDown(m.Station.At())
				b.pass(5 * time.Second)
			}
			b.Fabric.LinkUp(newcomer)
			b.pass(0)
			b.Fabric.LinkUp(m.Station.At())
			computing = false
			if !b.Run(b.Fabric.Now()+settling, func() bool { return computing }) {
				t.Fatal("no sweep")
			}
			b.Fabric.Reboot(b.Fabric.Peer(newcomer).Node)
			b.pass(settling)
			b.mustBeWhole(m)
		}
	}
}

// A host whose link is up but which does not answer keeps its LID and its routes for
// five sweeps. Then it is given up and its port taken down.
func TestUnresponsiveHost(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	downs := map[int32]int{}
	b := newHarness(t, n, fabric.Config{Seed: 1, OnSet: func(s fabric.Set) {
		if info := smp.PortInfo(s.Data); s.Attr == smp.AttrPortInfo && info.PortState() == smp.PortDown {
			downs[s.Node]++
		}
	}})
	cfg := minhopConfig()
	cfg.SweepInterval = 0 // only those that are asked for
	m := b.comeUp(cfg)
	victim := host(n, 3)
	lid := b.Fabric.PortInfo(victim)
	before := b.lfts()
	b.Fabric.SetUnresponsive(victim.Node, true)
	b.mustMiss(m, victim, before)
	if len(downs) > 0 {
		t.Errorf("ports were taken down too early: %v", downs)
	}
	m.sweep(manager.Heavy)
	if m.View.Topo.FindPort(b.Fabric.PortGUID(victim)) != topo.None {
		t.Error("the host was not given up")
	}
	if m.says("node removed") == 0 {
		t.Error("nothing was said")
	}
	if leaf := b.Fabric.Peer(victim); downs[leaf.Node] == 0 {
		t.Errorf("its port was not taken down: %v", downs)
	}
	b.Fabric.SetUnresponsive(victim.Node, false)
	m.sweep(manager.Heavy)
	b.pass(5 * time.Second)
	b.mustBeWhole(m)
	if now := b.Fabric.PortInfo(victim); now.LID() != lid.LID() {
		t.Errorf("it came back with LID %d, it had %d", now.LID(), lid.LID())
	}
}

// mustMiss makes the sweeps over which an unresponsive node keeps what it had.
func (b *harness) mustMiss(m *watched, victim net.End, before map[int32][]uint8) {
	b.Helper()
	for i := range 5 {
		up := m.sweep(manager.Heavy)
		p := m.View.Topo.FindPort(b.Fabric.PortGUID(victim))
		if p == topo.None {
			b.Fatalf("given up in sweep %d", i+1)
		}
		if info := b.Fabric.PortInfo(victim); m.View.LIDs.Base[p] != info.LID() {
			b.Errorf("LID %d in sweep %d, it holds %d", m.View.LIDs.Base[p], i+1, info.LID())
		}
		if up.Errors {
			b.Errorf("sweep %d has errors", i+1)
		}
		if diff := changed(before, b.lfts()); len(diff) > 0 {
			b.Errorf("routes changed in sweep %d: %v", i+1, diff)
		}
	}
}

// A switch in the middle that does not answer goes on forwarding, and so it is
// routed through as before. When it answers again nothing has happened.
func TestUnresponsiveSwitch(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=3x3,hosts=2")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.SweepInterval = 0
	m := b.comeUp(cfg)
	before := b.lfts()
	victim := net.End{Node: 4}
	b.Fabric.SetUnresponsive(victim.Node, true)
	b.mustMiss(m, victim, before)
	if b.probe(func(format string, args ...any) { t.Errorf(format, args...) }); m.says("no answer behind") == 0 {
		t.Error("nothing was said")
	}
	b.Fabric.SetUnresponsive(victim.Node, false)
	b.Fabric.ResetStats()
	m.sweep(manager.Heavy)
	b.pass(5 * time.Second)
	b.mustBeWhole(m)
	if b.sets() > 0 {
		t.Errorf("%d Sets though nothing has changed: %v", b.sets(), asked(b.Fabric))
	}
}

// A switch that is given up is routed round, as far as there is another way.
func TestGivenUpSwitch(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8,levels=2")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	sw := spine(n)
	b.Fabric.SetUnresponsive(sw, true)
	b.pass(5 * time.Minute)
	if m.View.Topo.FindNode(n.Nodes[sw].GUID) != topo.None {
		t.Error("the switch is still there")
	}
	if b.leadsThrough(sw) {
		t.Error("routes lead through the switch")
	}
	b.Fabric.SetUnresponsive(sw, false)
	b.pass(settling)
	b.mustBeWhole(m)
}

// A Set that was long on its way puts an old block back into a switch. The answer to it
// shows it, and the block is written again.
func TestLateBlock(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.add(firstHost(n), minhopConfig())
	t.Cleanup(m.dump)
	var late []mad.Datagram
	forward := m.OnAction
	m.OnAction = func(now time.Duration, a manager.Action) {
		if send, ok := a.(manager.Send); ok {
			for _, d := range send.Datagrams {
				if d.Packet.AttrID() == smp.AttrLinearForwardingTable && len(late) < len(b.lfts()) {
					late = append(late, d)
				}
			}
		}
		forward(now, a)
	}
	b.Fabric.NodeDown(host(n, 5).Node)
	b.pass(settling)
	b.Fabric.NodeUp(host(n, 5).Node)
	b.pass(settling)
	b.mustBeWhole(m)
	whole := b.lfts()
	m.Station.Send(late)
	b.pass(time.Millisecond)
	if len(changed(whole, b.lfts())) == 0 {
		t.Fatal("the late Sets change nothing: no test")
	}
	b.pass(settling)
	b.mustBeWhole(m)
}

// A host that is lost with its link keeps its LID for when it is back.
func TestLIDsAreKept(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	lids := func() map[net.End]mad.LID {
		held := map[net.End]mad.LID{}
		for _, at := range b.endPorts() {
			pi := b.Fabric.PortInfo(at)
			held[at] = pi.LID()
		}
		return held
	}
	before := lids()
	for _, count := range []int{1, 4, 6} {
		b.Fabric.NodeDown(host(n, count).Node)
	}
	b.pass(settling)
	for _, count := range []int{6, 4, 1} {
		b.Fabric.NodeUp(host(n, count).Node)
		b.pass(settling)
	}
	b.mustBeWhole(m)
	if after := lids(); !maps.Equal(before, after) {
		t.Errorf("LIDs were %v, are %v", before, after)
	}
}

// When our own port loses its link while switches are written, or between sweeps, that is known
// as soon as some questions are unanswered, not after one of each node has been waited for.
func TestOwnLinkLost(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=16")
	for name, written := range ordered(map[string]bool{"while written": true, "between sweeps": false}) {
		t.Run(name, func(t *testing.T) {
			b := newHarness(t, n, fabric.Config{Seed: 1})
			m := b.add(firstHost(n), minhopConfig())
			t.Cleanup(m.dump)
			if !written {
				b.pass(15 * time.Second)
			} else if !b.Run(settling, func() bool { return b.sets() > 3000 }) {
				t.Fatal("nothing is written")
			}
			before := m.Core.Stats().Txn.TimedOut
			b.Fabric.LinkDown(firstHost(n))
			b.pass(settling)
			if m.says("SM port is down") != 1 {
				t.Error("it was not logged")
			}
			if lost := m.Core.Stats().Txn.TimedOut - before; lost > 300 {
				t.Errorf("%d requests timed out", lost)
			}
			b.Fabric.LinkUp(firstHost(n))
			b.pass(settling)
			b.mustBeActive()
		})
	}
}
