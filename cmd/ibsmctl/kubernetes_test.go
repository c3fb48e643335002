package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/conf"
)

// TestKubernetesConfig: a manager starts with the configuration of dist/kubernetes, and the image is of this version.
func TestKubernetesConfig(t *testing.T) {
	beside(t)
	dir := t.TempDir()
	text, err := os.ReadFile("../../dist/kubernetes/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"opensm.conf", "partitions.conf"} {
		_, block, found := strings.Cut(string(text), "\n  "+name+": |\n")
		if !found {
			t.Fatalf("config.yaml has no %s", name)
		}
		var file strings.Builder
		for line := range strings.Lines(block) {
			inside, is := strings.CutPrefix(line, "    ")
			if !is {
				break
			}
			file.WriteString(strings.NewReplacer("/etc/opensm", dir, "/etc/ibsm/secrets", dir).Replace(inside))
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(file.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, errs, status := invoke(t, "security", "new", filepath.Join(dir, "keys")); status != 0 {
		t.Fatal(out, errs)
	}
	out, errs, status := invoke(t, "config", "check", "--strict", filepath.Join(dir, "opensm.conf"))
	if status != 0 || strings.Contains(out+errs, "warning") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	managers, err := os.ReadFile("../../dist/kubernetes/managers.yaml")
	if want := "image: ibsm:" + conf.Version + "\n"; err != nil || !strings.Contains(string(managers), want) {
		t.Errorf("managers.yaml has no %s", want)
	}
}
