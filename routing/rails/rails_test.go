package rails

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/plural"
	"ibsm/routing/routingtest"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

func walk(t *testing.T, n *net.Net) *topo.Topo {
	t.Helper()
	found, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// desc is the NodeDescription of a port's node, and leafName that of a switch.
func desc(t *topo.Topo, p topo.PortIdx) string { return t.Nodes[t.Ports[p].Node].Desc.String() }
func leafName(t *topo.Topo, s topo.SwitchIdx) string {
	return t.Nodes[t.Switches[s]].Desc.String()
}

// shuffle gives nodes GUIDs in no order.
func shuffle(n *net.Net, rng *rand.Rand) {
	for i, guid := range rng.Perm(len(n.Nodes)) {
		node := &n.Nodes[i]
		node.GUID = mad.GUID(guid+1) << 16
		node.SystemImageGUID = node.GUID
		for p := range node.Ports {
			node.Ports[p].GUID = node.GUID + mad.GUID(p)
		}
	}
}

// exchange has the cables of two ports of adapters change places at the switches.
func exchange(n *net.Net, a, b int32) {
	ends := [2]net.End{n.Nodes[a].Ports[1].Peer, n.Nodes[b].Ports[1].Peer}
	move(n, a, ends[1])
	move(n, b, ends[0])
}

// move puts the cable of an adapter into a port of a switch.
func move(n *net.Net, a int32, to net.End) {
	if was := n.Nodes[a].Ports[1].Peer; was != net.NoEnd && n.Nodes[was.Node].Ports[was.Port].Peer.Node == a {
		n.Nodes[was.Node].Ports[was.Port].Peer = net.NoEnd
	}
	n.Nodes[a].Ports[1].Peer = to
	n.Nodes[to.Node].Ports[to.Port].Peer = net.End{Node: a, Port: 1}
}

// adapters are the nodes that are channel adapters.
func adapters(n *net.Net) (all []int32) {
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			all = append(all, int32(i))
		}
	}
	return all
}

// TestWhole: the rails of whole fabrics are those that the generator made, whatever GUIDs and names hosts have.
func TestWhole(t *testing.T) {
	for _, units := range []int{1, 2, 4, 8} {
		for seed := range uint64(3) {
			n, rng := routingtest.RailFabric(units), rand.New(rand.NewPCG(seed, uint64(units)))
			truth := map[string]string{} // number of the rail, by NodeDescription
			names := rng.Perm(1000)
			for _, a := range adapters(n) {
				was := n.Nodes[a].Desc
				if seed > 0 { // names of hosts in no order
					var unit, host, rail int
					if _, err := fmt.Sscanf(was, "host-%d-%d mlx5_%d", &unit, &host, &rail); err != nil {
						t.Fatal(err)
					}
					n.Nodes[a].Desc = fmt.Sprintf("gpu %x HCA-%d", names[unit*32+host], rail+1)
				}
				truth[n.Nodes[a].Desc] = was[len(was)-1:]
			}
			if seed > 0 {
				shuffle(n, rng)
			}
			found := walk(t, n)
			r := Find(found)
			want := fmt.Sprintf("8 rails of %d ports in %s", 32*units, plural.Of(units, "unit"))
			if r.Seen != want || len(r.Rails) != 8 || len(r.Units) != units || len(r.Wrong) != 0 ||
				len(r.Of) != 256*units {
				t.Fatalf("%d units: %s, want %s", units, r.Seen, want)
			}
			for i, rail := range r.Rails {
				for _, p := range rail.Ports {
					if truth[desc(found, p)] != fmt.Sprint(i) || r.Of[p] != i {
						t.Fatalf("%q is in rail %d", desc(found, p), i)
					}
				}
				for u, s := range rail.Leaves {
					if !strings.HasSuffix(leafName(found, s), fmt.Sprintf("-%d", i+1)) ||
						!slices.Contains(r.Units[u], s) {
						t.Fatalf("rail %d has leaf %q", i, leafName(found, s))
					}
				}
			}
		}
	}
}

