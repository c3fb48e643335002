package view

import "testing"

// TestRouting: the line of status has what the engine says of the subnet, and after it why others refused it.
func TestRouting(t *testing.T) {
	r := Routing{Engine: "tree", Fabric: "fat tree of 3 levels",
		Notes:   []string{"412 pairs of leaves have no up-down path: routed over lane 1"},
		Refused: []Refusal{{"ftree", "no roots"}}}
	const want = "tree; selected for a fat tree of 3 levels; 412 pairs of leaves have no up-down path: routed over lane 1; ftree failed: no roots"
	if got := r.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
