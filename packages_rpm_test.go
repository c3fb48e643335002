package ibsm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// programs are scripts in place of the programs.
func programs(t *testing.T, version string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"ibsm", "ibsmctl", "ibfabric"} {
		put(t, filepath.Join(dir, name), "#!/bin/sh\necho "+version+"\n", 0o755)
	}
	return dir
}

// TestRPM: Debian's rpm builds the package for RHEL, with the files where RHEL has them.
func TestRPM(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("rpmbuild"); err != nil {
		t.Skip("needs rpmbuild")
	}
	out := t.TempDir()
	output(t, "dist/rpm/build", programs(t, "1.2.3"), "1.2.3-dev", out)
	found, err := filepath.Glob(filepath.Join(out, "*.rpm"))
	if err != nil || len(found) != 1 {
		t.Fatalf("built %q, %v", found, err)
	}
	if got := output(t, "rpm", "-qp", "--queryformat", "%{NAME} %{VERSION} %{LICENSE}",
		found[0]); got != "ibsm 1.2.3~dev Apache-2.0" {
		t.Errorf("the package is %q", got)
	}
	files := strings.Fields(output(t, "rpm", "-qpl", found[0]))
	for _, want := range []string{
		"/usr/sbin/ibsm", "/usr/bin/ibsmctl", "/usr/bin/ibfabric", "/usr/lib/systemd/system/ibsm.service",
		"/usr/lib/systemd/system/ibsm@.service",
		"/etc/sysconfig/ibsm", "/etc/logrotate.d/ibsm", "/var/lib/ibsm", "/var/cache/opensm",
		"/usr/share/man/man8/ibsm.8", "/usr/share/zsh/site-functions/_ibsm",
	} {
		if !slices.Contains(files, want) {
			t.Errorf("%s is not in the package", want)
		}
	}
	if config := output(t, "rpm", "-qpc", found[0]); config != "/etc/logrotate.d/ibsm\n/etc/sysconfig/ibsm\n" {
		t.Errorf("settings that an upgrade keeps:\n%s", config)
	}
	if scripts := output(t, "rpm", "-qp", "--scripts", found[0]); strings.Contains(scripts, "enable --now") ||
		strings.Contains(scripts, " start ") {
		t.Errorf("it starts a manager:\n%s", scripts)
	}
	tree := t.TempDir()
	if out, err := exec.Command("sh", "-c", "rpm2cpio "+found[0]+" | (cd "+tree+
		" && cpio -idm --quiet)").CombinedOutput(); err != nil {
		t.Skipf("cannot unpack it: %v %s", err, out)
	}
	checkLinks(t, filepath.Join(tree, "usr/share/doc/ibsm"))
	if unit, err := os.ReadFile(filepath.Join(tree, "usr/lib/systemd/system/ibsm.service")); err != nil ||
		!strings.Contains(string(unit), "EnvironmentFile=-/etc/sysconfig/ibsm\n") {
		t.Errorf("the unit reads other settings: %v\n%s", err, unit)
	}
}

// TestInstallUnits: make install has units for where the programs are, and leaves settings that
// exist alone.
func TestInstallUnits(t *testing.T) {
	t.Parallel()
	for system, settings := range map[string]string{"debian": "/etc/default/ibsm", "rhel": "/etc/sysconfig/ibsm"} {
		tree := t.TempDir()
		dir := programs(t, "1")
		output(t, "dist/install", dir, tree, "/usr/local", "units", system)
		unit, err := os.ReadFile(filepath.Join(tree, "etc/systemd/system/ibsm.service"))
		if err != nil || !strings.Contains(string(unit), "EnvironmentFile=-"+settings+"\n") ||
			!strings.Contains(string(unit), "ExecStart=/usr/local/sbin/ibsm --launch") {
			t.Errorf("%s: %v\n%s", system, err, unit)
		}
		put(t, filepath.Join(tree, settings), "IBSM_OPTIONS=mine\n", 0o644)
		output(t, "dist/install", dir, tree, "/usr/local", "units", system)
		if text, _ := os.ReadFile(filepath.Join(tree, settings)); string(text) != "IBSM_OPTIONS=mine\n" {
			t.Errorf("%s: the settings are now %q", system, text)
		}
	}
}
