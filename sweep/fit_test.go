package sweep

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/routingtest/certificate"
	"ibsm/sweep/engines"
	"ibsm/sweep/plan"
	"ibsm/sweep/routes"
	"ibsm/topo"
	"ibsm/topo/net"
)

// TestFit: tables of another manager stay and get SLs with which they have no credit loop on the lanes
// that ports have, whatever SLs its own paths to the manager had. No table is written.
func TestFit(t *testing.T) {
	b := newHarness(t, "torus:dims=5x5,hosts=1", Config{})
	for _, sl := range []uint8{0, 1} {
		b.Sweeper = New(Config{Engines: engines.Chain{engines.MinHop}, Settings: Settings{SMSL: sl}})
		b.heavy()
		testFitted(t, b)
	}
}

// testFitted takes over, and sweeps once more.
func testFitted(t *testing.T, b *harness) {
	t.Helper()
	b.Sweeper = New(Config{Engines: engines.Chain{engines.MinHop}})
	for range 2 {
		out := b.heavy()
		if out.Fitting.State != routes.Fitted || out.CreditLoop != nil || out.Tables.SLs == nil ||
			out.Keep != routing.KeepWorking {
			t.Fatalf("%+v, loop %v", out.Fitting, out.CreditLoop)
		}
		for _, s := range b.sets {
			if s.Attr != smp.AttrPortInfo {
				t.Fatalf("%v was written", smp.AttrName(s.Attr))
			}
		}
		mustBeProved(t, b, out)
	}
}

// TestFitRepaired: where a cable is lost when the other manager goes, its tables are repaired at once, and their paths
// get SLs as soon as lanes have been read.
func TestFitRepaired(t *testing.T) {
	b := newHarness(t, "torus:dims=5x5,hosts=1", Config{})
	b.heavy()
	b.Sweeper = New(Config{Engines: engines.Chain{engines.MinHop}})
	b.fabric.LinkDown(net.End{Node: b.node(mad.Switch, 7), Port: 1})
	out := b.heavy()
	if out.Fitting.State != routes.LanesUnread || !wroteRoutes(b) || out.Tables.SLs != nil ||
		b.asked[smp.AttrSLtoVLMappingTable] > 0 {
		t.Fatalf("%+v, routes were written: %t, SLs %v", out.Fitting, wroteRoutes(b), out.Tables.SLs)
	}
	b.ReadLanes()
	if out = b.heavy(); out.Fitting.State != routes.Fitted || out.CreditLoop != nil || wroteRoutes(b) {
		t.Fatalf("with lanes: %+v, loop %v", out.Fitting, out.CreditLoop)
	}
	mustBeProved(t, b, out)
}

// TestFitTooFew: where ports have one lane, what tables need is known, and they stay as they are.
func TestFitTooFew(t *testing.T) {
	one := Settings{SMSL: 1, MaxOpVLs: Given(uint8(1))}
	b := newHarness(t, "torus:dims=5x5,hosts=1", Config{Settings: one})
	b.heavy()
	b.Sweeper = New(Config{Engines: engines.Chain{engines.MinHop}, Settings: one})
	for range 2 {
		out := b.heavy()
		if f := out.Fitting; f.State != routes.TooFewLanes || f.Lanes != 1 || f.Needed < 2 || out.CreditLoop == nil ||
			out.Tables.SLs != nil || wroteRoutes(b) {
			t.Fatalf("%+v, loop %v, SLs %v", f, out.CreditLoop, out.Tables.SLs)
		}
	}
}

// TestFitOneLane: where no link has a second lane and nothing shows that the other manager gave SLs, no
// tables of lanes are read for a credit loop.
func TestFitOneLane(t *testing.T) {
	one := Settings{MaxOpVLs: Given(uint8(1))}
	b := newHarness(t, "torus:dims=5x5,hosts=1", Config{Settings: one})
	b.heavy()
	b.Sweeper = New(Config{Engines: engines.Chain{engines.MinHop}, Settings: one})
	if out := b.heavy(); out.Fitting.State != routes.NotNeeded || out.CreditLoop == nil ||
		b.asked[smp.AttrSLtoVLMappingTable] > 0 {
		t.Fatalf("%+v, loop %v, %d tables were read", out.Fitting, out.CreditLoop, b.asked[smp.AttrSLtoVLMappingTable])
	}
}

// mustBeProved checks the proof by what switches hold.
func mustBeProved(t *testing.T, b *harness, out *Outcome) {
	t.Helper()
	maps := &routing.Maps{Of: make([][]*routing.SLToVL, len(out.Topo.Ports))}
	for p := range maps.Of {
		port := &out.Topo.Ports[p]
		if port.Peer == topo.None {
			continue
		}
		node := &out.Topo.Nodes[port.Node]
		at, _ := b.fabric.Find(out.Topo.Ports[out.Topo.EndPort(topo.PortIdx(p))].GUID)
		at.Port = port.Num
		ins := uint8(0)
		if node.Type == mad.Switch {
			ins = node.NumPorts
		}
		for in := range ins + 1 {
			var m routing.SLToVL
			for sl := range m {
				m[sl] = b.fabric.VL(at, in, uint8(sl))
			}
			maps.Of[p] = append(maps.Of[p], &m)
		}
	}
	proved, _, _ := out.delta.routes.TreeSearch(out.Topo, out.LIDs)
	err := certificate.Check(t.Context(), certificate.In{
		Topo: out.Topo, LIDs: out.LIDs, Tables: out.Tables, Maps: maps, Hosts: true,
		Lanes:  plan.Lanes(out.Topo, &out.Values),
		Number: proved.Number,
	})
	if err != nil {
		t.Error(err)
	}
}
