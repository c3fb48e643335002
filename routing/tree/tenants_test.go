package tree

import (
	"math/rand/v2"
	"os"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/quality"
	"ibsm/routing/routingtest"
	"ibsm/topo"
	"ibsm/topo/net"
)

// shared gives the hosts of a subnet to so many tenants, by chance.
func shared(in routing.In, tenants int, seed uint64) routing.In {
	rng := rand.New(rand.NewPCG(seed, 9))
	tables := map[topo.PortIdx]*topo.PKeyTable{}
	hosts := quality.Hosts(in.Topo, in.LIDs)
	for i, at := range rng.Perm(len(hosts)) {
		tables[hosts[at]] = topo.NewPKeyTable(
			[]mad.PKey{mad.DefaultPKey &^ mad.FullMember, mad.PKey(0x8001 + i%tenants)})
	}
	in.Tenants = routing.NewTenants(in.Topo, func(p topo.PortIdx) *topo.PKeyTable { return tables[p] })
	return in
}

// TestTenants: with random halves and eighths of the hosts as tenants, neither the fullest link nor shifts within the
// partitions are worse than if the engine does not know them, and better in the median.
func TestTenants(t *testing.T) {
	seeds := 5
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 20
	}
	for what, fabric := range map[string]func(seed uint64) *net.Net{
		"cluster": func(uint64) *net.Net { return routingtest.Cluster582(t) },
		"rails":   func(uint64) *net.Net { return routingtest.RailFabric(2) },
		"rails, 3 % missing": func(seed uint64) *net.Net {
			n := routingtest.RailFabric(2)
			routingtest.LoseCables(n, 3, seed)
			return n
		},
		"two levels":   func(uint64) *net.Net { return generated(t, "fattree:k=24,levels=2") },
		"three levels": func(uint64) *net.Net { return generated(t, "fattree:k=12") },
		"three, 3 % missing": func(seed uint64) *net.Net {
			n := generated(t, "fattree:k=12")
			routingtest.LoseCables(n, 3, seed)
			return n
		},
	} {
		for _, tenants := range []int{2, 8} {
			type pair struct {
				ours, theirs         uint32
				ourShift, theirShift float64
			}
			var all []pair
			for seed := range uint64(seeds) {
				in := shared(problem(t, fabric(seed), 0), tenants, seed)
				var p pair
				for knows, into := range map[bool]*pair{true: &p, false: &p} {
					asked := in
					if !knows {
						asked.Tenants = nil
					}
					tables, err := Route(t.Context(), asked)
					if err != nil {
						t.Fatal(err)
					}
					fullest, shift, err := quality.Tenants(t.Context(), in, tables.LFT, quality.Hosts(in.Topo, in.LIDs))
					if err != nil {
						t.Fatal(err)
					}
					if knows {
						into.ours, into.ourShift = fullest, shift
					} else {
						into.theirs, into.theirShift = fullest, shift
					}
				}
				if p.ours > p.theirs || p.ourShift > p.theirShift {
					t.Errorf("%s, %d tenants, seed %d: %+v", what, tenants, seed, p)
				}
				all = append(all, p)
			}
			ours, theirs := quality.Median(all, func(p pair) uint32 {
				return p.ours
			}), quality.Median(all, func(p pair) uint32 {
				return p.theirs
			})
			ourShift, theirShift := quality.Median(all, func(p pair) float64 {
				return p.ourShift
			}), quality.Median(all, func(p pair) float64 {
				return p.theirShift
			})
			t.Logf("%s, %d tenants: fullest %d, without knowing %d; shift %.2f, %.2f", what, tenants, ours, theirs,
				ourShift, theirShift)
			if ours >= theirs || ourShift >= theirShift {
				t.Errorf("%s, %d tenants: no better", what, tenants)
			}
		}
	}
}
