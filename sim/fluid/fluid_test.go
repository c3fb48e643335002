package fluid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// free are links of rate 1.
func free(n int) []Link {
	links := make([]Link, n)
	for i := range links {
		links[i].Rate = 1
	}
	return links
}

// TestSharing: rates and waiting that follow from equal shares, full buffers and order, worked out by hand.
func TestSharing(t *testing.T) {
	slow := func(l int32, drain float64) []Link {
		links := free(6)
		links[l].Drain = drain
		return links
	}
	narrow := free(6)
	narrow[2].Rate = 0.25
	for _, c := range []struct {
		name  string
		links []Link
		flows []Flow
		uses  map[int32]Use
	}{
		{"alone", free(3), []Flow{{[]int32{0, 1, 2}, 0.7}}, map[int32]Use{0: {0.7, 0}, 1: {0.7, 0}, 2: {0.7, 0}}},
		{"more than a link carries", free(3), []Flow{{[]int32{0, 1, 2}, 3}},
			map[int32]Use{0: {1, 0}, 1: {1, 0}, 2: {1, 0}}},
		{"two to one host", free(3), []Flow{{[]int32{0, 2}, 1}, {[]int32{1, 2}, 1}},
			map[int32]Use{0: {0.5, 0.5}, 1: {0.5, 0.5}, 2: {1, 0}}},
		{"two to one host, one of them sends little", free(3), []Flow{{[]int32{0, 2}, 0.1}, {[]int32{1, 2}, 1}},
			map[int32]Use{0: {0.1, 0}, 1: {0.9, 0.1}, 2: {1, 0}}},
		{"a host takes a fifth", slow(2, 0.2), []Flow{{[]int32{0, 1, 2}, 0.8}},
			map[int32]Use{0: {0.2, 0.8}, 1: {0.2, 0.8}, 2: {0.2, 0.8}}},
		{"a narrow link", narrow, []Flow{{[]int32{0, 1, 2}, 1}},
			map[int32]Use{0: {0.25, 0.75}, 1: {0.25, 0.75}, 2: {0.25, 0}}},
		// Link 1 carries both flows in equal parts, so neither gets more than the slow host takes.
		{"in the way of another", slow(2, 0.2), []Flow{{[]int32{0, 1, 2}, 0.5}, {[]int32{4, 1, 3}, 0.5}},
			map[int32]Use{0: {0.2, 0.8}, 4: {0.2, 0.8}, 1: {0.4, 0.6}, 2: {0.2, 0.8}, 3: {0.2, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			uses := Run(c.links, c.flows)
			for l, want := range c.uses {
				// How much waits between two full buffers depends on how sharply one is full.
				if got := uses[l]; math.Abs(got.Rate-want.Rate) > 0.01 || math.Abs(got.Waited-want.Waited) > 0.15 ||
					want.Waited == 0 && got.Waited > 0.01 {
					t.Errorf("link %d: %+v, want %+v", l, got, want)
				}
			}
		})
	}
}

// TestBounds: whatever the flows, links carry no more than they can and nothing is made on the way; scaling all rates
// scales the result.
func TestBounds(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		const nodes = 8
		links := make([]Link, nodes*nodes) // from one node of a line to a higher one
		for i := range links {
			links[i] = Link{Rate: 1 + rng.Float64(), Drain: []float64{0, 0.3}[rng.IntN(2)]}
		}
		flows := make([]Flow, 12)
		for f := range flows {
			for at := rng.IntN(3); at < nodes-1 && len(flows[f].Path) < 5; {
				to := at + 1 + rng.IntN(nodes-1-at)
				flows[f].Path = append(flows[f].Path, int32(at*nodes+to))
				at = to
			}
			flows[f].Rate = 2 * rng.Float64()
		}
		uses := Run(links, flows)
		tenfold := make([]Link, len(links))
		for l, u := range uses {
			if u.Rate > links[l].Rate*1.0001 || u.Waited < 0 || u.Waited > 1 || u.Rate/links[l].Rate+u.Waited > 1.01 {
				t.Errorf("seed %d: link %d of %+v: %+v", seed, l, links[l], u)
			}
			tenfold[l] = Link{links[l].Rate * 1e9, links[l].Drain * 1e9}
		}
		for f := range flows {
			flows[f].Rate *= 1e9
		}
		if again := Run(tenfold, flows); fmt.Sprintf("%.6f", again[1].Rate/1e9) != fmt.Sprintf("%.6f", uses[1].Rate) {
			t.Errorf("seed %d: %v, and scaled %v", seed, uses[1], again[1])
		}
	}
}

// BenchmarkRun is 1,024 flows over five links each.
func BenchmarkRun(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	links := free(4096)
	flows := make([]Flow, 1024)
	for f := range flows {
		for h := range 5 {
			flows[f].Path = append(flows[f].Path, int32(h*800+rng.IntN(800)))
		}
		flows[f].Rate = rng.Float64()
	}
	for b.Loop() {
		Run(links, flows)
	}
}
