package madtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FindMutant fails the test where tests, a command that begins with go test, passes while a rule is broken in one place
// of a file: old, which stands there once, is broken instead. The file is relative to where tests runs. Without
// IBSM_PROOF FindMutant only sees that the rule is still there.
func FindMutant(t *testing.T, tests *exec.Cmd, file, old, broken string) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(tests.Dir, file))
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(src), old) != 1 {
		t.Fatalf("%s does not have %q once", file, old)
	}
	if os.Getenv("IBSM_PROOF") == "" {
		return
	}
	dir := t.TempDir()
	mutant, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{mutant: strings.Replace(string(src), old, broken, 1),
		overlay: string(list)} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tests.Args = slices.Insert(tests.Args, 2, "-overlay", overlay)
	out, err := tests.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--- FAIL: ") {
		t.Errorf("no test finds it: %v\n%s", err, out)
	}
}
