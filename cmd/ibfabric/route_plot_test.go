package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/routing/routingtest"
	"ibsm/topo/net"
)

var rewritePictures = flag.Bool("rewrite", false, "make the pictures of docs/quality.md again")

// TestPictures: the pictures of docs/quality.md are what the commands that it names draw, with the flag -rewrite after
// they were made. They are XML, and have no colour.
func TestPictures(t *testing.T) {
	page, err := os.ReadFile("../../docs/quality.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var text bytes.Buffer
	if err := net.Write(&text, routingtest.RailSpec{Units: 2, Hosts: 16, Rails: 4, Spines: 8,
		Cables: 2}.Fabric()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rails.topo"), text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	made := 0
	for line := range strings.Lines(string(page)) {
		_, command, is := strings.Cut(strings.TrimSpace(line), "ibfabric ")
		args := strings.Fields(command)
		if !is || len(args) < 2 || args[len(args)-2] != "--plot" {
			continue
		}
		name := args[len(args)-1]
		args[len(args)-1] = filepath.Join(dir, filepath.Base(name))
		if args[1] == "rails.topo" {
			args[1] = filepath.Join(dir, "rails.topo")
		}
		var out bytes.Buffer
		if code := run(args, &out, &out); code != 0 {
			t.Fatalf("%s: %s", command, out.String())
		}
		got, err := os.ReadFile(args[len(args)-1])
		if err != nil {
			t.Fatal(err)
		}
		if *rewritePictures {
			if err := os.WriteFile("../../docs/"+name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile("../../docs/" + name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf(
				"docs/%s is not what %q draws, %v: go test ./cmd/ibfabric -run TestPictures -rewrite makes it again",
				name, command, err)
		}
		for decoder := xml.NewDecoder(bytes.NewReader(got)); ; {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if len(got) > 40<<10 || bytes.Contains(got, []byte("NaN")) {
			t.Errorf("%s has %d bytes, or figures that are none", name, len(got))
		}
		made++
	}
	if made < 2 {
		t.Errorf("%d pictures on the page", made)
	}
}

// TestPlotGaps: an engine that refuses has a gap in its line, and one that always does has none.
func TestPlotGaps(t *testing.T) {
	some := []attempt{{}}
	got := string(
		plot([]string{"a", "b<"}, []int{0, 1, 2, 3},
			[]point{{"a", 0, some}, {"a", 1, some}, {"a", 2, nil}, {"a", 3, some}, {"b<", 0, nil}}))
	if strings.Count(got, "L") < 4 || !strings.Contains(got, "b&lt;") || strings.Contains(got, "NaN") {
		t.Error(got)
	}
	line := got[strings.Index(got, `<path d="M34`):]
	if line = line[:strings.Index(line, "/>")]; strings.Count(line, "M") != 2 || strings.Count(line, "L") != 1 {
		t.Errorf("%q", line)
	}
	var out bytes.Buffer
	if code := run([]string{"route", "fattree:k=4", "--plot", "x"}, &out, &out); code != 2 ||
		!strings.Contains(out.String(), "--plot needs --missing") {
		t.Errorf("exit %d, %s", code, out.String())
	}
	out.Reset()
	if code := run([]string{"route", "fattree:k=4", "--missing", "0%..1%", "--engine",
		"minhop,updn,dnup,sssp,tree,lash,dor", "--plot", "x"}, &out, &out); code != 2 ||
		!strings.Contains(out.String(), "6 engines at most") {
		t.Errorf("7 engines: exit %d, %s", code, out.String())
	}
}

// TestPlotLegend: each engine has a place of its own in the picture.
func TestPlotLegend(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	got := string(plot(names, []int{0}, nil))
	places := map[string]bool{}
	for _, name := range names {
		var x, y int
		before, _, _ := strings.Cut(got, ">"+name+"</text>")
		if _, err := fmt.Sscanf(before[strings.LastIndex(before, "<"):], `<text x="%d" y="%d"`, &x, &y); err != nil ||
			x+50 > 2*panelWidth || places[fmt.Sprint(x, y)] {
			t.Errorf("%s at %d, %d: %v", name, x, y, err)
		}
		places[fmt.Sprint(x, y)] = true
	}
}
