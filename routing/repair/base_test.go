package repair

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest/certificate"
	"ibsm/routing/sssp"
	"ibsm/routing/updn"
	"ibsm/topo"
)

// TestReturn: cables, switches and hosts are lost and return at random, in fabrics with tables that were adopted. An
// entry is that of the tables found first wherever packets arrive by these alone; elsewhere the one in force stays if
// they arrive by it. When everything is back, all is as it was. What is proved with the proof of before is what is
// proved without.
func TestReturn(t *testing.T) {
	events := 40
	if proof() {
		events = 10000 / 7
	}
	for i, c := range []struct {
		spec   string
		lmc    uint8
		engine routing.Engine
	}{
		{"fattree:k=6", 0, minhop.Route}, {"fattree:k=4,missing-links=5%,seed=2", 1, minhop.Route},
		{"random:switches=12,degree=4,hosts=2", 0, minhop.Route},
		{"fattree:k=4,levels=4", 0, sssp.New(sssp.Settings{})}, {"fattree:k=8,levels=2", 2, minhop.Route},
		{"mesh:dims=1x6,hosts=2", 1, minhop.Route}, {"fattree:k=4", 0, updn.New(updn.Settings{}, routing.Balancing{})},
	} {
		t.Run(fmt.Sprintf("%d/%s", i, c.spec), func(t *testing.T) {
			f := newLiving(t, c.spec, c.lmc, c.engine)
			f.tables = mustRepair(t, In{Topo: f.Topo, LIDs: f.LIDs, Tables: f.tables}).Tables // as at the first sweep
			f.judge(t)
			whole, first := f.Topo, f.tables
			rng, back, changed, must := rand.New(rand.NewPCG(uint64(i), 2)), 0, 0, 0
			for range events {
				in := f.change(t, rng)
				if rng.IntN(6) == 0 {
					was := f.Topo
					for len(f.Lost) > 0 {
						f.Restore(len(f.Lost) - 1)
					}
					f.Walk(t)
					in.Topo, in.LIDs, in.Tables = f.Topo, f.LIDs, f.Found(was, in.Tables)
				}
				in.Base = f.Found(whole, first)
				r := mustRepair(t, in)
				mustVerify(t, in, r)
				for s := range topo.SwitchIdx(len(r.Tables.LFT)) {
					for l, owner := range in.LIDs.Owner {
						lid, is := mad.LID(l), entryAt(r.Tables, s, l)
						was, at := entryAt(in.Tables, s, l), entryAt(in.Base, s, l)
						if is != was {
							changed++
						}
						_, asFirst := walk(in.Topo, in.LIDs, in.Base.LFT, s, lid)
						_, asBefore := walk(in.Topo, in.LIDs, in.Tables.LFT, s, lid)
						_, now := walk(in.Topo, in.LIDs, r.Tables.LFT, s, lid)
						switch {
						case owner == topo.None:
							asFirst, asBefore, now = false, was == routing.NoPath, true
						case asFirst && is != at:
							t.Fatalf("switch %d LID %d: packets arrive by port %d as at first, but now it is %d", s,
								lid, at, is)
						case !asFirst && asBefore && is != was:
							t.Fatalf("switch %d LID %d: packets arrive by port %d, and it became %d", s, lid, was, is)
						}
						if asFirst && was != at || !asFirst && !asBefore && now {
							must++
						}
					}
				}
				last := f.proof
				f.tables = r.Tables
				f.judge(t)
				if last.Loop == nil {
					in := search(f.Topo, f.LIDs, f.tables)
					in.Since = last
					since, err := creditloop.Find(t.Context(), in)
					if err != nil || (since.Loop == nil) != (f.proof.Loop == nil) {
						t.Fatalf("%v: with the proof of before there is another result", err)
					}
					if f.proof = since; since.Loop == nil {
						if err := certificate.Check(t.Context(),
							certificate.In{Topo: f.Topo, LIDs: f.LIDs, Tables: f.tables, Hosts: true,
								Number: since.Number}); err != nil {
							t.Fatal(err)
						}
					}
				}
				if len(f.Lost) == 0 {
					back++
					if !slices.EqualFunc(f.tables.LFT, in.Base.LFT, slices.Equal) {
						t.Fatal("everything is back, but the tables are not as they were")
					}
				}
			}
			t.Logf("everything was back %d times; %d entries changed, %d had to", back, changed, must)
			if back < events/20 || changed*10 > must*11 {
				t.Error("too few, or too many")
			}
		})
	}
}

func entryAt(t *routing.Tables, s topo.SwitchIdx, lid int) uint8 {
	if lid >= len(t.LFT[s]) {
		return routing.NoPath
	}
	return t.LFT[s][lid]
}
