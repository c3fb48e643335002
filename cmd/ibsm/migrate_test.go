package main_test

import (
	"strings"
	"testing"
)

// TestMigration: from OpenSM to ibsm and back as the README says, on a fabric with groups:
// no LID, route, P_Key, multicast table or group changes. The rig's migrate.sh does it by
// the README's own words.
func TestMigration(t *testing.T) {
	needFabcheck(t)
	t.Parallel()
	s := startIbsim(t, generated("fattree:k=4").file(t))
	s.conf = "sa_db_dump TRUE\nsa_db_file " + s.path("opensm-sa.dump") + "\nno_clients_rereg TRUE\ndump_files_dir " + s.dir + "\n"
	p := opensm.bringUp(s)
	if r := s.run(s.net.witnessHost(), fabcheckPath(), "--ibsim", "--join", "6"); r.status != 0 {
		t.Fatalf("fabcheck --join: status %d, %s%s", r.status, r.stdout, r.stderr)
	}
	resweep(p)
	s.snapshot("before")
	groups := func() string { return s.run(s.net.witnessHost(), "saquery", "-g").stdout }
	before := groups()
	if !strings.Contains(before, "ff12:401b:ffff::ffff:ffff") {
		t.Fatalf("OpenSM's groups:\n%s", before)
	}
	for _, next := range []*manager{&ibsm, &opensm} {
		p.stop()
		p = next.bringUp(s)
		if changes := s.changes("before", "node", "link", "lid", "lft", "pkey", "mft"); changes != nil {
			t.Errorf("%s changed the fabric:\n%s", next.name, strings.Join(changes, "\n"))
		}
		if now := groups(); now != before {
			t.Errorf("%s has the groups\n%s\nbefore there were\n%s", next.name, now, before)
		}
		examine(t, s)
	}
}
