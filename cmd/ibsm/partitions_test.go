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
// start; at a first start it divides the fabric instead of opening it. Without a file ports
// keep what they have.
func TestPartitionFile(t *testing.T) {
	t.Parallel()
	const good, other, broken = "tenant=0x10 : ALL=limited, SELF=full;\n", "tenant=0x11 : ALL=full;\n", "tenant=0x12 ALL=full;\n"
	h := newHome(t)
	file := filepath.Join(t.TempDir(), "partitions.conf")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	startOn := func(s *simulator) *process {
		t.Helper()
		p, _ := h.start(s, program(t, "ibsm"), "--ibsim", "-f", "stdout", "-s", "0", "--state_dir", h.state, "-P", file)
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

	p = startOn(s)
	holds(s, "0x8010 0xffff", "0x0010 0x7fff")
	write(other)
	p.signal(syscall.SIGHUP)
	p.await("partition file in force")
	holds(s, "0x8011 0xffff", "0x7fff 0x8011")
	write(broken)
	p.signal(syscall.SIGHUP)
	p.await(file + `:1:1: "tenant=0x12 ALL=full;": no ':' in it`)
	p.await("the partition file cannot be used: the last one without errors stays in force")
	p.await("SUBNET UP")
	holds(s, "0x8011 0xffff", "0x7fff 0x8011")
	p.stop()

	p = startOn(s)
	holds(s, "0x8011 0xffff", "0x7fff 0x8011")
	p.stop()

	if err := os.RemoveAll(h.state); err != nil {
		t.Fatal(err)
	}
	p = startOn(s)
	if said := p.text(); !strings.Contains(said, "PARTITIONS ARE CLOSED") {
		t.Errorf("it said\n%s", tail(said))
	}
	holds(s, "0xffff", "0x7fff")
	p.stop()

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	p = startOn(s)
	if said := p.text(); !strings.Contains(said, "no partition file: leaving all P_Key tables unchanged") {
		t.Errorf("it said\n%s", tail(said))
	}
	holds(s, "0xffff", "0x7fff")
}
