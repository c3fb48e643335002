package creditloop

import (
	"slices"
	"testing"

	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
)

// A report is the same whatever was found before, when multicast groups get other SLs and the lanes stay the same.
func TestSinceOtherSLs(t *testing.T) {
	s := routingtest.NewSubnet(t, "fattree:k=4", minhop.Route)
	maps := &routing.Maps{Of: make([][]*routing.SLToVL, len(s.Topo.Ports))}
	for p := range maps.Of {
		maps.Of[p] = []*routing.SLToVL{{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}}
	}
	for _, lanes := range [][]uint8{nil, slices.Repeat([]uint8{4}, len(s.Topo.Ports))} {
		for _, sls := range [][2]uint8{{3, 6}, {6, 3}} {
			in := In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: routing.NewForwarding(s.Topo, s.LIDs, s.Tables), Maps: maps, Lanes: lanes}
			search := func(sl uint8, since *Report) *Report {
				in.Multicast, in.Since = []mcast.Group{{Tree: &mcast.Tree{MLID: 0xc001}, SL: sl}}, since
				r, err := Find(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			got, want := search(sls[1], search(sls[0], nil)), search(sls[1], nil)
			for i, word := range want.graph.deps {
				if word&^got.graph.deps[i] != 0 {
					t.Fatalf("SL %d, then %d, lanes %v: dependencies are missing", sls[0], sls[1], lanes != nil)
				}
			}
		}
	}
}
