package shape

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"ibsm/topo"
	"ibsm/topo/net"
)

// generated are kinds of fabrics in several sizes. dims are those of a grid. A percentage of damaged fabrics may look
// like something else: in these few switches each cable matters, or damage cuts rows to pieces.
var generated = []struct {
	spec string
	want Kind
	dims string
	may  int
}{
	{spec: "fattree:k=4", want: KindFatTree}, {spec: "fattree:k=8", want: KindFatTree},
	{spec: "fattree:k=16", want: KindFatTree},
	{spec: "fattree:k=8,levels=2", want: KindFatTree}, {spec: "fattree:k=36,levels=2", want: KindFatTree},
	{spec: "fattree:k=4,levels=4", want: KindFatTree}, {spec: "fattree:k=12,taper=2", want: KindFatTree},
	{spec: "fattree:k=8,pods=3", want: KindFatTree},

	{spec: "torus:dims=3x3", want: KindTorus, dims: "3x3"}, {spec: "torus:dims=4x5", want: KindTorus, dims: "4x5"},
	{spec: "torus:dims=4x6", want: KindTorus, dims: "4x6"}, {spec: "torus:dims=5x5", want: KindTorus, dims: "5x5"},
	{spec: "torus:dims=6x7", want: KindTorus, dims: "6x7"},
	{spec: "torus:dims=8x8", want: KindTorus, dims: "8x8", may: 1},
	{spec: "torus:dims=3x10", want: KindTorus, dims: "3x10"},
	{spec: "torus:dims=2x8", want: KindTorus, dims: "2x8", may: 3},
	{spec: "torus:dims=20x20", want: KindTorus, dims: "20x20", may: 1},
	{spec: "torus:dims=3x3x3", want: KindTorus, dims: "3x3x3"},
	{spec: "torus:dims=5x3x4", want: KindTorus, dims: "3x4x5"},
	{spec: "torus:dims=2x8x8", want: KindTorus, dims: "2x8x8"},
	{spec: "torus:dims=4x4x8", want: KindTorus, dims: "4x4x8"},
	{spec: "torus:dims=5x5x5", want: KindTorus, dims: "5x5x5"},
	{spec: "torus:dims=5x5x5x5", want: KindTorus, dims: "5x5x5x5"},

	{spec: "mesh:dims=4x4", want: KindMesh, dims: "4x4", may: 4},
	{spec: "mesh:dims=2x6", want: KindMesh, dims: "2x6", may: 4},
	{spec: "mesh:dims=8x8", want: KindMesh, dims: "8x8", may: 1},
	{spec: "mesh:dims=20x20", want: KindMesh, dims: "20x20", may: 3},
	{spec: "mesh:dims=3x3x3", want: KindMesh, dims: "3x3x3"},
	{spec: "mesh:dims=3x4x5", want: KindMesh, dims: "3x4x5", may: 1},
	{spec: "mesh:dims=5x5x5", want: KindMesh, dims: "5x5x5", may: 1},

	// A ring of four is a square, so these toruses are hypercubes.
	{spec: "torus:dims=4x4", want: KindHypercube, dims: "4x4"},
	{spec: "torus:dims=4x4x4", want: KindHypercube, dims: "4x4x4"},
	{spec: "hypercube:dim=3", want: KindHypercube, dims: "2x4"},
	{spec: "hypercube:dim=4", want: KindHypercube, dims: "4x4"},
	{spec: "hypercube:dim=7", want: KindHypercube, dims: "2x4x4x4"},

	{spec: "hyperx:dims=4x4", want: KindHyperX}, {spec: "hyperx:dims=2x5", want: KindHyperX},
	{spec: "hyperx:dims=3x5x4", want: KindHyperX},
	{spec: "hyperx:dims=8x8", want: KindHyperX}, {spec: "hyperx:dims=5x5x5", want: KindHyperX},
	{spec: "hyperx:dims=16x16", want: KindHyperX},
	{spec: "hyperx:dims=6", want: KindHyperX}, {spec: "hyperx:dims=20", want: KindHyperX},

	{spec: "dragonfly:a=4,h=2", want: KindDragonfly}, {spec: "dragonfly:a=6,h=3", want: KindDragonfly},
	{spec: "dragonfly:a=8,h=4", want: KindDragonfly},
	{spec: "dragonfly:a=8,h=4,groups=10", want: KindDragonfly}, {spec: "dragonfly:a=4,h=1", want: KindDragonfly},
	{spec: "dragonfly:a=4,h=4", want: KindDragonfly},
	{spec: "dragonfly:a=10,h=1,groups=6", want: KindDragonfly, may: 1},
	{spec: "dragonfly+:l=5,s=2,p=4,h=2,groups=4", want: KindDragonflyPlus, may: 3},
	{spec: "dragonfly:a=3,h=2", want: KindDragonfly, may: 5}, {spec: "dragonfly:a=3,h=3", want: KindDragonfly, may: 10},

	{spec: "dragonfly+:h=2", want: KindDragonflyPlus}, {spec: "dragonfly+:h=1", want: KindDragonflyPlus},
	{spec: "dragonfly+:l=8,s=8,p=8", want: KindDragonflyPlus},
	{spec: "dragonfly+:l=3,s=2,p=2,groups=3", want: KindDragonflyPlus},
}

