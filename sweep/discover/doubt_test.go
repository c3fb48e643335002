package discover

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sim/fabric"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// TestDoubt: whose silence it is, by what was heard.
func TestDoubt(t *testing.T) {
	for _, c := range []struct {
		name string
		r    Result
		want Doubt
		hear topo.Hearing
	}{
		{"all is well", Result{Own: OwnUp, Heard: Heard{Answers: 100, Nodes: 20}}, NoDoubt, topo.Clear},
		{"a few are silent", Result{Own: OwnUp, Heard: Heard{Answers: 100, Nodes: 20, Silent: 5}}, NoDoubt, topo.Clear},
		{"half is silent", Result{Own: OwnUp, Heard: Heard{Answers: 100, Nodes: 20, Silent: 20}}, NoDoubt, topo.Clear},
		{"most are silent", Result{Own: OwnUp, Heard: Heard{Answers: 100, Nodes: 20, Silent: 21}}, DoubtsNodes, topo.Inconclusive},
		{"nobody answers", Result{Own: OwnUp, Heard: Heard{Silent: 1}}, DoubtsNodes, topo.Inconclusive},
		{"some loss", Result{Own: OwnUp, Heard: Heard{Answers: 100, Late: 25, Nodes: 20}}, NoDoubt, topo.Noisy},
		{"much loss", Result{Own: OwnUp, Heard: Heard{Answers: 100, Late: 26, Nodes: 20}}, DoubtsAnswer, topo.Inconclusive},
		{"own port silent", Result{Heard: Heard{Answers: 100, Nodes: 20}}, DoubtsPort, topo.Inconclusive},
		{"own port down", Result{Own: OwnDown}, NoDoubt, topo.Clear},
		{"quick", Result{Own: OwnUp, Quick: true, Heard: Heard{Answers: 100, Nodes: 20}}, NoDoubt, topo.Inconclusive},
	} {
		if d, h := c.r.Doubt(), c.r.Hearing(); d != c.want || h != c.hear {
			t.Errorf("%s: %v and %v, want %v and %v", c.name, d, h, c.want, c.hear)
		}
	}
}

// TestHeard: what a walk counts when nodes that were known fall silent. Those behind a silent one
// were not asked, and one that was not known before is no loss; what our own agent answers says
// nothing about others.
func TestHeard(t *testing.T) {
	n := nettest.Generate(t, "tree:depth=2,fanout=3") // a root, 3 switches, 9 hosts
	var hosts []int32
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			hosts = append(hosts, int32(i))
		}
	}
	w := newWalker(t, n, net.End{Node: hosts[0], Port: 1}, fabric.Config{})
	known := w.walk(New(Config{})).Builder.Freeze()
	for i := range known.Ports { // the links are up
		known.Ports[i].Info.SetPortState(smp.PortActive)
	}
	silent := func(nodes ...int32) Heard {
		w.meddle = func(req *txn.Request, o *txn.Outcome) {
			for _, node := range nodes {
				if info := (*smp.NodeInfo)(&o.Data); o.Attr == smp.AttrNodeInfo && info.NodeGUID() == n.Nodes[node].GUID {
					*o = txn.Outcome{Tag: o.Tag, Method: o.Method, Attr: o.Attr, Mod: o.Mod, Result: txn.TimedOut}
				}
			}
			if o.Attr == smp.AttrPortInfo {
				if info := (*smp.PortInfo)(&o.Data); info.PortState() == smp.PortInit {
					info.SetPortState(smp.PortActive)
				}
			}
		}
		return w.walk(New(Config{Prev: known})).Heard
	}
	total := len(n.Nodes) - 1
	if h := silent(); h.Nodes != total || h.Silent != 0 || h.Answers == 0 || h.Late != 0 {
		t.Errorf("nobody is silent: %+v", h)
	}
	if h := silent(hosts[1], hosts[4]); h.Nodes != total-2 || h.Silent != 2 {
		t.Errorf("two hosts are silent: %+v", h)
	}
	leaf := w.fabric.Peer(net.End{Node: hosts[8], Port: 1}).Node
	if h := silent(leaf); h.Nodes != total-4 || h.Silent != 1 {
		t.Errorf("a switch with three hosts is silent: %+v", h)
	}
	own := w.fabric.Peer(net.End{Node: hosts[0], Port: 1}).Node
	if h := silent(own); h.Nodes != 0 || h.Silent != 1 || h.Answers != 0 {
		t.Errorf("all are silent: %+v", h)
	}
}
