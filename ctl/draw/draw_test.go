package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/ctltest"
	"ibsm/ctl/shape"
	"ibsm/topo/net"
)

// drawn is a picture, and its elements with their titles.
func drawn(t *testing.T, f *shape.Fabric, o Options) (text string, titles []string) {
	t.Helper()
	var b bytes.Buffer
	if err := SVG(&b, f, o); err != nil {
		t.Fatal(err)
	}
	text = b.String()
	d := xml.NewDecoder(&b)
	inTitle := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text, titles
		}
		if err != nil {
			t.Fatalf("%v in %.200s", err, text)
		}
		switch x := token.(type) {
		case xml.StartElement:
			inTitle = x.Name.Local == "title"
			if inTitle {
				titles = append(titles, "")
			}
		case xml.EndElement:
			inTitle = false
		case xml.CharData:
			if inTitle {
				titles[len(titles)-1] += string(x)
			}
		}
	}
}

// Whatever the fabric: each switch is shown once, each cable between switches is in
// one title, nothing lies outside the picture, and no box on another.
func TestAllKinds(t *testing.T) {
	for _, spec := range []string{
		"fattree:k=4", "fattree:k=8", "fattree:k=4,levels=4", "fattree:k=20", "fattree:k=6,levels=1",
		"fattree:k=36,levels=2", "fattree:k=8,missing-links=20%",
		"torus:dims=4x4", "torus:dims=3x3x3", "torus:dims=2x3x4x3", "torus:dims=5x1", "torus:dims=1x1",
		"mesh:dims=4x3,hosts=9", "hypercube:dim=5", "hypercube:dim=1",
		"hyperx:dims=4x5", "dragonfly", "random:switches=90", "tree", "tree:depth=4,fanout=5",
	} {
		f := shape.New(ctltest.Rows(t, spec))
		text, titles := drawn(t, f, Options{Colour: ByState, Note: spec})
		again, _ := drawn(t, f, Options{Colour: ByState, Note: spec})
		if text != again {
			t.Errorf("%s: two pictures differ", spec)
		}
		switches, cables := map[string]int{}, 0
		for _, title := range titles {
			if lines := strings.Split(title, "\n"); strings.Contains(lines[0], " link") {
				cables++
			} else if strings.Contains(title, "ports Active") {
				switches[lines[1]]++
			}
		}
		for i := range f.Switches {
			if n := switches["GUID "+f.Switches[i].GUID+", LID "+f.Switches[i].LID.String()]; n != 1 {
				t.Errorf("%s: %s is there %d times", spec, f.Switches[i].Name, n)
			}
		}
		if (cables > 0) != (len(f.Trunks) > 0) || cables > len(f.Trunks) {
			t.Errorf("%s: %d lines for %d trunks", spec, cables, len(f.Trunks))
		}
		checkPlaces(t, spec, f)
	}
}

// checkPlaces lays a fabric out as SVG does, and looks at the boxes.
func checkPlaces(t *testing.T, spec string, f *shape.Fabric) {
	t.Helper()
	p := lay(f, Options{Colour: ByState})
	for i := range p.knots {
		a := &p.knots[i]
		if a.x-a.w/2 < 0 || a.x+a.w/2 > p.w || a.y-a.h/2 < headHeight-1 || a.y+a.h/2 > p.h {
			t.Fatalf("%s: %q at %.0f, %.0f is not in the picture of %.0f x %.0f", spec, a.label, a.x, a.y, p.w, p.h)
		}
		for j := range p.knots[:i] {
			b := &p.knots[j]
			if a.shape == spoke && math.Hypot(a.x-b.x, a.y-b.y) > 2*dotRadius {
				continue
			}
			if a.x-a.w/2 < b.x+b.w/2 && b.x-b.w/2 < a.x+a.w/2 && a.y-a.h/2 < b.y+b.h/2 && b.y-b.h/2 < a.y+a.h/2 {
				t.Fatalf("%s: %q and %q lie on each other", spec, a.label, b.label)
			}
		}
	}
}

// The largest fabric that OpenSM is compared on makes a file of half a megabyte.
func TestLarge(t *testing.T) {
	f := shape.New(ctltest.Rows(t, "fattree:k=36"))
	text, titles := drawn(t, f, Options{Colour: ByState})
	if len(text) > 600_000 || len(titles) < 1620 {
		t.Errorf("%d bytes, %d titles", len(text), len(titles))
	}
	if !strings.Contains(text, "1620 switches on 3 levels, 11664 adapters, 34992 links") {
		t.Error("the heading is not there")
	}
}

