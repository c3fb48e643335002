package sweep

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/topo"
	"ibsm/topo/net"
)

// missed is in how many sweeps in a row a node of the Net has not answered; -1 for one that is not known.
func (b *harness) missed(node int32) int {
	n := b.state.prev.FindNode(b.net.Nodes[node].GUID)
	if n == topo.None {
		return -1
	}
	return int(b.state.prev.Nodes[n].Missed)
}

// TestRetry: a sweep that retries asks a node that does not answer, and nobody else more than a quick one does. It
// counts the node's silence as a full one does, and finds it when it answers.
func TestRetry(t *testing.T) {
	b := up(t, "fattree:k=4", Config{})
	host := b.node(mad.CA, 3)
	b.fabric.SetUnresponsive(host, true)
	if b.heavy(); b.missed(host) != 1 {
		t.Fatalf("missed %d times", b.missed(host))
	}
	switches := len(b.state.prev.Switches)
	for _, step := range []struct {
		of     Extent
		missed int
		nodes  int // that are asked: our own and, if it is, the one that does not answer
	}{{Quick, 1, 1}, {Retry, 2, 2}, {Quick, 2, 1}, {Retry, 3, 2}, {Full, 4, 0}, {Retry, 5, 2}} {
		b.extent = step.of
		if b.heavy(); b.missed(host) != step.missed {
			t.Errorf("missed %d times after extent %v, want %d", b.missed(host), step.of, step.missed)
		}
		if asked := b.asked[smp.AttrNodeInfo]; step.nodes > 0 && (asked != step.nodes ||
			b.asked[smp.AttrSwitchInfo] != switches || b.asked[smp.AttrPortInfo] != 1) {
			t.Errorf("extent %v asks %v", step.of, b.asked)
		}
	}
	b.fabric.SetUnresponsive(host, false)
	b.extent = Quick
	if b.heavy(); b.missed(host) != topo.MaxMissed {
		t.Errorf("a quick sweep has missed it %d times", b.missed(host))
	}
	b.extent = Retry
	if b.heavy(); b.missed(host) != 0 {
		t.Errorf("it answers, and is missed %d times", b.missed(host))
	}
	b.fabric.SetUnresponsive(host, true)
	for range topo.MaxMissed + 1 {
		b.extent = Full // which misses it first
		b.heavy()
		b.extent = Retry
	}
	if b.missed(host) != -1 {
		t.Error("it is never given up")
	}
}

// TestRetryFailed: where a Set has failed, a sweep that retries reads the ports of both ends of the link, as one of
// them may not have done what it has acknowledged; the next one, after no failure, does not.
func TestRetryFailed(t *testing.T) {
	b := up(t, "fattree:k=4", Config{})
	at := net.End{Node: b.node(mad.Switch, 1), Port: 1}
	b.fabric.LinkDown(at)
	b.fabric.LinkUp(at)
	b.fabric.Advance(b.fabric.Now())
	b.drop = func(req *txn.Request) bool { return req.Method == mad.MethodSet && req.Attr == smp.AttrPortInfo }
	b.extent = Quick
	if out := b.heavy(); len(out.Failures) == 0 {
		t.Fatal("no Set has failed")
	}
	b.drop = nil
	b.extent = Retry
	both := b.net.Nodes[at.Node].NumPorts() + b.net.Nodes[b.fabric.Peer(at).Node].NumPorts() + 2
	if b.heavy(); b.gets(smp.AttrPortInfo) < both {
		t.Errorf("%d Gets of PortInfo, want %d or more", b.gets(smp.AttrPortInfo), both)
	}
	if at, bad := b.fabric.FirstNotActive(); bad {
		t.Errorf("port %v is not ACTIVE", at)
	}
	if b.heavy(); b.gets(smp.AttrPortInfo) != 1 || len(b.sets) > 0 {
		t.Errorf("%d Gets of PortInfo and %d Sets after all is well", b.gets(smp.AttrPortInfo), len(b.sets))
	}
}

