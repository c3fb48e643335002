package main_test

import (
	"strings"
	"testing"
)

// TestRegistered: hosts find the groups that OpenSM makes, and OpenSM's own tester
// subscribes and is told of events. Its other flows take long or need tables, which do
// not get through ibsim whole: they are tried in the rig.
func TestRegistered(t *testing.T) {
	t.Parallel()
	groups := map[string]string{}
	for _, m := range []*manager{&opensm, &ibsm} {
		s := startIbsim(t, example("net.2sw2path4hca").file(t))
		m.bringUp(s)
		r := s.run(s.net.witnessHost(), "saquery", "-g")
		if r.status != 0 {
			t.Fatalf("%s: saquery: %s%s", m.name, r.stdout, r.stderr)
		}
		groups[m.name] = r.stdout
		if m == &opensm {
			continue
		}
		for _, flow := range []string{"c", "e"} {
			r := s.run(s.net.witnessHost(), "osmtest", "-f", flow, "-i", "inv.dat", "-l", "osmtest.log")
			if r.status != 0 || !strings.Contains(r.stdout, "PASS") {
				t.Errorf("osmtest -f %s: status %d, %s%s", flow, r.status, r.stdout, r.stderr)
			}
		}
	}
	// Through ibsim, what fills the packet behind the last record looks like more records.
	if !strings.HasPrefix(groups["ibsm"], groups["opensm"]) || !strings.Contains(groups["ibsm"], "ff12:401b:ffff::ffff:ffff") {
		t.Errorf("ibsm's groups:\n%s\nOpenSM's:\n%s", groups["ibsm"], groups["opensm"])
	}
}
