package ibsm_test

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgramsOfTests: the programs in testdata compile, which patterns such as ./... pass
// over, and of which some are built only where virtual machines run.
func TestProgramsOfTests(t *testing.T) {
	folders := map[string]bool{}
	err := filepath.WalkDir("testdata", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") {
			folders["./"+filepath.Dir(path)] = true
		}
		return err
	})
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d folders: %v", len(folders), err)
	}
	args := []string{"vet"}
	for f := range folders {
		args = append(args, f)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
