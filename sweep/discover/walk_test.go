package discover

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"weak"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sim/fabric"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

type counts = map[mad.AttrID]int

func (w *walker) mustCount(name string, want counts) {
	w.t.Helper()
	if !maps.Equal(w.count, want) {
		w.t.Errorf("%s: asked %v, want %v", name, w.count, want)
	}
}

// TestCounts: 16 hosts, 20 switches of 4 ports, 48 cables, 64 P_Keys for each that has a
// LID.
func TestCounts(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	w := newWalker(t, n, firstHost(n), fabric.Config{})
	r := w.walk(New(Config{Clear: true}))
	w.mustCount("cold", counts{smp.AttrNodeInfo: 1 + 48, smp.AttrNodeDescription: 36, smp.AttrSwitchInfo: 2 * 20,
		smp.AttrPortInfo:    16 + 20*5,
		smp.AttrGeneralInfo: 20, smp.AttrPKeyTable: 2 * 36})
	if len(r.Findings) != 0 || r.Changed || r.Moved || r.TimedOut != 0 || r.Own != OwnUp {
		t.Errorf("findings %v changed %v moved %v timed out %d own port %v", r.Findings, r.Changed, r.Moved, r.TimedOut,
			r.Own)
	}
	prev := r.Builder.Freeze()
	checkTopo(t, prev)
	if len(prev.Nodes) != 36 || len(prev.EndPorts) != 36 {
		t.Fatalf("%d nodes, %d end ports", len(prev.Nodes), len(prev.EndPorts))
	}
	for _, p := range prev.EndPorts {
		if lid := prev.Ports[p].Info.LID(); lid != 0 {
			t.Errorf("port %v has LID %d at power-up", prev.Ports[p].GUID, lid)
		}
	}

	r = w.walk(New(Config{Prev: prev, Clear: true}))
	w.mustCount("again", counts{smp.AttrNodeInfo: 1 + 48, smp.AttrSwitchInfo: 20, smp.AttrPortInfo: 16 + 20*5,
		smp.AttrPKeyTable: 2 * 36})
	again := r.Builder.Freeze()
	for i := range prev.Nodes {
		prev.Nodes[i].SwitchInfo.SetPortStateChange(false)
	}
	if !reflect.DeepEqual(again, prev) {
		t.Error("an unchanged fabric gives another Topo")
	}

	devices := w.known(prev)
	w.walk(New(Config{Prev: prev, Quick: true, Devices: devices, Clear: true}))
	w.mustCount("quick, and no link is ARMED",
		counts{smp.AttrNodeInfo: 1 + 48, smp.AttrSwitchInfo: 20, smp.AttrPortInfo: 16, smp.AttrPKeyTable: 2 * 16})
	inUse := *prev
	inUse.Ports = slices.Clone(prev.Ports)
	for i := range inUse.Ports {
		if inUse.Ports[i].Peer != topo.None {
			inUse.Ports[i].Info.SetPortState(smp.PortActive)
		}
	}
	tops := w.meddle
	w.meddle = func(req *txn.Request, o *txn.Outcome) {
		if tops(req, o); req.Attr == smp.AttrPortInfo {
			(*smp.PortInfo)(&o.Data).SetPortState(smp.PortActive)
		}
	}
	r = w.walk(New(Config{Prev: &inUse, Quick: true, Devices: devices, Clear: true}))
	w.mustCount("quick", counts{smp.AttrNodeInfo: 1, smp.AttrSwitchInfo: 20, smp.AttrPortInfo: 1})
	if !reflect.DeepEqual(r.Builder.Freeze(), &inUse) {
		t.Error("a quick walk of an unchanged fabric gives another Topo")
	}
	w.meddle = nil

	w.window = 64
	for seed := range uint64(5) {
		w.random = rand.New(rand.NewPCG(seed, 2))
		r = w.walk(New(Config{Prev: prev}))
		if n := w.count[smp.AttrNodeInfo]; n > 49+32 {
			t.Errorf("window of 64: %d NodeInfos, more than both ends of each cable between switches", n)
		}
		now := r.Builder.Freeze()
		checkTopo(t, now)
		if len(now.Nodes) != len(prev.Nodes) || len(r.Findings) != 0 {
			t.Errorf("window of 64: %d nodes, findings %v", len(now.Nodes), r.Findings)
		}
		for i := range now.Ports {
			if now.Ports[i].Peer != prev.Ports[i].Peer {
				t.Fatal("window of 64: other cables")
			}
		}
	}
}

