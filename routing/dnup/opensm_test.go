package dnup

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
		spec    string
		lmc     int
		connect bool
	}{
		{"fattree:k=4", 0, false},
		{"fattree:k=8", 1, true},
		{"fattree:k=8,missing-links=5%", 0, false},
		{"fattree:k=8,missing-links=5%", 0, true},
		{"torus:dims=4x5,hosts=1", 0, false},
		{"random:switches=30,degree=4,hosts=2,seed=4", 0, false},
		{"random:switches=30,degree=4,hosts=2,seed=5", 2, true},
		{"hyperx", 0, true},
		{"dragonfly", 0, false},
	} {
		t.Run(fmt.Sprintf("%s lmc %d connect %v", c.spec, c.lmc, c.connect), func(t *testing.T) {
			compare(t, routingtest.File(t, c.spec), c.lmc, c.connect)
		})
	}
	for _, file := range routingtest.Files(t) {
		t.Run(file[strings.LastIndex(file, "/")+1:], func(t *testing.T) { compare(t, file, 0, true) })
	}
}

func compare(t *testing.T, file string, lmc int, connect bool) {
	t.Helper()
	options := []string{"-l", strconv.Itoa(lmc)}
	if connect {
		options = append(options, "-z")
	}
	run := routingtest.OpenSM(t, file, "dnup", options...)
	if !strings.Contains(run.Log, "dnup tables configured") {
		t.Fatal("OpenSM did not route by dnup")
	}
	tables, err := New(Settings{ConnectRoots: connect}, routing.Balancing{})(t.Context(), routing.In{Topo: run.Topo, LIDs: run.LIDs})
	if err != nil {
		t.Fatal(err)
	}
	run.Compare(t, tables)
}
