package routing_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/topo"
)

// TestFirst: ports of guid_routing_order_file come first, in its order and once, switches among them, and
// those that are not there are left out (osm_ucast_mgr.c: add_guid_to_order_list).
func TestFirst(t *testing.T) {
	fabric := fromNet(t, oddNet())
	lids := topo.SequentialLIDs(fabric, 0)
	s := routing.Balancing{First: []mad.GUID{0x3001, 0x77, 0x0303, 0x1001, 0x3001, 0}, Seed: 7, FirstInTurn: true,
		Switches: true}
	var got []mad.GUID
	for i, d := range routing.Order(fabric, lids, s) {
		got = append(got, fabric.Ports[d.Port].GUID)
		if d.Scatter != (i >= 3) || !d.Weighs {
			t.Errorf("%+v", d)
		}
	}
	if want := []mad.GUID{0x3001, 0x0303, 0x1001, 0x4001, 0x2001, 0x0201, 0x0102}; !slices.Equal(got, want) {
		t.Errorf("order %x, want %x", got, want)
	}
}

// TestWeights: the ways between all switches cost what adding up weights until nothing changes gives.
func TestWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, spec := range []string{"torus:dims=3x4,hosts=1", "fattree:k=4", "random:switches=30,degree=4,hosts=1"} {
		fabric := fromSpec(t, spec)
		s := routing.Balancing{Weights: map[routing.SwitchPort]uint8{}}
		for range 40 {
			n := &fabric.Nodes[fabric.Switches[rng.IntN(len(fabric.Switches))]]
			s.Weights[routing.SwitchPort{Switch: n.GUID, Port: uint8(1 + rng.IntN(int(n.NumPorts)))}] = []uint8{
				2, 3, 100, 254, 255,
			}[rng.IntN(5)]
		}
		b := routing.NewBalance(routing.In{Topo: fabric, LIDs: topo.SequentialLIDs(fabric, 0)}, s)
		hops, err := routing.NewHops(t.Context(), 0, b.Graph)
		if err != nil {
			t.Fatal(err)
		}
		for d := range fabric.Switches {
			want := make([]int, len(fabric.Switches))
			for i := range want {
				want[i] = routing.Unreachable
			}
			want[d] = 0
			for changed := true; changed; {
				changed = false
				for from := range want {
					peers, ports := b.Graph.Edges(topo.SwitchIdx(from))
					for e, to := range peers {
						weight, is := s.Weights[routing.SwitchPort{Switch: fabric.Nodes[fabric.Switches[from]].GUID,
							Port: ports[e]}]
						if !is {
							weight = 1
						}
						if sum := want[to] + int(weight); sum < want[from] {
							want[from], changed = sum, true
						}
					}
				}
			}
			for from, cost := range want {
				if got := hops.From(topo.SwitchIdx(from))[d]; int(got) != cost {
					t.Errorf("%s: from %d to %d: %d, want %d", spec, from, d, got, cost)
				}
			}
		}
	}
}

// TestScatter: the same seed gives the same tables, another seed others.
func TestScatter(t *testing.T) {
	fabric := fromSpec(t, "fattree:k=4")
	tables := func(seed uint32) [][]uint8 {
		r, err := minhop.New(routing.Balancing{Seed: seed})(t.Context(),
			routing.In{Topo: fabric, LIDs: topo.SequentialLIDs(fabric, 0)})
		if err != nil {
			t.Fatal(err)
		}
		return r.LFT
	}
	once := tables(5)
	if !slices.EqualFunc(once, tables(5), slices.Equal) {
		t.Error("the same seed gives other tables")
	}
	if slices.EqualFunc(once, tables(6), slices.Equal) || slices.EqualFunc(once, tables(0), slices.Equal) {
		t.Error("another seed gives the same tables")
	}
}
