package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// grepped are what operators and monitoring look for in OpenSM's log, with the shape
// of the lines that it stands in.
var grepped = regexp.MustCompile(`(?m)^[A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \d{6} \[[0-9A-F]+\] (0x\w\w -> (?:` +
	strings.Join([]string{
		`Entering \w+ state`, `SUBNET UP`, `Exiting SM`,
		`osm_ucast_mgr_process: minhop tables configured on all switches`,
		`log_trap_info: Received Generic Notice .* TID:0x\w{16}`,
		`drop_mgr_remove_port: Removed port with .* of node:[\w ]+`,
		`state_mgr_report_new_ports: Discovered new port with .* of node: [\w ]+`,
		`osm_vendor_bind: Mgmt class 0x(?:81|03) binding to port GUID \w+`,
		`osm_opensm_bind: Setting IS_SM on port \w+`,
		`SM class trap \d+: Directed Path Dump of \d+ hop path: Path = [\d,]+`,
		`log_notice: Reporting \w+ Notice "[^"]+"(?: from switch LID \d+, GUID \w+|, GID:[\w:]+)`,
		`log_send_error: ERR 5411: DR SMP Send completed with error \(IB_TIMEOUT\) -- dropping\n\t+Method 0x1, Attr 0x\w+`,
		`Received SMP on a \d+ hop path: Initial path = [\d,]+, Return path  = [0,]+`,
		`sm_mad_ctrl_send_err_cb: ERR 3113: MAD completed in error \(IB_TIMEOUT\): SubnGet\(\w+\), attr_mod \w+`,
		`sm_mad_ctrl_send_err_cb: ERR 3120: Timeout while getting attribute .*; Possible mis-set mkey\?`,
		`osm_prtn_make_partitions: Partition configuration in error`,
	}, "|") + `))`)

// lines are what is looked for in a log, each where it comes first. The level of
// SUBNET UP is left out: OpenSM's changes with the mastership. So are the ports of a path: of two
// cables to a switch OpenSM takes the one over which the switch answered last.
func lines(log string) (found []string) {
	for _, m := range grepped.FindAllStringSubmatch(log, -1) {
		line := m[1]
		if strings.HasSuffix(line, "SUBNET UP") {
			line = "SUBNET UP"
		}
		line, _, _ = strings.Cut(line, ": Path = ")
		if !slices.Contains(found, line) {
			found = append(found, line)
		}
	}
	return found
}

// TestLogLines: a host goes and comes back, and both managers log it in the same lines,
// by the name that it was given.
func TestLogLines(t *testing.T) {
	t.Parallel()
	s := startIbsim(t, oddities.file(t))
	s.conf = oddities.conf(t)
	logOf := func(m *manager) string {
		p := m.bringUp(s, "-D", "0x03")
		s.console(`Unlink "h3"[1]`)
		p.await("Removed port")
		p.await("SUBNET UP")
		s.console(`ReLink "h3"[1]`)
		p.await("Discovered new port")
		p.await("SUBNET UP")
		p.stop()
		return p.text()
	}
	want := lines(logOf(&opensm))
	got := lines(logOf(&ibsm)) // which takes over OpenSM's LIDs
	if len(want) < 8 || !strings.Contains(strings.Join(want, ""), "of node:long long") {
		t.Errorf("OpenSM's log has only %q", want)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nOpenSM:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestLogTrouble: an unresponsive node and a partition file with an error are logged
// as OpenSM does.
func TestLogTrouble(t *testing.T) {
	t.Parallel()
	s := startIbsim(t, example("net.2sw2path4hca").file(t))
	partitions := s.path("partitions.conf")
	if err := os.WriteFile(partitions, []byte("Default=0x7fff:ALL=full\nx=y=z;;\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	unresponsive := s.net.hosts()[1]
	s.console(`Error "%s" 100`, unresponsive)
	logOf := func(m *manager, options ...string) (found []string) {
		p := m.bringUp(s, append(options, "-D", "0x03", "-P", partitions)...)
		p.stop()
		for _, line := range lines(p.text()) {
			// two cables lead to the unresponsive host: who answers first decides by which it is asked
			if strings.HasPrefix(line, "0x01") {
				found = append(found, strings.ReplaceAll(line, "Initial path = 0,1,5,1,", "Initial path = 0,1,3,1,"))
			}
		}
		slices.Sort(found)
		return found
	}
	want := logOf(&opensm)
	got := logOf(&ibsm, "--partition_fallback", "open")
	if len(want) < 5 || !slices.Equal(got, want) {
		t.Errorf("got\n%s\nOpenSM:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestLogOfModules: a part logs what the file says of its module, and after SIGHUP what
// it then says.
func TestLogOfModules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	modules := write("modules", "# sweeps\nosm_state_mgr.c=0x07\nosm_event_plugin.c 1\n")
	conf := write("sm.conf", "per_module_logging_file "+modules+"\n")
	p := start(t, nil, dir, caches(t), program(t, "ibsm"), "--fabric", "fattree:k=4,levels=2", "-f", "stdout", "-F",
		conf, "-D", "0x01", "-s", "0")
	p.await(`modules:3: insert_per_module_debug: Module name "osm_event_plugin.c" not found`)
	p.await("0x04 -> INITIATING HEAVY SWEEP")
	p.await("0x80 -> SUBNET UP")
	p.signal(syscall.SIGHUP)
	p.await("0x02 -> SUBNET UP")
	if strings.Contains(p.text(), "tables configured") {
		t.Error("what the log leaves out is logged of another part")
	}
	write("modules", "osm_ucast_mgr.c 0x02\n")
	p.signal(syscall.SIGHUP)
	// nobody chose an engine, and nothing used the subnet
	p.await("0x02 -> osm_ucast_mgr_process: tree tables configured")
	p.stop()
	if _, after, _ := strings.Cut(p.text(), "tables configured"); strings.Contains(after, "0x02 -> SUBNET UP") {
		t.Error("a part that is no longer in the file logs as it did")
	}
}

// TestLogFile: a log that was moved away is begun again on SIGUSR1, and states go to
// standard output as well.
func TestLogFile(t *testing.T) {
	t.Parallel()
	s := startIbsim(t, example("net.1").file(t))
	log, moved := s.path("sm.log"), s.path("sm.log.1")
	p := ibsm.start(s, s.net.managerHost(), "-f", log, "--log_prefix", "mpi")
	p.await("mpi: Entering MASTER state\n")
	p.await("mpi: SUBNET UP\n")
	if err := os.Rename(log, moved); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGUSR1)
	await := func(path, want string) {
		t.Helper()
		for i := 0; ; i++ {
			text, err := os.ReadFile(path)
			if err == nil && strings.Contains(string(text), want) {
				return
			}
			if i == 500 {
				t.Fatalf("%s does not say %q, but %q (%v)", path, want, text, err)
			}
			s.run(s.net.witnessHost(), "sminfo") // which takes a moment
		}
	}
	await(moved, "0x80 -> mpi: Entering MASTER state\n")
	await(log, "") // it is there again
	p.signal(syscall.SIGHUP)
	await(log, "-> mpi: SUBNET UP ")
	p.signal(syscall.SIGTERM)
	for ended := false; !ended; {
		select {
		case <-p.done:
			ended = true
		default:
			p.cmd.Process.Signal(syscall.SIGHUP) // an error means that it has ended
		}
	}
	if p.err != nil {
		t.Errorf("stopped while it was sent SIGHUP, it ended with %v", p.err)
	}
	await(log, "0x80 -> mpi: Exiting SM\n")
}
