package page

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/ctl/ctltest"
	"ibsm/ctl/shape"
)

// kinds are fabrics of all kinds of maps.
var kinds = []string{
	"fattree:k=4", "fattree:k=8", "fattree:k=4,levels=4", "fattree:k=6,levels=1", "fattree:k=20", "fattree:k=36,levels=2",
	"fattree:k=8,missing-links=20%", "torus:dims=4x4", "torus:dims=3x3x3", "torus:dims=2x3x4x3", "torus:dims=5x1",
	"torus:dims=1x1", "mesh:dims=4x3,hosts=9", "hypercube:dim=5", "hyperx:dims=4x5", "dragonfly", "random:switches=90",
	"tree", "tree:depth=4,fanout=5",
}

// placed are the places of switches by GUID.
func placed(nodes []*ctl.Node, links []*ctl.Link) map[string]Point {
	f := shape.New(nodes, links)
	p := Place(f)
	at := map[string]Point{}
	for s := range f.Switches {
		at[f.Switches[s].GUID] = p.At[s]
	}
	return at
}

// without are nodes and links but for those of one node.
func without(nodes []*ctl.Node, links []*ctl.Link, guid string) ([]*ctl.Node, []*ctl.Link) {
	isIts := func(l *ctl.Link) bool { return l.From.Node == guid || l.To.Node == guid }
	return slices.DeleteFunc(slices.Clone(nodes), func(n *ctl.Node) bool { return n.GUID == guid }),
		slices.DeleteFunc(slices.Clone(links), isIts)
}

// TestPlaces: no two switches stand in one place, all are on the map and its blocks, and the order of rows does not
// matter.
func TestPlaces(t *testing.T) {
	for _, spec := range kinds {
		nodes, links := ctltest.Rows(t, spec)
		f := shape.New(nodes, links)
		p := Place(f)
		for s, at := range p.At {
			if at.X < 0 || at.Y < 0 || at.X+boxWidth > p.W || at.Y+boxHeight > p.H {
				t.Fatalf("%s: %s at %v is not on the map of %v x %v", spec, f.Switches[s].Name, at, p.W, p.H)
			}
			for o, other := range p.At[:s] {
				if at.X < other.X+boxWidth && other.X < at.X+boxWidth && at.Y < other.Y+p.cellHeight() &&
					other.Y < at.Y+boxHeight {
					t.Fatalf("%s: %s at %v lies on %s at %v", spec, f.Switches[s].Name, at, f.Switches[o].Name, other)
				}
			}
			if b := p.Block[s]; b >= 0 && (at.X < p.Blocks[b].X || at.X > p.Blocks[b].X+p.Blocks[b].W) {
				t.Fatalf("%s: %s is not in its block %+v", spec, f.Switches[s].Name, p.Blocks[b])
			}
		}
		if text, err := json.Marshal(newChart(nodes, links, nil).Map); err != nil || strings.Contains(string(text), "null") {
			t.Errorf("%s: the map has null: %.200s %v", spec, text, err)
		}
		before := placed(nodes, links)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
		for guid, at := range placed(nodes, links) {
			if before[guid] != at {
				t.Fatalf("%s: the order of links moves %s", spec, guid)
			}
		}
	}
}

// TestNewNodeMovesNoOther: a switch or a host that comes, wherever it stands, moves no switch; nor does a cable between
// two pods.
func TestNewNodeMovesNoOther(t *testing.T) {
	for _, spec := range []string{"fattree:k=8", "fattree:k=12", "fattree:k=14,levels=2", "torus:dims=4x4", "dragonfly",
		"random:switches=30"} {
		nodes, links := ctltest.Rows(t, spec)
		all := placed(nodes, links)
		moved, tried := 0, 0
		for i, n := range nodes {
			if n.Type != "switch" && i%16 != 0 || n.Desc == "leaf-01" || n.Desc == "agg-01" || n.Desc == "spine-01" {
				continue
			}
			tried++
			is := false
			for guid, at := range placed(without(nodes, links, n.GUID)) {
				if at != all[guid] {
					is = true
				}
			}
			if is {
				moved++
				t.Logf("%s: %s moves others", spec, n.Desc)
			}
		}
		if moved > 0 {
			t.Errorf("%s: %d of %d nodes move others when they come", spec, moved, tried)
		}
	}
	for _, spec := range []string{"fattree:k=4", "fattree:k=8"} {
		nodes, links := ctltest.Rows(t, spec)
		all := placed(nodes, links)
		for i, l := range links {
			if l.To.Type != "switch" {
				continue
			}
			for guid, at := range placed(nodes, slices.Delete(slices.Clone(links), i, i+1)) {
				if at != all[guid] {
					t.Fatalf("%s: without the cable from %s to %s %s moves", spec, l.From.Desc, l.To.Desc, guid)
				}
			}
		}
	}
	nodes, links := ctltest.Rows(t, "fattree:k=8")
	all := placed(nodes, links)
	wrong := *links[len(links)-1]
	for _, n := range nodes {
		if n.Desc == "leaf-01" {
			wrong.From = ctl.End{Node: n.GUID, Desc: n.Desc, Type: "switch", Port: 60}
		}
		if n.Desc == "agg-20" {
			wrong.To = ctl.End{Node: n.GUID, Desc: n.Desc, Type: "switch", Port: 60}
		}
	}
	for guid, at := range placed(nodes, append(links, &wrong)) {
		if at != all[guid] {
			t.Errorf("a cable between two pods moves %s", guid)
		}
	}
}

// Groups of switches in a ring have the name that their switches share, whose last numbers alone are written in them.
func TestGroupsHaveTitles(t *testing.T) {
	nodes, links := ctltest.Rows(t, "dragonfly")
	p := Place(shape.New(nodes, links))
	for i, b := range p.Blocks {
		if want := fmt.Sprintf("group-%02d", i+1); b.Name != want {
			t.Errorf("group %d is called %q, want %q", i, b.Name, want)
		}
	}
	if len(p.Blocks) == 0 {
		t.Error("a dragonfly has no groups")
	}
	if got := title("rack-"); got != "rack" {
		t.Errorf("a group without a number is called %q", got)
	}
}

// TestFlatTree: the map of a tree of two levels is not much wider than a screen, and its spines stand in the middle.
func TestFlatTree(t *testing.T) {
	for _, spec := range []string{"fattree:k=16,levels=2", "fattree:k=36,levels=2"} {
		nodes, links := ctltest.Rows(t, spec)
		c := newChart(nodes, links, nil)
		if c.Width > 1.2*screen*c.Height || c.Height > c.Width {
			t.Errorf("%s: %.0f x %.0f", spec, c.Width, c.Height)
		}
		least, most := c.Width, 0.0
		for i := range c.Switches {
			if s := &c.Switches[i]; strings.HasPrefix(s.Name, "spine") {
				least, most = min(least, s.X), max(most, s.X+boxWidth)
			}
		}
		if left, right := least, c.Width-most; max(left, right)-min(left, right) > c.Width/4 {
			t.Errorf("%s: spines from %.0f to %.0f of %.0f", spec, least, most, c.Width)
		}
	}
}
