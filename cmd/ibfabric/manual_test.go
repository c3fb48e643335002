package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/mad/madtest"
)

// The page is one that mandoc has nothing to say against, and the scripts are such as
// their shells can read.
func TestManual(t *testing.T) {
	say := func(args ...string) (file string) {
		t.Helper()
		var out, errs bytes.Buffer
		if status := run(args, &out, &errs); status != 0 {
			t.Fatalf("%v: %s", args, errs.String())
		}
		file = filepath.Join(t.TempDir(), "out")
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	page := say("manual", "2026-01-31")
	if out, err := exec.Command(madtest.Need(t, "mandoc"), "-Tlint", page).CombinedOutput(); err != nil ||
		len(out) > 0 {
		t.Errorf("mandoc -Tlint: %v\n%s", err, out)
	}
	if text, _ := os.ReadFile(page); !strings.Contains(string(text), `\fB\-\-udp\fR \fI[HOST:]PORT\fR`) {
		t.Error("an option of serve is not in the page")
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if out, err := exec.Command(madtest.Need(t, shell), "-n",
			say("completion", shell)).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s -n: %v\n%s", shell, err, out)
		}
	}
	for _, args := range [][]string{{"manual", "a", "b"}, {"completion"}, {"completion", "tcsh"},
		{"completion", "--bash"}} {
		var out, errs bytes.Buffer
		if status := run(args, &out, &errs); status != 2 {
			t.Errorf("%v: status %d", args, status)
		}
	}
}
