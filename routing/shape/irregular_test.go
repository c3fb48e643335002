package shape

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/topo"
	"ibsm/topo/net"
)

// TestIrregular: graphs without an order are called irregular: random ones, trees with cables anywhere, and dragonflies
// of which half of the groups' cables to each other, or half of the cables within groups, are missing.
func TestIrregular(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range seeds(200, 2000) {
		var spec string
		var fabric *net.Net
		switch i % 5 {
		default:
			n := 12 + rng.IntN(60)
			if i%10 == 0 {
				n *= 10
			}
			degree := min(3+rng.IntN(12), n*2/3)
			spec = fmt.Sprintf("random:switches=%d,degree=%d,seed=%d", n+n*degree%2, degree, i)
			fabric = generate(t, spec)
		case 3:
			spec = []string{"fattree:k=8", "tree:depth=3,fanout=4", "fattree:k=4", "fattree:k=12,levels=2"}[rng.IntN(4)]
			fabric = generate(t, spec)
			all := switches(fabric, "")
			for range len(all) / 2 {
				connect(fabric, all[rng.IntN(len(all))], all[rng.IntN(len(all))])
			}
		case 4:
			spec = []string{"dragonfly:a=4,h=2", "dragonfly:a=6,h=3", "dragonfly:a=8,h=4,groups=12"}[rng.IntN(3)]
			fabric = generate(t, spec)
			halve(fabric, rng, i%2 == 0)
		}
		if s := Find(shuffled(t, fabric, i)); s.Kind != KindIrregular {
			t.Errorf("%d: %s: %v: %s", i, spec, s.Kind, s.Seen)
		} else if strings.Count(s.Seen, "; not a ") != 3 {
			t.Errorf("%s: not all reasons: %s", spec, s.Seen)
		}
	}
}

// TestSmallRandom: some random graphs of a few switches are hypercubes or the like, and then nothing is missing.
func TestSmallRandom(t *testing.T) {
	for seed := range seeds(50, 500) {
		for n := 8; n <= 12; n++ {
			spec := fmt.Sprintf("random:switches=%d,degree=%d,seed=%d", n, 3+n%2+int(seed%2)*(1-n%2), seed)
			if s := Find(shuffled(t, generate(t, spec), seed)); s.Kind != KindIrregular &&
				strings.Contains(s.Seen, ";") {
				t.Errorf("%s: %v: %s", spec, s.Kind, s.Seen)
			}
		}
	}
}

// TestRepeated: the same subnet gives the same.
func TestRepeated(t *testing.T) {
	for _, c := range generated {
		found := shuffled(t, generate(t, c.spec+",missing-links=3%,missing-switches=1"), 1)
		first := Find(found)
		for range 3 {
			if again := Find(found); !reflect.DeepEqual(again, first) {
				t.Errorf("%s: %s, and then %s", c.spec, first.Seen, again.Seen)
			}
		}
	}
}

// halve takes half of the cables of a dragonfly away: within groups, or all those between half of the pairs of groups.
func halve(fabric *net.Net, rng *rand.Rand, within bool) {
	group := func(s int32) string { return strings.Fields(fabric.Nodes[s].Desc)[0] }
	lost := map[string]bool{}
	all := switches(fabric, "")
	for i, a := range all {
		for _, z := range all[:i] {
			if between := group(a) + group(z); group(a) != group(z) {
				if _, ok := lost[between]; !ok {
					lost[between] = rng.IntN(2) == 0
				}
			}
		}
	}
	for _, s := range all {
		for num, p := range fabric.Nodes[s].Ports {
			if p.Peer.Node >= s || p.Peer.Node < 0 || fabric.Nodes[p.Peer.Node].Type != mad.Switch {
				continue
			}
			if same := group(s) == group(p.Peer.Node); same && within && rng.IntN(2) == 0 || !same && !within &&
				lost[group(s)+group(p.Peer.Node)] {
				unplug(fabric, net.End{Node: s, Port: uint8(num)})
			}
		}
	}
}