var damages = []string{"missing-links=3%", "missing-switches=1", "missing-links=3%,missing-switches=1"}

// TestFind: the kind is found of each whole fabric and of damaged ones, whatever the order of GUIDs, and coordinates
// and groups are those of the generator.
func TestFind(t *testing.T) {
	for _, c := range generated {
		t.Run(c.spec, func(t *testing.T) {
			found := shuffled(t, generate(t, c.spec), 1)
			s := Find(found)
			t.Log(s.Seen)
			if s.Kind != c.want ||
				!strings.Contains(s.Seen, strings.ReplaceAll(c.want.String(), "HyperX", "a HyperX")) &&
					!strings.HasPrefix(s.Seen, c.want.String()) {
				t.Errorf("whole: %v: %s", s.Kind, s.Seen)
			}
			if strings.Contains(s.Seen, ";") {
				t.Errorf("something is missing in a whole fabric: %s", s.Seen)
			}
			check(t, found, s, c.dims, 0)
			for _, damage := range damages {
				var other []string
				count := seeds(20, 200)
				for seed := range count {
					found := shuffled(t, generate(t, fmt.Sprintf("%s,%s,seed=%d", c.spec, damage, seed+1)), seed)
					s := Find(found)
					if s.Kind != c.want {
						other = append(other, fmt.Sprintf("seed %d: %v: %s", seed+1, s.Kind, s.Seen))
						continue
					}
					check(t, found, s, "", 5)
				}
				// one of twenty says little of a share
				if most := max(int(count)*c.may/100, c.may/5, min(c.may, 1)); len(other) > most {
					t.Errorf("%s: %d of %d: %s", damage, len(other), count, other[0])
				}
			}
		})
	}
}

// TestLarge does so with large fabrics.
func TestLarge(t *testing.T) {
	for spec, want := range map[string]Kind{
		"fattree:k=36": KindFatTree, "torus:dims=10x10x10": KindTorus, "mesh:dims=10x10x10": KindMesh,
		"dragonfly:a=12,p=6,h=6": KindDragonfly,
		"hypercube:dim=10":       KindHypercube, "hyperx:dims=16x16x4": KindHyperX,
		"torus:dims=4x4x4x4x4":          KindHypercube,
		"dragonfly+:l=16,s=16,p=16,h=4": KindDragonflyPlus,
	} {
		for seed := range seeds(2, 10) {
			for _, damage := range append(damages, "missing-links=0") {
				found := shuffled(t, generate(t, fmt.Sprintf("%s,%s,seed=%d", spec, damage, seed+1)), seed)
				s := Find(found)
				if s.Kind != want {
					t.Errorf("%s,%s, seed %d: %v: %s", spec, damage, seed+1, s.Kind, s.Seen)
				}
				check(t, found, s, "", 5)
			}
		}
	}
}

// check compares coordinates, groups and levels with the names that the generator gives. A percentage of the switches
// may have others, or none.
func check(t *testing.T, found *topo.Topo, s *Shape, dims string, may int) {
	t.Helper()
	f := newFabric(found)
	if s.Grid != nil {
		if dims != "" && by(s.Grid.Dims) != dims {
			t.Errorf("dimensions %v, want %s", s.Grid.Dims, dims)
		}
		checkPlaces(t, f, s.Grid.Dims, s.Grid.At, may, func(d, a, b int) bool {
			return max(a-b, b-a) == 1 || s.Grid.Ring[d] && max(a-b, b-a) == s.Grid.Dims[d]-1
		})
	}
	if s.HyperX != nil {
		checkPlaces(t, f, s.HyperX.Dims, s.HyperX.At, may, func(d, a, b int) bool { return true })
	}
	if s.Dragonfly != nil {
		checkGroups(t, found, s.Dragonfly, may)
	}
	if s.Tree != nil {
		wrong := 0
		var roots []int32
		for sw, level := range s.Tree.Level {
			if strings.HasPrefix(name(found, topo.SwitchIdx(sw)), "spine") {
				roots = append(roots, level)
			}
		}
		top := most(roots)
		for sw, level := range s.Tree.Level {
			switch word, _, _ := strings.Cut(name(found, topo.SwitchIdx(sw)), "-"); {
			case word == "leaf" && level != 0, word == "spine" && level != top, strings.HasPrefix(word, "agg") &&
				(level == 0 || level == top):
				wrong++
			}
		}
		if wrong*100 > len(s.Tree.Level)*may {
			t.Errorf("%s: %d of %d switches on a wrong level", s.Seen, wrong, len(s.Tree.Level))
		}
	}
}

