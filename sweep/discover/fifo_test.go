package discover

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFIFO: a queue gives what it was given in order, also what is put in front.
func TestFIFO(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var q fifo
	var want []item
	next := int32(0)
	for range 200_000 {
		it := item{node: next}
		next++
		switch grows := len(want) < 3*blockSize; {
		case len(want) > 0 && rng.IntN(100) < map[bool]int{true: 49, false: 52}[grows]:
			if got, ok := q.pop(); !ok || got != want[0] {
				t.Fatalf("pop is %v, %t, want %v", got, ok, want[0])
			}
			want = want[1:]
		case rng.IntN(50) == 0:
			q.pushFirst(it)
			want = slices.Insert(want, 0, it)
		default:
			q.push(it)
			want = append(want, it)
		}
		if q.empty() != (len(want) == 0) {
			t.Fatalf("empty is %t of %d", q.empty(), len(want))
		}
	}
	for _, it := range want {
		if got, ok := q.pop(); !ok || got != it {
			t.Fatalf("pop is %v, %t, want %v", got, ok, it)
		}
	}
	if _, ok := q.pop(); ok || !q.empty() {
		t.Error("it has more than it was given")
	}
}