// TestUnreadPort: a switch whose PortStateChange was cleared, and a port of which did not answer after that, is read
// again by the next quick sweep.
func TestUnreadPort(t *testing.T) {
	b := up(t, "fattree:k=4", Config{})
	at := net.End{Node: b.node(mad.Switch, 1), Port: 1}
	b.fabric.LinkDown(at)
	isAt := func(req *txn.Request) bool {
		t := b.state.prev
		p := t.Along(req.Route.Ports())
		return req.Method == mad.MethodGet && req.Attr == smp.AttrPortInfo && uint8(req.Mod) == at.Port &&
			p != topo.None && t.Nodes[t.Ports[p].Node].GUID == b.guid(at.Node)
	}
	b.drop = isAt
	b.extent = Quick
	out := b.heavy()
	if len(out.Found.Unread) == 0 || !out.Found.Unanswered[b.guid(at.Node)] {
		t.Errorf("not read %v, unanswered %v", out.Found.Unread, out.Found.Unanswered)
	}
	b.drop = nil
	b.heavy()
	tp := b.state.prev
	if p := tp.FindNodePort(b.guid(at.Node), at.Port); tp.Ports[p].Info.PortState() != smp.PortDown {
		t.Errorf("the port is known as %v", tp.Ports[p].Info.PortState())
	}
}

// TestPortNeverRead: a quick sweep reads the ports of a switch of which a port has never been read.
func TestPortNeverRead(t *testing.T) {
	b := newHarness(t, "fattree:k=4", Config{})
	b.drop = func(req *txn.Request) bool {
		return req.Method == mad.MethodGet && req.Attr == smp.AttrPortInfo && req.Route.Hops() == 2 &&
			uint8(req.Mod) == 3
	}
	out := b.heavy()
	if len(out.Found.Unread) == 0 {
		t.Fatal("all ports were read")
	}
	b.drop = nil
	b.extent = Quick
	b.heavy()
	for i := range b.state.prev.Ports {
		if p := &b.state.prev.Ports[i]; b.state.prev.IsSwitchPort(topo.PortIdx(i)) && !p.Seen {
			t.Errorf("port %d of node %d is not known", p.Num, p.Node)
		}
	}
}

// TestSilenceRests: Sets that a node leaves unanswered in quick sweeps, of which flapping links cause many a second, go
// out again in each. After some sweeps that retry they rest, until the node, which left a Get unanswered, answers all.
func TestSilenceRests(t *testing.T) {
	b := up(t, "fattree:k=4", Config{Settings: Settings{HOQLife: Given[uint8](18)}})
	spine := b.node(mad.Switch, 19)
	losesSets, losesGets, tries := true, false, 0
	b.drop = func(req *txn.Request) bool {
		t := b.state.prev
		p := t.Along(req.Route.Ports())
		if p == topo.None || t.Nodes[t.Ports[p].Node].GUID != b.guid(spine) || req.Attr != smp.AttrPortInfo {
			return false
		}
		if req.Method == mad.MethodSet {
			tries++
			return losesSets
		}
		return losesGets && uint8(req.Mod) == 1
	}
	b.Configure(Config{Settings: Settings{HOQLife: Given[uint8](17)}, Engines: b.cfg.Engines})
	tried := func(of Extent) int {
		tries, b.extent = 0, of
		b.heavy()
		return tries
	}
	for i := range 8 {
		if tried(Quick) == 0 {
			t.Fatalf("quick sweep %d sends nothing", i)
		}
	}
	sweeps := 0
	for tried(Retry) > 0 {
		if sweeps++; sweeps > 8 {
			t.Fatal("a Set without an answer never rests")
		}
	}
	if sweeps != 3 { // after the last quick one, which counts
		t.Errorf("it rests after %d sweeps", sweeps)
	}
	losesGets = true
	if tried(Retry) > 0 || !b.walks.unanswered[b.guid(spine)] {
		t.Errorf("%d Sets to a node that has left more unanswered: %v", tries, b.walks.unanswered)
	}
	losesSets, losesGets = false, false
	if tried(Retry) == 0 {
		t.Error("the node answers again, and is sent nothing")
	}
}
