package net

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"ibsm/mad"
)

func generate(t testing.TB, spec string) *Net {
	t.Helper()
	n, err := Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Validate(); err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return n
}

// shape is what the tests know of a topology from its definition.
type shape struct {
	switches, hosts      int
	minDegree, maxDegree int // cables of a switch to switches
	diameter             int // hops between switches; 0 unknown
}

// measure finds the shape of a Net, whose switches must all reach each other.
func measure(t *testing.T, n *Net) shape {
	t.Helper()
	s := shape{minDegree: 255}
	for i := range n.Nodes {
		if n.Nodes[i].Type != mad.Switch {
			s.hosts++
			continue
		}
		s.switches++
		degree := 0
		for _, p := range n.Nodes[i].Ports {
			if p.Peer.Node >= 0 && n.Nodes[p.Peer.Node].Type == mad.Switch {
				degree++
			}
		}
		s.minDegree, s.maxDegree = min(s.minDegree, degree), max(s.maxDegree, degree)
		reached, depth := breadthFirst(n, int32(i))
		if reached != len(n.Nodes) {
			t.Fatalf("node %d reaches %d of %d nodes", i, reached, len(n.Nodes))
		}
		s.diameter = max(s.diameter, depth)
	}
	return s
}

// breadthFirst counts the nodes that a node reaches and the hops to the farthest
// switch.
func breadthFirst(n *Net, from int32) (reached, depth int) {
	hops := make([]int, len(n.Nodes))
	hops[from] = 1
	queue := []int32{from}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		if n.Nodes[at].Type == mad.Switch {
			depth = hops[at] - 1
		}
		for _, p := range n.Nodes[at].Ports {
			if to := p.Peer.Node; to >= 0 && hops[to] == 0 {
				hops[to] = hops[at] + 1
				queue = append(queue, to)
			}
		}
	}
	return len(queue), depth
}

