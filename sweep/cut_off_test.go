package sweep

import (
	"slices"
	"testing"

	"ibsm/routing"
	"ibsm/sweep/exclude"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// TestCutOff: hosts that the manager cannot reach without some switches or cables are named, and all pairs of ports are
// counted that have no way to each other. An adapter with two ports is no way to others.
func TestCutOff(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2") // two hosts on each of four leaves
	nodes := map[string]int32{}
	for i := range n.Nodes {
		nodes[n.Nodes[i].Desc] = int32(i)
	}
	leaf, host := &n.Nodes[nodes["leaf-01"]], &n.Nodes[nodes["host-08 mlx5_0"]]
	leafEnd, hostEnd := net.End{Node: nodes["leaf-01"], Port: uint8(len(leaf.Ports))},
		net.End{Node: nodes["host-08 mlx5_0"], Port: 2}
	second := host.Ports[1]
	second.GUID, second.Peer = second.GUID+1<<40, leafEnd
	leaf.Ports = append(leaf.Ports, net.Port{Peer: hostEnd, Width: second.Width, Speed: second.Speed})
	host.Ports = append(host.Ports, second)

	for name, c := range map[string]struct {
		without []routing.SwitchPort
		hosts   []string
		pairs   int
	}{
		"nothing": {nil, nil, 0},
		"a root":  {[]routing.SwitchPort{{Switch: n.Nodes[nodes["spine-01"]].GUID}}, nil, 0},
		"both roots": {[]routing.SwitchPort{{Switch: n.Nodes[nodes["spine-01"]].GUID},
			{Switch: n.Nodes[nodes["spine-02"]].GUID}},
			[]string{"host-03 mlx5_0", "host-04 mlx5_0", "host-05 mlx5_0", "host-06 mlx5_0", "host-07 mlx5_0"},
			36 - 3 - 3},
		"a leaf": {[]routing.SwitchPort{{Switch: n.Nodes[nodes["leaf-02"]].GUID}},
			[]string{"host-03 mlx5_0", "host-04 mlx5_0"}, 36 - 21},
		"a port of two": {[]routing.SwitchPort{{Switch: leaf.GUID, Port: leafEnd.Port}}, nil, 8},
		"one absent":    {[]routing.SwitchPort{{Switch: 1}}, nil, 0},
		"our own": {[]routing.SwitchPort{{Switch: leaf.GUID, Port: 1}},
			[]string{"host-02 mlx5_0", "host-03 mlx5_0", "host-04 mlx5_0", "host-05 mlx5_0", "host-06 mlx5_0",
				"host-07 mlx5_0", "host-08 mlx5_0"}, 8},
		"a port and a root": {
			[]routing.SwitchPort{{Switch: leaf.GUID, Port: 2}, {Switch: n.Nodes[nodes["spine-01"]].GUID}},
			[]string{"host-02 mlx5_0"}, 8,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newHarnessOf(t, n, Config{})
			hosts, pairs := exclude.CutOff(b.walk().Builder, c.without)
			if !slices.Equal(hosts, c.hosts) || pairs != c.pairs {
				t.Errorf("%q and %d pairs, want %q and %d", hosts, pairs, c.hosts, c.pairs)
			}
		})
	}
}
