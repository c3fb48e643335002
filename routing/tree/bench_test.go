package tree

import (
	"testing"

	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/topo/net"
)

func BenchmarkRoute(b *testing.B) {
	for _, spec := range []string{"fattree:k=24", "fattree:k=24,missing-links=1%", "fattree:k=36",
		"fattree:k=36,missing-links=1%", corner} {
		b.Run(spec, func(b *testing.B) {
			in := routingtest.Problem(b, spec)
			for b.Loop() {
				if _, err := Route(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLost routes after the loss of one cable: afresh, and from the tables that were computed before.
func BenchmarkLost(b *testing.B) {
	for _, spec := range []string{"fattree:k=24", "fattree:k=36"} {
		fabric, err := net.Generate(spec)
		if err != nil {
			b.Fatal(err)
		}
		f := routingtest.NewLiving(b, fabric, 0)
		before, err := Route(b.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs})
		if err != nil {
			b.Fatal(err)
		}
		was := f.Topo
		f.Cut(f.Cables(false)[0])
		f.Walk(b)
		found := f.Found(was, before)
		for name, in := range map[string]routing.In{"afresh": {Topo: f.Topo, LIDs: f.LIDs},
			"kept": {Topo: f.Topo, LIDs: f.LIDs, Base: found, Prev: found}} {
			b.Run(spec+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Route(b.Context(), in); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
