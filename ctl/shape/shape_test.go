package shape_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/ctl/ctltest"
	"ibsm/ctl/shape"
)

// The names that the generator gives say on which level a switch is.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		spec   string
		levels map[string]int // by what names begin with
		pods   int            // what the subnet without its top level falls into
	}{
		{"fattree:k=4", map[string]int{"leaf": 1, "agg": 2, "spine": 3}, 4},
		{"fattree:k=6,levels=2", map[string]int{"leaf": 1, "spine": 2}, 6},
		{"fattree:k=4,levels=4", map[string]int{"leaf": 1, "agg1": 2, "agg2": 3, "spine": 4}, 4},
		{"fattree:k=8,missing-links=10%", map[string]int{"leaf": 1, "agg": 2, "spine": 3}, 8},
		{"fattree:k=8,levels=1", map[string]int{"spine": 1, "leaf": 1}, 1},
		{"torus:dims=4x4", nil, 0},
		{"hypercube:dim=4", nil, 0},
		{"dragonfly", nil, 0},
		{"random", nil, 0},
	} {
		f := shape.New(ctltest.Rows(t, c.spec))
		most := 0
		for i := range f.Switches {
			s := &f.Switches[i]
			kind, _, _ := strings.Cut(s.Name, "-")
			want := max(c.levels[kind], 1)
			if s.Level != want {
				t.Errorf("%s: %s is on level %d, want %d", c.spec, s.Name, s.Level, want)
			}
			most = max(most, c.levels[kind])
		}
		if f.Levels != most {
			t.Errorf("%s: %d levels, want %d", c.spec, f.Levels, most)
		}
		if c.pods == 0 {
			continue
		}
		parts := map[int]bool{}
		for s, part := range f.Components(1, max(f.Levels-1, 1)) {
			if (part >= 0) != (f.Levels == 1 || f.Switches[s].Level < f.Levels) {
				t.Errorf("%s: %s is in part %d", c.spec, f.Switches[s].Name, part)
			}
			parts[part] = true
		}
		delete(parts, -1)
		if len(parts) != c.pods {
			t.Errorf("%s: %d parts, want %d", c.spec, len(parts), c.pods)
		}
	}
}

// A host for administration on a spine does not bring it down, nor do leafs rise that
// have no hosts.
func TestOddHosts(t *testing.T) {
	nodes, links := ctltest.Rows(t, "fattree:k=16,levels=2")
	level := func(name string) int {
		f := shape.New(nodes, links)
		for i := range f.Switches {
			if f.Switches[i].Name == name {
				return f.Switches[i].Level
			}
		}
		return 0
	}
	var spine *ctl.Node
	var kept []*ctl.Link
	for _, n := range nodes {
		if n.Desc == "spine-01" {
			spine = n
		}
	}
	for _, l := range links {
		if l.From.Desc != "leaf-02" || l.To.Type != "CA" {
			kept = append(kept, l)
		} else if len(kept) > 0 && spine != nil { // to the spine, once
			kept = append(kept, &ctl.Link{From: ctl.End{Node: spine.GUID, Desc: spine.Desc, Type: "switch", Port: 40},
				To: l.To, State: "Active"})
			spine = nil
		}
	}
	links = kept
	for name, want := range map[string]int{"leaf-01": 1, "leaf-02": 1, "spine-01": 2, "spine-02": 2} {
		if got := level(name); got != want {
			t.Errorf("%s is on level %d, want %d", name, got, want)
		}
	}
}

// The real cluster has 31 leafs, 9 spines, and an aggregation node on every switch.
func TestRealCluster(t *testing.T) {
	nodes, links := ctltest.RealCluster(t)
	f := shape.New(nodes, links)
	if len(f.Switches) != 40 || len(f.Hosts) != 542 || f.Levels != 2 {
		t.Errorf("%d switches on %d levels, %d hosts", len(f.Switches), f.Levels, len(f.Hosts))
	}
	for i := range f.Switches {
		if s := &f.Switches[i]; strings.Contains(s.Desc, "SPINE") != (s.Level == 2) ||
			strings.ContainsAny(s.Name, ";:/") {
			t.Errorf("%q is called %q and on level %d", s.Desc, s.Name, s.Level)
		}
	}
}

// The shape does not depend on the order of the rows, but for that of hosts and switches.
func TestOrder(t *testing.T) {
	nodes, links := ctltest.Rows(t, "fattree:k=4")
	want := shape.New(nodes, links)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
	if got := shape.New(nodes, links); !reflect.DeepEqual(got, want) {
		t.Error("another order of links gives another shape")
	}
}

// Links without their nodes, to aggregation nodes and of a switch to itself do not count.
func TestStrayLinks(t *testing.T) {
	sw, an, host := &ctl.Node{GUID: "0x1", Type: "switch"}, &ctl.Node{GUID: "0x2", Type: "CA", Aggregation: true},
		&ctl.Node{GUID: "0x3", Type: "CA"}
	link := func(a, b string) *ctl.Link { return &ctl.Link{From: ctl.End{Node: a}, To: ctl.End{Node: b}} }
	f := shape.New([]*ctl.Node{sw, an, host}, []*ctl.Link{link("0x1", "0x1"), link("0x1", "0x2"), link("0x9", "0x1"),
		link("0x3", "0x3"), link("0x8", "0x9"), link("0x3", "0x1")})
	if f.Links != 1 || len(f.Switches[0].Hosts) != 1 || f.Switches[0].Name != "1" {
		t.Errorf("%d links, %+v", f.Links, f.Switches[0])
	}
	if f := shape.New(nil, nil); f.Levels != 0 || f.Links != 0 {
		t.Errorf("%+v", f)
	}
}

func TestNatural(t *testing.T) {
	sorted := []string{"", "1", "2", "10", "a", "a1", "a2", "a02b", "a10", "a10-2", "a10-10", "b"}
	for i, a := range sorted {
		for j, b := range sorted {
			if got := shape.Natural(a, b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%q, %q: %d", a, b, got)
			}
		}
	}
	if shape.Natural("a1", "a01") == 0 {
		t.Error("different names are equal")
	}
}
