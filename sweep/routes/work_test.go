package routes

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/verify"
)

// What a lost link costs depends on the entries that change: rows that stay are those of before, in the same place of
// memory, and what is allocated beside the rows that change is a little for each switch and LID.
func TestWorkOfLostLink(t *testing.T) {
	const (
		perSwitch = 8 << 10 // bytes
		perLID    = 300
	)
	for _, adopted := range []bool{false, true} {
		name, engine := "own", "tree"
		if adopted {
			name, engine = "adopted", "minhop"
		}
		t.Run(name, func(t *testing.T) {
			f := newLiving(t, "fattree:k=12", engine)
			if adopted {
				f.adopt(t)
			}
			f.sweep(t)
			for what, most := range map[string]int{"link": len(f.Topo.Switches) * 2, "host": len(f.Topo.Switches)} {
				f.lose(what)
				f.walk(t)
				in, before := f.in(), maps.Clone(f.rows)
				var from, to runtime.MemStats
				runtime.ReadMemStats(&from)
				out, next := Decide(t.Context(), in, f.state)
				runtime.ReadMemStats(&to)
				if out.Tables == nil || out.Report.Bad() > 0 || out.CreditLoop != nil {
					t.Fatal(out.Err)
				}
				rows, entries := 0, 0
				for s, n := range f.Topo.Switches {
					was, is := before[f.Topo.Nodes[n].GUID], out.Tables.LFT[s]
					if bytes.Equal(was, is) != routing.SameRow(was, is) {
						t.Errorf("%s: a row of switch %d that stays is in another place", what, s)
					}
					routing.Unequal(was, is, func(int) { entries++ })
					if !routing.SameRow(was, is) {
						rows++
					}
				}
				length := routing.RowLen(f.LIDs.Top)
				bound := uint64(rows*length*2 + len(f.Topo.Switches)*perSwitch + length*perLID)
				if got := to.TotalAlloc - from.TotalAlloc; got > bound || entries == 0 || entries > most {
					t.Errorf("%s lost: %d entries of %d rows change, at most %d; %d bytes are allocated, at most %d", what,
						entries, rows, most, got, bound)
				}
				t.Logf("%s lost: %d bytes are allocated, at most %d", what, to.TotalAlloc-from.TotalAlloc, bound)
				f.state, f.prev = next, f.Topo
				f.keep(f.Topo, out.Tables)
				for len(f.Lost) > 0 {
					f.Restore(len(f.Lost) - 1)
				}
				f.walk(t)
				f.sweep(t)
			}
		})
	}
}

// Routes after random events are those that an engine computes without what it kept of the network that its first
// tables were computed of, and what is found of them is what is found of the same tables without anything from before.
func TestDecideAsAfresh(t *testing.T) {
	changed := 0
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 59))
		engine := []string{"tree", "minhop", "updn"}[seed%3]
		t.Run(fmt.Sprint(seed, engine), func(t *testing.T) {
			f := newLiving(t, []string{"fattree:k=4", "fattree:k=6"}[seed/3%2], engine)
			if seed%2 == 1 {
				f.adopt(t)
			}
			f.sweep(t)
			for range 8 {
				f.Damage(rng)
				f.walk(t)
				before, in, forgetful := maps.Clone(f.rows), f.in(), f.state
				if forgetful.base != nil {
					forgetful.base = new(*f.state.base)
					forgetful.base.origin = nil
				}
				alone, _ := Decide(t.Context(), in, forgetful)
				out := f.sweep(t)
				if alone.Tables == nil || !slices.EqualFunc(alone.Tables.LFT, out.Tables.LFT, bytes.Equal) {
					t.Fatal("the tables depend on what was kept")
				}
				if !maps.EqualFunc(before, f.rows, bytes.Equal) {
					changed++
				}
				want, err := verify.Check(t.Context(), 0, f.Topo, f.LIDs, out.Tables, nil)
				if err != nil {
					t.Fatal(err)
				}
				got := out.Report
				if got.Count != want.Count || got.Longest != want.Longest || got.Routes != want.Routes ||
					!slices.Equal(got.Examples, want.Examples) || !slices.Equal(got.Good(), want.Good()) {
					t.Fatalf("found %+v, afresh %+v", got.Count, want.Count)
				}
				search := proofOf(f.Topo, f.LIDs, want.Forwarding(), out.Tables.SLs, f.state.rules)
				loops, err := creditloop.Find(t.Context(), search)
				if err != nil || (loops.Loop == nil) != (out.CreditLoop == nil) {
					t.Fatalf("credit loop %v, afresh %v, %v", out.CreditLoop, loops.Loop, err)
				}
			}
		})
	}
	if changed == 0 {
		t.Error("no event has changed a row")
	}
}
