package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ibsm/topo/net"
)

// TestTopology learns a plan from a manager, miswires the fabric, and finds what is wrong: in files, by the manager
// that has the plan, and where it is enforced.
func TestTopology(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var socket string
	ask := func(status int, says string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if got := run(append([]string{"--socket", socket}, args...), &out, &out); got != status ||
			!regexp.MustCompile(says).MatchString(out.String()) {
			t.Errorf("%v: exit status %d, want %d and %q\n%s", args, got, status, says, out.String())
		}
	}
	socket, _ = startManager(t, "fattree:k=4", "--state_dir", "none")
	ask(0, "^$", "topology", "learn", "-o", in("plan"))
	ask(0, `^0x[0-9a-f]{16},\d+,0x[0-9a-f]{16},\d+,Any,Active\n`, "topology", "learn", "--format=topoconfig")
	ask(0, "^48 of 48 cables of the plan are there\n$", "topology", "check", in("plan"))
	ask(1, "no plan: topo_config_file is not set", "topology", "check")

	n, err := net.Generate("fattree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	leaf := int32(-1)
	for i := range n.Nodes {
		if n.Nodes[i].Desc == "leaf-03" {
			leaf = int32(i)
		}
	}
	ports := n.Nodes[leaf].Ports
	ports[1].Peer, ports[2].Peer = ports[2].Peer, ports[1].Peer
	for _, num := range []uint8{1, 2} {
		to := ports[num].Peer
		n.Nodes[to.Node].Ports[to.Port].Peer = net.End{Node: leaf, Port: num}
	}
	var text bytes.Buffer
	if err := net.Write(&text, n); err != nil {
		t.Fatal(err)
	}
	write("miswired", text.String())
	const exchanged = "cables 1 and 2 of leaf-03 are exchanged"
	ask(1, "^"+exchanged+
		"\n46 of 48 cables of the plan are there, 1 difference\nibsmctl: error: the cables are not as planned\n$",
		"topology", "diff", in("plan"), in("miswired"))
	ask(1, exchanged, "topology", "check", in("plan"), "--fabric", in("miswired"))
	ask(2, "needs a PLAN", "topology", "check", "--fabric", in("miswired"))
	ask(1, `"kind": "exchanged",\n *"text": "`+exchanged, "topology", "diff", "--json", in("plan"), in("miswired"))
	write("plan-with-errors", "ibsm-topology 1\nswich a\n")
	ask(1, `plan-with-errors:2:1: "swich": expected`, "topology", "diff", in("plan-with-errors"), in("miswired"))

	write("conf", "topo_config_file "+in("plan")+"\n")
	socket, _ = startManager(t, in("miswired"), "-F", in("conf"), "--state_dir", "none")
	ask(1, "^"+exchanged+"\n46 of 48 cables of the plan are there, 1 difference\n", "topology", "check")
	ask(1, `"enforced": false,`, "topology", "check", "--json")
	ask(0, "\ncabling +46 of 48 cables of the plan are there, 1 difference: see ibsmctl topology check\n", "status")
	ask(0, exchanged, "why", "leaf-03:1")
	ask(0, "ACTIVE|Active", "why", "leaf-03:1")

	write("conf", "topo_config_file "+in("plan")+"\ntopo_config_enabled TRUE\n")
	socket, _ = startManager(t, in("miswired"), "-F", in("conf"), "--state_dir", "none")
	ask(1, `^`+exchanged+
		`\nheld back \(not in the plan\): leaf-03 port 1 - host-06 mlx5_0 port 1\nheld back \(not in the plan\): leaf-03 port 2 - host-05 mlx5_0 port 1\n46 of 48`, "topology", "check")
	ask(0, "; cables held back: 2: see ibsmctl topology check\n", "status")
	ask(0, `(?s)leaf-03 port 1.*is held back, because it is not in the plan.*`+exchanged, "why", "leaf-03:1")
	ask(0, `(?s)held back: cable leaf-03 port 2 - host-05 mlx5_0 port 1 is held back, because it is not in the plan`,
		"why", "host-05")
	ask(1, "^"+exchanged+"\n46 of 48", "topology", "check", in("plan"))
	ask(0, "^$", "topology", "learn", "--held", "-o", in("all"))
	ask(1, exchanged, "topology", "diff", in("plan"), in("all"))
	ask(0, "^$", "topology", "learn", "-o", in("used"))
	ask(1, "host-05 mlx5_0 is missing, with 1 cable\nhost-06 mlx5_0 is missing, with 1 cable\n46 of 48", "topology",
		"diff", in("plan"), in("used"))

	plan, err := os.ReadFile(in("plan"))
	if err != nil {
		t.Fatal(err)
	}
	uplink := regexp.MustCompile(`(?m)^cable (agg-\d+:\d+ - leaf-03:\d+|leaf-03:\d+ - agg-\d+:\d+).*\n`)
	if n := len(uplink.FindAll(plan, -1)); n != 2 {
		t.Fatalf("%d uplinks of leaf-03\n%s", n, plan)
	}
	// leaf-03 and its hosts are cut off, with planned cables between them
	write("cut", uplink.ReplaceAllString(string(plan), ""))
	write("conf", "topo_config_file "+in("cut")+"\ntopo_config_enabled TRUE\n")
	socket, _ = startManager(t, "fattree:k=4", "-F", in("conf"), "--state_dir", "none")
	ask(0, "; cables held back: 2: see", "status")
	ask(0, "^48 of 48 cables of the plan are there\n$", "topology", "check", in("plan"))
	ask(0, "^$", "topology", "learn", "--held", "-o", in("all"))
	ask(0, "^48 of 48 cables of the plan are there\n$", "topology", "diff", in("plan"), in("all"))
	ask(0, "^$", "topology", "learn", "-o", in("used"))
	ask(1, "\n44 of 48 cables of the plan are there", "topology", "diff", in("plan"), in("used"))

	write("conf", "topo_config_file "+in("plan")+"\nheld_back_sw_file "+in("switches")+"\n")
	spine := regexp.MustCompile(`(?m)^switch spine-01 (0x[0-9a-f]{16})$`).FindStringSubmatch(string(plan))
	if spine == nil {
		t.Fatal(string(plan))
	}
	write("switches", spine[1]+"\n")
	socket, _ = startManager(t, "fattree:k=4", "-F", in("conf"), "--state_dir", "none")
	ask(0, `^held back \(held_back_sw_file\): agg-01 port 3 - spine-01 port 1\n(.*\n){3}48 of 48 cables of the plan are there\n$`, "topology", "check")
	write("plan", strings.ReplaceAll(strings.ReplaceAll(string(plan), " 0xb83f", " 0x1234"), "leaf-03", "other"))
	ask(0, "", "config", "reload")
	for began := time.Now(); time.Since(began) < patience; <-time.After(10 * time.Millisecond) {
		var out bytes.Buffer
		run([]string{"--socket", socket, "topology", "check"}, &out, &out)
		if strings.Contains(out.String(), "another subnet") {
			break
		}
	}
	ask(1, `(?m)^the plan describes another subnet: 0 of its 36 devices are known\nibsmctl: error: the plan describes another subnet$`, "topology", "check")
	ask(0, "\ncabling +the plan describes another subnet: 0 of its 36 devices are known; cables held back: 4: see",
		"status")
}
