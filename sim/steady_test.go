package sim_test

import (
	"testing"

	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// blocks is how many blocks of forwarding tables differ.
func blocks(before, after map[int32][]byte) (n int) {
	for node, now := range after {
		was := before[node]
		for first := 0; first < len(now); first += 64 {
			last := min(first+64, len(now))
			if len(was) < last || string(was[first:last]) != string(now[first:last]) {
				n++
			}
		}
	}
	return n
}

// TestSteadyEngine: with the engine tree a cable, and then a switch, that is lost and returns changes the routes that
// took it, with a Set for each block that differs, and leaves no trace. A manager that takes the subnet over in between
// keeps all routes as well, and knows them for its own.
func TestSteadyEngine(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8,missing-links=4%")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := chainConfig(t, engines.Settings{}, "tree")
	m := b.comeUp(cfg)
	b.mustBeWhole(m)
	first := b.lfts()
	sent := func() uint64 {
		count := uint64(0)
		for _, up := range m.ups {
			count += uint64(up.Sets[smp.AttrLinearForwardingTable])
		}
		return count
	}
	step := func(what string, do func()) (written uint64) {
		before, was := b.lfts(), sent()
		do()
		b.pass(settling)
		b.mustBeWhole(m)
		written = sent() - was
		if differ := blocks(before, b.lfts()); written != uint64(differ) {
			t.Errorf("%s: %d blocks were written, %d differ", what, written, differ)
		}
		return written
	}
	cable := uplink(n, 0)
	spine := net.End{Node: int32(len(n.Nodes))}
	for i := range n.Nodes {
		if n.Nodes[i].Desc == "spine-01" {
			spine.Node = int32(i)
		}
	}
	lost := step("a cable is lost", func() { b.Fabric.LinkDown(cable) })
	if all := blocks(nil, first); lost == 0 || int(lost)*2 > all {
		t.Errorf("the loss of a cable changes %d of %d blocks", lost, all)
	}
	step("a switch is lost, too", func() { b.Fabric.NodeDown(spine.Node) })
	before := b.lfts()
	m.retire()
	m = b.add(host(n, 5), cfg)
	b.pass(settling)
	b.mustBeWhole(m)
	if r := m.View.Routing; r.Engine != "tree" || r.Kept {
		t.Errorf("after a takeover: %+v", r)
	}
	if now := b.lfts(); blocks(before, now) > 0 {
		t.Errorf("a takeover changes %d blocks", blocks(before, now))
	}
	b.Fabric.LinkUp(cable)
	b.Fabric.NodeUp(spine.Node)
	b.pass(settling)
	b.mustBeWhole(m)
	if now := b.lfts(); blocks(first, now) > 0 {
		t.Errorf("everything is back, and %d blocks differ from those of before", blocks(first, now))
	}
	m.sweep(manager.Heavy)
	if now := b.lfts(); blocks(first, now) > 0 {
		t.Error("a heavy sweep changes routes")
	}
}

// TestSteadyFound: routes of min-hop that the engine tree finds are kept, as they have its rules, and so is what
// returns; status says that its own would be better, until they are computed.
func TestSteadyFound(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.comeUp(minhopConfig()).retire()
	found := b.lfts()
	m := b.add(host(n, 3), chainConfig(t, engines.Settings{}, "tree"))
	b.pass(settling)
	mustKeep := func(when string) {
		t.Helper()
		b.mustBeWhole(m)
		if differ := blocks(found, b.lfts()); differ > 0 {
			t.Errorf("%s: %d blocks differ from those found", when, differ)
		}
		if r := m.View.Routing; r.Engine != "tree" || r.Foreign != "tree" {
			t.Errorf("%s: %+v", when, r)
		}
	}
	mustKeep("taken over")
	cable := uplink(n, 0)
	b.Fabric.LinkDown(cable)
	b.pass(settling)
	b.mustBeWhole(m)
	if blocks(found, b.lfts()) == 0 {
		t.Error("a cable is lost, and no route has changed")
	}
	b.Fabric.LinkUp(cable)
	b.pass(settling)
	mustKeep("the cable is back")
	m.sweep(manager.Reroute)
	b.pass(settling)
	b.mustBeWhole(m)
	if r := m.View.Routing; r.Foreign != "" || blocks(found, b.lfts()) == 0 {
		t.Errorf("rerouted: %+v", r)
	}
}
