package tree

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/topo/net"
)

// TestWaysSince: ways that are derived from those of before are those that are found afresh, whatever cables are lost
// and return; rows that stay are shared. Sets of differing destinations have each of them.
func TestWaysSince(t *testing.T) {
	for seed, spec := range []string{"fattree:k=8", "fattree:k=4,levels=4", "fattree:k=6,missing-links=5%,seed=2",
		"fattree:k=16,levels=2"} {
		fabric, err := net.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		f := routingtest.NewLiving(t, fabric, 0)
		base, err := Route(t.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs})
		if err != nil {
			t.Fatal(err)
		}
		o, rng, derived, shared, other := base.Origin.(*origin), rand.New(rand.NewPCG(uint64(seed), 1)), 0, 0, 0
		for range 60 {
			if f.Damage(rng); rng.IntN(4) == 0 {
				for len(f.Lost) > 0 {
					f.Restore(len(f.Lost) - 1)
				}
			}
			f.Walk(t)
			n := newNetwork(t.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs}, &Settings{})
			is := n.waysSince(o)
			if is == nil {
				continue
			}
			afresh, err := n.newWays(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			derived++
			set := make([]uint64, (len(is.links)+63)/64)
			for s, row := range is.links {
				if !bytes.Equal(row, afresh.links[s]) {
					t.Fatalf("%s: %d cables lost: the ways of switch %d are\n%v, not\n%v", spec, len(f.Lost), s, row,
						afresh.links[s])
				}
				if routing.SameRow(row, o.ways.links[s]) {
					shared++
				} else {
					other++
				}
				unequal(set, row, o.ways.links[s])
				for d := range is.links {
					if set[d/64]>>(d%64)&1 != 0 != (row[d] != o.ways.links[s][d]) {
						t.Fatalf("%s: set %x of %v and %v", spec, set, row, o.ways.links[s])
					}
				}
			}
		}
		if t.Logf("%s: derived %d times; %d rows shared, %d others", spec, derived, shared, other); derived < 5 ||
			shared == 0 || other == 0 {
			t.Error("too few")
		}
	}
}
