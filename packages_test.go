package ibsm_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// packages builds the Debian packages. The programs in them are scripts, but in the full
// sizes.
func packages(t *testing.T, version string) (plain, inPlace string) {
	t.Helper()
	for _, p := range []string{"dpkg", "dpkg-deb"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip("needs " + p)
		}
	}
	programs, out := t.TempDir(), t.TempDir()
	if os.Getenv("IBSM_PROOF") == "1" {
		output(t, "go", "build", "-o", programs, "./cmd/...")
	}
	for _, name := range []string{"ibsm", "ibsmctl", "ibfabric"} {
		path := filepath.Join(programs, name)
		if _, err := os.Stat(path); err != nil {
			put(t, path, "#!/bin/sh\necho "+version+"\n", 0o755)
		}
	}
	output(t, "env", "COMPRESSION=none", "dist/deb", programs, version, out)
	found, err := filepath.Glob(filepath.Join(out, "*.deb"))
	if err != nil || len(found) != 2 {
		t.Fatalf("built %q, %v", found, err)
	}
	return found[1], found[0]
}

// output runs a program that must succeed, and returns what it prints.
func output(t *testing.T, argv ...string) string {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", argv, err, out, errs.String())
	}
	return string(out)
}

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// TestPackages: the packages say what they are, and hold what they should: one beside
// OpenSM, and one in its place.
func TestPackages(t *testing.T) {
	t.Parallel()
	plain, inPlace := packages(t, "1.2.3")
	for _, c := range []struct {
		file   string
		fields string // of the control file, name and value
		files  string // paths that dpkg-deb lists
	}{
		{plain, "Package ibsm;Version 1.2.3;Conflicts ;Provides ;Depends ",
			"./usr/sbin/ibsm;./usr/bin/ibsmctl;./usr/bin/ibfabric;./usr/lib/systemd/system/ibsm.service;" +
				"./usr/lib/systemd/system/ibsm@.service;./etc/logrotate.d/ibsm;./etc/default/ibsm;./etc/ibsm/;./var/lib/ibsm/;./var/cache/opensm/;./usr/share/doc/ibsm/docs/options.md;./usr/share/doc/ibsm/copyright;./usr/share/man/man8/ibsmctl.8.gz;./usr/share/man/man5/ibsm.conf.5.gz;./usr/share/bash-completion/completions/ibsm;./usr/share/zsh/vendor-completions/_ibsmctl;" +
				"./usr/share/fish/vendor_completions.d/ibfabric.fish;./usr/share/ibsm/prometheus/ibsm.rules.yml;./usr/share/ibsm/grafana/fabric.json"},
		{inPlace, "Package ibsm-opensm;Architecture all;Provides opensm;Conflicts opensm;Replaces opensm;Depends ibsm (>= 1.2.3)",
			"./usr/sbin/opensm -> ibsm;./usr/lib/systemd/system/opensm.service -> ibsm.service;./usr/lib/systemd/system/opensm@.service -> ibsm@.service;./usr/share/man/man8/opensm.8.gz -> ibsm.8.gz"},
	} {
		for _, field := range strings.Split(c.fields, ";") {
			name, want, _ := strings.Cut(field, " ")
			if got := strings.TrimSpace(output(t, "dpkg-deb", "-f", c.file, name)); got != want {
				t.Errorf("%s: %s is %q, want %q", filepath.Base(c.file), name, got, want)
			}
		}
		list := output(t, "dpkg-deb", "-c", c.file)
		for _, path := range strings.Split(c.files, ";") {
			if !strings.Contains(list, " "+path+"\n") {
				t.Errorf("%s has no %s:\n%s", filepath.Base(c.file), path, list)
			}
		}
		if c.file == plain {
			tree := t.TempDir()
			output(t, "dpkg-deb", "-x", plain, tree)
			checkLinks(t, filepath.Join(tree, "usr/share/doc/ibsm"))
		}
		for line := range strings.Lines(list) {
			if !strings.Contains(line, " root/root ") {
				t.Errorf("%s: not root's: %s", filepath.Base(c.file), line)
			}
		}
	}
}