// TestOddInput: what is no fabric has an answer, too.
func TestOddInput(t *testing.T) {
	for spec, want := range map[string]string{
		"fattree:k=8,levels=1":                      "1 switch",
		"tree:depth=2,fanout=253,hosts=1":           "fat tree of 2 levels: 253 leaves, 1 root",
		"hypercube:dim=1":                           "hypercube of 1 dimension",
		"mesh:dims=3":                               "mesh 3",
		"mesh:dims=60":                              "mesh 60",
		"torus:dims=3":                              "full mesh of 3 switches, a HyperX of 1 dimension",
		"torus:dims=100":                            "torus 100",
		"hyperx:dims=4":                             "full mesh of 4 switches, a HyperX of 1 dimension",
		"hyperx:dims=200":                           "full mesh of 200 switches, a HyperX of 1 dimension",
		"hypercube:dim=2":                           "hypercube of 2 dimensions, which is also the torus 4",
		"tree:depth=3,fanout=1,hosts=2":             "fat tree of 3 levels: 1 leaf, 1 switch above them, 1 root",
		"fattree:k=2":                               "fat tree of 3 levels: 2 leaves, 2 switches above them, 1 root",
		"dragonfly:a=1,h=3":                         "full mesh of 4 switches, a HyperX of 1 dimension",
		"dragonfly:a=2,h=1":                         "torus 6",
		"dragonfly:a=4,h=1,groups=2":                "HyperX 2x4",
		"random:switches=40,degree=3,seed=1":        "not a fat tree: 30 of 60 cables",
		"torus:dims=4x5,hosts=1,missing-switches=5": "",
	} {
		if s := Find(shuffled(t, generate(t, spec), 1)); !strings.HasPrefix(s.Seen, want) {
			t.Errorf("%s: %v: %s", spec, s.Kind, s.Seen)
		}
	}
	empty := topo.NewBuilder(nil).Freeze()
	if s := Find(empty); s.Kind != KindSingle || s.Seen != "no switch" {
		t.Errorf("empty: %v: %s", s.Kind, s.Seen)
	}
	for what, err := range map[string]error{"tree": second(FindTree(empty)), "grid": second(FindGrid(empty)),
		"HyperX": second(FindHyperX(empty)), "dragonfly": second(FindDragonfly(empty))} {
		if err == nil {
			t.Errorf("an empty subnet is a %s", what)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestOddCables: cables from a switch to itself and between switches that have one already change nothing.
func TestOddCables(t *testing.T) {
	for _, c := range generated {
		fabric := generate(t, c.spec)
		whole := Find(shuffled(t, fabric, 1))
		rng := rand.New(rand.NewPCG(3, 4))
		all := switches(fabric, "")
		for range 10 {
			s := all[rng.IntN(len(all))]
			connect(fabric, s, s)
			for _, p := range fabric.Nodes[s].Ports {
				if p.Peer.Node >= 0 && p.Peer.Node != s && fabric.Nodes[p.Peer.Node].Type == mad.Switch &&
					len(fabric.Nodes[s].Ports) < 250 {
					connect(fabric, s, p.Peer.Node)
					break
				}
			}
		}
		if s := Find(shuffled(t, fabric, 1)); s.Kind != whole.Kind || whole.Kind != KindFatTree &&
			s.Seen != whole.Seen {
			t.Errorf("%s: %v: %s, without %s", c.spec, s.Kind, s.Seen, whole.Seen)
		}
	}
}

// TestParts: switches that unhealthy cables separate.
func TestParts(t *testing.T) {
	for spec, want := range map[string]string{
		"torus:dims=5x5": "not a fat tree:", "hyperx:dims=4x4": "not a fat tree:", "dragonfly:a=4,h=2": "not a fat tree:",
		"fattree:k=8,levels=2": "2 fat trees of 2 levels: 16 leaves, 8 roots",
	} {
		fabric := both(generate(t, spec), generate(t, spec))
		connect(fabric, switches(fabric, "")[0], switches(fabric, "")[len(switches(fabric, ""))/2])
		found := shuffled(t, fabric, 1)
		for p := range found.Ports {
			end := &fabric.Nodes[switches(fabric, "")[0]]
			if node := &found.Nodes[found.Ports[p].Node]; node.GUID == end.GUID &&
				int(found.Ports[p].Num) == end.NumPorts() {
				found.Ports[p].Unhealthy = true
			}
		}
		if s := Find(found); !strings.HasPrefix(s.Seen, want) {
			t.Errorf("two of %s: %v: %s", spec, s.Kind, s.Seen)
		}
	}
}

// TestTrees: trees with hosts where others have none.
func TestTrees(t *testing.T) {
	for _, c := range []struct {
		what, spec, want string
		change           func(*net.Net)
	}{
		{"upside down", "fattree:k=8", "fat tree of 3 levels: 16 leaves, 32 switches above them, 32 roots",
			func(n *net.Net) {
				for i, host := range hosts(n) {
					move(n, host, switches(n, "spine")[i%16])
				}
			}},
		{"hosts on a spine as on leaves", "fattree:k=8,levels=2", "fat tree of 2 levels: 8 leaves, 4 roots",
			func(n *net.Net) {
				for _, leaf := range hosts(n)[:4] {
					move(n, leaf, switches(n, "spine")[0])
				}
				for _, host := range hosts(n)[4:10] {
					move(n, host, switches(n, "leaf")[1])
				}
				move(n, hosts(n)[0], switches(n, "leaf")[0])
			}},
		{"two of them", "fattree:k=16,levels=2",
			"2 fat trees of 2 levels: 32 leaves, 16 roots; 1 cable connects two switches of one level",
			func(n *net.Net) {
				*n = *both(n, generate(t, "fattree:k=16,levels=2"))
				roots := switches(n, "spine")
				connect(n, roots[0], roots[len(roots)-1])
			}},
		{"a leaf without hosts", "fattree:k=8",
			"fat tree of 3 levels: 32 leaves, 32 switches above them, 16 roots; 1 leaf has no hosts", func(n *net.Net) {
				for _, host := range hosts(n)[:4] {
					move(n, host, switches(n, "leaf")[1])
				}
			}},
		{"a cable less", "fattree:k=8",
			"fat tree of 3 levels: 32 leaves, 32 switches above them, 16 roots; 1 of 256 cables is missing",
			func(n *net.Net) {
				unplug(n, net.End{Node: switches(n, "agg")[3], Port: 1})
			}},
	} {
		fabric := generate(t, c.spec)
		c.change(fabric)
		if s := Find(shuffled(t, fabric, 1)); s.Kind != KindFatTree || s.Seen != c.want {
			t.Errorf("%s: %v: %s", c.what, s.Kind, s.Seen)
		}
	}
}

// TestSeen: what is missing is in the text.
func TestSeen(t *testing.T) {
	for spec, want := range map[string]string{
		"torus:dims=8x8x8,missing-links=2":                "torus 8x8x8; 2 of 1,536 cables between switches are missing",
		"torus:dims=6x6,missing-switches=1":               "torus 6x6; 1 of 36 switches is missing",
		"hyperx:dims=4x6,missing-links=1":                 "HyperX 4x6; 1 of 96 cables between switches is missing",
		"mesh:dims=5x4":                                   "mesh 4x5",
		"torus:dims=3x4":                                  "torus 3x4, which is also the HyperX 2x2x3",
		"hypercube:dim=6":                                 "hypercube of 6 dimensions, which is also the torus 4x4x4",
		"dragonfly:a=4,h=2":                               "dragonfly of 9 groups of 4 switches",
		"dragonfly:a=6,h=3,missing-switches=1":            "dragonfly of 19 groups of 6 switches; 1 group has fewer; 3 of 171 pairs of groups have no link",
		"dragonfly+:l=3,s=2,p=2,h=2":                      "dragonfly+ of 5 groups of 3 leaves and 2 spines",
		"torus:dims=4x4,missing-links=30%,seed=4,hosts=1": "not a fat tree: ",
	} {
		if s := Find(shuffled(t, generate(t, spec), 1)); !strings.HasPrefix(s.Seen, want) ||
			!strings.HasPrefix(want, "not ") && s.Seen != want {
			t.Errorf("%s: %s", spec, s.Seen)
		}
	}
	for k, want := range map[Kind]string{KindIrregular: "irregular", KindDragonflyPlus: "dragonfly+", 99: "kind 99"} {
		if k.String() != want {
			t.Errorf("%d is %q", uint8(k), k)
		}
	}
}

// TestFindOne: the functions for one kind give what Find gives, and say why a subnet is not of the kind.
func TestFindOne(t *testing.T) {
	of := func(spec string) *topo.Topo { return shuffled(t, generate(t, spec), 1) }
	for spec, want := range map[string][4]string{ // tree, grid, HyperX, dragonfly
		"fattree:k=8": {"", "not a torus or mesh: ", "not a HyperX: ", "not a dragonfly: "},
		"torus:dims=5x5": {"not a fat tree: 26 of 50 cables", "",
			"not a HyperX: rows of 5x5 are not cabled all to all", "not a dragonfly: "},
		"torus:dims=4x4": {"not a fat tree: ", "", "", "not a dragonfly: "},
		"hyperx:dims=4x4": {"not a fat tree: ", "not a torus or mesh: rows of 4 are cabled all to all",
			"", "not a dragonfly: "},
		"dragonfly:a=4,h=2": {"not a fat tree: ", "not a torus or mesh: ", "not a HyperX: ", ""},
		"dragonfly+:h=2":    {"not a fat tree: ", "not a torus or mesh: ", "not a HyperX: ", ""},
	} {
		found := of(spec)
		for i, err := range []error{second(FindTree(found)), second(FindGrid(found)), second(FindHyperX(found)),
			second(FindDragonfly(found))} {
			if (err == nil) != (want[i] == "") || err != nil && !strings.HasPrefix(err.Error(), want[i]) {
				t.Errorf("%s: %v, want %q", spec, err, want[i])
			}
		}
	}
}

func BenchmarkFind(b *testing.B) {
	for _, spec := range []string{
		"fattree:k=54", "fattree:k=54,missing-links=3%", "torus:dims=10x10x10", "torus:dims=10x10x10,missing-links=3%",
		"torus:dims=40x40,missing-links=3%",
		"hyperx:dims=16x16x12", "dragonfly:a=12,p=6,h=6", "random:switches=3600,degree=30",
	} {
		b.Run(spec, func(b *testing.B) {
			found := shuffled(b, generate(b, spec), 1)
			for b.Loop() {
				Find(found)
			}
		})
	}
}
