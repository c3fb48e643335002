package server

import (
	"slices"
	"testing"

	"ibsm/mad/pma"
	"ibsm/perf"
	"ibsm/perf/sick"
	"ibsm/topo"
)

// TestOnlyWays: the link of a host is its only way; of the links of a leaf all but the last can be left out.
func TestOnlyWays(t *testing.T) {
	v := newView(t, "fattree:k=4,levels=2")
	leaf := v.Topo.Switches[0]
	c := &counted{subnet: newSubnet(v, nil)}
	var found []sick.Finding
	var want []bool
	uplinks, between := 0, 0
	for num := uint8(1); num <= v.Topo.Nodes[leaf].NumPorts; num++ {
		if v.Topo.BetweenSwitches(v.Topo.Port(leaf, num)) {
			between++
		}
	}
	for num := uint8(1); num <= v.Topo.Nodes[leaf].NumPorts; num++ {
		found = append(found, sick.Finding{Port: perf.Key{Node: v.Topo.Nodes[leaf].GUID, Port: num}})
		host := !v.Topo.BetweenSwitches(v.Topo.Port(leaf, num))
		if !host {
			uplinks++
		}
		want = append(want, host || uplinks == between)
	}
	found = append(found, sick.Finding{Port: perf.Key{Node: 0x99, Port: 1}}, sick.Finding{Port: perf.Key{Node: v.Topo.Nodes[leaf].GUID, Port: 200}})
	want = append(want, false, false)
	if got := c.onlyWays(found); !slices.Equal(got, want) || between < 2 {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestShares: a port's shares of what its link carries and of the time, and -1 for what is not known.
func TestShares(t *testing.T) {
	v := newView(t, "fattree:k=4,levels=2")
	c := &counted{subnet: newSubnet(v, nil)}
	leaf := v.Topo.Switches[0]
	k := perf.Key{Node: v.Topo.Nodes[leaf].GUID, Port: 1}
	words := perf.Words(v.Topo, v.Topo.Port(leaf, 1))
	d := perf.Delta{Has: pma.AllCounters, Span: 1e9}
	d.N[pma.PortRcvData], d.N[pma.PortXmitWait] = words/4, words/2
	if used, waited := c.shares(k, &d); used < 0.2499 || used > 0.2501 || waited < 0.4999 || waited > 0.5001 {
		t.Errorf("%v %v", used, waited)
	}
	d.Has = pma.ErrorCounters
	if used, waited := c.shares(k, &d); used != -1 || waited != -1 {
		t.Errorf("without these counters: %v %v", used, waited)
	}
	for _, other := range []perf.Key{{Node: 0x99, Port: 1}, {Node: k.Node, Port: 99}} {
		if used, waited := c.shares(other, &perf.Delta{Has: pma.AllCounters, Span: 1e9}); used != -1 || waited != -1 {
			t.Errorf("%v: %v %v", other, used, waited)
		}
	}
	if l := linkOf(v.Topo, k); l.Bits != words*32 || v.Topo.FindNode(l.Peer.Node) == topo.None {
		t.Errorf("%+v", l)
	}
}