// TestCluster582: the leaves of a cluster in use have the numbers of rail and unit in their names, by which its
// operator cabled it. Two cables of one host are exchanged there. Adapters that have no host's name are in the rail of
// their leaf.
func TestCluster582(t *testing.T) {
	found := walk(t, routingtest.Cluster582(t))
	r := Find(found)
	if want := "4 rails of 123 to 141 ports in 8 units, 2 of them on the wrong leaf"; r.Seen != want {
		t.Errorf("%s, want %s", r.Seen, want)
	}
	for _, w := range r.Wrong {
		if !w.Both || !strings.HasPrefix(desc(found, w.Port), "b08-p1-dgx-08-c01 HCA-") ||
			desc(found, w.Exchange)[:18] != desc(found, w.Port)[:18] || w.Exchange == w.Port {
			t.Errorf("%q is wrong, with %+v", desc(found, w.Port), w)
		}
	}
	names := 0
	for i, rail := range r.Rails {
		for _, s := range rail.Leaves {
			if _, after, _ := strings.Cut(leafName(found, s), "IBLEAF-"); !strings.HasPrefix(after,
				fmt.Sprintf("%02d-", i+1)) {
				t.Errorf("rail %d has leaf %q", i+1, leafName(found, s))
			}
		}
		names += len(rail.Places)
	}
	for _, e := range found.EndPorts {
		if _, is := r.Of[e]; is != found.IsHost(e) {
			t.Errorf("%q: %v", desc(found, e), is)
		}
	}
	if names != 8 { // units with HCA-1, one unit with mlx5_0
		t.Errorf("%+v", r.Rails)
	}
}

// TestWrong: cables are exchanged and moved at random. What is wrong is what was moved, and when the cables are where
// they are said to belong nothing is.
func TestWrong(t *testing.T) {
	seeds := 10
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 200
	}
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := routingtest.RailFabric(1 + int(seed)%4)
		shuffle(n, rng)
		leafOf := func(a int32) int32 { return n.Nodes[a].Ports[1].Peer.Node }
		right, hosts := map[int32]int32{}, adapters(n)
		for _, a := range hosts {
			right[a] = leafOf(a)
		}
		byName := map[string]int32{}
		for i := range n.Nodes {
			byName[n.Nodes[i].Desc] = int32(i)
		}
		some := make([]int32, 12) // of few, so that three and more change places
		for i := range some {
			some[i] = hosts[rng.IntN(len(hosts))]
		}
		for range 1 + rng.IntN(12) {
			if a, b := some[rng.IntN(len(some))], some[rng.IntN(len(some))]; leafOf(a) != leafOf(b) {
				exchange(n, a, b)
			}
		}
		for round := 0; ; round++ {
			found := walk(t, n)
			r := Find(found)
			want := map[int32]bool{}
			for _, a := range hosts {
				if leafOf(a) != right[a] {
					want[a] = true
				}
			}
			for _, w := range r.Wrong {
				a := byName[desc(found, w.Port)]
				if !want[a] || byName[leafName(found, w.Want)] != right[a] ||
					byName[leafName(found, w.On)] != leafOf(a) {
					t.Fatalf("seed %d: %q is said to be wrong on %q, to belong to %q", seed, desc(found, w.Port),
						leafName(found, w.On), leafName(found, w.Want))
				}
				delete(want, a)
			}
			if len(want) > 0 {
				t.Fatalf("seed %d: of those that are on the wrong leaf %d are not found", seed, len(want))
			}
			if len(r.Wrong) == 0 {
				break
			}
			w := r.Wrong[0]
			if round == 24 || w.Exchange == topo.None || w.Free != 0 { // there are no more ports than hosts
				t.Fatalf("seed %d, round %d: %+v", seed, round, w)
			}
			a, b := byName[desc(found, w.Port)], byName[desc(found, w.Exchange)]
			if exchange(n, a, b); leafOf(a) != right[a] || w.Both != (leafOf(b) == right[b]) {
				t.Fatalf("seed %d: after the exchange %+v", seed, w)
			}
		}
	}
}

