package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ibsm/ctl"
)

// TestCreateConfig: each manager reads what the other writes with -c, and both write the
// same settings again, by way of ibsm.toml as well.
func TestCreateConfig(t *testing.T) {
	t.Parallel()
	dir, env := t.TempDir(), caches(t)
	file := func(name string) string { return filepath.Join(dir, name) }
	made := func(name string, quiet bool, argv ...string) string {
		t.Helper()
		r := run(t, dir, env, append(argv, "-c", file(name))...)
		text, err := os.ReadFile(file(name))
		if r.status != 0 || err != nil {
			t.Fatalf("%q: status %d, %v\n%s%s", argv, r.status, err, r.stdout, r.stderr)
		}
		if quiet && r.stderr != "" || strings.Contains(r.stdout, "Unrecognized") || strings.Contains(r.stdout, "-E-") ||
			strings.Contains(r.stdout, "Invalid") {
			t.Errorf("%q complains:\n%s%s", argv, r.stdout, r.stderr)
		}
		return string(text)
	}
	ibsm := program(t, "ibsm")
	if err := os.WriteFile(file("none"), nil, 0o666); err != nil { // OpenSM and ibsm read no other file then
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		options []string
		quiet   bool // all of them have an effect
	}{
		{"defaults", nil, true},
		{"chosen", strings.Fields("-p 3 -l 2 -s 7 -D 0x43 -n 9 -t 300 -k abc --log_prefix x"), true},
		{"without effect", strings.Fields("-Q -R updn,ftree -a /roots -z -Z in --congestion_control"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			theirs := made("theirs.conf", false, append([]string{"opensm", "-F", file("none")}, c.options...)...)
			made("ours.toml", c.quiet, ibsm, "-F", file("theirs.conf"))
			made("ours.conf", c.quiet, ibsm, "-F", file("ours.toml"))
			if again := made("again.conf", false, "opensm", "-F", file("ours.conf")); again != theirs {
				t.Errorf("what OpenSM wrote is not what it writes after ibsm: %q", differing(theirs, again))
			}
			made("options.conf", false, append([]string{ibsm, "-F", file("none")}, c.options...)...)
			if again := made("again.conf", false, "opensm", "-F", file("options.conf")); again != theirs {
				t.Errorf("what OpenSM wrote is not what it writes after ibsm with the same options: %q",
					differing(theirs, again))
			}
		})
	}
	if r := run(t, dir, nil, ibsm, "-c", file("none/x.conf")); r.status != 255 ||
		!strings.Contains(r.stderr, "cannot create") {
		t.Errorf("a file that cannot be: status %d, %s", r.status, r.stderr)
	}
}

// differing are the lines that two texts do not share.
func differing(a, b string) (lines []string) {
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		for line := range strings.Lines(pair[0]) {
			if !strings.Contains(pair[1], line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// TestStartFile: a manager starts with a file, and reports once what in it has no effect.
func TestStartFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, src string
		status    int
		says      []string // on standard error, whole lines
	}{
		{"f.conf", "sm_priority 3\nevent_plugin_name x\nqos TRUE\nlog_file stdout\n", 0,
			[]string{"ibsm: warning: f.conf:2:19: no effect in this version: event_plugin_name"}},
		{"f.toml", "[log]\nfile = \"stdout\"\n[plugins]\nnames = [\"x\"]\n", 0,
			[]string{"ibsm: warning: f.toml:4:10: no effect in this version: event_plugin_name"}},
		{"f.conf", "log_file stdout\nnosuchkey 1\nsm_priority 16\n", 0, []string{
			"ibsm: warning: f.conf:2:1: Unrecognized token: \"nosuchkey\": not a key of OpenSM",
			"ibsm: error: f.conf:3:13: sm_priority \"16\": value out of range; expected a number, 0 to 15; value ignored"}},
		{"f.conf", "lmc 8\n", 1,
			[]string{"ibsm: error: f.conf:1:5: lmc \"8\": value out of range; expected a number, 0 to 7"}},
		{"f.conf", "guid 0xffffffffffffffff\n", 0, nil}, // -g 0: the ports of a simulation are not asked for
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, c.name), []byte(c.src), 0o600); err != nil {
			t.Fatal(err)
		}
		r := run(t, dir, caches(t), program(t, "ibsm"), "--fabric", "fattree:k=4,levels=2", "-o", "-F", c.name)
		if r.status != c.status || strings.Contains(r.stdout, "SUBNET UP") != (c.status == 0) {
			t.Errorf("%q: status %d, it wrote\n%s", c.src, r.status, r.stdout)
		}
		if c.says != nil && r.stderr != strings.Join(c.says, "\n")+"\n" {
			t.Errorf("%q: standard error\n%s", c.src, r.stderr)
		}
		for _, line := range c.says {
			if _, text, _ := strings.Cut(line, ": warning: "); c.status == 0 && strings.Contains(text, "no effect") &&
				strings.Count(r.stdout, text) != 1 {
				t.Errorf("%q: the log reports %q %d times:\n%s", c.src, text, strings.Count(r.stdout, text), r.stdout)
			}
		}
	}
}

