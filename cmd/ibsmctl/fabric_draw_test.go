package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestDrawFile: a file says nothing of states, and so does its picture.
func TestDrawFile(t *testing.T) {
	beside(t)
	for _, c := range []struct{ spec, want string }{
		{"fattree:k=4", ">links: 48<"},
		{"../../../shared/data/ndr-582.topo", ">switches with fewer cables to others than most on their level: 12<"},
	} {
		if _, err := os.Stat(c.spec); err != nil && strings.Contains(c.spec, "/") {
			t.Skip(c.spec + " is not there, seen from the checkout")
		}
		var out bytes.Buffer
		if status := run([]string{"draw", "--fabric", c.spec}, &out, &out); status != 0 ||
			!strings.Contains(out.String(), c.want) || strings.Contains(out.String(), "Active") {
			t.Errorf("%s: exit status %d, no %s, or it says Active", c.spec, status, c.want)
		}
	}
}
