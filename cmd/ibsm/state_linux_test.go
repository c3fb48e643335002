package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ibsm/mad/madtest"
)

// TestStoreDisk: on a disk that is full, or read-only, the manager runs and says so; when
// that is over it has lost nothing.
func TestStoreDisk(t *testing.T) {
	t.Parallel()
	madtest.Need(t, "unshare")
	madtest.Need(t, "nsenter")
	if r := run(t, "", nil, "unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/mnt"); r.status != 0 {
		t.Skip("this system gives no mount namespace: " + r.stderr)
	}
	for _, c := range []struct{ name, spoil, repair string }{
		{"full", "dd if=/dev/zero of=%s/ballast bs=4k 2>/dev/null", "rm %s/ballast"},
		{"read-only", "mount -o remount,ro %s", "mount -o remount,rw %s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			h.state = t.TempDir()
			inside := fmt.Sprintf("mount -t tmpfs -o size=3m none %s; "+c.spoil+
				"; exec %s --fabric %s -f stdout --state_dir %s",
				h.state, h.state, program(t, "ibsm"), h.net, h.state)
			p := start(t, nil, t.TempDir(), []string{"OSM_CACHE_DIR=" + h.caches}, "unshare", "-Urm", "sh", "-c",
				inside)
			p.await("the store cannot be written")
			p.await("SUBNET UP")
			pid := strconv.Itoa(p.cmd.Process.Pid)
			if r := run(t, "", nil, "nsenter", "-t", pid, "-U", "-m", "--preserve-credentials", "sh", "-c",
				fmt.Sprintf(c.repair, h.state)); r.status != 0 {
				t.Fatalf("nsenter: %s", r.stderr)
			}
			p.await("the store is writable again")
			b, err := exec.Command("nsenter", "-t", pid, "-U", "-m", "--preserve-credentials", "tar", "-C", h.state,
				"-c", ".").Output()
			p.kill()
			if err != nil {
				t.Fatal(err)
			}
			h.state = filepath.Join(t.TempDir(), "outside")
			if err := os.Mkdir(h.state, 0o700); err != nil {
				t.Fatal(err)
			}
			untar := exec.Command("tar", "-C", h.state, "--exclude=ballast", "-x")
			untar.Stdin = strings.NewReader(string(b))
			if err := untar.Run(); err != nil {
				t.Fatal(err)
			}
			if c := h.stored(); len(c.LIDs) != 36 || len(c.Terms) != 1 {
				t.Errorf("the store has %d LIDs and terms %v", len(c.LIDs), c.Terms)
			}
		})
	}
}