// TestClear: only where it is allowed is PortStateChange cleared, and before any port is read.
func TestClear(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	for _, clear := range []bool{false, true} {
		var sets []fabric.Set
		w := newWalker(t, n, firstHost(n), fabric.Config{OnSet: func(s fabric.Set) { sets = append(sets, s) }})
		cleared := map[mad.Route]bool{}
		w.meddle = func(req *txn.Request, o *txn.Outcome) {
			if req.Method == mad.MethodSet {
				cleared[req.Route] = true
			}
			if clear && req.Attr == smp.AttrPortInfo && (*smp.PortInfo)(&o.Data).LinkWidthActive() != 0 &&
				req.Route.Hops() == 1 && !cleared[req.Route] {
				t.Error("a port is read before PortStateChange was cleared")
			}
		}
		r := w.walk(New(Config{Clear: clear}))
		switches := len(r.Builder.Freeze().Switches)
		if clear && (len(sets) != switches || r.Changed) || !clear && (len(sets) != 0 || !r.Changed) {
			t.Errorf("clear %v: %d Sets, changed %v", clear, len(sets), r.Changed)
		}
		for _, s := range sets {
			if s.Attr != smp.AttrSwitchInfo || s.Status != mad.StatusOK ||
				!(*smp.SwitchInfo)(&s.Data).PortStateChange() {
				t.Errorf("Set of attribute %v, status %v", s.Attr, s.Status)
			}
		}
	}
}

// TestClearOfOthers: PortStateChange of a switch with a forwarding table stays for its other master to see, where the
// switch has just come in sight: it was not in the walk before, or did not answer then.
func TestClearOfOthers(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	w := newWalker(t, n, firstHost(n), fabric.Config{})
	known := w.walk(New(Config{Clear: true})).Builder.Freeze()
	missed := *known
	missed.Nodes = slices.Clone(known.Nodes)
	for i := range missed.Nodes {
		missed.Nodes[i].Missed = 1
	}
	for _, top := range []mad.LID{0, 5} {
		w.meddle = func(req *txn.Request, o *txn.Outcome) {
			if req.Attr == smp.AttrSwitchInfo && req.Method == mad.MethodGet {
				info := (*smp.SwitchInfo)(&o.Data)
				info.SetPortStateChange(true)
				info.SetLinearFDBTop(top)
			}
		}
		for name, prev := range map[string]*topo.Topo{"known": known, "missed": &missed, "unknown": {}} {
			r := w.walk(New(Config{Prev: prev, Clear: true}))
			want := len(known.Switches)
			if top > 0 && name != "known" {
				want = 0
			}
			if len(r.Cleared) != want || r.Changed != (want == 0) {
				t.Errorf("LinearFDBTop %d, %s: %d switches cleared, want %d; changed %v", top, name, len(r.Cleared),
					want, r.Changed)
			}
		}
	}
}

// TestBreadthFirst: no route is longer than the shortest there is.
func TestBreadthFirst(t *testing.T) {
	for _, spec := range []string{"fattree:k=4", "torus:dims=5x4", "random:switches=20,degree=4,hosts=1,seed=3",
		"hypercube:dim=4"} {
		n := nettest.Generate(t, spec)
		self := firstHost(n)
		hops := map[mad.GUID]int{n.Nodes[self.Node].GUID: 0}
		for queue := []int32{self.Node}; len(queue) > 0; queue = queue[1:] {
			node := &n.Nodes[queue[0]]
			if node.Type != mad.Switch && queue[0] != self.Node {
				continue
			}
			for _, p := range node.Ports[1:] {
				if p.Peer.Node < 0 {
					continue
				}
				if _, seen := hops[n.Nodes[p.Peer.Node].GUID]; !seen {
					hops[n.Nodes[p.Peer.Node].GUID] = hops[node.GUID] + 1
					queue = append(queue, p.Peer.Node)
				}
			}
		}
		w := newWalker(t, n, self, fabric.Config{})
		w.window = 16
		top := w.walk(New(Config{})).Builder.Freeze()
		if len(top.Nodes) != len(hops) {
			t.Errorf("%s: %d nodes, want %d", spec, len(top.Nodes), len(hops))
		}
		for i := range top.Nodes {
			if got := top.Nodes[i].Route; got.Hops() != hops[top.Nodes[i].GUID] {
				t.Errorf("%s: route %v to a node %d hops away", spec, got, hops[top.Nodes[i].GUID])
			}
		}
	}
}

