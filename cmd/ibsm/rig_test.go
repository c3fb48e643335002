package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The rig lies beside the checkout: a virtual machine with the real Linux stack, whose
// adapters are on a simulated fabric that shares nothing with this project.
const rigDir = "../../../shared/rig"

// rigScripts are what is tried in it; each is a boot of its own.
var rigScripts = []struct {
	file  string
	net   string // of the rig's; "" for its default
	quick bool   // tried in the small size, too
	rigs  bool   // one of the rig's own, which is told what the manager is
}{
	{file: "bringup.sh", quick: true},
	{file: "events.sh"},
	{file: "unplug.sh"},
	{file: "modules.sh"},
	{file: "two-managers.sh"},
	{file: "standby.sh"},
	{file: "signals.sh"},
	{file: "two-subnets.sh", net: "two-subnets.net"},
	{file: "service.sh", net: "two-subnets.net"},
	{file: "tables.sh", quick: true},
	{file: "partition-groups.sh"},
	{file: "tenants.sh"},
	{file: "ipoib.sh", rigs: true},
	{file: "osmtest.sh", rigs: true},
}

// rigLimit is how long one script may take, on a busy machine.
const rigLimit = 10 * time.Minute

// TestRig: ibsm on real umad devices.
func TestRig(t *testing.T) {
	needRig(t)
	needFabcheck(t)
	for _, s := range rigScripts {
		t.Run(strings.TrimSuffix(s.file, ".sh"), func(t *testing.T) {
			if !s.quick && !proof() {
				t.Skip("full sizes only (IBSM_PROOF=1)")
			}
			scripts := abs(t, "../../testdata/rig")
			args := []string{"-t", "570",
				"-f", program(t, "ibsm") + "=bin/ibsm",
				"-f", program(t, "ibsmctl") + "=bin/ibsmctl",
				"-f", fabcheckPath() + "=bin/fabcheck",
				"-f", abs(t, "../../../shared/data/partitions-redhat.conf") + "=etc/partitions-redhat.conf",
				"-f", filepath.Join(scripts, "lib.sh") + "=etc/rig-lib.sh"}
			if s.net != "" {
				args = append(args, "-n", abs(t, filepath.Join(rigDir, "nets", s.net)))
			}
			if s.rigs {
				args = append(args, "-e", "SM=ibsm -B -f /tmp/sm.log", abs(t, filepath.Join(rigDir, "scripts", s.file)))
			} else {
				args = append(args, filepath.Join(scripts, s.file))
			}
			ctx, cancel := context.WithTimeout(t.Context(), rigLimit)
			defer cancel()
			cmd := command(ctx, t.TempDir(), nil, append([]string{abs(t, filepath.Join(rigDir, "run-vm"))}, args...)...)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, tail(string(out)))
			}
			for line := range strings.Lines(string(out)) {
				if strings.Contains(line, "after the trap") || strings.Contains(line, "after it began") || strings.HasPrefix(line, "stopped in") || strings.Contains(line, "is master after") || strings.Contains(line, "packet loss") {
					t.Log(strings.TrimSpace(line))
				}
			}
		})
	}
}

// needRig skips the test where the rig or what it needs is not there.
func needRig(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(rigDir + "/run-vm"); err != nil {
		t.Skip("the rig is not there: it lies at ../shared/rig beside the checkout")
	}
	for _, p := range []string{"qemu-system-x86_64", "busybox", "cpio", "gcc", "make"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("the rig needs %s; its README names the packages", p)
		}
	}
	if headers, _ := filepath.Glob("/usr/src/linux-headers-*-amd64"); len(headers) == 0 {
		t.Skip("the rig needs kernel headers: apt-get install linux-headers-amd64")
	}
}

func abs(t *testing.T, path string) string {
	t.Helper()
	a, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
