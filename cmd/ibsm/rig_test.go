package main_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// rigDir is the rig beside the checkout: a virtual machine with the real Linux stack, whose
// adapters are on a simulated fabric that shares nothing with this project.
const rigDir = "../../../shared/rig"

// rigScripts are what is tried in it; each is a boot of its own.
var rigScripts = []struct {
	file  string
	net   string // beside the script, or of the rig's; "" for its default
	quick bool   // tried in the small size, too
	rigs  bool   // one of the rig's own, which runs ibsm, in the background, instead of OpenSM
	front bool   // of those, one that puts it into the background itself
	newer bool   // only on kernels from 6.11 on
	env   string // a variable that the script is given
	adds  string // a program of this machine that the script needs; "" for none
	shows string // what the script prints in its last line, beside its exit status; "" for anything
}{
	{file: "bringup.sh", quick: true},
	{file: "events.sh"},
	{file: "unplug.sh"},
	{file: "modules.sh"},
	{file: "two-managers.sh"},
	{file: "failover.sh", net: "failover.net", env: "MANAGER=ibsm"},
	{file: "failover.sh", net: "failover.net", env: "MANAGER=opensm"},
	{file: "opensm-master.sh", net: "failover.net"},
	{file: "migrate.sh", net: "failover.net"},
	{file: "signals.sh"},
	{file: "two-subnets.sh", net: "two-subnets.net"},
	{file: "service.sh", net: "two-subnets.net"},
	{file: "tables.sh", quick: true},
	{file: "perfmgr.sh",
		shows: "symbol errors 700, perfquery 700; link downs 3, perfquery 3; lines in the log 1; .* 20 of 20 ports answered"},
	{file: "partition-groups.sh"},
	{file: "tenants.sh"},
	{file: "callers.sh", net: "failover.net", shows: "blue lost 0 %"},
	{file: "ufm.sh", net: "failover.net", adds: "curl",
		shows: "masters killed 6, .* reached 3 of 3, .* neither 3 of 3, others lost 0 of [1-9]"},
	{file: "trust.sh",
		shows: "of 11 questions of a tenant 0 were answered, of 7 with the key 7; registrations the same yes, ports up yes; .* others lost 0 %"},
	{file: "security.sh", net: "failover.net", shows: "there, lost 0 of [1-9].*; and back, lost 0 of [1-9]"},
	{file: "attacks.sh", net: "failover.net", env: "MANAGER=opensm"},
	{file: "attacks.sh", net: "failover.net", env: "MANAGER=open"},
	{file: "attacks.sh", net: "failover.net", env: "MANAGER=tenants",
		shows: "under attack nothing has changed; lost 0 of [1-9].*; of 10 requests in a flood 10 were answered"},
	{file: "subscribers.sh", net: "subscribers.net"},
	{file: "syscalls.sh", net: "twenty-switches.net"},
	{file: "lanes.sh", net: "failover.net", env: "MANAGER=ibsm"},
	{file: "vports-probe.sh", shows: "named 18 of 18, kinds of Sets without a manager 0"},
	{file: "vports.sh", shows: "another host lost 0 of .*; wrong 0"},
	{file: "vports-opensm.sh", net: "failover.net", shows: "and back the same; .* again 6 of 6; .*wrong 0"},
	{file: "events.sh", rigs: true, front: true},
	{file: "two-subnets.sh", net: "two-subnets.net", rigs: true, front: true},
	{file: "planes.sh", rigs: true, newer: true},
	{file: "no-qp0.sh", rigs: true},
	{file: "vl15.sh", rigs: true},
	{file: "vl.sh", rigs: true, shows: vlFigures},
	{file: "adaptive.sh", rigs: true},
	{file: "adaptive.sh", rigs: true, env: "TAKEOVER=1"},
	{file: "adaptive.sh", rigs: true, env: "ON=1"},
	{file: "adaptive.sh", rigs: true, env: "REFUSE=1"},
	{file: "ipoib.sh", rigs: true},
	{file: "osmtest.sh", rigs: true},
	{file: "grh.sh", rigs: true, shows: "joined the IPoIB group yes, .* ping yes"},
	{file: "traps.sh", rigs: true, shows: "repress refused 0, violations 0, not repressed 0; bad M_Key: violations 1,"},
	{file: "mkey.sh", rigs: true, shows: "keyed 6 of 6, .* get: no, opened by the lease: none,"},
	{file: "counters.sh", rigs: true},
	{file: "standby.sh", rigs: true},
	{file: "attacker.sh", rigs: true},
}