// TestTooFar: a chain of 70 switches is walked up to the 63rd hop.
func TestTooFar(t *testing.T) {
	var p plant
	host := p.add(mad.CA, 0x10, 1)
	last, port := host, uint8(1)
	for i := range 70 {
		sw := p.add(mad.Switch, mad.GUID(i+1)<<12, 2)
		p.cable(last, port, sw, 1)
		last, port = sw, 2
	}
	w := newWalker(t, &p.Net, net.End{Node: host, Port: 1}, fabric.Config{})
	r := w.walk(New(Config{}))
	top := r.Builder.Freeze()
	checkTopo(t, top)
	if len(top.Nodes) != 1+mad.MaxHops || kinds(r)[finding.TooFar] != 1 || len(r.Findings) != 1 {
		t.Errorf("%d nodes, findings %v", len(top.Nodes), r.Findings)
	}
	if f := r.Findings[0]; f.GUID != 63<<12 || f.Port != 2 {
		t.Errorf("the walk ends behind port %d of %v", f.Port, f.GUID)
	}
}

// TestTimeouts leaves each request of a walk unanswered in turn: the walk ends, reports
// of it, and the rest of the subnet is found.
func TestTimeouts(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	self := firstHost(n)
	for i := range n.Nodes {
		n.Nodes[i].VendorID = 0x0002c9
	}
	w := newWalker(t, n, self, fabric.Config{Caps: func(_ int32, _ *net.Node, c *fabric.Caps) {
		c.NVIDIA, c.AR = true, fabric.AROff
	}})
	all := len(w.walk(New(Config{})).Builder.Freeze().Nodes)
	total := 0
	for _, c := range w.count {
		total += c
	}
	for unresponsive := range total {
		asked := 0
		var skipped txn.Request
		w.meddle = func(req *txn.Request, o *txn.Outcome) {
			if asked == unresponsive {
				*o = txn.Outcome{Tag: o.Tag, Method: o.Method, Attr: o.Attr, Mod: o.Mod, Result: txn.TimedOut}
				skipped = *req
			}
			asked++
		}
		r := w.walk(New(Config{}))
		top := r.Builder.Freeze()
		checkTopo(t, top)
		name := fmt.Sprintf("%s to %v", smp.AttrName(skipped.Attr), skipped.Route)
		found := len(r.Findings)
		switch skipped.Attr {
		case smp.AttrNodeInfo:
			if skipped.Route.Hops() == 0 {
				if r.Own != OwnUnresponsive || len(top.Nodes) != 0 || top.Self != topo.None {
					t.Errorf("%s: %d nodes", name, len(top.Nodes))
				}
				continue
			}
			if kinds(r)[finding.Unresponsive] != 1 {
				t.Errorf("%s: findings %v", name, r.Findings)
			}
		case smp.AttrSwitchInfo:
			if kinds(r)[finding.Incomplete] != 1 {
				t.Errorf("%s: findings %v", name, r.Findings)
			}
		case smp.AttrNodeDescription, smp.AttrGeneralInfo, smp.AttrARInfo:
			if len(top.Nodes) != all || found != 0 {
				t.Errorf("%s: %d nodes, findings %v", name, len(top.Nodes), r.Findings)
			}
		}
		if want := skipped.Attr != smp.AttrGeneralInfo; (r.TimedOut == 1) != want {
			t.Errorf("%s: %d timed out", name, r.TimedOut)
		}
		if far := skipped.Route.Hops() > 1; far && len(top.Nodes) < all-3 { // a switch and its two hosts
			t.Errorf("%s: only %d nodes of %d", name, len(top.Nodes), all)
		}
	}
}

