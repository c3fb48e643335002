package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPartitionsRunning: what a file would change is reported before it does, entry by entry;
// apply returns when it holds, and an error in the file ends it with nothing changed.
func TestPartitionsRunning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "partitions.conf")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Default=0x7fff : ALL=full;\nred=0x11 : ALL_CAS=full;\n")
	socket, _ := startManager(t, "fattree:k=4", "-P", file, "--state_dir", "none")
	ask := func(status int, says string, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if got := run(append([]string{"--socket", socket, "partitions"}, args...), &out, &out); got != status ||
			!regexp.MustCompile(says).MatchString(out.String()) {
			t.Errorf("%v: exit status %d, want %d and %q\n%s", args, got, status, says, out.String())
		}
		return out.String()
	}
	ask(0, regexp.QuoteMeta(file)+" changed; apply it with ibsmctl partitions apply", "add", "red", "0xbeef")
	ask(0, "0x000000000000beef", "check")
	ask(0, regexp.QuoteMeta(file)+" changed; apply it with ibsmctl partitions apply", "undo")
	ask(1, regexp.QuoteMeta(file)+" has no earlier version", "undo")
	shown := ask(0, `1  0x8011  full    both     red`, "show")
	if n := strings.Count(shown, " 0x8011 "); n != 16 {
		t.Errorf("%d of 16 hosts are in red\n%s", n, shown)
	}
	var out bytes.Buffer
	absent := filepath.Join(filepath.Dir(socket), "absent.sock")
	if got := run([]string{"--socket", absent, "partitions", "add", "red", "0xbeef"}, &out, &out); got != 1 ||
		!strings.Contains(out.String(), "select the file with --file") {
		t.Errorf("of a manager that is not there: exit status %d\n%s", got, out.String())
	}
	out.Reset()
	other := filepath.Join(filepath.Dir(socket), "2.sock")
	if err := os.Symlink(socket, other); err != nil {
		t.Fatal(err)
	}
	if got := run([]string{"--socket", absent, "status"}, &out, &out); got != 1 ||
		!strings.Contains(out.String(), "managers on this host: --socket "+other) {
		t.Errorf("beside another manager: exit status %d\n%s", got, out.String())
	}
	port := regexp.MustCompile(`(?m)^(\S+) .* 0x8011 `).FindStringSubmatch(shown)[1]
	ask(0, ` is a full member of 0x0011 \(red\) by ALL_CAS=full, .*partitions.conf:2:12; its P_Key table has 0x8011\n`,
		"why", port, "0x8011")
	ask(0, ` is a full member of 0x0011 \(red\) by `, "why", port, "red")
	ask(1, `no partition is named "reds"; did you mean red\? partitions are Default, red\n`, "why", port, "reds")
	ask(1, `0x8000 is not a P_Key: its lower 15 bits are 0`, "why", port, "0x8000")
	ask(0, ` is not in 0x0012: no partition has this key; its P_Key table does not have this P_Key\n`, "why", port,
		"0x12")
	ask(0, "^0 P_Key table entries change\n", "diff")
	// A reload says whether partitions were applied: an operator has changed only their file.
	reload := func(says string) {
		t.Helper()
		if text, errs, status := invoke(t, "config", "reload", "--socket", socket); status != 0 ||
			!strings.HasSuffix(text, file+": "+says+"\n") {
			t.Errorf("a reload: exit status %d, it wrote\n%s%s, want %s", status, text, errs, says)
		}
	}
	reload("no changes")
	write("Default=0x7fff : ALL=full;\nred=0x11 : ALL_CAS=full; # so that P_Key tables stay as they are\n")
	reload("2 partitions applied")
	reload("no changes")

	write("Default=0x7fff : ALL=full;\nred=0x11 : ALL_CAS=full, " + port + "=limited;\nfast=0x12, ipoib, rate=21 : " +
		port + "=full, 0xdead=full;\n")
	ask(0, `partitions.conf:3:1: warning: the rate of a group of "fast", 400 Gb/s, exceeds that of port `+port+` of "`,
		"check", file)
	ask(0, `partitions.conf:3:\d+: warning: no port of the subnet has GUID 0x000000000000dead`, "check", file)
	plan := ask(0, `0x8011  0x0011 `, "diff", file)
	for _, args := range [][]string{{"diff"}, {"apply", "-n"}} {
		if got := ask(0, "change", args...); got != plan {
			t.Errorf("%v:\n%s, of the file\n%s", args, got, plan)
		}
	}
	if applied := ask(0, `applied after \d+`, "apply"); !strings.HasPrefix(applied, plan) {
		t.Errorf("applied:\n%s, planned\n%s", applied, plan)
	}
	ask(0, ` is a limited member of 0x0011 \(red\) by `+port+
		`=limited, .*partitions.conf:2:\d+; its P_Key table has 0x0011\n`, "why", port, "0x11")
	ask(0, "\n0 P_Key table entries change\n", "diff")
	ask(1, `(?s)not made by ibsmctl, and undo would lose it:.*  \+ fast=0x12`, "undo")

	write("Default=0x7fff : ALL=full;\nred=0x11 ALL_CAS=full;\n")
	ask(1, `partitions.conf:2:1: error: .*: no ':' in it`, "apply")
	ask(1, `partitions.conf:2:1: error: .*: no ':' in it`, "diff", file)
	ask(0, `1  0x0011  limited  both     red`, "show")
	ask(1, "no node or port has GUID 0x0000beef00000000", "why", "0xbeef00000000", "0x11")
}
