package verify

import (
	"testing"

	"ibsm/mad/fabric/net"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/sweep/topo"
)

func BenchmarkVerify(b *testing.B) {
	for _, bench := range []struct{ name, spec string }{
		{"ftree-3l-3456", "fattree:k=24"},
		{"ftree-3l-11664", "fattree:k=36"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			fabric, err := net.Generate(bench.spec)
			if err != nil {
				b.Fatal(err)
			}
			t, err := topo.FromNet(fabric, net.NoEnd)
			if err != nil {
				b.Fatal(err)
			}
			l := topo.SequentialLIDs(t, 0)
			tables, err := minhop.Route(b.Context(), routing.In{Topo: t, LIDs: l})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if r, err := Check(b.Context(), t, l, tables); err != nil || r.Bad() != 0 {
					b.Fatal(r, err)
				}
			}
		})
	}
}