// Adapters without a switch are drawn too: one alone, and two with a cable between them.
func TestNoSwitch(t *testing.T) {
	const alone, pair = "Ca 2 \"a\" # \"host-1 mlx5_0\"\n",
		"Ca 1 \"a\" # \"host-1 mlx5_0\"\n[1] \"b\"[1]\n\nCa 1 \"b\" # \" host-2 mlx5_0 \"\n[1] \"a\"[1]\n"
	for src, want := range map[string]string{alone: "0 switches, 1 adapter, 0 links",
		pair: "0 switches, 2 adapters, 1 link<"} {
		n, err := net.Parse("f", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		text, titles := drawn(t, shape.New(ctltest.Of(n)), Options{Colour: ByState})
		if !strings.Contains(text, want) || len(titles) != len(n.Nodes) {
			t.Errorf("want %q and a title for each of %d adapters: %q\n%s", want, len(n.Nodes), titles, text)
		}
		for i := range n.Nodes {
			if !strings.Contains(text, ">"+n.Nodes[i].Desc+"<") {
				t.Errorf("%q is not in the picture", n.Nodes[i].Desc)
			}
		}
	}
}

// A link of unknown speed is not called slow.
func TestUnknownSpeed(t *testing.T) {
	nodes, links := ctltest.Rows(t, "fattree:k=4,levels=2")
	links[0].Speed = "?"
	if text, _ := drawn(t, shape.New(nodes, links), Options{Colour: ByState}); strings.Contains(text,
		stateNames[slow]+": ") {
		t.Error("a link of unknown speed is called slow")
	}
}

// What is not as it should be is reported by colour and count.
func TestStates(t *testing.T) {
	nodes, links := ctltest.Rows(t, "fattree:k=4,levels=2")
	trunks := 0
	for _, l := range links {
		if l.To.Type != "switch" {
			continue
		}
		switch trunks++; trunks {
		case 1:
			l.State = "Down"
		case 2:
			l.State = "Armed"
		case 3:
			l.Unhealthy = true
		case 4:
			l.Width = "1x"
		}
	}
	nodes[0].Missed = 3
	nodes[0].Desc = `a "name" <with> all & sundry`
	text, titles := drawn(t, shape.New(nodes, links), Options{Colour: ByState, Note: "<here>"})
	for _, want := range []string{
		"links Down: 1", "links Initialize or Armed: 1", "links avoided by routes: 1",
		"links Active, slower than most: 1", "links Active: 12", "switches that do not answer: 1",
		`class="s4"`, `class="s3"`, `class="s2"`, `class="s1"`, `class="k x"`, "&lt;here&gt;",
		"&lt;with&gt; all &amp; sundry",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	all := strings.Join(titles, "\n")
	for _, want := range []string{"has not answered for 3 sweeps", "1x HDR Active", ", avoided by routes",
		`a "name" <with> all & sundry`} {
		if !strings.Contains(all, want) {
			t.Errorf("no title has %q in %.300s", want, all)
		}
	}
}

// A cable that is out is seen at both its ends; a mesh has fewer at its edges by design.
func TestFewerCables(t *testing.T) {
	nodes, links := ctltest.Rows(t, "fattree:k=6")
	for i, l := range links {
		if l.From.Desc == "leaf-05" && l.To.Desc == "agg-06" {
			links = slices.Delete(links, i, i+1)
			break
		}
	}
	text, titles := drawn(t, shape.New(nodes, links), Options{Colour: ByState})
	if !strings.Contains(text, "switches with fewer cables to others than most on their level: 2<") {
		t.Error("the heading does not report it")
	}
	for _, title := range titles {
		name, _, _ := strings.Cut(title, "\n")
		if strings.Contains(title, "cables to switches, most on its level have ") != (name == "leaf-05" ||
			name == "agg-06") {
			t.Error(title)
		}
	}
	if text, _ := drawn(t, shape.New(ctltest.Rows(t, "mesh:dims=4x4")), Options{Colour: ByState}); strings.Contains(
		text, "fewer") {
		t.Error("a mesh lacks cables")
	}
}

// Pods stay together, and everything in the order of its names, in a fabric in which
// another order has fewer crossings.
func TestPodsStayTogether(t *testing.T) {
	nodes, links := ctltest.Rows(t, "fattree:k=6")
	lost := func(l *ctl.Link) bool {
		return l.From.Desc == "leaf-10" || l.From.Desc == "leaf-03" && l.To.Desc == "agg-01"
	}
	p := lay(shape.New(nodes, slices.DeleteFunc(links, lost)), Options{})
	for _, kind := range []string{"leaf", "agg"} {
		last, at := "", 0.0
		for i := range p.knots {
			if k := &p.knots[i]; strings.HasPrefix(k.label, kind) {
				if shape.Natural(k.label, last) <= 0 || k.x <= at {
					t.Errorf("%s at %.0f comes after %s at %.0f", k.label, k.x, last, at)
				}
				last, at = k.label, k.x
			}
		}
	}
}

// The colour of a load is its share of the mean; a line has that of its busiest cable.
func TestLoads(t *testing.T) {
	nodes, links := ctltest.Rows(t, "mesh:dims=4")
	trunk := uint32(0)
	for _, l := range links {
		if l.To.Type == "switch" {
			l.Routes = &ctl.Routes{Out: 10 * trunk, In: 10 * trunk} // 0, 10, 20: the mean is 10
			trunk++
		}
	}
	text, titles := drawn(t, shape.New(nodes, links), Options{Colour: ByLoad})
	for _, want := range []string{`class="l0" stroke`, `class="l8" stroke`, `class="l16" stroke`, "mean 10<",
		"20 or more<", "most 20<"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is there %d times", want, strings.Count(text, want))
		}
	}
	if all := strings.Join(titles, "\n"); !strings.Contains(all, "routes 20 and back 20") {
		t.Error("no title reports routes")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestBrokenWriter(t *testing.T) {
	if err := SVG(broken{}, shape.New(ctltest.Rows(t, "torus")), Options{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// TestAbsent: what has gone since the manager started is drawn where it was, and not counted.
func TestAbsent(t *testing.T) {
	nodes, links := ctltest.Rows(t, "fattree:k=4")
	since := time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC)
	for _, n := range nodes {
		if n.Desc == "agg-02" || strings.HasPrefix(n.Desc, "host-05 ") {
			n.Absent = &since
		}
	}
	for _, l := range links {
		if l.From.Desc == "agg-02" || l.To.Desc == "agg-02" || strings.HasPrefix(l.From.Desc+l.To.Desc, "host-05 ") ||
			strings.HasPrefix(l.To.Desc, "host-05 ") {
			l.State, l.Width, l.Speed = ctl.Absent, "", ""
		}
	}
	text, titles := drawn(t, shape.New(nodes, links), Options{Colour: ByState})
	for _, want := range []string{">19 switches on 3 levels, 15 adapters, 43 links<", ">absent switches: 1<",
		">absent adapters: 1<", ">links absent: 5<"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	all := strings.Join(titles, "\n\n")
	for _, want := range []string{"LID 10\nabsent since 2026-11-22 20:00:00", "agg-02: 0 of 1 link\n",
		" absent\nabsent since 2026-11-22 20:00:00"} {
		if !strings.Contains(all, want) {
			t.Errorf("no title has %q", want)
		}
	}
}

// TestParallelCables: the number of cables between two switches is in the picture.
func TestParallelCables(t *testing.T) {
	nodes, links := ctltest.Rows(t, "fattree:k=4")
	for _, l := range links {
		if l.From.Desc == "leaf-01" && l.To.Desc == "agg-01" || l.From.Desc == "leaf-02" && l.To.Desc == "agg-01" {
			second := *l
			second.From.Port, second.To.Port = 11, 11
			if l.From.Desc == "leaf-02" {
				second.State = ctl.Absent
			}
			links = append(links, &second)
		}
	}
	text, _ := drawn(t, shape.New(nodes, links), Options{Colour: ByState})
	if strings.Count(text, `class="n">2<`) != 1 || strings.Count(text, `class="n">1 of 2<`) != 1 ||
		strings.Count(text, `class="n">`) != 2 {
		t.Error("the numbers of cables are not 2 and 1 of 2")
	}
}
