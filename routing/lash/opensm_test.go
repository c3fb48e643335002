package lash

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"ibsm/routing"
	"ibsm/routing/routingtest"
)

var lanesNeeded, inLayer = regexp.MustCompile(`Lanes needed: (\d+)`), regexp.MustCompile(`Lanes in layer (\d+): (\d+)`)

// TestOpenSM routes what OpenSM has routed, and wants each entry to be its, and as many lanes.
func TestOpenSM(t *testing.T) {
	for _, c := range []struct {
		spec string
		lmc  int
	}{
		{"fattree:k=4", 0},
		{"torus:dims=5x5,hosts=2", 0},
		{"torus:dims=3x3x3,hosts=1", 1},
		{"random:seed=3", 0},
		{"torus:dims=4x4x4,hosts=1", 0},
		{"random:switches=40,degree=4,hosts=1,seed=5", 0},
		{"dragonfly", 0},
		{"hyperx", 0},
	} {
		t.Run(fmt.Sprintf("%s lmc %d", c.spec, c.lmc), func(t *testing.T) { compareWithOpenSM(t, routingtest.File(t, c.spec), c.lmc) })
	}
	for _, file := range routingtest.Files(t) {
		t.Run(filepath.Base(file), func(t *testing.T) { compareWithOpenSM(t, file, 0) })
	}
}

func compareWithOpenSM(t *testing.T, file string, lmc int) {
	run := routingtest.OpenSM(t, file, "lash", "-l", strconv.Itoa(lmc))
	tables, err := New(Settings{})(t.Context(), routing.In{Topo: run.Topo, LIDs: run.LIDs})
	if err != nil {
		t.Fatal(err)
	}
	run.Compare(t, tables)
	if m := lanesNeeded.FindStringSubmatch(run.Log); m == nil || m[1] != strconv.Itoa(tables.SLs.Count) {
		t.Errorf("%d lanes, OpenSM %q", tables.SLs.Count, m)
	}
	paths := make([]int, tables.SLs.Count)
	for i, row := range tables.SLs.Rows {
		for j, sl := range row {
			if i != j {
				paths[sl]++
			}
		}
	}
	theirs := inLayer.FindAllStringSubmatch(run.Log, -1)
	for lane, n := range paths { // logged before and after the lanes are evened out
		if m := theirs[len(theirs)-len(paths)+lane]; m[1] != strconv.Itoa(lane) || m[2] != strconv.Itoa(n) {
			t.Errorf("%d paths on lane %d, OpenSM %q", n, lane, m)
		}
	}
	t.Logf("paths by lane: %d", paths)
}
