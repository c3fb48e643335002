package ctltest

import (
	"slices"
	"strings"
	"testing"

	"ibsm/ctl"
)

// Diagnose is the one diagnosis there is of a port, or of the paths to another.
func Diagnose(tb testing.TB, s ctl.Subnet, port, other string) *ctl.Diagnosis {
	tb.Helper()
	rows, err := s.Diagnose(port, other)
	if err != nil {
		tb.Fatal(err)
	}
	all := slices.Collect(rows)
	if len(all) != 1 {
		tb.Fatalf("%s: %d diagnoses", port, len(all))
	}
	return all[0]
}

// HasReason reports whether some reason is of a kind, with a text in it, and says what to do.
func HasReason(d *ctl.Diagnosis, kind, text string) bool {
	return slices.ContainsFunc(d.Reasons, func(r ctl.Reason) bool {
		return r.Kind == kind && strings.Contains(r.Text, text) && r.Do != ""
	})
}
