package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRefusals: what ibsm cannot do it says in a line on standard error, with the
// exit status 2 for an error of the user and 1 for any other failure.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const good = "Switch 8 \"S1\"\n[1] \"H1\"[1]\n\nCa 1 \"H1\"\n[1] \"S1\"[1]\n"
	for _, c := range []struct {
		name   string
		net    string // written to bad.net
		args   string
		status int
		says   string // a regular expression for a whole line
		logs   bool   // it came far enough to log on standard output
	}{
		{"bracket left open", strings.Replace(good, "[1]\n", "[1\n", 1), "--fabric bad.net -o", 2,
			`ibsm: error: .*bad\.net:2:9: .+`, false},
		{"port that is not there", strings.Replace(good, `"S1"[1]`, `"S1"[9]`, 1), "--fabric bad.net -o", 2,
			`ibsm: error: .*bad\.net:5:\d+: .+`, false},
		{"node that is not there", strings.Replace(good, `"H1"[1]`, `"H2"[1]`, 1), "--fabric bad.net -o", 2,
			`ibsm: error: .*bad\.net:2:\d+: .+`, false},
		{"no such file", "", "--fabric none.net -o", 2, `ibsm: error: .*none\.net.*`, false},
		{"bad generator", "", "--fabric fattree:k=banana -o", 2, `ibsm: error: .*"banana".*`, false},
		{"unknown option", "", "--fabrik x", 2, `ibsm: error: .*--fabric\b.*`, false},
		{"unknown letter", "", "-j", 2, `ibsm: error: .*-j\b.*--help.*`, false},
		{"no argument", "", "-Z", 2, `ibsm: error: .*-Z needs an argument.*`, false},
		{"value out of range", "", "--fabric fattree:k=4 -l 8 -o", 255,
			`ibsm: error: command line: -l 8: LMC must be 7 or less.*`, false},
		{"argument too many", "", "--fabric fattree:k=4 -o nonsense --strict", 2, `ibsm: error: .*nonsense.*`, false},
		{"engine that is not", "", "--fabric fattree:k=4 -R ftre", 2, `ibsm: error: .*did you mean ftree.*`, false},
		{"to be asked for a port", "", "-g 0", 1, `ibsm: error: umad: .*ib_umad.*`, false},
		{"to be asked in the background", "", "-g 0 -B", 255, `ibsm: error: -g 0 .*ibstat -p.*`, false},
		{"no such port", "", "-g 0x1 -f ibsm.log -o", 1, `ibsm: error: umad: .+: .+`, true},
		{"no ibsim, once", "", "--ibsim -f ibsm.log -o", 1, `ibsm: error: .*ibsim.*`, true},
		{"no ibsim, dry run", "", "--ibsim -f ibsm.log --dry-run", 1, `ibsm: error: .*ibsim.*`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.net != "" {
				if err := os.WriteFile(filepath.Join(dir, "bad.net"), []byte(c.net), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			env := append(caches(t), "IBSIM_SOCKNAME="+newSocket())
			r := run(t, dir, env, append([]string{program(t, "ibsm")}, strings.Fields(c.args)...)...)
			if r.status != c.status {
				t.Errorf("status %d, want %d", r.status, c.status)
			}
			if !regexp.MustCompile(`(?m)^` + c.says + `$`).MatchString(r.stderr) {
				t.Errorf("no line like %s", c.says)
			}
			if c.status == 1 && strings.Count(r.stderr, "\n") != 1 {
				t.Error("more than one line on standard error")
			}
			if c.logs != strings.HasSuffix(r.stdout, "\nExiting SM\n") || !c.logs && r.stdout != "" {
				t.Errorf("standard output %q", r.stdout)
			}
			if t.Failed() {
				t.Logf("standard error:\n%s", r.stderr)
			}
		})
	}
}

// TestWaitsForPort: the daemon waits for an ibsim that is not there yet, says so
// once, and goes on when it comes.
func TestWaitsForPort(t *testing.T) {
	t.Parallel()
	file, socket := example("net.1").file(t), newSocket()
	early := simulator{t: t, dir: t.TempDir(), socket: socket}
	p := ibsm.start(&early, "Hca1")
	p.await("waiting for the port")
	startIbsimAt(t, file, socket)
	if said := p.await("SUBNET UP"); strings.Contains(said, "waiting") {
		t.Errorf("it says more than once that it waits:\n%s", said)
	}
}

// TestEmbedded: the README's first command.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	r := run(t, t.TempDir(), caches(t), program(t, "ibsm"), "--fabric", "fattree:k=8", "-o")
	if r.status != 0 || !strings.Contains(r.stdout, "SUBNET UP") {
		t.Errorf("status %d, it wrote %q and %q", r.status, r.stdout, r.stderr)
	}
}