// TestRecall: what is lost in one walk is filled in from the one before.
func TestRecall(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	w := newWalker(t, n, firstHost(n), fabric.Config{})
	prev := w.walk(New(Config{})).Builder.Freeze()
	lost := 0
	w.meddle = func(req *txn.Request, o *txn.Outcome) {
		if req.Attr == smp.AttrPortInfo && req.Route.Hops() == 3 {
			(*smp.PortInfo)(&o.Data).SetLID(77) // the answer takes precedence over the previous state
		}
		if num := uint8(req.Mod); req.Attr == smp.AttrPortInfo && req.Route.Hops() == 1 && num > 1 {
			o.Result, o.Data = txn.TimedOut, [mad.DataSize]byte{}
			lost++
		}
	}
	r := w.walk(New(Config{Prev: prev}))
	now := r.Builder.Freeze()
	checkTopo(t, now)
	if lost != 3 || r.TimedOut != lost {
		t.Fatalf("%d PortInfos lost, %d timed out", lost, r.TimedOut)
	}
	for i := range now.Ports {
		if now.Ports[i].Seen != prev.Ports[prev.Port(prev.FindNode(now.Nodes[now.Ports[i].Node].GUID),
			now.Ports[i].Num)].Seen {
			t.Errorf("port %d of %v is not filled in", now.Ports[i].Num, now.Nodes[now.Ports[i].Node].GUID)
		}
		if node := &now.Nodes[now.Ports[i].Node]; node.Route.Hops() == 3 && now.Ports[i].Seen &&
			now.Ports[i].Info.LID() != 77 {
			t.Errorf("port %d of %v is as it was before", now.Ports[i].Num, node.GUID)
		}
	}
}

// TestResultOutlivesMachine: a Result lasts as long as the sweep; the Machine and the nodes of
// a frozen Builder, which are large, do not.
func TestResultOutlivesMachine(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	m := New(Config{})
	machine := weak.Make(m)
	r := newWalker(t, n, firstHost(n), fabric.Config{}).walk(m)
	node := weak.Make(r.Builder.Node(0))
	top := r.Builder.Freeze()
	runtime.GC()
	if machine.Value() != nil {
		t.Error("the Machine is still in use")
	}
	if node.Value() != nil {
		t.Error("a node of the Builder is still in use")
	}
	runtime.KeepAlive(r)
	runtime.KeepAlive(top)
}

// TestQuickFDR10: a quick walk asks about FDR10 again where a port was not armed, or its answer is not there.
func TestQuickFDR10(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2,speed=FDR10")
	w := newWalker(t, n, firstHost(n), fabric.Config{Caps: func(_ int32, _ *net.Node, c *fabric.Caps) {
		c.NVIDIA = true
	}})
	prev := w.walk(New(Config{FDR10: true})).Builder.Freeze()
	all := w.count[smp.AttrExtendedPortInfo]
	w.inUse(prev)
	for _, p := range prev.EndPorts { // also enhanced ports 0
		prev.Ports[p].Info.SetPortState(smp.PortActive)
	}
	devices := w.known(prev)
	asked := func() int {
		again := w.walk(New(Config{FDR10: true, Prev: prev, Quick: true, Devices: devices})).Builder.Freeze()
		for at, was := range prev.Extended {
			if now, is := again.Extended[at]; !is || now != was {
				t.Errorf("port %d has %v, %t, and had %v", at, now, is, was)
			}
		}
		return w.count[smp.AttrExtendedPortInfo]
	}
	if again := asked(); all == 0 || again != 0 {
		t.Fatalf("%d asked first, then %d", all, again)
	}
	leaf := prev.Ports[prev.Self].Peer
	prev.Ports[leaf].Info.SetPortState(smp.PortInit)
	if again := asked(); again != 1 {
		t.Errorf("one port was not armed: %d asked", again)
	}
	prev.Ports[leaf].Info.SetPortState(smp.PortArmed)
	delete(prev.Extended, leaf)
	if again := asked(); again != 1 {
		t.Errorf("one answer is missing: %d asked", again)
	}
}
