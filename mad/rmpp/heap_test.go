package rmpp

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestHeap: whatever is added, moved and removed, the transfer that is due first is in front,
// and each knows its place.
func TestHeap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var h heap
	for step := range 5000 {
		switch due := time.Duration(rng.IntN(1000)); {
		case len(h) == 0 || len(h) < 40 && rng.IntN(2) == 0:
			h.add(&transfer{}, due)
		case rng.IntN(2) == 0:
			h.move(h[rng.IntN(len(h))], due)
		default:
			h.remove(h[rng.IntN(len(h))])
		}
		for i, tr := range h {
			if tr.index != i || tr.due < h[0].due {
				t.Fatalf("step %d: at %d of %d, which thinks it is at %d: due at %v, the first at %v", step, i, len(h),
					tr.index, tr.due, h[0].due)
			}
		}
	}
}
