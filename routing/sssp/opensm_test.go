package sssp

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/topo"
)

// TestOpenSM routes what OpenSM has routed, and wants no entry to differ.
func TestOpenSM(t *testing.T) {
	for _, c := range []struct {
		spec string
		lmc  int
	}{
		{"fattree:k=4", 0},
		{"fattree:k=8", 1},
		{"fattree:k=8,missing-links=5%", 0},
		{"torus:dims=4x5,hosts=1", 2},
		{"mesh:dims=3x3x3,hosts=1,missing-links=5%", 0},
		{"torus:dims=25,hosts=2", 0}, // the fewest links are not sure to be the lightest way
		{"hyperx", 0},
		{"dragonfly", 0},
		{"random:switches=30,degree=4,hosts=2,seed=4", 0},
		{"random:switches=30,degree=4,hosts=2,seed=5", 1},
	} {
		t.Run(fmt.Sprintf("%s lmc %d", c.spec, c.lmc), func(t *testing.T) {
			compare(t, routingtest.File(t, c.spec), c.lmc)
		})
	}
	for _, file := range routingtest.Files(t) {
		t.Run(file[strings.LastIndex(file, "/")+1:], func(t *testing.T) { compare(t, file, 0) })
	}
}

// TestOpenSMNodes names compute and I/O nodes, some of them in both files.
func TestOpenSMNodes(t *testing.T) {
	file := routingtest.File(t, "fattree:k=6,missing-links=3%")
	first := routingtest.OpenSM(t, file, "minhop")
	s := Settings{Compute: map[mad.GUID]bool{}, IO: map[mad.GUID]bool{}}
	dir := t.TempDir()
	list := map[string]string{}
	for i, p := range first.Topo.EndPorts {
		guid := first.Topo.Ports[p].GUID
		if first.Topo.Nodes[first.Topo.Ports[p].Node].Switch != topo.None {
			continue
		}
		if i%3 == 0 {
			s.Compute[guid] = true
			list["cn"] += fmt.Sprintf("0x%016x\n", uint64(guid))
		}
		if i%4 == 0 {
			s.IO[guid] = true
			list["io"] += fmt.Sprintf("0x%016x\n", uint64(guid))
		}
	}
	for name, text := range list {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	compareWith(t, file, s, "-u", filepath.Join(dir, "cn"), "-G", filepath.Join(dir, "io"))
	compareWith(t, file, Settings{Compute: s.Compute}, "-u", filepath.Join(dir, "cn"))
	compareWith(t, file, Settings{IO: s.IO}, "-G", filepath.Join(dir, "io"))
}

func compare(t *testing.T, file string, lmc int) {
	t.Helper()
	compareWith(t, file, Settings{}, "-l", strconv.Itoa(lmc))
}

func compareWith(t *testing.T, file string, s Settings, options ...string) {
	t.Helper()
	run := routingtest.OpenSM(t, file, "sssp", options...)
	if !strings.Contains(run.Log, "sssp tables configured") {
		t.Fatal("OpenSM did not route by sssp")
	}
	tables, err := New(s)(t.Context(), routing.In{Topo: run.Topo, LIDs: run.LIDs})
	if err != nil {
		t.Fatal(err)
	}
	run.Compare(t, tables)
}
