package sim_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"ibsm/ctl/ctltest"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/updn"
	"ibsm/routing/verify"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo"
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

// TestForbiddenRoutes: a complete tree with updn, whose rules forbid 76 pairs of switches, is no fault; a route between
// hosts that is lost is one.
func TestForbiddenRoutes(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, lose := range []bool{false, true} {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		victim := b.Fabric.PortGUID(host(n, 9))
		cfg := minhopConfig()
		cfg.Sweep.Engines = engines.Chain{
			{Name: "updn", Route: func(ctx context.Context, in routing.In) (*routing.Tables, error) {
				tables, err := updn.New(updn.Settings{}, routing.Balancing{})(ctx, in)
				if p := in.Topo.FindPort(victim); err == nil && lose {
					for s, node := range in.Topo.Switches {
						if strings.HasPrefix(in.Topo.Nodes[node].Desc.String(), "leaf") &&
							topo.SwitchIdx(s) != in.Topo.SwitchOf(p) {
							tables.LFT[s] = slices.Clone(tables.LFT[s])
							tables.LFT[s][in.LIDs.Base[p]] = routing.NoPath
						}
					}
				}
				return tables, err
			}}}
		m := b.comeUp(cfg)
		if got := m.says("INFO",
			"some pairs of switches have no route, because the routing engine does not permit one"); got != 1 {
			t.Errorf("lose %v: the forbidden pairs are logged %d times", lose, got)
		}
		if got := m.says("ERROR", "some destinations are unreachable, although cables lead to them") > 0; got != lose {
			t.Errorf("lose %v: lost routes are logged: %v", lose, got)
		}
		d := ctltest.Diagnose(t, server.Show(m.View), "spine-01", "spine-02")
		if !ctltest.HasReason(d, "no route by the rules", "the rules of updn forbid the route") ||
			ctltest.HasReason(d, "no route", "") || !strings.Contains(d.Reasons[0].Do, "connect_roots TRUE") {
			t.Errorf("lose %v: why of two spines: %+v", lose, d.Reasons)
		}
		d = ctltest.Diagnose(t, server.Show(m.View), n.Nodes[host(n, 0).Node].Desc, n.Nodes[host(n, 9).Node].Desc)
		if d.Works == lose || lose && !ctltest.HasReason(d, "no route", "") {
			t.Errorf("lose %v: why of two hosts: %+v", lose, d.Reasons)
		}
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
	if m.says("WARN", "routes had loops, which were removed") == 0 ||
		m.says("ERROR", "some destinations are unreachable, although cables lead to them") == 0 {
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
