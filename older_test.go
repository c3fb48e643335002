package ibsm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOlder: what builds the older version for the tests of upgrades says why it cannot, prints then no program, and does
// not fail: a tar ball and a shallow clone can be tested, too.
func TestOlder(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	script, err := os.ReadFile(".ci/older")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	// at runs a program in a folder, without the settings of the user and the caller for git.
	at := func(name string, argv ...string) (stdout, stderr string, err error) {
		var says, complains strings.Builder
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = in(name), &says, &complains
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + in("home"), "GIT_CEILING_DIRECTORIES=" + dir}
		err = cmd.Run()
		return says.String(), complains.String(), err
	}
	place := func(name string) {
		t.Helper()
		if err := os.MkdirAll(in(name+"/.ci"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(name+"/.ci/older"), script, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	git := func(name string, args ...string) {
		t.Helper()
		if _, says, err := at(name, append([]string{"git", "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, says)
		}
	}
	// The go command starts a process for its telemetry that may outlive it, and then writes below HOME while the folder
	// of the test is removed.
	if err := os.MkdirAll(in("home/.config/go/telemetry"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("home/.config/go/telemetry/mode"), []byte("off"), 0o600); err != nil {
		t.Fatal(err)
	}
	place("tarball")
	place("whole")
	git("whole", "init", "-q")
	git("whole", "add", ".")
	git("whole", "commit", "-qm", "one")
	git("whole", "commit", "-qm", "two", "--allow-empty")
	git(".", "clone", "-q", "--depth", "1", "file://"+in("whole"), in("shallow"))
	for name, says := range map[string]string{
		"tarball": "this is no checkout of the repository",
		"whole":   "the history does not have c24c26d",
		"shallow": "this clone is shallow, and lacks c24c26d1af6e1eb2467eb4134760995708fb3a38; git fetch --unshallow gets it",
	} {
		stdout, stderr, err := at(name, ".ci/older")
		if err != nil || stdout != "" || !strings.HasPrefix(stderr, "older: the tests of upgrades are skipped: "+says) {
			t.Errorf("%s: %v, %q\n%s", name, err, stdout, stderr)
		}
	}
	if _, stderr, err := at("whole", ".ci/older", "HEAD"); err == nil || !strings.Contains(stderr, "go") {
		t.Errorf("a version that cannot be built: %v\n%s", err, stderr)
	}
	if left, _ := filepath.Glob(in("home/.cache/*/*/*")); left != nil {
		t.Errorf("it left %q", left)
	}
	if left, _ := filepath.Glob(in("home/.config/go/telemetry/*/*")); left != nil {
		t.Errorf("the go command wrote %q, and may still do", left)
	}
}
