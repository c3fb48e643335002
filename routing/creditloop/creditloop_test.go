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
						if r, err := Find(b.Context(), In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: f, Since: since}); err != nil || r.Loop != nil {
							b.Fatal(r, err)
						}
					}
				})
			}
		})
	}
}
