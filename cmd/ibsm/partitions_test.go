package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// keys are the P_Keys of a host's port as smpquery reads them.
func (s *simulator) keys(host string) (keys []string) {
	s.t.Helper()
	r := s.run(host, "smpquery", "-D", "pkeys", "0")
	if r.status != 0 {
		s.t.Fatalf("smpquery: status %d, %s", r.status, r.stderr)
	}
	for line := range strings.Lines(r.stdout) {
		_, row, _ := strings.Cut(line, ":")
		for _, key := range strings.Fields(row) {
			if strings.HasPrefix(key, "0x") && key != "0x0000" {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// TestPartitionFile: ports hold the keys that the file gives them, as OpenSM has them
// too. A file that breaks changes nothing, neither while the manager runs nor at its next
// start; with partition_fallback closed it divides the fabric at a first start instead of
// opening it. Without a file ports keep what they have.
func TestPartitionFile(t *testing.T) {
	t.Parallel()
	const good, other, broken = "tenant=0x10 : ALL=limited, SELF=full;\n", "tenant=0x11 : ALL=full;\n",
		"tenant=0x12 ALL=full;\n"
	h := newHome(t)
	file := filepath.Join(t.TempDir(), "partitions.conf")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	argv := []string{program(t, "ibsm"), "--ibsim", "-f", "stdout", "-s", "0", "--state_dir", h.state}
	startOn := func(s *simulator, options ...string) *process {
		t.Helper()
		p, _ := h.start(s, append(slices.Clone(argv), options...)...)
		return p
	}
	holds := func(s *simulator, manager, host string) {
		t.Helper()
		for at, want := range map[string]string{s.net.managerHost(): manager, s.net.witnessHost(): host} {
			eventually(t, "port of "+at+" with "+want, func() bool { return strings.Join(s.keys(at), " ") == want })
		}
	}
	s := startIbsim(t, h.net)
	write(good)
	p, _ := h.opensm(s, "-P", file)
	holds(s, "0x8010 0xffff", "0x0010 0x7fff")
	p.stop()

	p = startOn(s, "-P", file)
	holds(s, "0x8010 0xffff", "0x0010 0x7fff")
	write(other)
	p.signal(syscall.SIGHUP)
	p.await("partition file in force")
	holds(s, "0x8011 0xffff", "0x7fff 0x8011")
	write(broken)
	p.signal(syscall.SIGHUP)
	p.await(file + `:1:1: "tenant=0x12 ALL=full;": no ':' in it`)
	p.await("the partition file cannot be used: the last valid version stays in force")
	p.await("SUBNET UP")
	holds(s, "0x8011 0xffff", "0x7fff 0x8011")
	p.stop()

	p = startOn(s, "-P", file)
	holds(s, "0x8011 0xffff", "0x7fff 0x8011")
	p.stop()

	if err := os.RemoveAll(h.state); err != nil {
		t.Fatal(err)
	}
	p = startOn(s, "-P", file, "--partition_fallback", "closed")
	if said := p.text(); !strings.Contains(said, "PARTITIONS ARE CLOSED") {
		t.Errorf("it said\n%s", tail(said))
	}
	holds(s, "0xffff", "0x7fff")
	p.stop()

	p = startOn(s)
	if said := p.text(); !strings.Contains(said, "no partition file: P_Key tables are left unchanged") {
		t.Errorf("it said\n%s", tail(said))
	}
	holds(s, "0xffff", "0x7fff")
}

// TestPartitionFileAtStart: a first start with a file that was named and cannot be used fails,
// and says where; so does any start with --strict. What applies by partition_fallback instead
// is said, and is not success.
func TestPartitionFileAtStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"good": "tenant=0x10 : ALL=full;\n", "broken": "tenant=0x12 ALL=full;\n",
		"dangerous": "tenant=0x12 : ALL=ful;\n", "warned": "tenant=0x12 : ALL=limited;\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		options string
		status  int
		says    string
	}{
		{"-P good", 0, ""},
		{"-P good --strict", 0, ""},
		{"-P broken", 1, `ibsm: error: the partition file cannot be used, and no earlier version is stored: fix it, or set partition_fallback: broken:1:1: "tenant=0x12 ALL=full;": no ':'`},
		{"-P missing", 1, "missing: open missing: no such file"},
		{"-P . ", 1, "is a directory"},
		{"-P fifo", 1, "fifo is a FIFO: name a regular file"},
		{"-P /dev/zero", 1, "/dev/zero is a device: name a regular file"},
		{"-F fifo", 1, "cannot read configuration file: fifo is a FIFO: name a regular file"},
		{"-P broken --dry-run", 1, "broken:1:1: "},
		{"-P broken --partition_fallback closed", 4,
			"ibsm: warning: PARTITIONS ARE CLOSED: every port reaches only the manager, because broken cannot be used: broken:1:1: "},
		{"-P missing --partition_fallback open", 4,
			"PARTITIONS ARE OPEN: every port is a full member of the default partition, because missing cannot be used: "},
		{"-P broken --partition_fallback closed --strict", 1, "--strict"},
		{"-P warned", 0, ""},
		{"-P warned --strict", 1, `warned:1:1: "tenant" has no full member`},
		{"-P dangerous", 0, `ibsm: warning: dangerous:1:19: "ful" is read as full`},
		{"-F missing", 1, "ibsm: error: missing: configuration file does not exist"},
	} {
		options := strings.Fields(c.options)
		if !slices.Contains(options, "--dry-run") {
			options = append(options, "-o")
		}
		r := run(t, dir, caches(t), append([]string{program(t, "ibsm"), "--fabric", "fattree:k=4,levels=2"},
			options...)...)
		if r.status != c.status || !strings.Contains(r.stderr, c.says) || c.says == "" && r.stderr != "" {
			t.Errorf("%s: exit status %d, want %d and %q\n%s", c.options, r.status, c.status, c.says, r.stderr)
		}
	}
}
