package minhop

import (
	"testing"

	"ibsm/routing"
)

func BenchmarkRoute(b *testing.B) {
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
			t, l := generate(b, bench.spec, 0)
			fresh := routing.In{Topo: t, LIDs: l}
			tables := mustRoute(b, fresh)
			for _, mode := range []struct {
				name string
				in   routing.In
			}{
				{"fresh", fresh},
				{"minimal", routing.In{Topo: t, LIDs: l, Prev: tables, Keep: routing.KeepMinimal}},
			} {
				b.Run(mode.name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						mustRoute(b, mode.in)
					}
				})
			}
		})
	}
}
