package engines

import (
	"slices"
	"testing"

	"ibsm/routing/nue"
	"ibsm/routing/routingtest"
)

// BenchmarkEngines routes a fat tree of 3,456 hosts with each engine that can.
func BenchmarkEngines(b *testing.B) {
	in := routingtest.Problem(b, "fattree:k=24")
	in.Lanes = slices.Repeat([]uint8{8}, len(in.Topo.Ports))
	settings := Settings{Nue: nue.Settings{QoS: true}}
	for _, name := range Names() {
		e, _ := Find(name, &settings)
		if name == "file" || name == "torus-2QoS" {
			continue
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := e.Route(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
