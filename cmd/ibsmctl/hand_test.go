package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAtHand is what an operator does in the first minutes: start a manager in the background
// with a partition file in the present folder, wait for it, ask, and edit by names.
func TestAtHand(t *testing.T) {
	path, err := ibsm()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "partitions.conf")
	if err := os.WriteFile(file, []byte("Default=0x7fff : ALL=full;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(path, "--fabric", "fattree:k=4", "--ctl_socket", socket, "-P", "partitions.conf")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	ask := func(status int, says string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if got := run(append([]string{"--socket", socket}, args...), &out, &out); got != status ||
			!strings.Contains(out.String(), says) {
			t.Errorf("%v: exit status %d, want %d and %q\n%s", args, got, status, says, out.String())
		}
	}
	ask(0, "SUBNET UP", "status", "--wait")
	ask(2, "hint: the older one comes first: ibsmctl diff 1 2", "diff", "2", "1")
	ask(0, "host-01 mlx5_0 port 1 sends packets for LID 1 to itself: they use no link", "path", "host-01", "host-01")
	ask(0, file+" changed", "partitions", "create", "tenant", "--key", "0x10", "host-02=full", "host-03")
	ask(1, "no host of the subnet has this name", "partitions", "add", "tenant", "nosuch")
	ask(1, `rate "99" is not valid for a group`, "partitions", "set", "tenant", "rate=99")
	ask(1, `rate "99" is not valid for a group`, "partitions", "create", "x", "--flag", "rate=99", "SELF")
	ask(0, "applied after", "partitions", "apply")
	ask(0, "is a full member of 0x0010", "partitions", "why", "host-02", "tenant")
	ask(0, "is a limited member of 0x0010", "partitions", "why", "host-03", "tenant")
	if kept, err := filepath.Glob(file + ".~*~*"); err != nil || len(kept) != 2 {
		t.Errorf("versions %q, want that before and that after the edit", kept)
	}
	ask(1, "no manager is running there", "--socket", filepath.Join(dir, "none"), "status", "--wait=200ms")
}
