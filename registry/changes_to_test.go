package registry

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// ChangesTo leads from any State to any other, and leaves alone what is the same.
func TestChangesTo(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	random := func(n int) *Registry {
		r := New()
		for range n {
			_ = r.Apply(randomChange(rng)) // some cannot be made
		}
		return r
	}
	moved := 0
	for range 300 {
		from, to := random(rng.IntN(300)), random(rng.IntN(300))
		want := slices.Collect(to.Changes())
		changes := from.ChangesTo(&to.State)
		for _, c := range changes {
			if err := from.Apply(c); err != nil {
				t.Fatalf("%v: %+v", err, c)
			}
			if _, is := c.(DeleteGroup); is {
				moved++
			}
		}
		if got := slices.Collect(from.Changes()); !slices.Equal(got, want) {
			t.Fatalf("led to %v\nnot to %v", got, want)
		}
		if more := from.ChangesTo(&to.State); len(more) != 0 {
			t.Fatalf("nothing is different, but %v", more)
		}
		one := randomChange(rng)
		if to.Apply(one) == nil {
			if changes := from.ChangesTo(&to.State); one.Kind() == KindPutMember && len(changes) > 1 {
				t.Fatalf("%+v is %d changes", one, len(changes))
			}
		}
	}
	if moved < 100 {
		t.Errorf("%d groups were deleted", moved)
	}
}
