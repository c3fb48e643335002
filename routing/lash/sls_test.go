package lash

import (
	"testing"

	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/sim/ibsim/ibsimtest"
)

// TestOpenSMPathSLs compares the SL of every path with that in OpenSM's PathRecord.
func TestOpenSMPathSLs(t *testing.T) {
	for spec, settings := range map[string]Settings{
		"torus:dims=5x5,hosts=1": {}, "torus:dims=4x4x4,hosts=1": {}, "random:switches=40,degree=4,hosts=1,seed=5": {
			StartVL: 2,
		}, "dragonfly": {},
		"torus:dims=6x5,hosts=1,missing-links=5%": {StartVL: 1, MeshAnalysis: true},
	} {
		t.Run(spec, func(t *testing.T) {
			file := routingtest.File(t, spec)
			run := routingtest.OpenSM(t, file, "lash", settings.options()...)
			tables, err := New(settings)(t.Context(), routing.In{Topo: run.Topo, LIDs: run.LIDs})
			if err != nil {
				t.Fatal(err)
			}
			compared, differ := 0, 0
			for path, want := range run.Serve(t, ibsimtest.Dial).SLs(run.HostLIDs()) {
				compared++
				if got := tables.SLs.Of(path[0], path[1]); got != want {
					if differ++; differ < 10 {
						t.Errorf("from LID %v to LID %v: SL %d, OpenSM %d", path[0], path[1], got, want)
					}
				}
			}
			if n := len(run.Topo.Switches); compared < n*n {
				t.Errorf("compared %d paths", compared)
			}
			t.Logf("compared %d paths, %d differ", compared, differ)
		})
	}
}
