package main_test

import (
	"os"
	"strings"
	"testing"
)

// TestAutoTakeover: where nobody chose an engine, ibsm keeps the tables of OpenSM's min-hop, ftree and dfsssp, whole
// and with cables missing; an order to reroute has auto compute its own. fabcheck finds nothing before and after it.
func TestAutoTakeover(t *testing.T) {
	t.Parallel()
	needFabcheck(t)
	for _, c := range []struct{ spec, engine, auto string }{
		{"fattree:k=4,missing-links=2", "minhop", "tree"},
		{"fattree:k=4", "ftree", "tree"},
		{"random:switches=14,degree=4,hosts=1,seed=2", "dfsssp", "dfsssp"},
		{"torus:dims=5x5,hosts=1,missing-links=1", "dfsssp", "torus-2QoS"},
	} {
		if !proof() && c.engine != "ftree" {
			continue
		}
		t.Run(c.spec+" "+c.engine, func(t *testing.T) {
			s := startIbsim(t, generated(c.spec).file(t))
			s.conf = "dump_files_dir " + s.dir + "\n"
			p := opensm.bringUp(s, "-R", c.engine, "-Q")
			p.stop()
			if said := p.text(); !strings.Contains(said, c.engine+" tables configured on all switches") {
				t.Fatalf("OpenSM did not route by %s:\n%s", c.engine, tail(said))
			}
			socket := s.path("ctl")
			p = ibsm.bringUp(s, "--ctl_socket", socket)
			defer p.stop()
			judge := func(what string) {
				if r := s.run(s.net.witnessHost(), fabcheckPath(), "--ibsim", "-q", "-v", "-c"); r.status != 0 ||
					!strings.Contains(r.stderr, "SA answers") {
					t.Errorf("%s: fabcheck, status %d: %s%s", what, r.status, r.stdout, r.stderr)
				}
			}
			judge("kept")
			ask := func(args ...string) string {
				return run(t, s.dir, os.Environ(),
					append([]string{program(t, "ibsmctl"), "--socket", socket}, args...)...).stdout
			}
			ask("reroute")
			eventually(t, "auto has routed", func() bool { return strings.Contains(ask("status"), c.auto) })
			judge("rerouted")
		})
	}
}
