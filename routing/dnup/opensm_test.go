package dnup

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/routing/verify"
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
	tables, err := New(Settings{ConnectRoots: connect}, routing.Balancing{})(t.Context(),
		routing.In{Topo: run.Topo, LIDs: run.LIDs})
	if err != nil {
		t.Fatal(err)
	}
	run.Compare(t, tables)
	mustForbid(t, run, tables)
}

// mustForbid checks the proof of tables that are OpenSM's: the entries that OpenSM leaves empty are lost where hosts or
// the manager need them, and in no other place: the rules forbid all others.
func mustForbid(t *testing.T, run *routingtest.Run, tables *routing.Tables) {
	t.Helper()
	report, err := verify.Check(t.Context(), 0, run.Topo, run.LIDs, tables, nil)
	if err != nil {
		t.Fatal(err)
	}
	needed, others := run.Empty(tables)
	if report.Bad() != needed || report.Unreached() != needed || report.Count[verify.Forbidden] != others {
		t.Errorf("%d entries that hosts or the manager need are empty, and %d others; the proof says %v, such as %+v",
			needed, others, report.Count, report.Examples)
	}
}
