package repair

import (
	"math/rand/v2"
	"testing"

	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/minhop"
	"ibsm/topo"
	"ibsm/topo/netwalk"
)

// BenchmarkTables repairs tables of min-hop after the loss of one cable, beside a fresh route: with what is known of
// the tables before, and, as at a takeover, without.
func BenchmarkTables(b *testing.B) {
	for _, bench := range []struct {
		name, spec string
		proof      bool
	}{
		{"ftree-3l-3456", "fattree:k=24", false},
		{"ftree-3l-11664", "fattree:k=36", false},
		{"ftree-3l-39366", "fattree:k=54", true},
	} {
		b.Run(bench.name, func(b *testing.B) {
			if bench.proof && !proof() {
				b.Skip("large: runs when IBSM_PROOF is set")
			}
			f := newLiving(b, bench.spec, 0, minhop.Route)
			b.Run("fresh", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := minhop.Route(b.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs}); err != nil {
						b.Fatal(err)
					}
				}
			})
			for name, leaf := range map[string]bool{"cable to a leaf": true, "cable to a spine": false} {
				less := f.lose(b, leaf)
				b.Run(name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						mustRepair(b, In{
							Topo: less, LIDs: f.LIDs, Tables: f.tables, Proof: f.proof,
							Was: f.report.Forwarding(), Good: f.report.Good(),
						})
					}
				})
				repaired := mustRepair(b, In{Topo: less, LIDs: f.LIDs, Tables: f.tables, Proof: f.proof,
					Was: f.report.Forwarding(), Good: f.report.Good()})
				b.Run(name+", proved and ordered", func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						prove(b, less, f, repaired.Tables)
					}
				})
			}
			b.Run("takeover", func(b *testing.B) {
				less := f.lose(b, true)
				b.ReportAllocs()
				for b.Loop() {
					mustRepair(b, In{Topo: less, LIDs: f.LIDs, Tables: f.tables})
				}
			})
		})
	}
}

// prove proves repaired tables from what is known of the tables before, and finds an order of writing them.
func prove(b *testing.B, less *topo.Topo, f *living, tables *routing.Tables) {
	in := creditloop.In{Topo: less, LIDs: f.LIDs, Forwarding: routing.NewForwarding(less, f.LIDs, tables),
		Since: f.proof}
	report, err := creditloop.Find(b.Context(), in)
	if err != nil || report.Loop != nil {
		b.Fatal(report, err)
	}
	in.Since, in.Before = report, &creditloop.Rules{Forwarding: routing.NewForwarding(less, f.LIDs, f.tables)}
	if tr, err := creditloop.Order(b.Context(), in, 1); err != nil || tr.Risk != nil {
		b.Fatal(tr, err)
	}
}

// lose is the subnet without one cable between switches, to a switch with hosts or between others.
func (f *living) lose(b *testing.B, leaf bool) *topo.Topo {
	hosts := make([]bool, len(f.Fabric.Nodes))
	for _, c := range f.Cables(true) {
		hosts[c[1].Node] = true
	}
	cables := f.Cables(false)
	rng := rand.New(rand.NewPCG(1, 1))
	for {
		c := cables[rng.IntN(len(cables))]
		if (hosts[c[0].Node] || hosts[c[1].Node]) != leaf {
			continue
		}
		f.Cut(c)
		less, err := netwalk.Topo(f.Fabric, f.Self())
		if err != nil {
			b.Fatal(err)
		}
		f.Restore(len(f.Lost) - 1)
		return less
	}
}
