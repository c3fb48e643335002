package ibsm_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFailedPackages: the last line of make test names the packages that failed, and why if none of their tests says
// so: the go command prints that of a time limit far above.
func TestFailedPackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module m\n", 0o644)
	for name, body := range map[string]string{
		"limit": "select {}", "fails": `t.Error("wrong")`, "panics": "panic(1)", "unbuilt": "undefined()", "passes": "",
	} {
		text := "package " + name + "\nimport \"testing\"\nfunc Test(t *testing.T) { go func() { select {} }(); " +
			body + " }\n"
		put(t, filepath.Join(dir, name, "a_test.go"), text, 0o644)
	}
	script, err := filepath.Abs(".ci/go-test")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script, "-timeout", "3s", "./...")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	want := "FAIL: m/fails m/limit (time limit) m/panics (panic) m/unbuilt (does not build)"
	if err == nil || lines[len(lines)-1] != want {
		t.Errorf("%v, the last line of\n%s\nis not %q", err, out, want)
	}
}
