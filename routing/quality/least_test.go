package quality

import (
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// TestLeast: no tables have better figures, and those of a whole tree or torus can be computed by hand.
func TestLeast(t *testing.T) {
	for spec, want := range map[string]Sample{
		"fattree:k=8": {Links: 512, Fullest: 4 * 124 / 4, Shift: 1}, "fattree:k=4": {},
		"random:switches=12,degree=4,missing-links=10%": {},
		// routes have 4 links on average
		"torus:dims=8x8,hosts=2": {Links: 256, Fullest: 64 * 2 * 64 * 2 * 4 / 256, Shift: 2},
	} {
		subnet, lids, tables := routed(t, spec, 0)
		least, err := Least(t.Context(), routing.In{Topo: subnet, LIDs: lids})
		if err != nil {
			t.Fatal(err)
		}
		if want.Links > 0 && *least != want {
			t.Errorf("%s: %+v, want %+v", spec, *least, want)
		}
		tenants := routing.NewTenants(subnet, func(p topo.PortIdx) *topo.PKeyTable {
			return topo.NewPKeyTable([][]mad.PKey{{0x8001}, {0x8002}}[int(p/2)%2])
		})
		for _, in := range []routing.In{{Topo: subnet, LIDs: lids}, {Topo: subnet, LIDs: lids, Tenants: tenants}} {
			least, err := Least(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			of, err := NewSample(t.Context(), in, tables.LFT)
			if err != nil || least.Links != of.Links || least.Fullest == 0 || least.Fullest > of.Fullest ||
				least.Shift > of.Shift {
				t.Errorf("%s, tenants %t: %+v, at least %+v, %v", spec, in.Tenants != nil, *of, *least, err)
			}
		}
	}
}
