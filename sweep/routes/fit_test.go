package routes

import "testing"

// TestFitKnown: that ports have too few lanes for tables found is not computed again before a route changes.
func TestFitKnown(t *testing.T) {
	f := newLiving(t, "torus:dims=5x5,hosts=1", "minhop")
	f.adopt(t)
	f.lanes = 1
	f.state.ReadLanes()
	out := f.sweep(t)
	if out.Fitting.State != TooFewLanes || out.Fitting.Lanes != 1 || out.CreditLoop == nil {
		t.Fatalf("%+v, loop %v", out.Fitting, out.CreditLoop)
	}
	const wrong = 99
	for _, lost := range []bool{false, true} {
		f.state.fitting.Needed = wrong
		if lost {
			f.Cut(f.Cables(false)[0])
			f.walk(t)
		}
		if out := f.sweep(t); out.Fitting.State != TooFewLanes || (out.Fitting.Needed == wrong) == lost {
			t.Errorf("a cable is lost: %t; %+v", lost, out.Fitting)
		}
	}
}