// vlFigures are OpenSM's, too: its QoS tables at the start, after a switch has rebooted, and
// after one has with tables of one lane.
const vlFigures = "at first " + vlHops + "; sw1 rebooted: " + vlHops + "; sw2 rebooted with one VL: SL 1 ok;"
const vlHops = "SL 0 on VL 1 1 1 , SL 2 VL without weight in the arbitration tables at hca0/1, SL 3 SL mapped to VL 15 at hca0/1"

// The first words of the README's two migration scripts.
const (
	readmeToIbsm   = "to ibsm"
	readmeToOpenSM = "back to OpenSM"
)

// rigLimit is how long one script may take, on a busy machine.
const rigLimit = 15 * time.Minute

// TestRig: ibsm on real umad devices. With VHCA_KERNEL it runs on another kernel, which
// ../shared/rig/get-kernel has downloaded.
func TestRig(t *testing.T) {
	needRig(t)
	needFabcheck(t)
	for _, s := range rigScripts {
		name := strings.TrimSuffix(s.file, ".sh")
		if s.rigs {
			name = "rig-" + name
		}
		if variable, value, ok := strings.Cut(s.env, "="); ok && variable == "MANAGER" {
			name += "-" + value
		} else if ok {
			name += "-" + strings.ToLower(variable)
		}
		t.Run(name, func(t *testing.T) {
			if s.newer && os.Getenv("VHCA_KERNEL") == "" {
				t.Skip("needs a kernel from 6.11 on, in VHCA_KERNEL")
			}
			if !s.quick && !proof() {
				t.Skip("full sizes only (IBSM_PROOF=1)")
			}
			scripts := abs(t, "../../testdata/rig")
			script := filepath.Join(scripts, s.file)
			if s.rigs {
				script = abs(t, filepath.Join(rigDir, "scripts", s.file))
			}
			args := []string{"-t", fmt.Sprint(int(rigLimit/time.Second) - 30),
				"-f", program(t, "ibsm") + "=bin/ibsm",
				"-f", program(t, "ibsmctl") + "=bin/ibsmctl",
				"-f", built(t, "testdata/rig/saclient") + "=bin/saclient",
				"-f", fabcheckPath() + "=bin/fabcheck",
				"-f", abs(t, "../../../shared/data/partitions-redhat.conf") + "=etc/partitions-redhat.conf",
				"-f", filepath.Join(scripts, "lib.sh") + "=etc/rig-lib.sh",
				"-f", filepath.Join(scripts, "systemctl") + "=bin/systemctl",
				"-f", readmeScript(t, readmeToIbsm) + "=etc/to-ibsm",
				"-f", readmeScript(t, readmeToOpenSM) + "=etc/to-opensm"}
			if s.adds != "" {
				path, err := exec.LookPath(s.adds)
				if err != nil {
					t.Skip(err)
				}
				args = append(args, "-f", path+"=opt/"+s.adds)
			}
			if s.net != "" {
				args = append(args, "-n", netOf(t, s.net))
			}
			if s.env != "" {
				args = append(args, "-e", s.env)
			}
			switch {
			case s.front:
				args = append(args, "-e", "SM=ibsm")
			case s.rigs:
				args = append(args, "-e", "SM=ibsm -B -f /tmp/sm.log")
			}
			args = append(args, script)
			out, err := runVM(t, args...)
			// its first line was cut off with the firmware's last, which had no end
			if s.shows != "" && strings.HasPrefix(string(out), "vm-exit 0") {
				out, err = runVM(t, args...)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, tail(string(out)))
			}
			if s.shows != "" && !regexp.MustCompile("(?m)^ibsm: .*"+s.shows).Match(out) {
				t.Errorf("the script does not show %q\n%s", s.shows, tail(string(out)))
			}
			if s.file == "attacks.sh" {
				checkAttacks(t, s.env, string(out))
			}
			for line := range strings.Lines(string(out)) {
				if figure.MatchString(line) {
					t.Log(strings.TrimSpace(line))
				}
			}
		})
	}
}