// peerPackage is one that has files where OpenSM's has them.
func peerPackage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "tree/DEBIAN/control"),
		"Package: opensm\nVersion: 3.3.23\nArchitecture: all\nMaintainer: x <x@x.invalid>\nDescription: x\n", 0o644)
	put(t, filepath.Join(dir, "tree/usr/sbin/opensm"), "OpenSM", 0o755)
	put(t, filepath.Join(dir, "tree/usr/lib/systemd/system/opensm.service"), "", 0o644)
	output(t, "dpkg-deb", "--root-owner-group", "--build", filepath.Join(dir, "tree"), filepath.Join(dir, "opensm.deb"))
	return filepath.Join(dir, "opensm.deb")
}

// TestBesideOpenSM: installed on a host with OpenSM's package, ibsm changes no file of the host, and no unit of it is
// started or enabled: its files are new ones, and no name of OpenSM's is among them. Its removal leaves the
// host as it was.
func TestBesideOpenSM(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root: dpkg changes owners")
	}
	plain, _ := packages(t, "1.0")
	root := newRoot(t)
	peer := t.TempDir()
	put(t, filepath.Join(peer, "DEBIAN/control"),
		"Package: opensm\nVersion: 3.3.23\nArchitecture: all\nMaintainer: x <x@x.invalid>\nDescription: x\n", 0o644)
	files, err := exec.Command("dpkg", "-L", "opensm").Output()
	if err != nil {
		t.Skip("needs the package opensm")
	}
	for name := range strings.FieldsSeq(string(files)) {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() &&
			!strings.HasPrefix(name, "/usr/share/") {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(peer, name), string(text), info.Mode().Perm())
		}
	}
	output(t, "dpkg-deb", "--root-owner-group", "--build", peer, filepath.Join(peer, "opensm.deb"))
	root.dpkg("-i", filepath.Join(peer, "opensm.deb"))
	for name, text := range map[string]string{
		"etc/opensm/opensm.conf": "guid 0x1\n", "etc/opensm/partitions.conf": "x", "var/cache/opensm/guid2lid": "LIDs",
		"var/log/opensm.0x1.log": "SUBNET UP\n",
		"var/log/opensm-sa.dump": "groups", "etc/systemd/system/network-online.target.wants/opensm.service": "",
	} {
		put(t, filepath.Join(root.dir, name), text, 0o644)
	}
	root.rotates("before", "var/log/opensm.0x1.log")
	before := root.files()
	root.dpkg("-i", plain)
	after := root.files()
	for name, was := range before {
		if after[name] != was {
			t.Errorf("%s has changed: %s, before %s", name, after[name], was)
		}
		delete(after, name)
	}
	for name := range after {
		if base := filepath.Base(name); strings.HasPrefix(name, "etc/systemd") || strings.HasPrefix(base, "opensm") &&
			!strings.HasPrefix(name, "usr/share/doc/") {
			t.Errorf("%s is new", name)
		}
	}
	root.rotates("beside ibsm", "var/log/opensm.0x1.log")
	root.dpkg("-r", "ibsm")
	root.rotates("after ibsm was removed, but for its settings", "var/log/opensm.0x1.log")
	root.dpkg("-P", "ibsm")
	if left := root.files(); !maps.Equal(left, before) {
		t.Errorf("a purge leaves %d files, before there were %d", len(left), len(before))
	}
}

// packageRoot is a root folder into which packages are installed.
type packageRoot struct {
	t   *testing.T
	dir string
}