// TestReload: on SIGHUP a file with an error changes nothing and one without is in force
// after the sweep that follows; ibsmctl's way is the same and answers what was found.
func TestReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, socket := filepath.Join(dir, "f.conf"), filepath.Join(dir, "socket")
	write := func(src string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	client := ctl.NewClient(socket)
	priority := func() uint8 {
		t.Helper()
		st := &ctl.Status{}
		if err := client.Get(t.Context(), "/v1/status", nil, st); err != nil || len(st.SMs) == 0 {
			t.Fatalf("status: %v, %+v", err, st)
		}
		return st.SMs[0].Priority
	}
	write("sm_priority 3\nlog_file stdout\nlog_flags 0x03\n")
	p := start(t, nil, dir, caches(t), program(t, "ibsm"), "--fabric", "fattree:k=4,levels=2", "-F", file,
		"--ctl_socket", socket, "-s", "0")
	p.await("-> SUBNET UP")
	if priority() != 3 {
		t.Errorf("priority %d", priority())
	}

	write("sm_priority 5\nlog_file stdout\nlog_flags 0x07\nsweep_interval x\n")
	p.signal(syscall.SIGHUP)
	p.await("0x01 -> " + file + ":4:16: sweep_interval ")
	p.await("the configuration is unchanged")
	if said := p.await("-> SUBNET UP"); priority() != 3 || strings.Contains(said, "INITIATING") {
		t.Errorf("with an error in the file the priority is %d; it said\n%s", priority(), said)
	}

	write("sm_priority 5\nlog_file stdout\nlog_flags 0x07\nlmc 1\n")
	p.signal(syscall.SIGHUP)
	p.await("lmc: the new value takes effect at the next start")
	p.await("configuration reloaded file=" + file + " changed=sm_priority,log_flags\n")
	p.await("0x04 -> INITIATING HEAVY SWEEP")
	p.await("-> SUBNET UP")
	if priority() != 5 {
		t.Errorf("priority %d after a reload", priority())
	}

	write("sm_priority 99\n")
	r := &ctl.Reloaded{}
	if err := client.Post(t.Context(), "/v1/reload", nil, r); err != nil || !r.Refused || len(r.Changed) != 0 ||
		len(r.Findings) == 0 || r.Findings[0].Line != 1 || r.Findings[0].Column != 13 {
		t.Errorf("reload with a error: %v, %+v", err, r)
	}
	p.await("-> SUBNET UP")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := client.Post(t.Context(), "/v1/reload", nil, r); err != nil || !r.Refused {
		t.Errorf("reload without a file: %v, %+v", err, r)
	}
	p.await("-> SUBNET UP")
	write("sm_priority 6\nlog_file stdout\nlog_flags 0x07\nlmc 1\nlog_prefix again\n")
	if err := client.Post(t.Context(), "/v1/reload", nil, r); err != nil || r.Refused ||
		strings.Join(r.Changed, " ") != "sm_priority log_prefix" {
		t.Errorf("reload: %v, %+v", err, r)
	}
	p.await("-> again: SUBNET UP")
	if priority() != 6 {
		t.Errorf("priority %d after ibsmctl's reload", priority())
	}
	p.stop()
}
