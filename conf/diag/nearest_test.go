package diag

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	legal := []string{"fattree", "torus", "sweep_interval", "sm_priority"}
	for _, c := range []struct{ word, want string }{
		{"fatree", "fattree"},
		{"Sweep-Interval", "sweep_interval"}, // only written otherwise
		{"sweep", "sweep_interval"},          // the beginning of it
		{"to", ""},                           // too short to tell
		{"hypercube", ""},
		{"", ""},
		{strings.Repeat("x", 1<<20), ""},
	} {
		if got := Nearest(c.word, legal); got != c.want {
			t.Errorf("%.20q: %q, want %q", c.word, got, c.want)
		}
	}
}
