package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRehearsal: an operator pastes the rehearsal of docs/first-day.md, which takes a subnet over from OpenSM and goes
// back. What the page says of its output is there.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"opensm", "ibsim-run", "dump_fts", "ibportstate", "sminfo"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	page, err := os.ReadFile("../../docs/first-day.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Rehearsal without hardware\n")
	section, _, ended := strings.Cut(section, "\n## ")
	if !found || !ended {
		t.Fatal("the page has no rehearsal")
	}
	var script strings.Builder
	for line := range strings.Lines(section) {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			script.WriteString(command)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"ibsm", "ibsmctl", "ibfabric"} {
		if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program(t, name), filepath.Join(dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.ReplaceAll(script.String(), "/tmp/rehearsal", filepath.Join(dir, "rehearsal"))
	sock := fmt.Sprintf("rehearsal-%d", os.Getpid())
	text = strings.NewReplacer("IBSIM_SOCKNAME=rehearsal", "IBSIM_SOCKNAME="+sock, "--sock rehearsal",
		"--sock "+sock).Replace(text)
	// timeout ends what the script has started, too
	r := run(t, dir, nil, "timeout", "-k", "2", "50", "bash", "-c", text)
	said := r.stdout
	for _, want := range []string{"; 0 ports would get another LID", "SUBNET UP", "all ports are Active",
		"6 links to LID", "\nunchanged\n", "link lost: 2 ports"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not print %q", want)
		}
	}
	if strings.Count(said, "SMINFO_MASTER") != 2 || strings.Contains(said, "forwarding table entries") {
		t.Error("OpenSM was not master twice, or ibsm would write forwarding tables")
	}
	if t.Failed() {
		t.Logf("status %d\n%s\n%s", r.status, said, r.stderr)
	}
}
