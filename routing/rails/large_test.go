package rails

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/topo/net"
)

// large is hosts with 8 adapters each in units of 32, whose leaves are a tree, eight on one.
func large(hosts int, name func(host, adapter int) string) *net.Net {
	n := &net.Net{}
	add := func(kind mad.NodeType, desc string, ports int) int32 {
		guid := mad.GUID(1+len(n.Nodes)) << 16
		n.Nodes = append(n.Nodes, net.Node{ID: fmt.Sprintf("%c-%016x", " HSR"[kind], uint64(guid)), Desc: desc,
			Type: kind, GUID: guid, SystemImageGUID: 7, Ports: make([]net.Port, ports+1)})
		for i := range ports + 1 {
			n.Nodes[len(n.Nodes)-1].Ports[i] = net.Port{Peer: net.NoEnd, GUID: guid + mad.GUID(i)}
		}
		return int32(len(n.Nodes) - 1)
	}
	connect := func(a, b net.End) {
		n.Nodes[a.Node].Ports[a.Port].Peer, n.Nodes[b.Node].Ports[b.Port].Peer = b, a
	}
	var leaves []int32
	for unit := range hosts / 32 {
		for rail := range 8 {
			leaf := add(mad.Switch, fmt.Sprintf("leaf-%d-%d", unit, rail), 41)
			if i := len(leaves); i > 0 {
				connect(net.End{Node: leaves[(i-1)/8], Port: uint8(34 + (i-1)%8)}, net.End{Node: leaf, Port: 33})
			}
			leaves = append(leaves, leaf)
			for h := range 32 {
				connect(net.End{Node: leaf, Port: uint8(1 + h)},
					net.End{Node: add(mad.CA, name(unit*32+h, rail), 1), Port: 1})
			}
		}
	}
	return n
}

// TestLarge: 40,000 ports take a second, whatever they are called.
func TestLarge(t *testing.T) {
	hosts := 640
	if os.Getenv("IBSM_PROOF") != "" {
		hosts = 4992
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for what, name := range map[string]func(host, adapter int) string{
		"rails":           func(host, adapter int) string { return fmt.Sprintf("host-%d mlx5_%d", host, adapter) },
		"one name":        func(int, int) string { return "host mlx5_0" },
		"one host":        func(host, adapter int) string { return fmt.Sprintf("host mlx5_%d", host*8+adapter) },
		"no host has two": func(host, adapter int) string { return fmt.Sprintf("host-%d-%d mlx5_0", host, adapter) },
		"names of zeros": func(host, adapter int) string {
			return strings.Repeat("0", 40) + fmt.Sprintf(" a%022d", host*8+adapter)
		},
		"one system image": func(int, int) string { return "" },
		"hosts of 64 adapters": func(host, adapter int) string {
			return fmt.Sprintf("host-%d a%d", host/8, host%8*8+adapter)
		},
		"random": func(int, int) string {
			return fmt.Sprintf("host-%d a%d", rng.IntN(hosts), rng.IntN(1<<30))
		},
	} {
		found := walk(t, large(hosts, name))
		start := time.Now()
		r := Find(found)
		took := time.Since(start)
		t.Logf("%s: %.3f s, %s", what, took.Seconds(), r.Seen)
		if took > 10*time.Second || (what == "rails") != (len(r.Rails) > 0) && !strings.HasPrefix(what, "hosts of 64") {
			t.Errorf("%s: %v, %s", what, took, r.Seen)
		}
	}
}
