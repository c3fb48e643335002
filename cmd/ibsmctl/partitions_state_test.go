package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ibsm/ctl"
)

// TestPartitionsClosed: that partitions are closed is the first line of what an operator looks
// at, and why names the file.
func TestPartitionsClosed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "partitions.conf")
	if err := os.WriteFile(file, []byte("A=1 ALL=full;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket, _ := startManager(t, "fattree:k=4", "-P", file, "--state_dir", "none", "--partition_fallback", "closed")
	first := "PARTITIONS ARE CLOSED: every port reaches only the manager, because " + file + " cannot be used: " +
		file + `:1:1: "A=1 ALL=full;": no ':' in it`
	for _, args := range [][]string{{"status"}, {"why"}, {"why", "host-01"}, {"why", "host-02", "host-03"}} {
		var out bytes.Buffer
		if status := run(append([]string{"--socket", socket}, args...), &out, &out); status != 0 ||
			!strings.HasPrefix(out.String(), first) {
			t.Errorf("%v: exit status %d\n%s\nwant the first line\n%s", args, status, out.String(), first)
		}
		if len(args) == 3 &&
			!strings.Contains(out.String(), "("+file+" cannot be used, so every port reaches only the manager)") {
			t.Errorf("%v: the reason does not name the file\n%s", args, out.String())
		}
	}
	v := looked()
	v.now.Status.Partitions = &ctl.PartitionsTrouble{InForce: "closed", File: "p.conf", Reason: "p.conf:1:1: wrong"}
	if lines := render(v, 120, 40); !strings.HasPrefix(lines[0].text, "PARTITIONS ARE CLOSED: ") {
		t.Errorf("top begins with %q", lines[0].text)
	}
}

// TestDangerousPartitions: check and apply refuse a file with dangerous lines, and take it with
// --force; what is in force already is no reason to refuse an edit elsewhere.
func TestDangerousPartitions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "partitions.conf")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Default=0x7fff : ALL=full;\nred=0x11 : ALL_CAS=full;\n")
	socket, _ := startManager(t, "fattree:k=4", "-P", file, "--state_dir", "none")
	ask := func(status int, says string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if got := run(append([]string{"--socket", socket, "partitions"}, args...), &out, &out); got != status ||
			!regexp.MustCompile(says).MatchString(out.String()) {
			t.Errorf("%v: exit status %d, want %d and %q\n%s", args, got, status, says, out.String())
		}
	}
	const dangerous = "Default=0x7fff : ALL=full;\nred=0x11 : ALL_CAS=full;\nblue=0x10012 : ALL_CAS=ful;\n"
	write(dangerous)
	ask(1, `partitions.conf:3:6: danger: P_Key "0x10012" has more than 16 bits; using 0x0012\n(?s).*partitions.conf:3:24: danger: "ful" is read as full`, "check")
	ask(0, "danger", "check", "--force")
	ask(1, "32 P_Key table entries change\n(?s).*has dangerous lines: the partitions in force are not changed", "apply")
	ask(0, "danger", "diff")
	ask(0, "applied after", "apply", "--force")
	write(dangerous + "green=0x13 : ALL_CAS=full;\n")
	ask(0, "applied after", "apply")
	write(dangerous + "green=0x13 : ALL_CAS=full;\nbrown=0x13 : SELF=full;\n")
	ask(1, `5:1: danger: "brown" has the P_Key 0x0013 of "green"`, "apply")
	var out bytes.Buffer
	if status := run([]string{"--socket", socket, "config", "reload"}, &out, &out); status != 1 ||
		!strings.Contains(out.String(), `5:1: error: "brown" has the P_Key 0x0013 of "green"`) {
		t.Errorf("reload: exit status %d\n%s", status, out.String())
	}
	out.Reset()
	if run([]string{"--socket", socket, "status"}, &out, &out); !strings.HasPrefix(out.String(),
		"EARLIER PARTITIONS: the last valid version is in force, because "+file) {
		t.Errorf("status begins\n%s", out.String())
	}
	write(dangerous)
	ask(0, "applied after", "apply")
	out.Reset()
	if run([]string{"--socket", socket, "status"}, &out, &out); !strings.HasPrefix(out.String(), "manager ") {
		t.Errorf("status begins\n%s", out.String())
	}
}
