package creditloop

import (
	"testing"

	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
)

// Trees have no credit loop between hosts, rings of more than four switches have.
func TestKnown(t *testing.T) {
	for _, c := range []struct {
		spec string
		loop int // length; a ring's is that of the ring
	}{
		{"fattree:k=4", 0}, {"fattree:k=8", 0}, {"mesh:dims=1x6,hosts=2", 0},
		{"torus:dims=5,hosts=1", 5}, {"torus:dims=7,hosts=1", 7},
	} {
		s := routingtest.NewSubnet(t, c.spec, minhop.Route)
		r := find(t, s, BetweenHosts, nil)
		if len(r.Loop) != c.loop {
			t.Errorf("%s: %+v", c.spec, r.Loop)
		}
		mustHold(t, s, BetweenHosts, r)
	}
}

func BenchmarkFind(b *testing.B) {
	for _, spec := range []string{"fattree:k=24", "fattree:k=36"} {
		b.Run(spec, func(b *testing.B) {
			s := routingtest.NewSubnet(b, spec, minhop.Route)
			f := routing.NewForwarding(s.Topo, s.LIDs, s.Tables)
			before := find(b, s, BetweenHosts, nil)
			for name, since := range map[string]*Report{"all": nil, "same": before} {
				b.Run(name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if r, err := Find(b.Context(),
							In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: f, Since: since}); err != nil || r.Loop != nil {
							b.Fatal(r, err)
						}
					}
				})
			}
		})
	}
}

// BenchmarkLanes is the proof with four SLs that are chosen by pairs of switches, as engines with
// lanes do it: each SL on a lane of its own, or with mapping tables for each pair of ports, as those of
// dragonflies and tori.
func BenchmarkLanes(b *testing.B) {
	for _, spec := range []string{"fattree:k=24", "fattree:k=36"} {
		s := routingtest.NewSubnet(b, spec, minhop.Route)
		f := routing.NewForwarding(s.Topo, s.LIDs, s.Tables)
		rows := make([][]uint8, len(s.Topo.Switches))
		for i := range rows {
			rows[i] = make([]uint8, len(s.Topo.Switches))
			for j := range rows[i] {
				rows[i][j] = uint8(i+j) % 4
			}
		}
		sls := routing.SLsBySwitch(s.Topo, s.LIDs, rows)
		even, odd := &routing.SLToVL{0, 0, 1, 1}, &routing.SLToVL{0, 1, 0, 1}
		maps := &routing.Maps{Of: make([][]*routing.SLToVL, len(s.Topo.Ports))}
		for p := range maps.Of {
			for in := range int(s.Topo.Nodes[s.Topo.Ports[p].Node].NumPorts) + 1 {
				maps.Of[p] = append(maps.Of[p], []*routing.SLToVL{even, odd}[in%2])
			}
		}
		lanes := make([]uint8, len(s.Topo.Ports))
		for p := range lanes {
			lanes[p] = 8
		}
		for name, m := range map[string]*routing.Maps{"own": nil, "mapped": maps} {
			b.Run(spec+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r, err := Find(b.Context(), In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: f, SLs: sls, Maps: m,
						Lanes: lanes})
					if err != nil || r.Loop != nil || r.Findings != nil {
						b.Fatal(r, err)
					}
				}
			})
		}
	}
}
