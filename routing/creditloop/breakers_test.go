package creditloop

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/topo"
)

// TestBreakers: without the channels of the breakers the dependencies have no loop. Where they are said not to break
// all loops, the switches that may be used do not suffice.
func TestBreakers(t *testing.T) {
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 1))
	broken, whole := 0, 0
	for round := range 60 {
		spec := []string{"torus:dims=4x3,hosts=1", "torus:dims=5x5,hosts=1", "random:switches=20,degree=4,hosts=1",
			"fattree:k=4"}[rng.IntN(4)]
		s := routingtest.NewSubnet(t, spec, minhop.Route)
		for range 10 * (round % 3) {
			s.Spoil(rng)
		}
		r, err := Find(t.Context(),
			In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: routing.NewForwarding(s.Topo, s.LIDs, s.Tables)})
		if err != nil {
			t.Fatal(err)
		}
		may := make([]bool, len(s.Topo.Switches))
		for i := range may {
			may[i] = round%2 == 0 || rng.IntN(2) == 0
		}
		list, all := r.graph.breakers(func(s topo.SwitchIdx) bool { return may[s] })
		if slices.ContainsFunc(list, func(s topo.SwitchIdx) bool { return !may[s] }) {
			t.Fatalf("seed %d, round %d: %v are not all that may be used", seed, round, list)
		}
		if all {
			if r.graph.without(list); (r.Loop != nil) != (len(list) > 0) || r.graph.loops(t) {
				t.Errorf("seed %d, round %d: loop %v, breakers %v do not break all", seed, round, r.Loop, list)
			}
			broken += len(list)
			continue
		}
		list = nil
		for s, is := range may {
			if is {
				list = append(list, topo.SwitchIdx(s))
			}
		}
		if r.graph.without(list); !r.graph.loops(t) {
			t.Errorf("seed %d, round %d: all loops can be broken", seed, round)
		}
		whole++
	}
	if broken == 0 || whole == 0 {
		t.Errorf("%d breakers, %d times too few switches", broken, whole)
	}
}

// without takes out the dependencies of channels that leave some switches.
func (g *graph) without(list []topo.SwitchIdx) {
	for _, s := range list {
		clear(g.deps[int(s)*g.ports*g.words:][:g.ports*g.words])
	}
}

// loops reports whether the dependencies have a loop.
func (g *graph) loops(t *testing.T) bool {
	_, waiting := g.order(t.Context())
	return waiting != nil
}
