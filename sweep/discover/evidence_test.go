package discover

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sim/fabric"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// TestEvidence: whose silence it is, by what was heard.
func TestEvidence(t *testing.T) {
	for _, c := range []struct {
		name string
		r    Result
		want Evidence
		hear topo.Hearing
	}{
		{"all is well", Result{Own: OwnUp, Heard: Heard{Answers: 100, Nodes: 20}}, Conclusive, topo.Clear},
		{"a few are unresponsive", Result{Own: OwnUp, Heard: Heard{Answers: 100, Nodes: 20, Unresponsive: 5}},
			Conclusive, topo.Clear},
		{"half is unresponsive", Result{Own: OwnUp, Heard: Heard{Answers: 100, Nodes: 20, Unresponsive: 20}},
			Conclusive, topo.Clear},
		{"most are unresponsive", Result{Own: OwnUp, Heard: Heard{Answers: 100, Nodes: 20, Unresponsive: 21}},
			MostUnresponsive, topo.Inconclusive},
		{"nobody answers", Result{Own: OwnUp, Heard: Heard{Unresponsive: 1}}, MostUnresponsive, topo.Inconclusive},
		{"some loss", Result{Own: OwnUp, Heard: Heard{Answers: 100, Late: 25, Nodes: 20}}, Conclusive, topo.Noisy},
		{"much loss", Result{Own: OwnUp, Heard: Heard{Answers: 100, Late: 26, Nodes: 20}}, PacketsLost,
			topo.Inconclusive},
		{"own port unresponsive", Result{Heard: Heard{Answers: 100, Nodes: 20}}, OwnPortUnresponsive,
			topo.Inconclusive},
		{"own port down", Result{Own: OwnDown}, Conclusive, topo.Clear},
		{"quick", Result{Own: OwnUp, Quick: true, Heard: Heard{Answers: 100, Nodes: 20}}, Conclusive,
			topo.Inconclusive},
	} {
		if d, h := c.r.Evidence(), c.r.Hearing(); d != c.want || h != c.hear {
			t.Errorf("%s: %v and %v, want %v and %v", c.name, d, h, c.want, c.hear)
		}
	}
}

// TestHeard: what a walk counts when nodes that were known stop answering. Those behind an unresponsive switch answer
// if it forwards, and count as part of it if it does not; one that was not known before is no loss; what our own agent
// answers says nothing about others.
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
	forwards := false
	unresponsive := func(nodes ...int32) Heard {
		w.meddle = func(req *txn.Request, o *txn.Outcome) {
			for _, node := range nodes {
				to, at := req.Route.Ports(), known.Nodes[known.FindNode(n.Nodes[node].GUID)].Route
				through := len(to) >= at.Hops() && slices.Equal(to[:at.Hops()], at.Ports())
				if info := (*smp.NodeInfo)(&o.Data); !forwards && through || o.Attr == smp.AttrNodeInfo &&
					info.NodeGUID() == n.Nodes[node].GUID {
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
	if h := unresponsive(); h.Nodes != total || h.Unresponsive != 0 || h.Answers == 0 || h.Late != 0 {
		t.Errorf("nobody is unresponsive: %+v", h)
	}
	if h := unresponsive(hosts[1], hosts[4]); h.Nodes != total-2 || h.Unresponsive != 2 {
		t.Errorf("two hosts are unresponsive: %+v", h)
	}
	leaf := w.fabric.Peer(net.End{Node: hosts[8], Port: 1}).Node
	if h := unresponsive(leaf); h.Nodes != total-4 || h.Unresponsive != 1 {
		t.Errorf("a switch with three hosts is unresponsive: %+v", h)
	}
	forwards = true
	if h := unresponsive(leaf); h.Nodes != total-1 || h.Unresponsive != 1 {
		t.Errorf("a switch that forwards is unresponsive: %+v", h)
	}
	forwards = false
	own := w.fabric.Peer(net.End{Node: hosts[0], Port: 1}).Node
	if h := unresponsive(own); h.Nodes != 0 || h.Unresponsive != 1 || h.Answers != 0 {
		t.Errorf("all are unresponsive: %+v", h)
	}
}

// TestLossy: where packets are lost, a walk makes requests again that got no answer, four times at most, also after the
// loss has ended, and those that ended before there were many answers; else it makes none again.
func TestLossy(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	const nodes = 20 + 16
	for _, c := range []struct {
		name     string
		attempts int // of what is answered
		until    int // requests after which nothing is lost any more
		dead     bool
		repeats  bool
	}{
		{name: "loss", attempts: 2, until: 1 << 30, repeats: true},
		{name: "loss that ends", attempts: 2, until: 200, repeats: true},
		{name: "loss, and a host that does not answer", attempts: 2, until: 1 << 30, dead: true, repeats: true},
		{name: "no loss, and a host that does not answer", attempts: 1, dead: true},
		{name: "a few lost packets", attempts: 1, until: 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			const seed = 1
			w := newWalker(t, n, firstHost(n), fabric.Config{})
			w.window, w.random = 8, rand.New(rand.NewPCG(seed, 0x1055))
			behind := n.Nodes[w.fabric.NumNodes()-1]
			asked, lost, dead := 0, map[uint64]int{}, 0
			w.meddle = func(req *txn.Request, o *txn.Outcome) {
				asked++
				if o.Attempts = c.attempts; asked > c.until {
					o.Attempts = 1
				}
				isDead := c.dead && o.Attr == smp.AttrNodeInfo && (*smp.NodeInfo)(&o.Data).NodeGUID() == behind.GUID
				if isDead {
					dead++
				}
				if isDead || asked > 2 && asked <= c.until && w.random.IntN(10) == 0 {
					lost[req.Tag]++
					*o = txn.Outcome{Tag: o.Tag, Method: o.Method, Attr: o.Attr, Mod: o.Mod, Result: txn.TimedOut,
						Attempts: 4}
				}
			}
			r := w.walk(New(Config{}))
			if len(lost) == 0 {
				t.Fatal("no test: nothing is lost")
			}
			again, most := 0, 0
			for _, n := range lost {
				again, most = again+n-1, max(most, n)
			}
			switch {
			case !c.repeats && (r.Heard.Lossy || again > 0 || r.TimedOut == 0):
				t.Errorf("lossy %t, %d requests are made again, %d got no answer", r.Heard.Lossy, again, r.TimedOut)
			case c.repeats && !c.dead && (r.TimedOut > 0 || r.LeavesNodesOut() || r.Builder.Len() != nodes):
				t.Errorf("%d nodes, %d requests got no answer: %v", r.Builder.Len(), r.TimedOut, r.Findings)
			case c.repeats && c.dead && (dead != 1+maxRepeats || r.Builder.Len() != nodes-1 || !r.LeavesNodesOut()):
				t.Errorf("%d nodes, the host is asked %d times", r.Builder.Len(), dead)
			case most > 1+maxRepeats:
				t.Errorf("a request is made %d times", most)
			}
		})
	}
}