// TestFreePort: a port whose place on its leaf is free is moved there.
func TestFreePort(t *testing.T) {
	n := routingtest.RailFabric(2)
	byName := map[string]int32{}
	for i := range n.Nodes {
		byName[n.Nodes[i].Desc] = int32(i)
	}
	move(n, byName["host-1-05 mlx5_2"], n.Nodes[byName["host-1-09 mlx5_4"]].Ports[1].Peer)
	n.Nodes[byName["host-1-09 mlx5_4"]].Ports[1].Peer = net.NoEnd // it is down
	mustBe := func(free uint8) {
		t.Helper()
		found := walk(t, n)
		r := Find(found)
		if len(r.Wrong) != 1 {
			t.Fatalf("%+v", r.Wrong)
		}
		if w := r.Wrong[0]; desc(found, w.Port) != "host-1-05 mlx5_2" || leafName(found, w.On) != "leaf-1-5" ||
			leafName(found, w.Want) != "leaf-1-3" || w.Exchange != topo.None || w.Free != free {
			t.Errorf("%+v, want port %d", w, free)
		}
	}
	mustBe(5)
	leaf := &n.Nodes[byName["leaf-1-3"]]
	leaf.Ports[64].Peer, n.Nodes[leaf.Ports[64].Peer.Node].Ports[leaf.Ports[64].Peer.Port].Peer = net.NoEnd, net.NoEnd
	mustBe(5) // the lowest
	n.Nodes[byName["host-1-09 mlx5_2"]].Ports[1].Peer, leaf.Ports[9].Peer = net.NoEnd, net.NoEnd
	mustBe(9) // that of the same number
	move(n, byName["host-1-09 mlx5_2"], net.End{Node: byName["leaf-1-3"], Port: 9})
	move(n, byName["host-1-06 mlx5_2"], net.End{Node: byName["leaf-1-3"], Port: 5})
	mustBe(6)
	extra := byName["host-1-09 mlx5_4"]
	n.Nodes[extra].Desc = "no adapter of these"
	move(n, extra, net.End{Node: byName["leaf-1-3"], Port: 6})
	mustBe(64) // the last one
}

// TestImages: adapters without names of hosts are those of one host where their SystemImageGUID is one.
func TestImages(t *testing.T) {
	n := routingtest.RailFabric(2)
	for i, a := range adapters(n) {
		n.Nodes[a].Desc, n.Nodes[a].SystemImageGUID = "MT4129 ConnectX7   Mellanox Technologies",
			mad.GUID(1+i/256*32+i%32)
	}
	found := walk(t, n)
	if r := Find(found); r.Seen != "8 rails of 64 ports in 2 units" || r.Rails[3].Places[0] != "adapter 4" ||
		leafName(found, r.Rails[3].Leaves[1]) != "leaf-2-4" {
		t.Errorf("%s %+v", r.Seen, r.Rails)
	}
}

// TestTwoOnALeaf: where hosts have two adapters on each leaf, each of the two has a rail.
func TestTwoOnALeaf(t *testing.T) {
	n := routingtest.RailFabric(2)
	for _, a := range adapters(n) { // two hosts with 8 adapters become one with 16
		var unit, host, rail int
		if _, err := fmt.Sscanf(n.Nodes[a].Desc, "host-%d-%d mlx5_%d", &unit, &host, &rail); err != nil {
			t.Fatal(err)
		}
		n.Nodes[a].Desc = fmt.Sprintf("host-%d-%d mlx5_%d", unit, (host+1)/2, 2*rail+(host+1)%2)
	}
	if r := Find(walk(t, n)); r.Seen != "16 rails of 32 ports in 2 units" || len(r.Rails[5].Leaves) != 2 ||
		r.Rails[5].Places[0] != "mlx5_5" {
		t.Errorf("%s %+v", r.Seen, r.Rails)
	}
}

