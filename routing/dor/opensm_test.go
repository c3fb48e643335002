package dor

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"ibsm/routing"
	"ibsm/routing/routingtest"
)

// TestOpenSM routes what OpenSM has routed, and wants no entry to differ.
func TestOpenSM(t *testing.T) {
	for _, c := range []struct {
		spec string
		lmc  int
	}{
		{"torus:dims=4x5,hosts=1", 0},
		{"torus:dims=4x4x3,hosts=2", 1},
		{"mesh:dims=4x3,hosts=2", 2},
		{"mesh:dims=3x3x3,hosts=1,missing-links=5%", 0},
		{"fattree:k=4", 1},
		{"fattree:k=8,levels=2", 0},
		{"hyperx", 2},
		{"dragonfly", 0},
		{"random:switches=30,degree=4,hosts=2,seed=4", 1},
	} {
		t.Run(fmt.Sprintf("%s lmc %d", c.spec, c.lmc), func(t *testing.T) {
			compare(t, routingtest.File(t, c.spec), c.lmc)
		})
	}
	for _, file := range routingtest.Files(t) {
		for lmc := range 3 {
			t.Run(fmt.Sprintf("%s lmc %d", file[strings.LastIndex(file, "/")+1:], lmc), func(t *testing.T) {
				compare(t, file, lmc)
			})
		}
	}
}

func compare(t *testing.T, file string, lmc int) {
	t.Helper()
	run := routingtest.OpenSM(t, file, "dor", "-l", strconv.Itoa(lmc))
	if !strings.Contains(run.Log, "dor tables configured") {
		t.Fatal("OpenSM did not route by dor")
	}
	tables, err := New(routing.Balancing{})(t.Context(), routing.In{Topo: run.Topo, LIDs: run.LIDs})
	if err != nil {
		t.Fatal(err)
	}
	run.Compare(t, tables)
}
