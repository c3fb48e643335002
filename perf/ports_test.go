package perf

import (
	"testing"

	"ibsm/mad"
	"ibsm/topo"
	"ibsm/view/viewtest"
)

// TestPortsOf: both ends of each link of a fat tree, and each enhanced port 0, by the LID of their agent, with the rate
// of the link.
func TestPortsOf(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4", 0) // 16 hosts, 48 links
	for _, tt := range []struct {
		switchesOnly bool
		want         int
	}{{false, 104}, {true, 88}} {
		list := PortsOf(v, tt.switchesOnly)
		if len(list) != tt.want {
			t.Errorf("%d ports, want %d", len(list), tt.want)
		}
		seen := map[Key]bool{}
		for _, p := range list {
			n := v.Topo.FindNode(p.Node)
			at := v.Topo.Port(n, p.Port)
			end := v.LIDs.PortOf(p.To.LID)
			if seen[p.Key] || n == topo.None || (v.Topo.Ports[at].Peer == topo.None) != (p.Port == 0) ||
				end == topo.None || v.Topo.Ports[end].Node != n || p.To.QPN != 1 {
				t.Fatalf("%+v", p)
			}
			seen[p.Key] = true
			if p.Port == 0 {
				continue
			}
			if want := uint64(
				mad.LinkRate(v.Topo.Ports[at].Info.LinkWidthActive(),
					v.Topo.LinkSpeed(at)).Gbps() / 32 * 1e9); p.Words != want || want < 100_000_000 {
				t.Errorf("%+v: %d words a second, want %d", p.Key, p.Words, want)
			}
		}
	}
	// Without a LID nobody can be asked.
	n := v.Topo.FindNode(PortsOf(v, true)[0].Node)
	v.LIDs.Base[v.Topo.Nodes[n].First] = 0
	if got := len(PortsOf(v, true)); got != 83 {
		t.Errorf("%d ports when a switch has no LID", got)
	}
}
