package main_test

import (
	"os"
	"strings"
	"testing"
)

// TestLanesTakeover: tables of OpenSM's engines, which ibsm takes over as those of another manager,
// stay as they are, with the tables of lanes. Their paths get SLs without a credit loop, as fabcheck
// confirms by what switches hold; where the lanes do not suffice, a dry run says so before.
func TestLanesTakeover(t *testing.T) {
	t.Parallel()
	needFabcheck(t)
	for _, c := range []struct{ spec, engine, conf, list, says string }{
		{"torus:dims=5x5,hosts=1", "lash", "", "minhop", "service levels to avoid credit loops"},
		{"torus:dims=5x5,hosts=1", "dfsssp", "", "minhop,lash", "service levels to avoid credit loops"},
		{"torus:dims=5x5,hosts=1", "nue", "nue_max_num_vls 4\n", "minhop,lash", "service levels to avoid credit loops"},
		{"torus:dims=5x5,hosts=1", "updn", "", "minhop", ""},
		{"torus:dims=5x5,hosts=1", "dor", "", "minhop", "service levels to avoid credit loops"},
		{"torus:dims=5x5,hosts=1", "minhop", "max_op_vls 1\n", "minhop,lash",
			"service levels with separate VLs; the ports have VLs for 1"},
		{"torus:dims=5x5x3,hosts=1", "torus-2QoS", "", "minhop,lash", "service levels to avoid credit loops"},
	} {
		t.Run(c.engine, func(t *testing.T) { testLanesTakeover(t, c.spec, c.engine, c.conf, c.list, c.says) })
	}
}

func testLanesTakeover(t *testing.T, spec, engine, conf, list, says string) {
	s := startIbsim(t, generated(spec).file(t))
	s.conf = conf + "dump_files_dir " + s.dir + "\n"
	args := []string{"-R", engine, "-Q"}
	if engine == "torus-2QoS" {
		args = append(args, "--torus_config", s.writeTorusConf())
	}
	if engine == "updn" {
		roots := s.path("roots")
		if err := os.WriteFile(roots, []byte("0xb83fd20300400000\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-a", roots, "-z")
	}
	p := opensm.bringUp(s, args...)
	p.stop()
	if said := p.text(); !strings.Contains(said, engine+" tables configured on all switches") {
		t.Fatalf("OpenSM did not route by %s:\n%s", engine, tail(said))
	}
	before := s.path("before")
	if r := s.run(s.net.witnessHost(), fabcheckPath(), "--no-check", "-q", "--snapshot", before); r.status != 0 {
		t.Fatalf("fabcheck --snapshot: status %d, %s", r.status, r.stderr)
	}
	dry := run(t, s.dir, s.env(s.net.managerHost()), program(t, "ibsm"), "--ibsim", "--dry-run", "-R", list)
	if !strings.Contains(dry.stdout, says) {
		t.Errorf("the dry run does not say %q:\n%s%s", says, dry.stdout, dry.stderr)
	}
	const connections = "existing connections keep theirs until hosts request their paths again"
	if says != "" && !strings.Contains(says, "ports have VLs for") && !strings.Contains(dry.stdout, connections) {
		t.Errorf("the dry run does not say what connections made before the takeover use:\n%s", dry.stdout)
	}
	p = ibsm.bringUp(s, "-R", list)
	defer p.stop()
	after := s.run(s.net.witnessHost(), fabcheckPath(), "--no-check", "-q", "--compare", before)
	for line := range strings.Lines(after.stdout) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "DIFF" &&
			(words[1] == "lft" || words[1] == "sl2vl" || words[1] == "vlarb") {
			t.Errorf("it has changed a table: %s", line)
		}
	}
	r := s.run(s.net.witnessHost(), fabcheckPath(), "--ibsim", "-q", "-v", "-c")
	if want := !strings.Contains(says, "separate VLs"); (r.status == 0) != want ||
		!strings.Contains(r.stderr, "SA answers") {
		t.Errorf("fabcheck, which finds nothing: %v, status %d: %s%s", want, r.status, r.stdout, r.stderr)
	}
}

// writeTorusConf writes torusConf to a file, and returns its path.
func (s *simulator) writeTorusConf() string {
	s.t.Helper()
	path := s.path("torus.conf")
	if err := os.WriteFile(path, []byte(torusConf), 0o666); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// torusConf is torus-2QoS.conf of the torus of the test.
const torusConf = `torus 5 5 3
xp_link 0xb83fd20300400000 0xb83fd20300400040
yp_link 0xb83fd20300400000 0xb83fd20300400140
zp_link 0xb83fd20300400000 0xb83fd20300400640
`
