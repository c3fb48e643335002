package dragonfly

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// plus is a dragonfly+: groups of leaves, which have hosts, and of spines, which have cables to other groups.
type plus struct {
	groups, leaves, spines, hosts, global int
}

// build makes the fabric, without some of its cables between switches.
func (f plus) build(t testing.TB, missing float64, seed uint64) routing.In {
	t.Helper()
	n := &net.Net{}
	add := func(kind mad.NodeType, desc string, ports int) int32 {
		guid := mad.GUID(0x1000 + 0x100*len(n.Nodes))
		node := net.Node{ID: fmt.Sprintf("N-%d", len(n.Nodes)), Desc: desc, Type: kind, GUID: guid,
			SystemImageGUID: guid, EnhancedPort0: true, Ports: make([]net.Port, ports+1)}
		for i := range node.Ports {
			node.Ports[i] = net.Port{Peer: net.NoEnd, GUID: guid + mad.GUID(i)}
			if kind == mad.Switch {
				node.Ports[i].GUID = guid
			}
		}
		n.Nodes = append(n.Nodes, node)
		return int32(len(n.Nodes) - 1)
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	cable := func(a int32, aPort int, b int32, bPort int) {
		if n.Nodes[a].Type == mad.Switch && n.Nodes[b].Type == mad.Switch && rng.Float64() < missing {
			return
		}
		n.Nodes[a].Ports[aPort].Peer, n.Nodes[b].Ports[bPort].Peer = net.End{Node: b, Port: uint8(bPort)},
			net.End{Node: a, Port: uint8(aPort)}
	}
	spine, leaf := make([][]int32, f.groups), make([][]int32, f.groups)
	for g := range f.groups {
		for i := range f.spines {
			spine[g] = append(spine[g], add(mad.Switch, fmt.Sprintf("group-%d spine-%d", g, i), f.leaves+f.global))
		}
		for i := range f.leaves {
			leaf[g] = append(leaf[g], add(mad.Switch, fmt.Sprintf("group-%d leaf-%d", g, i), f.spines+f.hosts))
			for j, s := range spine[g] {
				cable(s, 1+i, leaf[g][i], 1+j)
			}
			for j := range f.hosts {
				cable(leaf[g][i], 1+f.spines+j, add(mad.CA, fmt.Sprintf("host-%d-%d-%d", g, i, j), 1), 1)
			}
		}
	}
	others := f.groups - 1
	for round := range f.spines * f.global / others {
		for g := range f.groups {
			for d := 1; g+d < f.groups; d++ {
				a, b := round*others+d-1, round*others+f.groups-d-1
				cable(spine[g][a/f.global], 1+f.leaves+a%f.global, spine[g+d][b/f.global], 1+f.leaves+b%f.global)
			}
		}
	}
	found, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return routing.In{Topo: found, LIDs: topo.SequentialLIDs(found, 0)}
}

// TestPlus: in whole dragonfly+ packets between hosts have no credit loop on one lane, and none at all have one on two.
func TestPlus(t *testing.T) {
	for _, f := range []plus{{3, 2, 2, 2, 1}, {5, 4, 4, 4, 2}, {9, 4, 4, 2, 2}, {4, 3, 3, 3, 4}, {17, 8, 8, 8, 2}} {
		for lanes := uint8(1); lanes <= 2; lanes++ {
			in := withLanes(f.build(t, 0, 0), lanes)
			tables, err := Route(t.Context(), in, groups(in))
			if err != nil {
				t.Fatalf("%+v, %d lanes: %v", f, lanes, err)
			}
			traffic := creditloop.BetweenHosts
			if lanes > 1 {
				traffic = creditloop.All
			}
			mustRoute(t, in, tables, traffic)
			if tables.SLs.Count != 1 {
				t.Errorf("%+v, %d lanes: %d SLs", f, lanes, tables.SLs.Count)
			}
		}
	}
}

// TestPlusDamaged: with cables missing everything is reached that has some, without a credit loop. With eight lanes
// that is so for all packets, and otherwise at least for those between hosts.
func TestPlusDamaged(t *testing.T) {
	seeds := 20
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 200
	}
	for _, f := range []plus{{3, 2, 2, 2, 1}, {5, 4, 4, 4, 2}, {9, 4, 4, 2, 2}, {4, 3, 3, 3, 4}} {
		for i, missing := range []float64{0.01, 0.03, 0.1} {
			for lanes, most := range map[uint8]int{1: []int{seeds / 10, seeds / 2, seeds}[i],
				2: []int{0, seeds / 5, seeds * 3 / 4}[i], 4: 0, 8: 0} {
				t.Run(fmt.Sprintf("%+v without %v/%d lanes", f, missing, lanes), func(t *testing.T) {
					t.Parallel()
					refused, several, unproved := 0, 0, 0
					for seed := range seeds {
						in := withLanes(f.build(t, missing, uint64(seed)), lanes)
						tables, err := Route(t.Context(), in, groups(in))
						if err != nil {
							refused++
							continue
						}
						traffic := creditloop.All
						if len(tables.Notes) > 0 {
							traffic = creditloop.BetweenHosts
							unproved++
						}
						mustRoute(t, in, tables, traffic)
						if tables.SLs.Count > 1 {
							several++
						}
					}
					t.Logf("%d refused, %d with several SLs, %d not proved for all packets", refused, several, unproved)
					if refused > most || lanes == 8 && unproved > 0 {
						t.Errorf("more than %d refused, or not proved", most)
					}
				})
			}
		}
	}
}

func BenchmarkPlus(b *testing.B) {
	for _, missing := range []float64{0, 0.01} {
		for _, lanes := range []uint8{1, 4} {
			b.Run(fmt.Sprintf("without %v/%d lanes", missing, lanes), func(b *testing.B) {
				in := withLanes(plus{33, 16, 16, 16, 2}.build(b, missing, 1), lanes)
				d := groups(in)
				for b.Loop() {
					if _, err := Route(b.Context(), in, d); err != nil {
						b.Skip(err)
					}
				}
			})
		}
	}
}
