package torus

import (
	"os"
	"strconv"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/sim/ibsim/ibsimtest"
)

// live are fabrics that OpenSM serves. Of those that come first the small size tests one.
var live = []fabric{
	{dims: [3]int{4, 4, 1}, cables: 2, hosts: 2, less: 10, gone: [][3]int{{2, 1, 0}}},
	{dims: [3]int{5, 5, 1}, cables: 3, hosts: 1, less: 20},
	{dims: [3]int{3, 4, 5}, cables: 2, hosts: 1, lmc: 1, less: 30, lost: 2},
	{dims: [3]int{3, 3, 3}, cables: 1, hosts: 2, gone: [][3]int{{1, 1, 1}, {1, 1, 2}}},
	{dims: [3]int{4, 3, 5}, open: [3]bool{true, false, false}, cables: 1, hosts: 1},
}

// TestServed compares what OpenSM serves: the SL of each path, and the tables of multicast groups with random
// members.
func TestServed(t *testing.T) {
	some := live
	if os.Getenv("IBSM_PROOF") == "" {
		some = live[:1]
	}
	for _, f := range some {
		t.Run(f.String(), func(t *testing.T) { compareServed(t, f) })
	}
}

func compareServed(t *testing.T, f fabric) {
	b := f.build(t)
	options := []string{"-Q", "--torus_config", b.conf, "-l", strconv.Itoa(f.lmc)}
	run := routingtest.OpenSM(t, b.net, "torus-2QoS", options...)
	s, _ := settingsOf(t, b.conf)
	tables, err := New(s)(t.Context(), routing.In{Topo: run.Topo, LIDs: run.LIDs})
	if err != nil {
		t.Fatal(err)
	}
	var lids []mad.LID
	for _, p := range run.Topo.EndPorts {
		lids = append(lids, run.LIDs.Base[p])
	}
	served := run.Serve(t, ibsimtest.Dial)
	differ := 0
	sls := served.SLs(lids)
	for path, want := range sls {
		if got := tables.SLs.For(path[0], path[1], 0); got != want {
			if differ++; differ < 10 {
				t.Errorf("from LID %v to LID %v: SL %d, OpenSM %d", path[0], path[1], got, want)
			}
		}
	}
	t.Logf("compared %d SLs, %d differ", len(sls), differ)
	t.Logf("compared %d entries for groups", served.CompareTrees(6, tables.Trunk))
}
