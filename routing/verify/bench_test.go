package verify

import (
	"testing"

	"ibsm/routing"
)

func BenchmarkVerify(b *testing.B) {
	for _, bench := range []struct{ name, spec string }{
		{"ftree-3l-3456", "fattree:k=24"},
		{"ftree-3l-11664", "fattree:k=36"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			f := newFixture(b, bench.spec, 0)
			before := f.check(b)
			cut := f.next()
			cut.unlink(cut.links()[0])
			cut.tables = mustRoute(b,
				routing.In{Topo: cut.topo, LIDs: cut.lids, Prev: f.tables, Keep: routing.KeepMinimal})
			for _, run := range []struct {
				name  string
				of    *fixture
				since *Report
			}{{"all", f, nil}, {"same", f, before}, {"link-lost", cut, before}} {
				b.Run(run.name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if r, err := Check(b.Context(), 0, run.of.topo, run.of.lids, run.of.tables,
							run.since); err != nil || r.Bad() != 0 {
							b.Fatal(r, err)
						}
					}
				})
			}
		})
	}
}