func TestShapes(t *testing.T) {
	tests := []struct {
		spec string
		want shape // diameter 0: not compared
	}{
		{"fattree", shape{80, 128, 4, 8, 4}},
		{"fattree:k=4", shape{20, 16, 2, 4, 4}},
		{"fattree:k=8,levels=1", shape{1, 8, 0, 0, 0}},
		{"fattree:k=8,levels=2", shape{12, 32, 4, 8, 2}},
		{"fattree:k=4,levels=4", shape{56, 32, 2, 4, 6}},
		{"fattree:k=12,taper=2", shape{12*6 + 12*4 + 4*6, 12 * 6 * 8, 4, 12, 4}},
		{"fattree:k=8,levels=2,taper=3", shape{8 + 2, 8 * 6, 2, 8, 2}},
		{"fattree:k=36,pods=9", shape{9*18*2 + 18*18, 9 * 18 * 18, 9, 36, 4}},
		{"fattree:k=8,levels=2,hosts=1", shape{12, 8, 4, 8, 2}},
		{"torus:dims=4x4x4,hosts=2", shape{64, 128, 6, 6, 6}},
		{"torus:dims=5x3", shape{15, 15, 4, 4, 3}},
		{"torus:dims=2x4", shape{8, 8, 3, 3, 3}},
		{"torus:dims=1x4", shape{4, 4, 2, 2, 2}},
		{"mesh:dims=4x4", shape{16, 16, 2, 4, 6}},
		{"mesh:dims=3x4x5", shape{60, 60, 3, 6, 9}},
		{"hypercube:dim=5", shape{32, 32, 5, 5, 5}},
		{"dragonfly:a=4,p=2,h=2", shape{36, 72, 5, 5, 3}},
		{"dragonfly:a=4,p=1,h=2,groups=5", shape{20, 20, 5, 5, 0}},
		{"dragonfly+:l=4,s=4,p=4,h=2", shape{72, 144, 4, 6, 5}},
		{"dragonfly+:l=3,s=2,p=1,h=2,groups=3", shape{15, 9, 2, 5, 0}},
		{"pods:corners=0", shape{40, 96, 4, 6, 4}},
		{"pods:odd=1", shape{47, 111, 2, 10, 0}},
		{"hyperx:dims=4x4", shape{16, 16, 6, 6, 2}},
		{"hyperx:dims=2x3x4,hosts=3", shape{24, 72, 6, 6, 3}},
		{"random:switches=20,degree=5,hosts=3,seed=1", shape{20, 60, 5, 5, 0}},
		{"random:switches=50,degree=3", shape{50, 150, 3, 3, 0}},
		{"random:switches=6,degree=2", shape{6, 18, 2, 2, 3}},
		{"random:switches=6,degree=5", shape{6, 18, 5, 5, 1}},
		{"tree:depth=3,fanout=4", shape{21, 64, 1, 5, 4}},
		{"tree:depth=1,fanout=4", shape{1, 4, 0, 0, 0}},
		{"tree:depth=3,fanout=1,hosts=2", shape{3, 2, 1, 2, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.spec, func(t *testing.T) {
			got := measure(t, generate(t, tt.spec))
			if tt.want.diameter == 0 {
				got.diameter = 0
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestFatTreeFormula holds k^3/4 hosts and 5k^2/4 switches up to the largest legal
// subnet.
func TestFatTreeFormula(t *testing.T) {
	for _, k := range []int{2, 6, 36, 54} {
		n := generate(t, fmt.Sprintf("fattree:k=%d", k))
		switches := 0
		for i := range n.Nodes {
			node := &n.Nodes[i]
			if node.Type != mad.Switch {
				continue
			}
			switches++
			for num, p := range node.Ports[1:] {
				if p.Peer.Node < 0 {
					t.Fatalf("k=%d: %s port %d is empty", k, node.Desc, num+1)
				}
			}
		}
		if hosts := len(n.Nodes) - switches; hosts != k*k*k/4 || switches != 5*k*k/4 {
			t.Errorf("k=%d: %d hosts, %d switches", k, hosts, switches)
		}
	}
}

// TestFatTreePods shows that leaves of a pod share its middle switches, each by
// one cable, and no others.
func TestFatTreePods(t *testing.T) {
	n := generate(t, "fattree:k=6")
	above := func(sw int32, name string) (out []int32) {
		for _, p := range n.Nodes[sw].Ports {
			if p.Peer.Node >= 0 && strings.HasPrefix(n.Nodes[p.Peer.Node].Desc, name) {
				out = append(out, p.Peer.Node)
			}
		}
		return out
	}
	for leaf := range int32(18) {
		pod := leaf / 3
		first := 18 + pod*3
		if got, want := above(leaf, "agg"), []int32{first, first + 1, first + 2}; !reflect.DeepEqual(got, want) {
			t.Errorf("leaf %d: above it %v, want %v", leaf, got, want)
		}
	}
	// Middle switches at the same place of their pods reach the same spines.
	for agg := int32(18); agg < 36; agg++ {
		if got, want := above(agg, "spine"), above(18+agg%3, "spine"); len(want) != 3 || !reflect.DeepEqual(got, want) {
			t.Errorf("agg %d: above it %v, want %v", agg, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	n := generate(t, "fattree:k=8")
	for i, want := range map[int]string{0: "leaf-01", 31: "leaf-32", 32: "agg-01", 64: "spine-01", 79: "spine-16",
		80: "host-001 mlx5_0", 207: "host-128 mlx5_0"} {
		if got := n.Nodes[i].Desc; got != want {
			t.Errorf("node %d is %q, want %q", i, got, want)
		}
	}
	host := n.Nodes[80]
	if host.Ports[1].GUID != host.GUID || host.ID != fmt.Sprintf("H-%016x", uint64(host.GUID)) ||
		cable(n, &host.Ports[1]) != n.Nodes[0].ID+"[1] 4xHDR" {
		t.Errorf("first host: %+v", host)
	}
	if got := generate(t, "torus:dims=2x3").Nodes[5].Desc; got != "switch-1-2" {
		t.Errorf("last switch of the torus is %q", got)
	}
	if p := generate(t, "mesh:speed=ndr,width=2x").Nodes[0].Ports[1]; p.Speed != mad.NDR || p.Width != mad.Width2x {
		t.Errorf("speed and width: %+v", p)
	}
}

// TestTorusPorts shows that a port means the same direction on every switch.
func TestTorusPorts(t *testing.T) {
	n := generate(t, "torus:dims=4x3,hosts=2")
	for sw := range int32(12) {
		x, y := sw%4, sw/4
		for port, want := range map[int]int32{3: (x+1)%4 + 4*y, 4: (x+3)%4 + 4*y, 5: x + 4*((y+1)%3),
			6: x + 4*((y+2)%3)} {
			if got := n.Nodes[sw].Ports[port].Peer.Node; got != want {
				t.Errorf("switch %d port %d leads to %d, want %d", sw, port, got, want)
			}
		}
	}
}

// TestDragonflyGroups shows that every pair of groups has the same number of
// cables.
func TestDragonflyGroups(t *testing.T) {
	for spec, want := range map[string]int{"dragonfly:a=4,h=2": 1, "dragonfly:a=4,h=2,groups=5": 2,
		"dragonfly:a=3,h=2,groups=2": 6} {
		n := generate(t, spec)
		a := 4
		if strings.Contains(spec, "a=3") {
			a = 3
		}
		pairs, groups := map[[2]int]int{}, 0
		for i := range n.Nodes {
			if n.Nodes[i].Type != mad.Switch {
				break
			}
			groups = i/a + 1
			for _, p := range n.Nodes[i].Ports {
				if to := p.Peer.Node; to >= 0 && n.Nodes[to].Type == mad.Switch && int(to)/a > i/a {
					pairs[[2]int{i / a, int(to) / a}]++
				}
			}
		}
		if len(pairs) != groups*(groups-1)/2 {
			t.Errorf("%s: %d pairs of %d groups", spec, len(pairs), groups)
		}
		for pair, got := range pairs {
			if got != want {
				t.Errorf("%s: %d cables between groups %v, want %d", spec, got, pair, want)
			}
		}
	}
}

func TestDegraded(t *testing.T) {
	cables := func(n *Net) (c int) {
		for i := range n.Nodes {
			for _, p := range n.Nodes[i].Ports {
				if to := p.Peer.Node; to > int32(i) && n.Nodes[to].Type == mad.Switch {
					c++
				}
			}
		}
		return c
	}
	tests := []struct {
		spec                    string
		switches, hosts, cables int
	}{
		{"fattree:k=8", 80, 128, 256},
		{"fattree:k=8,missing-links=5%,seed=7", 80, 128, 243}, // 256 less 12.8
		{"fattree:k=8,missing-links=12", 80, 128, 244},
		{"fattree:k=8,missing-links=50%", 80, 128, 128},
		{"fattree:k=8,levels=2,missing-switches=3", 9, 32, 8},
		{"fattree:k=8,levels=2,missing-switches=50%", 10, 32, 16},
		{"torus:dims=4x4,missing-switches=2,hosts=3,seed=2", 14, 42, -1},
		{"random:switches=30,degree=4,hosts=1,missing-switches=3,missing-links=10%", 27, 27, -1},
	}
	for _, tt := range tests {
		t.Run(tt.spec, func(t *testing.T) {
			n := generate(t, tt.spec)
			got := measure(t, n)
			if got.switches != tt.switches || got.hosts != tt.hosts || tt.cables >= 0 && cables(n) != tt.cables {
				t.Errorf("%d switches, %d hosts, %d cables; want %+v", got.switches, got.hosts, cables(n), tt)
			}
		})
	}
}

// TestSeeds shows that a spec gives one fabric and another seed another.
func TestSeeds(t *testing.T) {
	for _, spec := range []string{"random:switches=20", "fattree:k=4,missing-links=4",
		"torus:dims=4x4,missing-switches=2"} {
		a, b, c := generate(t, spec+",seed=5"), generate(t, spec+",seed=5"), generate(t, spec+",seed=6")
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: one seed, two fabrics", spec)
		}
		if reflect.DeepEqual(a, c) {
			t.Errorf("%s: seeds 5 and 6 give the same fabric", spec)
		}
	}
	// What is missing leaves the GUIDs of the rest alone.
	whole, part := generate(t, "fattree:k=4"), generate(t, "fattree:k=4,missing-switches=2")
	guids := map[string]mad.GUID{}
	for i := range whole.Nodes {
		guids[whole.Nodes[i].Desc] = whole.Nodes[i].GUID
	}
	for i := range part.Nodes {
		if n := &part.Nodes[i]; guids[n.Desc] != n.GUID {
			t.Errorf("%s has GUID %s in the whole fabric, %s with switches missing", n.Desc, guids[n.Desc], n.GUID)
		}
	}
}

func TestSpecErrors(t *testing.T) {
	tests := []struct{ spec, text, hint string }{
		{"", `unknown kind of fabric "": expected one of fattree, pods, torus, mesh, hypercube, dragonfly, dragonfly+, hyperx, random, tree`, ""},
		{"fatree:k=4", `unknown kind of fabric "fatree": expected one of fattree, pods, torus, mesh, hypercube, dragonfly, dragonfly+, hyperx, random, tree`,
			"did you mean fattree?"},
		{"mesh:", "", ""},
		{"mesh:dims=4x4,",
			`unknown key of mesh "": expected one of dims, hosts, speed, width, missing-links, missing-switches, devices, sharp, functions, seed`, ""},
		{"mesh:host=2", `unknown key of mesh "host": expected one of dims, hosts, speed, width, missing-links, missing-switches, devices, sharp, functions, seed`,
			"did you mean hosts?"},
		{"mesh:hosts=2,hosts=3", "mesh: hosts is given twice", ""},
		{"mesh:hosts", `mesh: hosts="": expected a number from 1 to 254`, "hosts: hosts on each switch"},
		{"mesh:dims=4x", `mesh: dims="4x": expected up to 6 sizes from 1 to 1000, such as 4x4`,
			"dims: switches along each dimension"},
		{"fattree:k=7", `fattree: k="7": expected an even number from 2 to 254`, "k: ports of a switch, even"},
		{"fattree:k=4,taper=4", "fattree: taper=4: a leaf with 4 ports would have no uplink", ""},
		{"fattree:k=4,hosts=3", "fattree: hosts=3: a leaf with 4 ports and 2 uplinks has room for 2 hosts", ""},
		{"fattree:k=58", "fattree: 4205 switches and 48778 hosts need more LIDs than a subnet has (49151)", ""},
		{"fattree:k=254,levels=5", "", ""},
		{"hyperx:dims=1000x1000x1000x1000", "hyperx: switches would need 3997 ports, but have at most 254", ""},
		{"torus:dims=1000x1000x1000x1000x1000x1000",
			"torus: 65537 switches and 65537 hosts need more LIDs than a subnet has (49151)", ""},
		{"tree:depth=16,fanout=253", "", ""},
		{"dragonfly:groups=10", "dragonfly: groups=10: a=4 and h=2 allow at most 9 groups", ""},
		{"dragonfly+:groups=10", "dragonfly+: groups=10: s=4 and h=2 allow at most 9 groups", ""},
		{"dragonfly+:l=200,h=200", "dragonfly+: switches would need 400 ports, but have at most 254", ""},
		{"dragonfly:a=200,h=200", "dragonfly: switches would need 401 ports, but have at most 254", ""},
		{"random:degree=20", "random: degree=20: each of 20 switches has at most 19 neighbours", ""},
		{"random:switches=5,degree=3", "random: switches=5 with degree=3: one of them must be even", ""},
		{"random:switches=4,degree=1", "random: degree=1 does not connect 4 switches", ""},
		{"mesh:speed=fast", `mesh: speed="fast": unknown link speed`, "speed: " + common[0].about},
		{"mesh:missing-links=-1", `mesh: missing-links="-1": expected a number or a share such as 5%`,
			"missing-links: " + common[2].about},
		{"mesh:missing-links=NaN%", `mesh: missing-links="NaN%": expected a number or a share such as 5%`,
			"missing-links: " + common[2].about},
		{"mesh:missing-switches=100%",
			"mesh: missing-switches: 15 of 16 can be left out without splitting the fabric", ""},
		{"mesh:missing-links=10", "mesh: missing-links: 9 of 10 can be left out without splitting the fabric",
			""},
	}
	for _, tt := range tests {
		t.Run(tt.spec, func(t *testing.T) {
			_, err := Generate(tt.spec)
			if tt.spec == "mesh:" {
				if err != nil {
					t.Errorf("a colon without keys: %v", err)
				}
				return
			}
			var spec *SpecError
			if !errors.As(err, &spec) {
				t.Fatalf("want a SpecError, got %v", err)
			}
			if tt.text != "" && spec.Text != tt.text || spec.Hint != tt.hint {
				t.Errorf("\n got  %s (%s)\n want %s (%s)", spec.Text, spec.Hint, tt.text, tt.hint)
			}
		})
	}
}

func TestIsSpec(t *testing.T) {
	for text, want := range map[string]bool{
		"fattree": true, "fattree:k=8": true, "fatree:k=8": true, "tree:": true, "dragonfly+:l=2": true,
		"fabric.net": false, "net": false, "/data/a:b": false, "./mesh": false, "a.net:1": false, "": false, ":": false,
	} {
		if got := IsSpec(text); got != want {
			t.Errorf("IsSpec(%q) = %v", text, got)
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	for _, spec := range []string{"fattree:k=36", "fattree:k=54", "fattree:k=54,missing-links=5%,missing-switches=5%",
		"random:switches=2000,degree=20"} {
		b.Run(spec, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				generate(b, spec)
			}
		})
	}
}
