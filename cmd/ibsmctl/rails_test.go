package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"ibsm/routing/routingtest"
	"ibsm/topo/net"
)

// TestRails: what rails a manager sees, and which cables to exchange and to move.
func TestRails(t *testing.T) {
	n := routingtest.RailFabric(1)
	byName := map[string]int32{}
	for i := range n.Nodes {
		byName[n.Nodes[i].Desc] = int32(i)
	}
	plug := func(name string, leaf string, port uint8) {
		end := net.End{Node: byName[leaf], Port: port}
		n.Nodes[byName[name]].Ports[1].Peer, n.Nodes[end.Node].Ports[port].Peer = end,
			net.End{Node: byName[name], Port: 1}
	}
	plug("host-1-07 mlx5_2", "leaf-1-6", 7)
	plug("host-1-07 mlx5_5", "leaf-1-3", 7)
	plug("host-1-31 mlx5_7", "leaf-1-1", 31)
	n.Nodes[byName["leaf-1-8"]].Ports[31].Peer = net.NoEnd
	n.Nodes[byName["host-1-31 mlx5_0"]].Ports[1].Peer = net.NoEnd
	var text bytes.Buffer
	if err := net.Write(&text, n); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "fabric.topo")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	socket, _ := startManager(t, file, "-R", "minhop")
	ask := func(says string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if got := run(append([]string{"--socket", socket}, args...), &out, &out); got != 0 ||
			!regexp.MustCompile(says).MatchString(out.String()) {
			t.Errorf("%v: exit status %d, want %q\n%s", args, got, says, out.String())
		}
	}
	ask(`^8 rails of 31 to 32 ports in 1 unit, 3 of them on the wrong leaf\n\n`+
		`RAIL +ADAPTER +PORTS +UNITS +LEAVES\n1 +mlx5_0 +31 +1 +leaf-1-1\n2 +mlx5_1 +32 +1 +leaf-1-2\n(.*\n){6}\n`+
		`host-1-07 mlx5_2 port 1 of rail 3 is on leaf-1-6 port 7 but belongs on leaf-1-3: swap its cable with the cable of host-1-07 mlx5_5 port 1 on leaf-1-3 port 7, which corrects both\n`+
		`host-1-31 mlx5_7 port 1 of rail 8 is on leaf-1-1 port 31 but belongs on leaf-1-8: move its cable to free port 31 there\n$`, "rails")
	ask(`"rails":\[\{"rail":1,"places":\["mlx5_0"\],"ports":31,"leaves":\[\{"node":"0x[0-9a-f]{16}","desc":"leaf-1-1","unit":1\}\]\}`, "rails", "--json")
	ask(`^HOST +DEVICE +LID +STATE +RAIL +UNIT +BLOCK +LEAF +PORT GUID\n`+
		`host-1-02 +mlx5_0 +\d+ +Active +1 +1 +leaf-1-1 +leaf-1-1 +0x[0-9a-f]{16}\n(host-1-02 .*\n){7}$`, "hosts", "host-1-02")
	ask(`^(.*\n){17}$`, "hosts", "host-1-0[2-3]")
	ask(`"hosts":\[\n\{"name":"host-1-31","ports":\[\{.*"device":"mlx5_7","rail":8,"leaf":\{.*"port":31\},"unit":1,`,
		"hosts", "host-1-31", "--json")
	ask(`^(.*\n){3}$`, "hosts", "host-1-0[2-3]", "--rail", "2")
	ask(`^HOST.*\n(host-1-0[2-3] +mlx5_[4-5] .*\n){4}$`, "hosts", "host-1-0[2-3]", "--device", "mlx5_[4-5]")
	// no port of rail 3 of host-1-07, whose cable is on another leaf, but that of its adapter
	ask(`^# 32 hosts.*\nSwitchName=leaf-1-3 Nodes=host-1-\[01-06,08-32\]\nSwitchName=leaf-1-6 Nodes=host-1-07\n`+
		`SwitchName=fabric Switches=leaf-1-\[3,6\]\n$`, "dump", "slurm", "--device", "mlx5_2")
	ask(`^host-1-01 example.com/tier-0=leaf-1-3 example.com/tier-1=fabric\n(.*\n){31}$`, "hosts", "--labels", "--device",
		"mlx5_2", "--label-prefix", "example.com/tier-")
	ask(`(?m)^hosts of each of 8 rails +255 +31 +1\.00 +1 +-$`, "routes", "quality")
	ask(`"rails":\{"rails":8,"hosts":255,"shifts":31,"shift":1,"worst":1\}`, "routes", "quality", "--json")
	other, _ := startManager(t, "fattree:k=4")
	socket = other
	ask("^no rails: no two adapters are known to be of one host, by their NodeDescriptions or SystemImageGUIDs\n$",
		"rails")
}