// checkPlaces holds that no two switches have one place, and that links lead one step along one dimension.
func checkPlaces(t *testing.T, f *fabric, dims []int, at [][]int32, may int, next func(d, a, b int) bool) {
	t.Helper()
	places, without := map[string]bool{}, 0
	for _, a := range at {
		if a == nil {
			without++
			continue
		}
		if places[fmt.Sprint(a)] {
			t.Errorf("two switches at %v", a)
		}
		places[fmt.Sprint(a)] = true
		for d := range a {
			if a[d] < 0 || int(a[d]) >= dims[d] {
				t.Errorf("a switch at %v in %v", a, dims)
			}
		}
	}
	wrong := 0
	for _, ends := range f.ends {
		a, b := at[ends[0]], at[ends[1]]
		if a == nil || b == nil {
			continue
		}
		var apart []int
		for d := range a {
			if a[d] != b[d] {
				apart = append(apart, d)
			}
		}
		if len(apart) != 1 || !next(apart[0], int(a[apart[0]]), int(b[apart[0]])) {
			wrong++
		}
	}
	if without*100 > may*len(at) || wrong*100 > may*len(f.ends) {
		t.Errorf("%v: %d of %d switches without a place, %d of %d links along no row", dims, without, len(at), wrong,
			len(f.ends))
	}
}

// checkGroups compares groups with those of the generator: each is that of most of its switches.
func checkGroups(t *testing.T, found *topo.Topo, d *Dragonfly, may int) {
	t.Helper()
	wrong := 0
	used := map[string]bool{}
	for _, group := range d.Groups {
		count := map[string]int{}
		for _, s := range group {
			word, _, _ := strings.Cut(name(found, s), " ")
			count[word]++
		}
		best := slices.MaxFunc(slices.Sorted(maps.Keys(count)), func(a, b string) int { return count[a] - count[b] })
		if used[best] {
			wrong += len(group)
		} else {
			wrong += len(group) - count[best]
		}
		used[best] = true
	}
	for s, of := range d.Of {
		switch {
		case of == topo.None:
			wrong++
		case !slices.Contains(d.Groups[of], topo.SwitchIdx(s)):
			t.Errorf("switch %d is in group %d, which does not have it", s, of)
		case d.Plus && d.Spine[s] != strings.Contains(name(found, topo.SwitchIdx(s)), "spine"):
			wrong++
		}
	}
	if wrong*100 > may*len(d.Of) {
		t.Errorf("%d of %d switches in other groups than those of the generator", wrong, len(d.Of))
	}
}

// TestOddHosts: a few hosts on other switches, and a switch that has lost all of its own, change nothing.
func TestOddHosts(t *testing.T) {
	for _, c := range generated {
		if c.may > 0 {
			continue
		}
		levels, other, missed := "", 0, 0
		count := seeds(10, 100)
		for seed := range count {
			fabric := generate(t, fmt.Sprintf("%s,%s,seed=%d", c.spec, damages[seed%3], seed+1))
			if seed == 0 {
				fabric = generate(t, c.spec)
			} else {
				scatter(fabric, seed)
			}
			s := Find(shuffled(t, fabric, seed))
			if s.Kind != c.want {
				t.Logf("%s, seed %d: %v: %s", c.spec, seed, s.Kind, s.Seen)
				missed++
				continue
			}
			if s.Tree == nil {
				continue
			}
			text, _, _ := strings.Cut(s.Seen, ":")
			if seed == 0 {
				levels = text
			} else if text != levels {
				t.Logf("%s, seed %d: %s, want %s", c.spec, seed, s.Seen, levels)
				other++ // all leaves of a subtree of two have lost hosts
			}
		}
		// a host on each of a few switches more makes leaves of a share of them that counts
		few := len(switches(generate(t, c.spec), "")) < 60
		if missed > 0 && !few || missed*10 > int(count) {
			t.Errorf("%s: %d of %d are something else", c.spec, missed, count)
		}
		if other*10 > int(count) {
			t.Errorf("%s: %d of %d have not the same levels", c.spec, other, count)
		}
	}
}

// TestReal: a cluster in use is a tree of two levels.
func TestReal(t *testing.T) {
	const file = "../../../shared/data/ndr-582.topo"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Skip(err)
	}
	fabric, err := net.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range seeds(3, 20) {
		if s := Find(shuffled(t, fabric, seed)); s.Kind != KindFatTree ||
			s.Seen != "fat tree of 2 levels: 31 leaves, 9 roots; 26 of 558 cables are missing" {
			t.Errorf("%v: %s", s.Kind, s.Seen)
		}
	}
}
