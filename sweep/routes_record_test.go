package sweep

import "testing"

// TestRoutesRecordText: what is stored is read as it was, and anything else as no record.
func TestRoutesRecordText(t *testing.T) {
	for _, r := range []RoutesRecord{{}, {"tree", 0}, {"torus-2QoS", 0xfedcba9876543210}} {
		if got := ParseRoutesRecord(r.Text()); got != r {
			t.Errorf("%v, want %v", got, r)
		}
	}
	for _, text := range []string{"", "tree", "tree 12", "tree 0000000000000001", "tree 0000000000000001\nx",
		"tree -000000000000001\n", "tree 00000000000000010\n"} {
		if got := ParseRoutesRecord([]byte(text)); got != (RoutesRecord{}) {
			t.Errorf("%q: %v", text, got)
		}
	}
}