// TestSmallHosts: hosts with few adapters among those with many are no standard for these, and are not on wrong leaves.
func TestSmallHosts(t *testing.T) {
	n := routingtest.RailFabric(2)
	for _, a := range adapters(n) {
		for i := range 3 {
			n.Nodes[a].Desc = strings.NewReplacer(fmt.Sprintf("host-1-%d mlx5_4", 30+i),
				fmt.Sprintf("oss-%d mlx5_0", i), fmt.Sprintf("host-1-%d mlx5_5", 30+i),
				fmt.Sprintf("oss-%d mlx5_1", i)).Replace(n.Nodes[a].Desc)
		}
	}
	found := walk(t, n)
	r := Find(found)
	if r.Seen != "8 rails of 64 ports in 2 units" {
		t.Errorf("%s %+v", r.Seen, r.Wrong)
	}
	for i, rail := range r.Rails {
		for _, p := range rail.Ports {
			if !strings.HasSuffix(leafName(found, found.SwitchOf(p)), fmt.Sprintf("-%d", i+1)) {
				t.Errorf("%q is in rail %d", desc(found, p), i+1)
			}
		}
	}
}

// TestNone: where there are no rails none are found, and the reason is said.
func TestNone(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name, want string
		change     func(n *net.Net)
	}{
		{"one name for all", "no two adapters are known to be of one host", func(n *net.Net) {
			for _, a := range adapters(n) {
				n.Nodes[a].Desc = "host mlx5_0"
			}
		}},
		{"no names", "no two adapters are known to be of one host", func(n *net.Net) {
			for _, a := range adapters(n) {
				n.Nodes[a].Desc = ""
			}
		}},
		{"one host has all", "no two adapters are known to be of one host", func(n *net.Net) {
			for i, a := range adapters(n) {
				n.Nodes[a].Desc = fmt.Sprintf("host mlx5_%d", i)
			}
		}},
		{"cabled at random", "on the same leaves", func(n *net.Net) {
			hosts := adapters(n)
			for i := range hosts {
				exchange(n, hosts[i], hosts[i+rng.IntN(len(hosts)-i)])
			}
		}},
		{"cabled at random in each unit", "are on the leaf where most of the same place in their hosts are",
			func(n *net.Net) {
				hosts := adapters(n)
				for u := range 2 {
					of := hosts[u*256:][:256]
					for h := range 32 {
						for rail := range 8 {
							exchange(n, of[rail*32+h], of[(rail+rng.IntN(8-rail))*32+h])
						}
					}
				}
			}},
		{"a third exchanged", "of 512 ports of hosts on several leaves 336 are on the leaf where most",
			func(n *net.Net) {
				hosts := adapters(n)
				for u := range 2 {
					for h := range 11 {
						for rail := 0; rail < 8; rail += 2 {
							exchange(n, hosts[u*256+rail*32+h], hosts[u*256+rail*32+32+h])
						}
					}
				}
			}},
		{"adapters named at random", "which place they hold", func(n *net.Net) {
			for _, a := range adapters(n) {
				host, _ := Split(n.Nodes[a].Desc)
				n.Nodes[a].Desc = fmt.Sprintf("%s x%d", host, rng.Uint32())
			}
		}},
		{"all adapters of a host on one leaf", "all adapters of a host are on one leaf", func(n *net.Net) {
			for i, a := range adapters(n) {
				n.Nodes[a].Desc = fmt.Sprintf("host-%d mlx5_%d", i/8, i%8)
			}
		}},
	} {
		n := routingtest.RailFabric(2)
		c.change(n)
		if r := Find(walk(t, n)); !strings.HasPrefix(r.Seen, "no rails: ") || !strings.Contains(r.Seen, c.want) ||
			len(r.Rails)+len(r.Wrong)+len(r.Of) > 0 {
			t.Errorf("%s: %s", c.name, r.Seen)
		}
	}
	for _, spec := range []string{"fattree:k=8", "torus:dims=4x4,hosts=2", "dragonfly:a=4,p=2,h=2"} {
		n, err := net.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		if r := Find(walk(t, n)); len(r.Rails) > 0 {
			t.Errorf("%s: %s", spec, r.Seen)
		}
	}
	if r := Find(&topo.Topo{}); len(r.Rails) > 0 {
		t.Error(r.Seen)
	}
}

