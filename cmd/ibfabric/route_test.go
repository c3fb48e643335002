package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ibsm/mad/madtest"
	"ibsm/routing/routingtest"
	"ibsm/topo/net"
)

func TestRouteUsage(t *testing.T) {
	for _, tt := range []struct {
		args   string
		code   int
		stderr string
	}{
		{"", 2, "ibfabric: error: an argument is missing\nhint: see ibfabric route --help\n"},
		{"fattree:k=4 --lanes 16", 2, "ibfabric: error: --lanes 16: expected 1 to 15\n"},
		{"fattree:k=4 --lmc 8", 2, "ibfabric: error: --lmc 8: expected 0 to 7\n"},
		{"fattree:k=4 -R minhop,maxhop", 2,
			"ibfabric: error: --engine maxhop: unknown engine\nhint: expected some of minhop, updn, dnup, dor, ftree, lash, sssp, dfsssp, torus-2QoS, nue, tree, dragonfly, hyperx, file, auto\n"},
		{"fattree:k=4 --missing 5..1%", 2,
			"ibfabric: error: --missing 5..1%: \"5\": expected a share from 0% to 100%\nhint: expected a range such as 0%..10%\n"},
		{"fattree:k=4 --missing 5%..1%", 2,
			"ibfabric: error: --missing 5%..1%: the first share is greater than the last\nhint: expected a range such as 0%..10%\n"},
		{"fattree:k=4 --missing 101%", 2,
			"ibfabric: error: --missing 101%: \"101%\": expected a share from 0% to 100%\nhint: expected a range such as 0%..10%\n"},
		{"fattree:k=4 -R updn --root x", 2, "ibfabric: error: --root x: GUID \"x\": expected 1 to 16 hexadecimal digits\n"},
		{"torus:dims=5,hosts=1 -R updn", 1, "ibfabric: error: no engine of the list routes the topology\n"},
		{"torus:dims=5,hosts=1 -R updn --root b83fd20300400000", 0, ""},
		{"fattree:k=4 -R lash --lash-start-vl 15", 1, "ibfabric: error: no engine of the list routes the topology\n"},
		{"torus:dims=5,hosts=1", 1, "ibfabric: error: routes between hosts have a credit loop\n"},
		{"torus:dims=5,hosts=1 -R lash --lanes 1", 1, "ibfabric: error: no engine of the list routes the topology\n"},
		{"torus:dims=5,hosts=1 -R lash --lanes 2", 0, ""},
		{"torus:dims=4x4x4,hosts=1 -R lash --do-mesh-analysis --lanes 1", 0, ""},
		{"torus:dims=4x4x4,hosts=1 -R nue --lanes 1", 0, ""},
		{"torus:dims=4x4x4,hosts=1 -R nue --nue-max-num-vls 0 --nue-include-switches", 0, ""},
		{"fattree:k=4,missing-links=2 -l 2", 0, ""},
	} {
		var stdout, stderr bytes.Buffer
		code := run(append([]string{"route"}, strings.Fields(tt.args)...), &stdout, &stderr)
		if code != tt.code || stderr.String() != tt.stderr {
			t.Errorf("%s: exit %d, want %d; stderr\n%s\nwant\n%s", tt.args, code, tt.code, stderr.String(), tt.stderr)
		}
	}
}

