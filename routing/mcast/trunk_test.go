package mcast_test

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

// TestGrowAlong: a tree along a trunk has the ways of all members from the root on, and nothing else. The
// trunk is the row of a mesh of 3x3 switches through its middle, with its columns.
func TestGrowAlong(t *testing.T) {
	fabric := fabricOf(t, "mesh:dims=3x3,hosts=2")
	at := map[string]topo.SwitchIdx{}
	for s, n := range fabric.Switches {
		at[fabric.Nodes[n].Desc.String()] = topo.SwitchIdx(s)
	}
	graph := routing.NewGraph(fabric)
	trunk := &routing.Trunk{Root: at["switch-1-1"], Up: make([]routing.TrunkLink, len(fabric.Switches))}
	trunk.Up[trunk.Root].To = topo.None
	for child, parent := range map[string]string{
		"switch-0-1": "switch-1-1", "switch-2-1": "switch-1-1", "switch-0-0": "switch-0-1", "switch-0-2": "switch-0-1",
		"switch-1-0": "switch-1-1", "switch-1-2": "switch-1-1", "switch-2-0": "switch-2-1", "switch-2-2": "switch-2-1",
	} {
		link := routing.TrunkLink{To: at[parent]}
		for s, to := range map[string]string{child: parent, parent: child} {
			peers, ports := graph.Edges(at[s])
			port := ports[slices.Index(peers, at[to])]
			if s == child {
				link.Up = []uint8{port}
			} else {
				link.Down = []uint8{port}
			}
		}
		trunk.Up[at[child]] = link
	}
	host := func(s string) topo.PortIdx {
		n := fabric.Switches[at[s]]
		for num := 1; num <= int(fabric.Nodes[n].NumPorts); num++ {
			if p := fabric.Ports[fabric.Port(n, uint8(num))].Peer; p != topo.None && !fabric.IsSwitchPort(p) {
				return p
			}
		}
		t.Fatal("no host at ", s)
		return topo.None
	}
	g := mcast.NewGraph(fabric, nil, all)
	for _, c := range []struct {
		members  []string
		switches []string
	}{
		{[]string{"switch-0-0", "switch-0-2"}, []string{"switch-0-0", "switch-0-1", "switch-0-2", "switch-1-1"}},
		{[]string{"switch-0-0", "switch-1-2"}, []string{"switch-0-0", "switch-0-1", "switch-1-1", "switch-1-2"}},
		{[]string{"switch-2-2", "switch-2-1"}, []string{"switch-1-1", "switch-2-1", "switch-2-2"}},
		{[]string{"switch-0-0"}, nil},
	} {
		m := mcast.Members{}
		for _, s := range c.members {
			m.Receivers = append(m.Receivers, host(s))
		}
		tree, unreached := mcast.NewGrower(g).GrowAlong(trunk, mad.MinMulticastLID, m, nil)
		var has []topo.SwitchIdx
		for _, b := range tree.Branches {
			has = append(has, b.Switch)
		}
		var want []topo.SwitchIdx
		for _, s := range c.switches {
			want = append(want, at[s])
		}
		slices.Sort(want)
		if err := mcast.Check(fabric, tree, m, unreached); err != nil || !slices.Equal(has, want) ||
			len(unreached) > 0 {
			t.Errorf("%v: %v, want %v, unreached %v, %v", c.members, has, want, unreached, err)
		}
	}
	g = mcast.NewGraph(fabric, nil, func(p topo.PortIdx) mcast.Use {
		if fabric.SwitchOf(p) == at["switch-2-2"] {
			return mcast.Shun
		}
		return mcast.Extend
	})
	m := mcast.Members{Receivers: []topo.PortIdx{host("switch-2-2"), host("switch-2-1"), host("switch-0-0")}}
	tree, unreached := mcast.NewGrower(g).GrowAlong(trunk, mad.MinMulticastLID, m, nil)
	if err := mcast.Check(fabric, tree, m, unreached); err != nil || !slices.Equal(unreached, m.Receivers[:1]) {
		t.Errorf("with a link that cannot be used: %v, unreached %v, %v", tree, unreached, err)
	}
	trunk.Up[at["switch-2-2"]] = routing.TrunkLink{To: topo.None}
	m = mcast.Members{Receivers: []topo.PortIdx{host("switch-0-0"), host("switch-2-2"), host("switch-0-2")}}
	tree, unreached = mcast.NewGrower(mcast.NewGraph(fabric, nil, all)).GrowAlong(trunk, mad.MinMulticastLID, m, nil)
	if err := mcast.Check(fabric, tree, m, unreached); err != nil || !slices.Equal(unreached, m.Receivers[1:2]) ||
		len(tree.Branches) != 4 {
		t.Errorf("a switch that the trunk does not have: %v, unreached %v, %v", tree.Branches, unreached, err)
	}
}
