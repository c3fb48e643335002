package daemon

import "testing"

// TestChoosesSLs: the tables of lanes matter where an engine of the list may put paths on several
// SLs, whichever place it has.
func TestChoosesSLs(t *testing.T) {
	for list, want := range map[string]bool{"": false, "minhop,updn": false, "lash": true, "updn,lash": true,
		"file": false, "file\nlfts_file /x": true, "torus-2QoS,no_fallback": true, "dfsssp": true, "nue": true} {
		if got := choosesSLs(load("routing_engine " + list + "\n").Config); got != want {
			t.Errorf("%q: %v", list, got)
		}
	}
}
