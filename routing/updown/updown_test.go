package updown

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/routingtest"
	"ibsm/routing/verify"
)

// TestRoute: on fabrics of every kind, whole and with missing links, packets between all ports arrive, and there is no
// credit loop on one lane, with and without traffic of switches. Tables that are in force stay as they are.
func TestRoute(t *testing.T) {
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 1))
	specs := []string{
		"fattree:k=4", "pods", "torus:dims=5x4", "torus:dims=3x3x3", "mesh:dims=4x4", "hypercube:dim=4", "dragonfly",
		"dragonfly+", "hyperx", "tree",
		fmt.Sprintf("random:switches=%d,degree=4,seed=%d", 12+rng.IntN(20), rng.IntN(1000)),
		"random:switches=30,degree=3,missing-links=10%",
		"torus:dims=7x7,missing-links=8%", "fattree:k=6,missing-links=15%", "pods:corners=3,missing-links=5%",
	}
	for _, spec := range specs {
		in := routingtest.Problem(t, spec)
		tables, err := Route(t.Context(), in)
		if err != nil {
			t.Fatal(spec, err)
		}
		report, err := verify.Check(t.Context(), 0, in.Topo, in.LIDs, tables, nil)
		if err != nil || report.Bad() > 0 || report.Count[verify.Loop] > 0 {
			t.Errorf("seed %d, %s: %v, %v", seed, spec, report.Count, err)
		}
		for _, traffic := range []creditloop.Traffic{creditloop.BetweenHosts, creditloop.All} {
			r, err := creditloop.Find(t.Context(),
				creditloop.In{Topo: in.Topo, LIDs: in.LIDs, Forwarding: report.Forwarding(), Traffic: traffic})
			if err != nil || r.Loop != nil {
				t.Errorf("seed %d, %s, traffic %v: %v, %v", seed, spec, traffic, r.Loop, err)
			}
		}
		in.Prev, in.Keep = tables, routing.KeepMinimal
		again, err := Route(t.Context(), in)
		if err != nil || !slices.EqualFunc(again.LFT, tables.LFT, slices.Equal) {
			t.Errorf("%s: other tables, %v", spec, err)
		}
	}
}
