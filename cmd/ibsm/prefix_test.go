package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// prefix is that of a host's port as smpquery reads it.
func (s *simulator) prefix(host string) string {
	s.t.Helper()
	return s.find(host, `GidPrefix:\.+(0x\w+)`, "smpquery", "-D", "portinfo", "0")[1]
}

// TestSubnetPrefix: a subnet_prefix that the operator changes takes effect at the next start, with OpenSM and with
// ibsm: a reload does not change it, and the store does not refuse it. Back at OpenSM's default it is the default one
// again.
func TestSubnetPrefix(t *testing.T) {
	t.Parallel()
	const first, site = "0xfe80000000000000", "0xfec0000000000008"
	h := newHome(t)
	conf := filepath.Join(t.TempDir(), "opensm.conf")
	write := func(prefix string) {
		if err := os.WriteFile(conf, []byte("subnet_prefix "+prefix+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	argv := []string{program(t, "ibsm"), "--ibsim", "-f", "stdout", "-s", "0", "--state_dir", h.state, "-F", conf}
	for name, startOn := range map[string]func(s *simulator) *process{
		"OpenSM": func(s *simulator) *process { p, _ := h.opensm(s, "-F", conf); return p },
		"ibsm":   func(s *simulator) *process { p, _ := h.start(s, slices.Clone(argv)...); return p },
	} {
		s := startIbsim(t, h.net)
		expect := func(when, want string) {
			t.Helper()
			for _, host := range []string{s.net.managerHost(), s.net.witnessHost()} {
				eventually(t, name+": "+when+", "+host+" with "+want, func() bool { return s.prefix(host) == want })
			}
		}
		write(first)
		p := startOn(s)
		expect("at first", first)
		write(site)
		p.skip()
		p.signal(syscall.SIGHUP)
		p.await("SUBNET UP")
		expect("after a reload", first)
		p.stop()
		p = startOn(s)
		expect("after a restart", site)
		p.stop()
		write(first)
		p = startOn(s)
		expect("with the default one again", first)
		if said := p.text(); strings.Contains(said, "belongs to another port") {
			t.Errorf("%s says\n%s", name, tail(said))
		}
		p.stop()
	}
}