// TestRouteCompare: each engine has a row for each share that is missing, with what the tests of the engines have
// found: a whole tree of 128 hosts has 124 routes on the busiest link, and minhop leaves links unused.
func TestRouteCompare(t *testing.T) {
	var out bytes.Buffer
	if code := run(strings.Fields("route fattree:k=8 -R minhop,ftree,tree --missing 0%..2%"), &out, &out); code != 0 {
		t.Fatal(out.String())
	}
	for _, want := range []string{
		`(?m)^0% +minhop +[0-9.]+ +0 +0 of 1 +192 +118\.0 +448 +3\.62 +4 `, // as OpenSM's tables
		`(?m)^0% +tree +[0-9.]+ +0 +0 of 1 +0 +118\.0 +124 +1\.00 +1 `,     // 128 hosts: 4 * 124 / 4
		`(?m)^1% +ftree +refuses: .* name the roots`, `(?m)^1% +tree +[0-9.]+ +0 +0 of 5 `,
		`(?m)^2% +minhop +[0-9.]+ +0 +0 of 5 `,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}

// TestRouteRails: a fabric with rails has a line that says so, and the shifts within them; one without has neither.
func TestRouteRails(t *testing.T) {
	var text, out bytes.Buffer
	if err := net.Write(&text, routingtest.RailFabric(2)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rails.topo")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := run([]string{"route", file}, &out, &out); code != 0 {
		t.Fatal(out.String())
	}
	if code := run([]string{"route", file, "--missing", "0%"}, &out, &out); code != 0 {
		t.Fatal(out.String())
	}
	for _, want := range []string{ // whole units, which any engine routes without a conflict
		`(?m)^rails +8 rails of 64 ports in 2 units$`,
		`(?m)^ +within all rails at once, 63: 1\.00 flows on the fullest link on average, 1 at most$`,
		`(?m)^0% +minhop .* 1\.00 +1 +1\.00 +0\.\d+ +\d+\.\d%$`,
		`(?m)^hosts +64 have several LIDs, .* cuts \d+\.\d % of them`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	out.Reset()
	if code := run([]string{"route", "fattree:k=4", "--missing", "0%"}, &out, &out); code != 0 ||
		!regexp.MustCompile(`(?m)^0% +minhop .* - +0\.\d+ +-$`).MatchString(out.String()) {
		t.Errorf("exit %d\n%s", code, out.String())
	}
}

// An engine that cannot route the topology says why, and the next one routes it.
func TestRouteNext(t *testing.T) {
	var out bytes.Buffer
	code := run(strings.Fields("route torus:dims=5,hosts=1 -R lash,minhop --lanes 1"), &out, &out)
	if code != 1 || !strings.Contains(out.String(), "lash cannot route this topology: more than 1 lane is needed") ||
		!strings.Contains(out.String(), "minhop, ") {
		t.Errorf("exit %d\n%s", code, out.String())
	}
}

// TestRouteFile: what updn has dumped, the engine file routes: without a credit loop on a ring, on
// which minhop has one.
func TestRouteFile(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if code := run(strings.Fields("route torus:dims=5,hosts=1 -R updn --root b83fd20300400000 --connect-roots --dump "+
		dir), &out, &out); code != 0 {
		t.Fatal(out.String())
	}
	if code := run(strings.Fields("route torus:dims=5,hosts=1 -R file --lfts-file "+dir+"/opensm-lfts.dump"), &out,
		&out); code != 0 || !strings.Contains(out.String(), "engine        file, ") {
		t.Errorf("exit %d\n%s", code, out.String())
	}
	if code := run(
		strings.Fields("route torus:dims=5,hosts=1 -R file --lid-matrix-file "+dir+"/opensm-lid-matrix.dump"), &out,
		&out); code == 2 {
		t.Errorf("exit %d\n%s", code, out.String())
	}
	if code := run(strings.Fields("route torus:dims=5,hosts=1 -R file --lfts-file "+dir+"/opensm-lid-matrix.dump"),
		&out, &out); code != 1 {
		t.Errorf("a file of another kind: exit %d\n%s", code, out.String())
	}
}

// TestRouteCreditLoops: ibdmchk, which reads the dumps, finds a credit loop where we find one, and
// none where we find none; between hosts, and with switches.
func TestRouteCreditLoops(t *testing.T) {
	madtest.Need(t, "ibdmchk")
	both := [2]int{}
	for _, args := range []string{
		"fattree:k=4", "fattree:k=8,levels=2", "torus:dims=5,hosts=1", "torus:dims=5,hosts=1 -R lash",
		"torus:dims=4x5,hosts=1", "torus:dims=4x5,hosts=1 -R lash", "torus:dims=4x5,hosts=1 -R dfsssp",
		"torus:dims=4x5,hosts=1 -R dor", "mesh:dims=4x4,hosts=1 -R dor", "hyperx -R dfsssp",
		"torus:dims=3x3x3,hosts=1 -R lash", "mesh:dims=4x4,hosts=1", "hyperx -R lash",
		"mesh:dims=4x4,hosts=1 -R updn --root b83fd20300400000",
		"torus:dims=4x5,hosts=1 -R updn --root b83fd20300400000", "random:switches=20,degree=4,hosts=1,seed=3",
		"random:switches=20,degree=4,hosts=1,seed=3 -R lash",
		"fattree:k=4 -R auto", "fattree:k=8,missing-links=5%,seed=2 -R auto",
		"fattree:k=8,levels=2,missing-links=3%,seed=4 -R auto",
		"random:switches=20,degree=4,hosts=1,seed=3,missing-links=5% -R auto", "hypercube:dim=4 -R auto",
	} {
		dir := filepath.Join(t.TempDir(), "dumps")
		var out bytes.Buffer
		run(append(strings.Fields("route "+args), "--dump", dir), &out, &out)
		for i, none := range []string{"none between hosts", "none with traffic of switch ports 0"} {
			check := []string{"-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs"}
			if i == 1 {
				check = append(check, "-a")
			}
			if _, err := os.Stat(filepath.Join(dir, "opensm-path-sl.dump")); err == nil {
				check = append(check, "-c", "opensm-path-sl.dump")
			}
			cmd := exec.CommandContext(t.Context(), "ibdmchk", check...)
			cmd.Dir = dir
			said, _ := cmd.CombinedOutput() // its words count, not its exit status
			free := strings.Contains(string(said), "-I- no credit loops found")
			if free == strings.Contains(string(said), "-E- credit loops in routing") {
				t.Fatalf("%s: ibdmchk says neither\n%s", args, said)
			}
			if free != strings.Contains(out.String(), none) {
				t.Errorf("%s: ibdmchk finds no credit loop: %v; found\n%s", args, free, out.String())
			}
			if free {
				both[0]++
			} else {
				both[1]++
			}
		}
	}
	if both[0] == 0 || both[1] == 0 {
		t.Errorf("%d free of credit loops, %d with one", both[0], both[1])
	}
}
