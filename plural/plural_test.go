package plural

import "testing"

func TestCounts(t *testing.T) {
	for want, got := range map[string]string{
		"0 links": Of(0, "link"), "1 link": Of(1, "link"), "2 links": Of(2, "link"),
		"1 switch": Of(1, "switch"), "2 switches": Of(2, "switch"),
		"1 leaf": With(1, "leaf", "leaves"), "3 leaves": With(3, "leaf", "leaves"),
		"it": Word(1, "it", "them"), "them": Word(0, "it", "them"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
