package routes

import "testing"

// TestRecordText: what is stored is read as it was, and anything else as no record.
func TestRecordText(t *testing.T) {
	for _, r := range []Record{{}, {"tree", 0}, {"torus-2QoS", 0xfedcba9876543210}} {
		if got := ParseRecord(r.Text()); got != r {
			t.Errorf("%v, want %v", got, r)
		}
	}
	for _, text := range []string{"", "tree", "tree 12", "tree 0000000000000001", "tree 0000000000000001\nx",
		"tree -000000000000001\n", "tree 00000000000000010\n"} {
		if got := ParseRecord([]byte(text)); got != (Record{}) {
			t.Errorf("%q: %v", text, got)
		}
	}
}