func newRoot(t *testing.T) packageRoot {
	t.Helper()
	r := packageRoot{t, t.TempDir()}
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"} {
		if err := os.MkdirAll(filepath.Join(r.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(r.dir, "var/lib/dpkg/status"), "", 0o644)
	return r
}

func (r packageRoot) dpkg(args ...string) {
	r.t.Helper()
	output(r.t, append([]string{"dpkg", "--root=" + r.dir, "--force-script-chrootless", "--force-confdef",
		"--force-confold", "--log=" + filepath.Join(r.dir, "log")}, args...)...)
}

// rotates has logrotate rotate a log of OpenSM's, as OpenSM's rule says, in silence, and puts it back.
func (r packageRoot) rotates(when, log string) {
	r.t.Helper()
	if _, err := exec.LookPath("logrotate"); err != nil {
		return
	}
	dir := r.t.TempDir()
	put(r.t, filepath.Join(dir, "conf"), "include "+dir+"/rules\n", 0o644)
	rules, _ := filepath.Glob(filepath.Join(r.dir, "etc/logrotate.d/*"))
	for _, rule := range rules {
		text, err := os.ReadFile(rule)
		if err != nil {
			r.t.Fatal(err)
		}
		here := strings.NewReplacer("/var/log/", r.dir+"/var/log/", "/var/lib/", r.dir+"/var/lib/",
			"/usr/bin/killall -SIGUSR1 /usr/sbin/opensm", "echo signal >>"+dir+"/signals")
		put(r.t, filepath.Join(dir, "rules", filepath.Base(rule)), here.Replace(string(text)), 0o644)
	}
	out, err := exec.Command("logrotate", "--force", "--state", filepath.Join(dir, "state"),
		filepath.Join(dir, "conf")).CombinedOutput()
	signals, _ := os.ReadFile(filepath.Join(dir, "signals"))
	rotated := filepath.Join(r.dir, log) + ".1.gz"
	if err != nil || len(out) > 0 || string(signals) != "signal\n" || os.Remove(rotated) != nil {
		r.t.Errorf("%s: logrotate: %v, %s; OpenSM has %q", when, err, out, signals)
	}
	put(r.t, filepath.Join(r.dir, log), "SUBNET UP\n", 0o644)
}

// files are the files with their mode and contents, but for dpkg's own.
func (r packageRoot) files() map[string]string {
	r.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(r.dir, func(path string, d os.DirEntry, err error) error {
		name := strings.TrimPrefix(path, r.dir+"/")
		if err != nil || d.IsDir() || name == "log" || strings.HasPrefix(name, "var/lib/dpkg/") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		files[name] = fmt.Sprint(info.Mode(), sha256.Sum256(text))
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return files
}

// TestPackageLife: installed on a root of its own, upgraded, removed and purged. An
// upgrade keeps configuration and store, removal leaves nothing but them.
func TestPackageLife(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root: dpkg changes owners")
	}
	first, firstInPlace := packages(t, "1.0")
	second, _ := packages(t, "1.1")
	r := newRoot(t)
	root, dpkg := r.dir, r.dpkg
	kept := map[string]string{
		"etc/default/ibsm": "IBSM_OPTIONS='-p 9'\n", "etc/ibsm/ibsm.toml": "[log]\n",
		"etc/opensm/opensm.conf":    "guid 0x1\n",
		"var/lib/ibsm/0x1/state.db": "LIDs", "var/cache/opensm/guid2lid": "LIDs",
	}
	check := func(when, version string, gone ...string) {
		t.Helper()
		for name, want := range kept {
			text, err := os.ReadFile(filepath.Join(root, name))
			if slices.Contains(gone, name) {
				if err == nil {
					t.Errorf("%s: %s is still there", when, name)
				}
			} else if string(text) != want {
				t.Errorf("%s: %s has %q, %v", when, name, text, err)
			}
		}
		program, err := os.Stat(filepath.Join(root, "usr/sbin/ibsm"))
		if (err == nil) != (version != "") {
			t.Errorf("%s: ibsm is %v, %v", when, program, err)
		}
		if version != "" && os.Getenv("IBSM_PROOF") != "1" {
			if got := output(t, filepath.Join(root, "usr/sbin/ibsm")); got != version+"\n" {
				t.Errorf("%s: version %q", when, got)
			}
		}
	}
	dpkg("-i", peerPackage(t))
	dpkg("-i", first, firstInPlace) // which takes the place of that
	for name, text := range kept {
		put(t, filepath.Join(root, name), text, 0o644)
	}
	check("installed", "1.0")
	dpkg("-i", second)
	check("upgraded", "1.1")
	if target, err := os.Readlink(filepath.Join(root, "usr/sbin/opensm")); err != nil || target != "ibsm" {
		t.Errorf("opensm is %q, %v", target, err)
	}
	dpkg("-r", "ibsm-opensm")
	dpkg("-i", peerPackage(t)) // and back
	check("beside opensm", "1.1")
	if text, err := os.ReadFile(filepath.Join(root, "usr/sbin/opensm")); string(text) != "OpenSM" {
		t.Errorf("opensm is %q, %v", text, err)
	}
	dpkg("-r", "opensm", "ibsm")
	check("removed", "")
	for _, dir := range []string{"usr", "lib", "run"} {
		left, _ := filepath.Glob(filepath.Join(root, dir, "*/*"))
		if len(left) > 0 {
			t.Errorf("removal leaves %q", left)
		}
	}
	dpkg("-P", "ibsm")
	check("purged", "", "etc/default/ibsm", "var/lib/ibsm/0x1/state.db")
}

// TestUnits: systemd finds no fault with the units, and the template is the other unit
// but for the instance.
func TestUnits(t *testing.T) {
	t.Parallel()
	plain, _ := packages(t, "1.0")
	root := t.TempDir()
	output(t, "dpkg-deb", "-x", plain, root)
	units := filepath.Join(root, "usr/lib/systemd/system")
	one, err := os.ReadFile(filepath.Join(units, "ibsm.service"))
	if err != nil {
		t.Fatal(err)
	}
	template, err := os.ReadFile(filepath.Join(units, "ibsm@.service"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("Description=InfiniBand subnet manager\n",
		"Description=InfiniBand subnet manager, instance %i\n", "--launch", "--instance %i").Replace(string(one))
	if string(template) != want {
		t.Error("ibsm@.service is not ibsm.service with another start")
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("needs systemd-analyze")
	}
	output(t, "sh", "-c", "cp -a -n /usr/lib/systemd/system/. "+units)
	put(t, filepath.Join(root, "bin/kill"), "", 0o755)
	cmd := exec.Command("systemd-analyze", "verify", "--man=no", "--root="+root, "ibsm.service", "ibsm@1.service")
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "ibsm") {
			t.Errorf("verify: %s", line)
		}
	}
	if err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
	output(t, "systemd-analyze", "security", "--offline=true", "--threshold=30", "--root="+root, "ibsm.service")
}

// rig is a virtual machine with the real Linux stack, beside the checkout.
const rig = "../shared/rig"

// TestSystemd: the packages and units on a Debian with a live systemd, where the ports are
// those of the rig.
func TestSystemd(t *testing.T) {
	needDebian(t)
	first, inPlace := packages(t, "1.0")
	second, _ := packages(t, "1.1")
	args := []string{"-n", rig + "/nets/two-subnets.net"}
	for _, file := range []string{first, second, inPlace} {
		args = append(args, "-f", file+"=debs/"+filepath.Base(file))
	}
	runDebian(t, "testdata/rig/systemd.sh", args...)
}

// TestMigrationSystemd: the README's commands for the migration on such a Debian, with its package of OpenSM and with a
// unit that starts OpenSM as RHEL's does. The variable IBSM_CASE is a pattern of the cases that are tried.
func TestMigrationSystemd(t *testing.T) {
	needDebian(t)
	const fabcheck = "bin/fabcheck"
	if _, err := os.Stat(fabcheck); err != nil {
		t.Skip("needs " + fabcheck)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := packages(t, "1.0")
	args := []string{"-f", plain + "=debs/ibsm_1.0_amd64.deb", "-f", fabcheck + "=usr/local/bin/fabcheck", "-f",
		"testdata/rig/migrate-host.sh=etc/migrate-host.sh",
		"-e", "CASE=" + os.Getenv("IBSM_CASE")}
	for comment, file := range map[string]string{"to ibsm": "to-ibsm", "back to OpenSM": "to-opensm"} {
		_, script, ok := strings.Cut(string(readme), "\n    # "+comment+"\n")
		if !ok {
			t.Fatalf("the README has no script %q", comment)
		}
		script, _, _ = strings.Cut(script, "\n\n")
		path := filepath.Join(t.TempDir(), file)
		put(t, path, script+"\n", 0o644)
		args = append(args, "-f", path+"=etc/"+file)
	}
	runDebian(t, "testdata/rig/migrate-systemd.sh", args...)
}

// needDebian skips a test that boots a Debian where it cannot.
func needDebian(t *testing.T) {
	t.Helper()
	if os.Getenv("IBSM_PROOF") != "1" {
		t.Skip("full sizes only (IBSM_PROOF=1): it boots a machine")
	}
	for _, p := range []string{"qemu-system-x86_64", "mmdebstrap", "cpio", "depmod", rig + "/run-vm"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip("needs " + p)
		}
	}
}

// runDebian runs a script on it.
func runDebian(t *testing.T, script string, args ...string) {
	t.Helper()
	args = append([]string{"testdata/rig/run-debian", rig, "-t", "1700", "-f", "testdata/rig/lib.sh=etc/rig-lib.sh"},
		args...)
	for line := range strings.Lines(output(t, append(args, script)...)) {
		t.Log(strings.TrimSpace(line))
	}
}
