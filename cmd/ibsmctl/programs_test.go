package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgramMissing: the error names the program that is not installed, and where to put it.
func TestProgramMissing(t *testing.T) {
	if _, err := os.Stat("/usr/sbin/ibsm"); err == nil {
		t.Skip("ibsm is installed on this host")
	}
	t.Setenv("PATH", "/nonexistent")
	file := filepath.Join(t.TempDir(), "opensm.conf")
	if err := os.WriteFile(file, []byte("lmc 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, program string }{
		{"config check " + file, "ibsm"},
		{"draw --fabric fattree:k=4", "ibfabric"},
	} {
		_, errs, status := invoke(t, strings.Fields(c.args)...)
		if status != 1 || !strings.Contains(errs, "the program "+c.program+", which is not installed") ||
			!strings.Contains(errs, "beside ibsmctl") {
			t.Errorf("%s: status %d, %s", c.args, status, errs)
		}
	}
}
