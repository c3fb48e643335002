package sweep

import (
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/topo/netwalk"
	"ibsm/view"
)

// TestDrainStates: what is drained is empty wherever that splits nothing, and keeps a link to a switch that stays in
// use.
func TestDrainStates(t *testing.T) {
	for name, c := range map[string]struct {
		spec  string
		drain []string // switches by description, with a port after a colon
		want  []view.DrainState
		hosts []int
	}{
		"a root": {"fattree:k=4", []string{"spine-01"}, []view.DrainState{view.DrainEmpty},
			[]int{0}},
		"all roots": {"fattree:k=4,levels=2", []string{"spine-01", "spine-02"},
			[]view.DrainState{view.DrainEmpty, view.DrainNeeded}, []int{0, 0}},
		"a leaf": {"fattree:k=4", []string{"leaf-01"}, []view.DrainState{view.DrainEmpty},
			[]int{2}},
		"a cable": {"fattree:k=4", []string{"leaf-01:3"},
			[]view.DrainState{view.DrainEmpty}, []int{0}},
		"both cables": {"fattree:k=4", []string{"leaf-01:3", "leaf-01:4"},
			[]view.DrainState{view.DrainEmpty, view.DrainNeeded}, []int{0, 0}},
		"the cable of a host": {"fattree:k=4", []string{"leaf-01:1"},
			[]view.DrainState{view.DrainNeeded}, []int{1}},
		"no such port": {"fattree:k=4", []string{"leaf-01:99"},
			[]view.DrainState{view.DrainAbsent}, []int{0}},
		"between two": {"mesh:dims=3,hosts=1", []string{"switch-1"},
			[]view.DrainState{view.DrainNeeded}, []int{1}},
		"a root, then its lowest cable": {"fattree:k=4", []string{"spine-01", "spine-01:1"},
			[]view.DrainState{view.DrainEmpty, view.DrainEmpty}, []int{0, 0}},
		"a leaf, then what it kept a link to": {"fattree:k=4", []string{"leaf-01", "agg-01"},
			[]view.DrainState{view.DrainEmpty, view.DrainEmpty}, []int{2, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			n := nettest.Generate(t, c.spec)
			found, err := netwalk.Topo(n, net.NoEnd)
			if err != nil {
				t.Fatal(err)
			}
			var drained []routing.SwitchPort
			for _, text := range c.drain {
				desc, port, _ := strings.Cut(text, ":")
				p := routing.SwitchPort{}
				for i := range n.Nodes {
					if n.Nodes[i].Type == mad.Switch && n.Nodes[i].Desc == desc {
						p.Switch = n.Nodes[i].GUID
					}
				}
				if p.Switch == 0 {
					t.Fatalf("no switch %q", desc)
				}
				for _, digit := range port {
					p.Port = p.Port*10 + uint8(digit-'0')
				}
				drained = append(drained, p)
			}
			before := parts(found)
			for i, d := range drain(found, drained) {
				if d.SwitchPort != drained[i] || d.State != c.want[i] || len(d.Hosts)+d.More != c.hosts[i] {
					t.Errorf("%s: %+v, want %v and %d hosts", c.drain[i], d, c.want[i], c.hosts[i])
				}
			}
			if parts(found) != before {
				t.Error("the subnet is split")
			}
			for i := range found.Ports {
				if p := found.Ports[i]; p.Unhealthy && (p.Peer == topo.None || !found.Ports[p.Peer].Unhealthy) {
					t.Errorf("port %d is avoided at one end only", i)
				}
			}
		})
	}
}

// TestStillUsed: what is drained by the links alone is still needed while tables lead over it, or there are none.
func TestStillUsed(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	found, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	lids := topo.SequentialLIDs(found, 0)
	before, err := minhop.Route(t.Context(), routing.In{Topo: found, LIDs: lids})
	if err != nil {
		t.Fatal(err)
	}
	var spine mad.GUID
	for i := range n.Nodes {
		if n.Nodes[i].Desc == "spine-01" {
			spine = n.Nodes[i].GUID
		}
	}
	for _, port := range []uint8{0, 2} {
		list := drain(found, []routing.SwitchPort{{Switch: spine, Port: port}})
		after, err := minhop.Route(t.Context(), routing.In{Topo: found, LIDs: lids})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			tables *routing.Tables
			want   view.DrainState
		}{{after, view.DrainEmpty}, {before, view.DrainNeeded}, {nil, view.DrainNeeded}} {
			got := slices.Clone(list)
			stillUsed(found, lids, c.tables, got)
			if got[0].State != c.want {
				t.Errorf("port %d: %v, want %v", port, got[0].State, c.want)
			}
		}
		for i := range found.Ports {
			found.Ports[i].Unhealthy = false
		}
	}
}