// TestSplit: the names of hosts and adapters in NodeDescriptions.
func TestSplit(t *testing.T) {
	for desc, want := range map[string][2]string{
		"host-0123 mlx5_3": {"host-0123", "mlx5_3"}, "hgx012 HCA-4": {"hgx012", "HCA-4"},
		" node 7  ib0 ": {"node 7", "ib0"},
		"host-0123":     {}, "": {}, " ": {}, "MT4129 ConnectX7   Mellanox Technologies": {},
		"Mellanox Technologies Aggregation Node": {}, "host 12": {},
	} {
		if host, adapter := Split(desc); host != want[0] || adapter != want[1] {
			t.Errorf("%q: %q and %q", desc, host, adapter)
		}
	}
}

// TestHosts: the ports of hosts are found by description, by SystemImageGUID, and on one node; names that several hosts
// have join nothing.
func TestHosts(t *testing.T) {
	n := routingtest.RailSpec{Units: 1, Hosts: 3, Rails: 2, Spines: 2, Cables: 1}.Fabric()
	names := map[string]string{"host-1-02 mlx5_0": "x", "host-1-02 mlx5_1": "y"}
	for i := range n.Nodes {
		node := &n.Nodes[i]
		if name, is := names[node.Desc]; is {
			node.Desc, node.SystemImageGUID = name, 0x77
		}
		if strings.HasPrefix(node.Desc, "host-1-03") {
			node.Desc = "same mlx5_0"
		}
	}
	for want := 2; want <= 3; want++ {
		name := "as they are"
		if want == 3 { // the second adapter of host 3 takes its cable to the first
			name = "with a second port"
			var nodes []int32
			for i := range n.Nodes {
				if n.Nodes[i].Desc == "same mlx5_0" {
					nodes = append(nodes, int32(i))
				}
			}
			a, b := &n.Nodes[nodes[0]], &n.Nodes[nodes[1]]
			far := b.Ports[1].Peer
			a.Ports = append(a.Ports, net.Port{GUID: a.GUID + 2, Peer: far})
			n.Nodes[far.Node].Ports[far.Port].Peer = net.End{Node: nodes[0], Port: 2}
			b.Ports[1].Peer = net.NoEnd
			a.Desc, a.SystemImageGUID = "same", 0
		}
		found, err := netwalk.Topo(n, net.NoEnd)
		if err != nil {
			t.Fatal(err)
		}
		hosts := Hosts(found)
		for _, ports := range hosts {
			if len(ports) != 2 {
				t.Errorf("%s: %v", name, ports)
			}
		}
		if l := topo.SequentialLIDs(found, 0); len(hosts) != want || len(HostLIDs(found, l)) != want {
			t.Errorf("%s: %d hosts", name, len(hosts))
		}
		if l := topo.SequentialLIDs(found, 1); len(HostLIDs(found, l)) != 4-(want-2) {
			t.Errorf("%s: %d hosts with several LIDs", name, len(HostLIDs(found, l)))
		}
	}
}

// TestSeen: how many ports are on the wrong leaf is said with one as with several.
func TestSeen(t *testing.T) {
	for wrong, want := range []string{"", ", 1 of them on the wrong leaf", ", 2 of them on the wrong leaf"} {
		r := &Rails{Of: map[topo.PortIdx]int{0: 0}, Units: make([][]topo.SwitchIdx, 1),
			Rails: []Rail{{Ports: []topo.PortIdx{0}}}, Wrong: make([]Wrong, wrong)}
		if got := seen(r); got != "1 rails of 1 ports in 1 unit"+want {
			t.Errorf("%d wrong: %q", wrong, got)
		}
	}
}
