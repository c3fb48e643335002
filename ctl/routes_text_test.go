package ctl_test

import (
	"testing"

	"ibsm/ctl"
)

// TestRoutesText: the line of status has what the engine says of the subnet, and after it why others refused it.
func TestRoutesText(t *testing.T) {
	st := &ctl.Status{Engine: "tree", Fabric: "fat tree of 3 levels",
		RoutingNotes: []string{"412 pairs of leaves have no up-down path: routed over lane 1"},
		Refused:      []ctl.EngineRefusal{{Engine: "ftree", Reason: "no roots"}}}
	const want = "tree; selected for a fat tree of 3 levels; 412 pairs of leaves have no up-down path: routed over lane 1; ftree failed: no roots"
	if got := st.RoutesText(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	st.Fabric, st.RoutingNotes, st.Refused = "2 fat trees of 2 levels", nil, nil
	if got := st.RoutesText(); got != "tree; selected for 2 fat trees of 2 levels" {
		t.Errorf("%q", got)
	}
}
