package plan

import (
	"slices"
	"testing"

	"ibsm/routing"
)

func row(blocks int, fill uint8) []uint8 {
	return slices.Repeat([]uint8{fill}, blocks*routing.BlockSize)
}

func TestHeldKnown(t *testing.T) {
	h := NewHeld(200, row(4, 1), []int{1})
	for block, want := range []bool{true, false, true, true, false} {
		if h.Known(block) != want {
			t.Errorf("block %d known: %v", block, !want)
		}
	}
	if h.Certain() {
		t.Error("a table of which a block was not read is certain")
	}
	h.Acknowledge(1)
	if !h.Certain() || !h.Known(1) {
		t.Error("an acknowledged block is in doubt")
	}
	h.Doubt(130)
	if h.Certain() || h.Known(130) {
		t.Error("a doubtful block is certain")
	}
	h.Acknowledge(500)
	var none *Held
	if none.Certain() || none.Known(0) {
		t.Error("nothing is known, and certain")
	}
}

func TestBecoming(t *testing.T) {
	want := row(3, 1)
	want[2*routing.BlockSize] = 9
	for _, c := range []struct {
		name  string
		held  *Held
		write []int
	}{
		{"nothing known", nil, []int{0, 1, 2}},
		{"the same", NewHeld(0, slices.Clone(want), nil), nil},
		{"the same array", NewHeld(0, want, nil), nil},
		{"the same, but not certain", NewHeld(0, want, []int{1}), []int{1}},
		{"one block differs", NewHeld(0, row(3, 1), nil), []int{2}},
		{"shorter", NewHeld(0, row(2, 1), nil), []int{2}},
		{"longer", NewHeld(0, append(slices.Clone(want), row(1, 5)...), nil), nil},
		{"longer, and not certain there", NewHeld(0, append(slices.Clone(want), row(1, 5)...), []int{3}), nil},
	} {
		to := c.held.becoming(want)
		var write []int
		for b := range 3 {
			if !to.Known(b) {
				write = append(write, b)
			}
		}
		if !slices.Equal(write, c.write) || to.Certain() != (len(write) == 0) {
			t.Errorf("%s: blocks %v are to be written, want %v", c.name, write, c.write)
		}
		for _, b := range write {
			to.Acknowledge(b)
		}
		if !to.Certain() || len(to.Row) != len(want) || &to.Row[0] != &want[0] {
			t.Errorf("%s: after the writes the table is not the one that was wanted", c.name)
		}
	}
}
