package main_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing/routingtest"
	"ibsm/sim/ibsim"
)

// TestEngineLists: engines that do not route the subnet, with and without min-hop after them, and
// names of other managers' engines.
func TestEngineLists(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fabric, engines string
		status          int
		says            string
	}{
		{"torus:dims=5x5", "updn,no_fallback", 4, "routing: updn: no root switch was found"},
		{"torus:dims=5x5", "updn", 0, ""},
		{"torus:dims=5x5", "minhop", 0, ""},
		{"torus:dims=5x5", "dor", 0, ""},
		{"torus:dims=5x5", "dfsssp,no_fallback", 0, ""},
		{"torus:dims=5x5", "nue,no_fallback", 0, ""},
		{"fattree:k=4", "ar_updn", 2, `"ar_updn" is a routing engine of NVIDIA's subnet manager; write updn`},
	} {
		r := run(t, t.TempDir(), caches(t), program(t, "ibsm"), "--fabric", c.fabric, "-R", c.engines, "-o")
		if r.status != c.status || !strings.Contains(r.stderr, c.says) ||
			strings.Contains(r.stdout, "SUBNET UP") != (c.status == 0) {
			t.Errorf("%s on %s: exit status %d, want %d and %q\n%s%s", c.engines, c.fabric, r.status, c.status, c.says,
				r.stdout, r.stderr)
		}
	}
}

// TestRootsTakeover: what OpenSM routed by updn with a file of roots, ibsm routes by updn with the same
// file, and without a Set of a forwarding table; also where the file is another manager's dump.
func TestRootsTakeover(t *testing.T) {
	t.Parallel()
	s := startIbsim(t, generated("torus:dims=5x5").file(t))
	roots, lfts := s.path("roots"), s.path("opensm-lfts.dump")
	if err := os.WriteFile(roots, []byte("# one is enough\n0xb83fd20300400000\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s.conf = "dump_files_dir " + s.dir + "\n"
	p := opensm.bringUp(s, "-R", "updn", "-a", roots, "-z", "-D", "0x43")
	p.stop()
	for _, c := range []struct{ args, says string }{
		{"-R updn -z -a " + roots, "updn tables configured on all switches kept=true"},
		{"-R file -U " + lfts, "file tables configured on all switches kept=true"},
		{"-R lash", "the routes of another manager are kept; they differ from those of the configured routing engine"},
	} {
		p := ibsm.bringUp(s, strings.Fields(c.args)...)
		p.stop()
		if said := p.text(); !strings.Contains(said, c.says) || strings.Contains(said, "LinearForwardingTable") {
			t.Errorf("%s: it wrote routes, or does not say %q:\n%s", c.args, c.says, tail(said))
		}
	}
}

// TestEngineTakeover: what OpenSM routed by an engine, ibsm routes by it with the same files: without a Set of
// a forwarding table or of a table of lanes, and with the same SL of each path.
func TestEngineTakeover(t *testing.T) {
	t.Parallel()
	const torus, tree = "torus:dims=5x5,hosts=1", "fattree:k=4"
	for _, c := range []struct {
		engine, spec string
		options      []string
	}{
		{"nue", torus, []string{"-Q", "--nue_max_num_vls", "4"}},
		{"torus-2QoS", "torus:dims=5x5x3,hosts=1", []string{"-Q"}},
		{"ftree", tree, nil},
		{"dfsssp", torus, []string{"-Q"}},
		{"sssp", torus, nil},
		{"dor", torus, nil},
		{"dnup", tree, nil},
		{"updn", tree, nil},
	} {
		t.Run(c.engine, func(t *testing.T) { takeOverEngine(t, c.spec, c.engine, c.options...) })
	}
	spec := torus
	if proof() {
		spec = "torus:dims=5x5x5,hosts=1"
	}
	s := takeOverEngine(t, spec, "lash", "-Q")
	ibsm.bringUp(s, "-R", "minhop").stop() // which keeps the tables, and knows no SLs
	p := ibsm.bringUp(s, "-R", "minhop,lash")
	p.stop()
	if said := p.text(); !strings.Contains(said, "paths get service levels that avoid credit loops") {
		t.Errorf("without lash:\n%s", tail(said))
	}
}

// takeOverEngine lets OpenSM bring up a fabric with an engine, and ibsm take it over.
func takeOverEngine(t *testing.T, spec, engine string, options ...string) *simulator {
	t.Helper()
	s := startIbsim(t, generated(spec).file(t))
	options = append(options, "-R", engine, "-t", "2000") // of an SMP: a busy machine may not run the simulator for a second
	if engine == "torus-2QoS" {
		options = append(options, "--torus_config", s.writeTorusConf())
	}
	p := opensm.bringUp(s, options...)
	var lids []mad.LID
	for range 2 * len(s.net.hosts()) { // and as many switches
		lids = append(lids, mad.LID(len(lids)+1))
	}
	theirs := s.pathSLs(lids)
	p.stop()
	if said := p.text(); !strings.Contains(said, engine+" tables configured on all switches") {
		t.Fatalf("OpenSM did not route by %s:\n%s", engine, tail(said))
	}
	p = ibsm.bringUp(s, options...)
	ours := s.pathSLs(lids)
	p.stop()
	said := p.text()
	for _, attr := range []string{"LinearForwardingTable", "SLtoVLMappingTable", "VLArbitrationTable"} {
		if strings.Contains(said, attr) {
			t.Errorf("%s: it wrote a %s:\n%s", engine, attr, tail(said))
		}
	}
	if !strings.Contains(said, engine+" tables configured on all switches kept=true") {
		t.Errorf("%s: it did not keep the routes:\n%s", engine, tail(said))
	}
	differ, used := 0, map[uint8]bool{}
	for path, sl := range theirs {
		if used[sl] = true; ours[path] != sl && engine != "dfsssp" { // of which OpenSM draws one for each question
			differ++
		}
	}
	lanes := slices.Contains(options, "-Q")
	if t.Logf("%s: compared %d paths with %d SLs, %d differ", engine, len(theirs), len(used), differ); differ > 0 ||
		len(used) > 1 != lanes || len(ours) != len(theirs) {
		t.Errorf("%s: %d of %d paths have another SL than with OpenSM", engine, differ, len(theirs))
	}
	return s
}

// pathSLs is what the SA gives as the SL of the path between each two LIDs.
func (s *simulator) pathSLs(lids []mad.LID) map[[2]mad.LID]uint8 {
	s.t.Helper()
	port, err := ibsim.Dial(s.t.Context(), ibsim.Config{SockName: s.socket, Node: s.net.witnessHost()})
	if err != nil {
		s.t.Fatal(err)
	}
	defer port.Close()
	return routingtest.PathSLs(s.t, port, lids)
}

// TestEngineDryRun: a dry run says which engine would route, and which would not and why, before the
// Sets.
func TestEngineDryRun(t *testing.T) {
	t.Parallel()
	r := run(t, t.TempDir(), caches(t), program(t, "ibsm"), "--fabric", "torus:dims=5x5", "-R", "updn,lash",
		"--dry-run")
	if want := "\nroutes: lash; updn failed: no root switch was found"; r.status != 0 ||
		!strings.Contains(r.stdout, want) {
		t.Errorf("exit status %d, want %q\n%s%s", r.status, want, tail(r.stdout), r.stderr)
	}
}
