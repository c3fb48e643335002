package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeDouble: the README's double of UFM makes a partition, and still has it after it was killed.
func TestReadmeDouble(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(readmeScript(t, "a double of UFM: start, add, list, fail over"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := strings.NewReplacer("    ", "", "8443", freePort(t), "/tmp/double", filepath.Join(dir, "state")).
		Replace(string(script))
	// the manager that the script leaves ends with it
	cmd := exec.CommandContext(t.Context(), "bash", "-c", text+"\nkill -9 $!\n")
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program(t, "ibsm"))+":"+os.Getenv("PATH"))
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log // which does not wait for the manager
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const member = `{"guid": "b83fd20300a00000", "membership": "full", "index0": false}`
	if got := strings.Count(string(out), member); got != 2 {
		t.Errorf("the script prints %s %d times, want 2: before and after the kill\n%s", member, got, out)
	}
}
