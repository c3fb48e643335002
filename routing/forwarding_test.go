package routing_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/topo"
)

// Where rows differ is the same with comparisons that are kept and without, whatever rows are compared in which order;
// rows that were compared last are not read again.
func TestKeepComparisons(t *testing.T) {
	s := routingtest.NewSubnet(t, "fattree:k=4", minhop.Route)
	changes := func(f, was *routing.Forwarding) (moved []int, entries []routing.Entry) {
		known := f.Changes(was, func(lid int) { moved = append(moved, lid) },
			func(s topo.SwitchIdx, lid int) { entries = append(entries, routing.Entry{Switch: s, LID: lid}) })
		if !known {
			t.Fatal("the switches are known")
		}
		return moved, entries
	}
	kept := 0
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 21))
		var others []*routing.Forwarding
		for range 4 {
			o := s.Changed()
			for range rng.IntN(6) {
				o.Tables.LFT[rng.IntN(len(o.Tables.LFT))][1+rng.IntN(int(o.LIDs.Top))] = uint8(rng.IntN(5))
			}
			o.Tables.Top -= mad.LID(rng.IntN(2))
			others = append(others, routing.NewForwarding(s.Topo, s.LIDs, o.Tables))
		}
		plain, keeps := routing.NewForwarding(s.Topo, s.LIDs, s.Tables), routing.NewForwarding(s.Topo, s.LIDs, s.Tables)
		keeps.KeepComparisons()
		for range 20 {
			other := others[rng.IntN(len(others))]
			if rng.IntN(5) == 0 {
				keeps.DropComparisons()
				keeps.KeepComparisons()
			}
			moved, entries := changes(keeps, other)
			wantMoved, want := changes(plain, other)
			if !slices.Equal(moved, wantMoved) || !slices.Equal(entries, want) {
				t.Fatalf("seed %d: %v and %v, want %v and %v", seed, moved, entries, wantMoved, want)
			}
			_, again := changes(keeps.With(other.Rows, s.Tables.Top), plain) // the same rows, the other way round
			if _, want := changes(plain.With(other.Rows, s.Tables.Top), plain); !slices.Equal(again, want) {
				t.Fatalf("seed %d: the other way round %v, want %v", seed, again, want)
			}
		}
		sw := rng.IntN(len(s.Tables.LFT))
		row := bytes.Clone(s.Tables.LFT[sw])
		keeps.Differs(topo.SwitchIdx(sw), row)
		if row[1]++; keeps.Differs(topo.SwitchIdx(sw), row) {
			t.Fatalf("seed %d: rows are read again", seed)
		}
		kept++
	}
	if kept == 0 {
		t.Error("nothing was kept")
	}
}
