package server

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/mad/pma"
	"ibsm/perf"
	"ibsm/perf/sick"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/view"
)

// TestExcludedLinks: a link that is out of use is listed with the origin of the wish, its state and when it returns,
// and a port of it says so.
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
		{sick.Excluded{Port: k, Action: sick.Avoid, ByHand: true, Until: 5000}, view.BySickLinks, view.DrainEmpty,
			", because it is sick and out of use"},
		{sick.Excluded{Port: k, Action: sick.Avoid}, view.BySickLinks, view.DrainNeeded,
			"still use it, because it is sick and out of use"},
		{sick.Excluded{Port: k, Action: sick.Avoid}, view.ByOperator, view.DrainEmpty, "the operator drained it"},
	} {
		v.Drained = []view.Drained{
			{SwitchPort: routing.SwitchPort{Switch: k.Node, Port: k.Port}, By: by.by, State: by.state},
		}
		found := []sick.Finding{{Port: k, Rule: &sick.Rule{Action: sick.Avoid}}}
		got := c.excluded(&by.e, found, time.Hour)
		routes := ""
		if by.by == view.BySickLinks {
			routes = by.state.String()
		}
		if got.Node != k.Node.String() || got.Port != k.Port || got.Routes != routes || got.ByHand != by.e.ByHand ||
			got.Returns.IsZero() || by.e.Until > 0 && got.Returns.Unix() != 5000 {
			t.Errorf("%+v: %+v", by, got)
		}
		d := &doctor{subnet: newSubnet(v, nil)}
		if why := d.avoided(p); len(why) != 1 || !strings.Contains(why[0].Text, by.why) {
			t.Errorf("%+v: %+v", by, why)
		}
	}
}

// TestDiagnoseSickLink: why names what was counted beyond a limit, at both ends of the link and at no other port.
func TestDiagnoseSickLink(t *testing.T) {
	v := newView(t, "fattree:k=4,levels=2")
	p := v.Topo.Port(v.Topo.Switches[0], 1)
	for ; !v.Topo.BetweenSwitches(p); p++ {
	}
	peer := v.Topo.Ports[p].Peer
	s := newSubnet(v, nil)
	rule := &sick.Rule{Name: "bit-errors", Counters: pma.Of(pma.SymbolErrorCounter), Window: 12 * time.Minute}
	gone := sick.Finding{Port: perf.Key{Node: 0x99, Port: 1}, Peer: perf.KeyOf(v.Topo, p+1), Rule: rule}
	s.sickLinks = func() []sick.Finding {
		return []sick.Finding{{Port: perf.KeyOf(v.Topo, peer), Peer: perf.KeyOf(v.Topo, p), Rule: rule, Counted: 117,
			Most: 6}, gone}
	}
	d := s.doctor()
	want := d.called(peer) + ": SymbolErrorCounter 117, more than 6 in 12m0s (rule bit-errors)"
	for at := range topo.PortIdx(len(v.Topo.Ports)) {
		var got []string
		for _, r := range d.remarks(at) {
			if r.Kind == "sick link" {
				got = append(got, r.Text)
			}
		}
		if sick := at == p || at == peer; sick != (len(got) == 1 && got[0] == want) || !sick && got != nil {
			t.Errorf("%s: %q", d.called(at), got)
		}
	}
}

// TestLinkOf: a link is healed by either end, also if it is one of a host, is down, or has gone.
func TestLinkOf(t *testing.T) {
	v := newView(t, "fattree:k=4,levels=2")
	s := newSubnet(v, nil)
	leaf := v.Topo.Switches[0]
	at := func(num uint8) (k, peer perf.Key) {
		p := v.Topo.Port(leaf, num)
		return perf.KeyOf(v.Topo, p), perf.KeyOf(v.Topo, v.Topo.Ports[p].Peer)
	}
	name := func(k perf.Key) string { return fmt.Sprintf("%v:%d", k.Node, k.Port) }
	host, hostPeer := at(1)
	up, upPeer := at(3)
	down, downPeer := at(4)
	p := down.In(v.Topo)
	v.Topo.Ports[v.Topo.Ports[p].Peer].Peer, v.Topo.Ports[p].Peer = topo.None, topo.None
	gone, gonePeer := perf.Key{Node: 0x99, Port: 7}, perf.Key{Node: up.Node, Port: 5}
	kept := &sick.Saved{
		Excluded: []sick.Excluded{{Port: gone, Peer: gonePeer}},
		Found: []sick.SavedFinding{{Port: downPeer, Peer: down}, {Port: up, Peer: perf.Key{Node: 0x98, Port: 1}},
			{Port: perf.Key{Node: 0x97, Port: 2}, Peer: hostPeer}},
	}
	for _, tt := range []struct{ named, port, peer perf.Key }{
		{host, host, hostPeer}, {up, up, upPeer}, {down, downPeer, down}, {gone, gone, gonePeer},
		{perf.Key{Node: 0x97, Port: 2}, perf.Key{Node: 0x97, Port: 2}, hostPeer},
	} {
		l, err := s.linkOf(name(tt.named), kept)
		if err != nil || l.port != tt.port || l.peer != tt.peer || l.Node != tt.named.Node.String() ||
			l.Port != tt.named.Port {
			t.Errorf("%v: %+v, %v; want %v and %v", tt.named, l, err, tt.port, tt.peer)
		}
	}
	for _, other := range []perf.Key{{Node: 0x99, Port: 8}, {Node: 0x96, Port: 1}} {
		if l, err := s.linkOf(name(other), kept); !errors.Is(err, ctl.ErrNotFound) {
			t.Errorf("%v: %+v, %v", other, l, err)
		}
	}
}

// TestRulesBeforeReading: other rules do not forget what was adopted and no reading has judged yet.
func TestRulesBeforeReading(t *testing.T) {
	d := New(Config{})
	d.links.watch, d.links.reader = sick.New(nil), perf.NewReader(perf.ReaderConfig{})
	k := &sick.Saved{Relapses: []sick.Relapse{{Rule: "r", Times: 1}}}
	d.AdoptLinks(k)
	d.SetSickRules([]sick.Rule{{Name: "r"}})
	if d.links.adopted != k {
		t.Errorf("%+v", d.links.adopted)
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
