package server

import (
	"strings"
	"testing"
	"time"

	"ibsm/mad/pma"
	"ibsm/perf"
	"ibsm/perf/sick"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/view"
)

// TestExcludedLinks: a link that is out of use is listed with who wants it, its state and when it returns, and a port of it says so.
func TestExcludedLinks(t *testing.T) {
	v := newView(t, "fattree:k=4,levels=2")
	leaf := v.Topo.Switches[0]
	var p topo.PortIdx
	for p = v.Topo.Port(leaf, 1); !v.Topo.BetweenSwitches(p); p++ {
	}
	k := perf.KeyOf(v.Topo, p)
	v.Topo.Ports[p].Unhealthy = true
	c := &counted{Reader: perf.NewReader(perf.ReaderConfig{}), subnet: newSubnet(v, nil)}
	for _, by := range []struct {
		e     sick.Excluded
		by    view.DrainedBy
		state view.DrainState
		why   string
	}{
		{sick.Excluded{Port: k, Action: sick.Avoid, ByHand: true, Until: 5000}, view.BySickLinks, view.DrainEmpty, "out of use as a sick link"},
		{sick.Excluded{Port: k, Action: sick.Avoid}, view.BySickLinks, view.DrainNeeded, "and still pass it: it is out of use as a sick link"},
		{sick.Excluded{Port: k, Action: sick.Avoid}, view.ByOperator, view.DrainEmpty, "drained by the operator"},
	} {
		v.Drained = []view.Drained{{SwitchPort: routing.SwitchPort{Switch: k.Node, Port: k.Port}, By: by.by, State: by.state}}
		found := []sick.Finding{{Port: k, Rule: &sick.Rule{Action: sick.Avoid}}}
		got := c.excluded(&by.e, found, time.Hour)
		routes := ""
		if by.by == view.BySickLinks {
			routes = by.state.String()
		}
		if got.Node != k.Node.String() || got.Port != k.Port || got.Routes != routes || got.ByHand != by.e.ByHand || got.Returns.IsZero() || by.e.Until > 0 && got.Returns.Unix() != 5000 {
			t.Errorf("%+v: %+v", by, got)
		}
		d := &doctor{subnet: newSubnet(v, nil)}
		if why := d.avoided(p); len(why) != 1 || !strings.Contains(why[0].Text, by.why) {
			t.Errorf("%+v: %+v", by, why)
		}
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
	if l := sick.LinkOf(v.Topo, k, nil); l.Bits != words*32 || v.Topo.FindNode(l.Peer.Node) == topo.None {
		t.Errorf("%+v", l)
	}
}
