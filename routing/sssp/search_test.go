package sssp

import (
	"slices"
	"testing"

	"ibsm/routing/routingtest"
)

// TestRows routes by rows, where the heap decides only between switches that are as near, and by the heap alone, and
// wants the same tables.
func TestRows(t *testing.T) {
	for _, spec := range []string{
		"fattree:k=4", "fattree:k=8", "fattree:k=12,missing-links=5%", "fattree:k=16,missing-links=3%",
		"torus:dims=5x4x3", "mesh:dims=4x4x4,missing-links=10%",
		"hyperx", "dragonfly", "random:switches=150,degree=4,hosts=2,seed=5",
		"random:switches=60,degree=3,hosts=5,seed=6",
	} {
		t.Run(spec, func(t *testing.T) {
			in := routingtest.Problem(t, spec)
			var rows [2][][]uint8
			for i, every := range []bool{false, true} {
				n := newNetwork(in, Settings{})
				if every {
					n.search.heavy = n.search.link
				}
				tables, err := n.place(t.Context(), n.destinations(Settings{}))
				if err != nil {
					t.Fatal(err)
				}
				rows[i] = tables.LFT
				if !every && uint64(slices.Max(n.search.rows.row))*n.search.heavy >= n.search.link {
					t.Fatal("the fewest links were not sure to be the lightest way")
				}
			}
			for s := range rows[0] {
				if !slices.Equal(rows[0][s], rows[1][s]) {
					t.Errorf("switch %d differs", s)
				}
			}
		})
	}
}
