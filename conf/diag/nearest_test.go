package diag

import (
	"strings"
	"testing"
)

func TestMeant(t *testing.T) {
	verbs := []string{"status", "state", "sweep", "dump", "dump"}
	for word, want := range map[string]string{
		"dumpp": "; did you mean dump?", "stat": "; did you mean state or status?", "swep": "; did you mean sweep?",
		"xyz": "", "": "", "sta": "; did you mean status or state?",
	} {
		if got := Meant(word, verbs); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	legal := []string{"fattree", "torus", "sweep_interval", "sm_priority"}
	for _, c := range []struct{ word, want string }{
		{"fatree", "fattree"},
		{"Sweep-Interval", "sweep_interval"}, // only written otherwise
		{"sweep", "sweep_interval"},          // the beginning of it
		{"to", ""},                           // too short to show
		{"hypercube", ""},
		{"", ""},
		{strings.Repeat("x", 1<<20), ""},
	} {
		if got := Nearest(c.word, legal); got != c.want {
			t.Errorf("%.20q: %q, want %q", c.word, got, c.want)
		}
	}
}
