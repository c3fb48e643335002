package sim_test

import (
	"context"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/verify"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo/net/nettest"
)

// looping is minhop with an error: what two neighbouring switches have for a port goes round
// between them.
func looping(victim mad.GUID) func(context.Context, routing.In) (*routing.Tables, error) {
	return func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		tables, err := minhop.Route(ctx, in)
		if err != nil {
			return nil, err
		}
		t := in.Topo
		lid := in.LIDs.Base[t.FindPort(victim)]
		for s, n := range t.Switches {
			for num := uint8(1); num <= t.Nodes[n].NumPorts; num++ {
				p := t.Port(n, num)
				if !t.IsSwitchPort(t.Ports[p].Peer) {
					continue
				}
				peer := t.Ports[t.Ports[p].Peer]
				next := t.Nodes[peer.Node].Switch
				tables.LFT[s], tables.LFT[next] = slices.Clone(tables.LFT[s]), slices.Clone(tables.LFT[next])
				tables.LFT[s][lid], tables.LFT[next][lid] = num, peer.Num
				return tables, nil
			}
		}
		return tables, nil
	}
}

// Whatever an engine computes, no route that loops is written: its entries are cut, so that
// packets are dropped, all other routes stay, and both is reported.
func TestLoopsAreCut(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	victim := host(n, 9)
	cfg := minhopConfig()
	cfg.Sweep.Engines = engines.Chain{{Name: "looping", Route: looping(b.Fabric.PortGUID(victim))}}
	m := b.comeUp(cfg)
	dropped := 0
	for _, from := range b.endPorts() {
		for _, to := range b.endPorts() {
			info := b.Fabric.PortInfo(to)
			switch hops, end := b.Fabric.Probe(from, info.LID(), mad.DefaultPKey, 0, nil); {
			case end == fabric.DropLoop:
				t.Fatalf("a packet from %v to %v goes round: %v", from, to, hops)
			case end != fabric.Delivered && to == victim:
				dropped++
			case end != fabric.Delivered:
				t.Errorf("a packet from %v to %v: %v", from, to, end)
			}
		}
	}
	if dropped == 0 {
		t.Fatal("all packets arrive: no test")
	}
	if m.says("WARN", "routes had loops, which were removed") == 0 || m.says("ERROR", "routes do not reach their LIDs although there is a path of cables") == 0 {
		t.Error("the error is not reported")
	}
	if m.says("routes do not reach", verify.Loop.String()) > 0 {
		t.Error("what is written is reported to loop")
	}
	before := b.lfts()
	m.sweep(manager.Heavy)
	if diff := changed(before, b.lfts()); len(diff) > 0 {
		t.Errorf("another sweep changes routes: %v", diff)
	}
	for s, node := range m.View.Topo.Switches {
		at, _ := b.Fabric.Find(m.View.Topo.Ports[m.View.Topo.Port(node, 0)].GUID)
		if !slices.Equal(m.View.Tables.LFT[s], b.Fabric.LFT(at.Node)[:len(m.View.Tables.LFT[s])]) {
			t.Errorf("the view has other routes than switch %v", m.View.Topo.Nodes[node].GUID)
		}
	}
}
