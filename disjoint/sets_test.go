package disjoint

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSets compares with sets that are written out: each number has the list of its set.
func TestSets(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		const count = 30
		sets, of := New(count), make([][]int32, count)
		for i := range of {
			of[i] = []int32{int32(i)}
		}
		for range rng.IntN(2 * count) {
			a, b := rng.Int32N(count), rng.Int32N(count)
			two := !slices.Contains(of[a], b)
			if sets.Join(a, b) != two {
				t.Fatalf("seed %d: %d and %d were two sets: %v", seed, a, b, two)
			}
			if two {
				all := slices.Sorted(slices.Values(append(slices.Clone(of[a]), of[b]...)))
				for _, i := range all {
					of[i] = all
				}
			}
		}
		var want [][]int32
		for i := range of {
			if of[i][0] == int32(i) {
				want = append(want, of[i])
			}
			if got := sets.Of(int32(i)); got != of[i][0] {
				t.Fatalf("seed %d: %d is in the set of %d, want %d", seed, i, got, of[i][0])
			}
		}
		if got := sets.Lists(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
	}
}