// attacksHead is the head of the table of attacks in docs/security.md. Its columns are what attacks.sh says with each
// MANAGER.
const attacksHead = "| attack by a host | OpenSM | `security open` | `security tenants` | named as |"

// checkAttacks compares what attacks.sh has measured with the documentation.
func checkAttacks(t *testing.T, env, out string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), attacksHead+"\n")
	if !ok {
		t.Fatalf("docs/security.md has no table %q", attacksHead)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	column := map[string]int{"MANAGER=opensm": 1, "MANAGER=open": 2, "MANAGER=tenants": 3}[env]
	documented := map[string][]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) == 5 && cells[0] != "---" && cells[column] != "" {
			documented[cells[0]] = cells
		}
	}
	for line := range strings.Lines(out) {
		said, ok := strings.CutPrefix(strings.TrimSpace(line), "attack: ")
		if !ok {
			continue
		}
		measured := strings.Split(said, " | ")
		cells := documented[measured[0]]
		delete(documented, measured[0])
		if len(measured) != 4 || cells == nil || cells[column] != measured[2] ||
			strings.Trim(cells[4], "`") != measured[3] {
			t.Errorf("measured: %s; docs/security.md: %v", said, cells)
		}
	}
	for name := range documented {
		t.Errorf("%s does not try: %s", env, name)
	}
}

// What a guest's kernel says when it ends through a fault of the emulator: the host is too busy to emulate its timer,
// or one emulated processor executes code that another one is patching.
const (
	noTimer = "Kernel panic - not syncing: IO-APIC + timer doesn't work"
	patched = "Oops: int3"
)

// runVM runs the rig's virtual machine, again if the emulator ended its kernel, or the line with the exit status of a
// script that shows nothing else was cut off with the firmware's last one, which had no end.
func runVM(t *testing.T, args ...string) (out []byte, err error) {
	t.Helper()
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), rigLimit)
		cmd := command(ctx, t.TempDir(), nil, append([]string{abs(t, filepath.Join(rigDir, "run-vm"))}, args...)...)
		out, err = cmd.CombinedOutput()
		cancel()
		shown := string(out)
		cut := strings.Contains(shown, "reboot: Power down") && !strings.Contains(shown, "vm-exit ")
		if err == nil || !cut && !strings.Contains(shown, noTimer) && !strings.Contains(shown, patched) {
			break
		}
	}
	return out, err
}

// figure matches what scripts have measured.
var figure = regexp.MustCompile(`after the trap|after it began|^stopped in|is master after|^(ibsm|opensm|migration): `)

// TestReadmeScripts: the README has the scripts that run in the rig, also where there is no rig.
func TestReadmeScripts(t *testing.T) {
	t.Parallel()
	for _, comment := range []string{readmeToIbsm, readmeToOpenSM} {
		script, err := os.ReadFile(readmeScript(t, comment))
		if err != nil || !strings.Contains(string(script), " --yes\n") {
			t.Errorf("the README's script %q carries nothing out: %q, %v", comment, script, err)
		}
	}
}

// readmeScript is a file with the lines of the README's script that begins with a comment.
func readmeScript(t *testing.T, comment string) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, script, ok := strings.Cut(string(text), "\n    # "+comment)
	if !ok {
		t.Fatalf("the README has no script %q", comment)
	}
	script, _, _ = strings.Cut("#"+script, "\n\n")
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte(script+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// netOf is a net beside the scripts, or one of the rig's.
func netOf(t *testing.T, name string) string {
	t.Helper()
	own := abs(t, filepath.Join("../../testdata/rig", name))
	if _, err := os.Stat(own); err == nil {
		return own
	}
	return abs(t, filepath.Join(rigDir, "nets", name))
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
