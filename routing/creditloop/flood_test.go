package creditloop

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
)

// The dependencies of packets with one SL are those of the packets from each source to each LID, in a subnet with several blocks of LIDs.
func TestFlood(t *testing.T) {
	const seed = 10
	rng := rand.New(rand.NewPCG(seed, 1))
	s := routingtest.NewSubnet(t, "fattree:k=8", minhop.Route)
	for range 10 {
		for range 20 {
			s.Spoil(rng)
		}
		in := In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: routing.NewForwarding(s.Topo, s.LIDs, s.Tables)}
		g, want := newGraph(in), newGraph(in)
		if !g.alike() {
			t.Fatal("packets have several SLs")
		}
		if err := g.follow(t.Context(), g.Changed(nil)); err != nil {
			t.Fatal(err)
		}
		for lid, is := range want.dests {
			for _, from := range want.sources {
				last := -1
				for at, links := from.at, 0; is && links < routing.MaxTrace; links++ {
					port := want.egress(0, at, lid)
					if port == routing.NoPath || want.next[int(at)*want.ports+int(port)] < 0 {
						break
					}
					if last >= 0 {
						want.depend(last, 1, port)
					}
					last = int(at)*want.ports + int(port)
					at = want.next[last]
				}
			}
		}
		if !slices.Equal(g.deps, want.deps) {
			t.Fatalf("seed %d: other dependencies than those of single packets", seed)
		}
	}
}
