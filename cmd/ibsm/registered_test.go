package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRegistered: hosts find the groups that OpenSM makes, and OpenSM's own tester
// subscribes and gets Reports of events. Its other flows take long or need tables, which do
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
	if groups["ibsm"] != groups["opensm"] || !strings.Contains(groups["ibsm"], "ff12:401b:ffff::ffff:ffff") {
		t.Errorf("ibsm's groups:\n%s\nOpenSM's:\n%s", groups["ibsm"], groups["opensm"])
	}
}

// TestPartitionGroups: the groups of a partitions.conf are those that OpenSM makes of it.
func TestPartitionGroups(t *testing.T) {
	t.Parallel()
	const file = "Default=0x7fff, ipoib, defmember=full : ALL=full;\n" +
		"storage=0x8001, ipoib, rate=3, mtu=3, sl=2, Q_Key=0x99 : ALL=full;\n" +
		"plain=0x8002 : ALL=full;\n"
	groups := map[string][]string{}
	for _, m := range []*manager{&opensm, &ibsm} {
		s := startIbsim(t, example("net.2sw2path4hca").file(t))
		path := filepath.Join(t.TempDir(), "partitions.conf")
		if err := os.WriteFile(path, []byte(file), 0o666); err != nil {
			t.Fatal(err)
		}
		m.bringUp(s, "-P", path)
		r := s.run(s.net.witnessHost(), "saquery", "MCMR")
		groups[m.name] = strings.Split(r.stdout, "MCMember Record dump:")[1:]
		slices.Sort(groups[m.name])
	}
	if len(groups["opensm"]) != 2 || !slices.Equal(groups["ibsm"], groups["opensm"]) {
		t.Errorf("ibsm's groups:\n%s\nOpenSM's:\n%s", groups["ibsm"], groups["opensm"])
	}
}
