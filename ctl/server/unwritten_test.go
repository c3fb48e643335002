package server

import (
	"errors"
	"strings"
	"testing"
)

// TestUnwritten: status names what cannot be written, since when and why, as long as it lasts.
func TestUnwritten(t *testing.T) {
	d := New(Config{})
	troubles := func() []string { return d.Status().Troubles() }
	d.Unwritten("state store", nil)
	if got := troubles(); len(got) > 0 {
		t.Errorf("%q", got)
	}
	d.Unwritten("state store", errors.New("no space left on device"))
	first := d.Status().Unwritten[0].Since
	d.Unwritten("dump files", errors.New("read-only file system"))
	d.Unwritten("state store", errors.New("input/output error"))
	got := troubles()
	if len(got) != 2 || !strings.Contains(got[1], "THE STATE STORE CANNOT BE WRITTEN since ") ||
		!strings.Contains(got[1], ": input/output error; ") {
		t.Errorf("%q", got)
	}
	if u := d.Status().Unwritten; u[1].Since != first {
		t.Errorf("since %v, want %v", u[1].Since, first)
	}
	d.Unwritten("dump files", nil)
	d.Unwritten("state store", nil)
	if got := troubles(); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
