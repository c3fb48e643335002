package routes

import "testing"

// TestAnswersAlone: the answers of engines that serve again and again do not keep those before them.
func TestAnswersAlone(t *testing.T) {
	f := newLiving(t, "fattree:k=4", "minhop")
	f.sweep(t)
	for range 2 {
		before := f.state.answers
		if f.sweep(t); f.state.answers == nil || f.state.answers == before || f.state.answers.engine.Route != nil {
			t.Errorf("%+v", f.state.answers)
		}
	}
}
