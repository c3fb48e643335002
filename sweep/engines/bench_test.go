package engines

import (
	"math"
	"slices"
	"testing"

	"ibsm/routing"
	"ibsm/routing/nue"
	"ibsm/routing/routingtest"
)

// BenchmarkEngines routes a fat tree of 3,456 hosts, in which some links are missing, with each engine that can, on one
// core, and says how long a unit of routing.Budget takes.
func BenchmarkEngines(b *testing.B) {
	in := routingtest.Problem(b, "fattree:k=24,missing-links=1%")
	in.Workers = 1
	in.Lanes = slices.Repeat([]uint8{8}, len(in.Topo.Ports))
	settings := Settings{Nue: nue.Settings{QoS: true}}
	for _, name := range Names() {
		e, _ := Find(name, &settings)
		if name == "file" || name == "torus-2QoS" {
			continue
		}
		b.Run(name, func(b *testing.B) {
			units := int64(0)
			for b.Loop() {
				ctx, budget, end := routing.WithBudget(b.Context(), math.MaxInt64)
				if _, err := e.Route(ctx, in); err != nil {
					b.Skip(err)
				}
				units += math.MaxInt64 - budget.Left()
				end()
			}
			if units > 0 { // other engines take about as long as min-hop
				b.ReportMetric(float64(b.Elapsed())/float64(units), "ns/unit")
			}
		})
	}
}
