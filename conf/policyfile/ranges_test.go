package policyfile

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRanges: ranges hold what any of those joined does.
func TestRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var parts Ranges
		for range 1 + rng.IntN(6) {
			from := rng.Uint64N(40)
			if rng.IntN(10) == 0 {
				from = ^uint64(0) - from
			}
			parts = append(parts, Range{from, from + min(rng.Uint64N(6), ^from)})
		}
		joined := Join(slices.Clone(parts))
		for n := range uint64(100) {
			n -= 50
			want := slices.ContainsFunc(parts, func(r Range) bool { return r.From <= n && n <= r.To })
			if joined.Has(n) != want {
				t.Fatalf("%v of %v has %d: %t", joined, parts, n, !want)
			}
		}
	}
}
