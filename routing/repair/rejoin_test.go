package repair

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/routing/sssp"
	"ibsm/routing/updn"
	"ibsm/topo"
	"ibsm/topo/net"
)

// without takes cables away, and returns what to repair.
func (f *living) without(t *testing.T, cables ...routingtest.Cable) In {
	t.Helper()
	for _, c := range cables {
		f.Cut(c)
	}
	was := f.Topo
	f.Walk(t)
	return In{Topo: f.Topo, LIDs: f.LIDs, Tables: f.Found(was, f.tables), Proof: f.proof, Was: f.report.Forwarding(),
		Good: f.report.Good()}
}

// TestRejoinAlone: a spine is lost. All entries that led to it become others, and no other entry changes, though no
// packets arrived from the switches behind these. The ports that hosts' LIDs are given are the least used ones.
func TestRejoinAlone(t *testing.T) {
	for _, lmc := range []uint8{0, 1} {
		f := newLiving(t, "fattree:k=8", lmc, minhop.Route)
		ofSpine := func(e routingtest.Cable, name string) bool {
			return f.Fabric.Nodes[e[0].Node].Desc == name || f.Fabric.Nodes[e[1].Node].Desc == name
		}
		i := slices.IndexFunc(f.Fabric.Nodes, func(n net.Node) bool { return strings.HasPrefix(n.Desc, "spine") })
		name := f.Fabric.Nodes[i].Desc
		in := f.without(t, slices.DeleteFunc(f.Cables(false), func(c routingtest.Cable) bool {
			return !ofSpine(c, name)
		})...)
		r := mustRepair(t, in)
		mustKeep(t, in, r)
		tracer, lost, behind := routing.NewTracer(f.Topo, f.LIDs), 0, 0
		for s, row := range r.Tables.LFT {
			var counts, given [256]int
			for lid, owner := range f.LIDs.Owner {
				home, egress := routing.Home(f.Topo, owner)
				if home == topo.None || home == topo.SwitchIdx(s) {
					continue
				}
				if egress != 0 {
					counts[row[lid]]++
				}
				before := in.Tables.LFT[s][lid]
				switch {
				case tracer.Next(topo.SwitchIdx(s), before) == topo.None:
					lost++
					if egress != 0 {
						given[row[lid]]++
					}
				case row[lid] != before:
					t.Fatalf("LMC %d: switch %d LID %d: port %d became %d, but leads where it led", lmc, s, lid, before,
						row[lid])
				default:
					if _, arrived := walk(in.Topo, in.LIDs, in.Tables.LFT, topo.SwitchIdx(s), mad.LID(lid)); !arrived {
						behind++
					}
				}
			}
			least := math.MaxInt
			for port, n := range counts {
				if next := tracer.Next(topo.SwitchIdx(s), uint8(port)); next != topo.None &&
					strings.HasPrefix(f.Topo.Nodes[f.Topo.Switches[next]].Desc.String(), "spine") {
					least = min(least, n)
				}
			}
			for port, n := range given {
				if n > 0 && lmc == 0 && counts[port] > least+1 {
					t.Errorf("switch %d: port %d was given %d LIDs and has %d; another has %d", s, port, n,
						counts[port], least)
				}
			}
		}
		if lost < 100 || behind < 100 {
			t.Errorf("%d entries were lost, %d were behind them: too few to prove anything", lost, behind)
		}
	}
}

// TestRejoinInOrder: a cable is lost under tables that have no credit loop. What is repaired has none either, or says
// where. A switch that is joined again alone has no longer way than before, and packets arrive from it.
func TestRejoinInOrder(t *testing.T) {
	seeds := uint64(12)
	if proof() {
		seeds = 1000
	}
	repairs, closing, alone := 0, 0, 0
	for seed := range seeds {
		engine := []routing.Engine{rooted, sssp.NewDeadlockFree(sssp.Settings{})}[seed%2]
		f := newLiving(t, fmt.Sprintf("random:switches=12,degree=4,hosts=1,seed=%d", seed), 0, engine)
		if f.proof.Loop != nil {
			continue // OpenSM's up*/down* has one in some irregular subnets
		}
		tables, report, proof := f.tables, f.report, f.proof
		for _, c := range f.Cables(false) {
			in := f.without(t, c)
			before := f.report.Forwarding().By(f.Topo)
			r := newRepair(in)
			if err := r.rejoin(t.Context(), r.unproved()); err != nil {
				t.Fatal(err)
			}
			for s, row := range r.tables.LFT {
				for lid, port := range row {
					if lid >= len(in.Tables.LFT[s]) || port == in.Tables.LFT[s][lid] {
						continue
					}
					path, arrives := walk(f.Topo, f.LIDs, r.tables.LFT, topo.SwitchIdx(s), mad.LID(lid))
					links, _ := before.Links(topo.SwitchIdx(s), lid)
					if alone++; !arrives || len(path) > links {
						t.Fatalf("seed %d, without %v: switch %d LID %d: %d links before, now %d; packets arrive: %v",
							seed, c, s, lid, links, len(path), arrives)
					}
				}
			}
			result := mustRepair(t, in)
			mustKeep(t, in, result)
			f.tables = result.Tables
			if f.judge(t); (f.proof.Loop != nil) != (len(result.Unavoidable) > 0) {
				t.Fatalf("seed %d, without %v: loop %v, unavoidable %v", seed, c, f.proof.Loop, result.Unavoidable)
			}
			if repairs++; f.proof.Loop != nil {
				closing++
			}
			f.Restore(0)
			f.Walk(t)
			f.tables, f.report, f.proof = tables, report, proof
		}
	}
	t.Logf("%d of %d repairs close a circle; %d switches were joined alone", closing, repairs, alone)
	if alone < 500 {
		t.Error("too few to prove anything")
	}
}

// rooted is up*/down* with one switch on top.
func rooted(ctx context.Context, in routing.In) (*routing.Tables, error) {
	return updn.New(updn.Settings{Roots: []mad.GUID{in.Topo.Nodes[in.Topo.Switches[0]].GUID}}, routing.Balancing{})(ctx,
		in)
}
