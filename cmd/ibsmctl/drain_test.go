package main

import (
	"bytes"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/topo/net"
)

// TestDrain: what is drained is in the manager's file, survives a restart, and is listed with the hosts on it. What
// cannot be drained is refused or reported, and the file keeps lines of others.
func TestDrain(t *testing.T) {
	dir := t.TempDir()
	conf, file := filepath.Join(dir, "opensm.conf"), filepath.Join(dir, "drain.conf")
	if err := os.WriteFile(conf, []byte("drain_file "+file+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket, cmd := startManager(t, "fattree:k=4", "-R", "minhop", "-F", conf, "--state_dir", "none")
	ask := func(status int, says string, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if got := run(append([]string{"--socket", socket}, args...), &out, &out); got != status ||
			!regexp.MustCompile(says).MatchString(out.String()) {
			t.Errorf("%v: exit status %d, want %d and %q\n%s", args, got, status, says, out.String())
		}
		return out.String()
	}
	mustHold := func(want string) {
		t.Helper()
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("the file has %q, want %q: %v", text, want, err)
		}
	}
	ask(0, "^nothing is drained\n$", "drain")
	out := ask(0, `(?m)^spine-01 +all +drained *$`, "drain", "spine-01", "leaf-02:3")
	if !regexp.MustCompile(`(?m)^leaf-02 +3 +drained *$`).MatchString(out) {
		t.Error(out)
	}
	guid := regexp.MustCompile(`(?m)^(0x[0-9a-f]{16}) # spine-01\n(0x[0-9a-f]{16}) 3 # leaf-02\n$`)
	text, err := os.ReadFile(file)
	found := guid.FindStringSubmatch(string(text))
	if err != nil || found == nil {
		t.Fatal(string(text), err)
	}
	ask(0, "\ndrained +1 switch, 1 port: ibsmctl drain lists them\n", "status")
	ask(0, `"state":"drained"`, "drain", "--json")
	if err := os.WriteFile(file, append([]byte("# for the cabling on Monday\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	ask(1, `(?s)leaf-01 +all +drained +host-01 mlx5_0, host-02 mlx5_0.*leaf-01 +1 +still needed +host-01 mlx5_0.*routes still use 1 of these`, "drain", "leaf-01", "leaf-01:1")
	ask(1, `"state":"still needed"`, "drain", "--json")
	ask(0, "spine-01", "undrain", "leaf-01", "leaf-01:1")
	mustHold("# for the cabling on Monday\n" + string(text))
	ask(1, "no node is named", "drain", "nosuch")
	ask(1, "host-01 is not a switch", "drain", "host-01")
	ask(1, "leaf-01 has 4 ports", "drain", "leaf-01:5")
	ask(1, "spine-02 is not drained", "undrain", "spine-02")
	ask(2, "expected SWITCH", "undrain")
	ask(0, `(?s)^load +\d+ of \d+ link directions .*all hosts +16 +15 +\d\.\d\d +\d +0\.\d{3}\n0x7fff +16 `, "routes",
		"quality")
	ask(0, `"bisection":0\.\d`, "routes", "quality", "--json")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	socket, _ = startManager(t, "fattree:k=4", "-R", "minhop", "-F", conf, "--state_dir", "none")
	ask(0, `spine-01 +all +drained`, "drain")
	ask(0, "leaf-02 +3", "undrain", found[1])
	ask(0, "nothing is drained", "undrain", "leaf-02:3")
	ask(0, `(?s)routing engine +minhop +tree\n.*flows on the busiest link, shifts: mean +\d\.\d\d +1\.00\n.* entries in \d+ blocks of forwarding tables change, on \d+ switches\nproof: no credit loop between hosts\ntransition: safe`, "plan", "--engine", "auto")
	ask(0, `routing engine +minhop +minhop\n`, "plan", "--reroute")
	ask(0, `(?s)routing engine +minhop +tree\n.*torus-2QoS failed: `, "plan", "--engine", "torus-2QoS,tree")
	ask(0, `(?s)routing engine +minhop +minhop\n.*2 hosts are cut off: host-03 mlx5_0, host-04 mlx5_0\n29 host pairs would be disconnected\n`, "plan", "--without", "leaf-02")
	ask(0, `proof: no credit loop between hosts`, "plan", "--without", "spine-02", "--without", "leaf-02:3")
	ask(1, "host-01 is not a switch", "plan", "--without", "host-01")
	for query, says := range map[string]string{"0x1": "no node or port has GUID", found[1] + ":9": "has 4 ports",
		"x": "no node is named"} {
		q := url.Values{"without": {query}}
		if _, err := ctl.NewClient(socket).Plan(t.Context(), q, func(*string) error {
			return nil
		}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("a plan without %s: %v, want %q", query, err, says)
		}
	}
	ask(1, "spine-02 has 4 ports", "plan", "--without", "spine-02:7")
	ask(1, "unknown engine nosuch", "plan", "--engine", "nosuch")
	ask(0, `"change":{"before":{"engine":"minhop",.*"proof":"no credit loop`, "plan", "--engine", "tree", "--json")
	ask(0, `^{"outdated":false,"routes":"minhop","steps":`, "plan", "--json")
	if err := os.WriteFile(file, []byte("0x1\n0x2 x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask(1, regexp.QuoteMeta(file)+":2:5: expected a port of the switch", "drain", "spine-01")
	mustHold("0x1\n0x2 x\n")
	if err := os.WriteFile(file, []byte("0x1\n"+strings.TrimSpace(found[2])+" 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask(0, `(?s)0x0000000000000001 +all +absent.*leaf-02 +3 +drained.*spine-01`, "drain", "spine-01")
	ask(0, "^nothing is drained\n$", "undrain", "--all")
	mustHold("")
}

// TestLineCard: the name of a line card stands for its chips, and that of a director for all.
func TestLineCard(t *testing.T) {
	n, err := net.Generate("fattree:k=4,levels=2")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n.Nodes {
		if num := strings.TrimPrefix(n.Nodes[i].Desc, "leaf-0"); n.Nodes[i].Type == mad.Switch &&
			num != n.Nodes[i].Desc {
			n.Nodes[i].Desc = map[string]string{"1": "MF0;core:CS8500/L01/U1", "2": "MF0;core:CS8500/L01/U2",
				"3": "MF0;core:CS8500/L02/U1", "4": "MF0;core:CS8500/L02/U2"}[num]
		}
	}
	dir := t.TempDir()
	conf, topology := filepath.Join(dir, "opensm.conf"), filepath.Join(dir, "director.topo")
	f, err := os.Create(topology)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(net.Write(f, n), f.Close(),
		os.WriteFile(conf, []byte("drain_file "+filepath.Join(dir, "drain.conf")+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	socket, _ := startManager(t, topology, "-R", "minhop", "-F", conf, "--state_dir", "none")
	ask := func(status int, says string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if got := run(append([]string{"--socket", socket}, args...), &out, &out); got != status ||
			!regexp.MustCompile(says).MatchString(out.String()) {
			t.Errorf("%v: exit status %d, want %d and %q\n%s", args, got, status, says, out.String())
		}
	}
	card, chip := "MF0;core:CS8500/L02",
		`(?s)MF0;core:CS8500/L02/U1 +all +drained +host-05 mlx5_0, host-06 mlx5_0.*MF0;core:CS8500/L02/U2 +all +drained +host-07 mlx5_0, host-08 mlx5_0`
	ask(0, `(?s)4 hosts are cut off: host-05 mlx5_0, .*host-08 mlx5_0\n22 host pairs`, "plan", "--without", card)
	ask(0, chip, "drain", card)
	ask(0, `^nothing is drained`, "undrain", card)
	ask(1, `no node is named`, "drain", card+":1")
	ask(1, `no node is named`, "drain", "MF0;core:CS8500/L0")
	ask(0, chip, "drain", card+"/U1", card+"/U2")
	ask(0, `^nothing is drained`, "undrain", "MF0;core:CS8500")
	ask(1, "is not drained", "undrain", card)
}
