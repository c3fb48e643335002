package nue

import (
	"fmt"
	"testing"

	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/sim/ibsim/ibsimtest"
)

// TestOpenSMPathSLs compares the SL of every path between hosts with that in OpenSM's PathRecord.
func TestOpenSMPathSLs(t *testing.T) {
	for _, c := range []struct {
		spec string
		Settings
	}{
		{"torus:dims=4x4,hosts=2", Settings{MaxVLs: 3, QoS: true}},
		{"torus:dims=4x4,hosts=2", Settings{MaxVLs: 3}},
		{"random:switches=20,degree=4,hosts=2,seed=5", Settings{MaxVLs: 8, Switches: true, QoS: true}},
		{"fattree:k=4", Settings{MaxVLs: 1, QoS: true}},
	} {
		t.Run(fmt.Sprintf("%s %+v", c.spec, c.Settings), func(t *testing.T) {
			file := routingtest.File(t, c.spec)
			run := routingtest.OpenSM(t, file, "nue", c.options(t)...)
			tables, err := New(c.Settings)(t.Context(), routing.In{Topo: run.Topo, LIDs: run.LIDs})
			if err != nil {
				t.Fatal(err)
			}
			run.Compare(t, tables)
			hosts := run.HostLIDs()
			compared, used := 0, map[uint8]bool{}
			for path, want := range run.Serve(t, ibsimtest.Dial).SLs(hosts) {
				compared++
				if used[want] = true; tables.SLs.Of(path[0], path[1]) != want {
					t.Fatalf("from LID %v to LID %v: SL %d, OpenSM %d", path[0], path[1],
						tables.SLs.Of(path[0], path[1]), want)
				}
			}
			lanes := int(c.MaxVLs)
			if !c.QoS {
				lanes = 1
			}
			if compared != len(hosts)*len(hosts) || len(used) != lanes {
				t.Errorf("compared %d paths of %d hosts, with SLs %v", compared, len(hosts), used)
			}
		})
	}
}
