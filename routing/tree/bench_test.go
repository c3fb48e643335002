package tree

import (
	"testing"

	"ibsm/routing/routingtest"
)

func BenchmarkRoute(b *testing.B) {
	for _, spec := range []string{"fattree:k=24", "fattree:k=24,missing-links=1%", "fattree:k=36", "fattree:k=36,missing-links=1%"} {
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
