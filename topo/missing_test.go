package topo

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// without is a discovery of the small cabling in which some nodes did not answer. Nodes
// that can only be reached through them must not be listed apart.
func without(unresponsive ...mad.GUID) *Builder {
	c := smallCabling()
	c.nodes = slices.DeleteFunc(c.nodes, func(n smp.NodeInfo) bool {
		return slices.Contains(unresponsive, n.NodeGUID())
	})
	c.links = slices.DeleteFunc(c.links, func(l [2]place) bool {
		return slices.Contains(unresponsive, l[0].node) || slices.Contains(unresponsive, l[1].node)
	})
	b := c.build(nil, smp.PortActive)
	// Ports that lead to an unresponsive node are up all the same.
	for _, l := range smallCabling().links {
		for i := range l {
			n, here := b.Find(l[i].node)
			if e := (End{n, l[i].port}); here && b.Peer(e) == NoEnd && b.Port(e) != nil {
				b.Port(e).SetPortState(smp.PortActive)
			}
		}
	}
	return b
}

func peerOf(t *Topo, node mad.GUID, port uint8) mad.GUID {
	p := t.Ports[t.Port(t.FindNode(node), port)].Peer
	if p == None {
		return 0
	}
	return t.Nodes[t.Ports[p].Node].GUID
}

func TestKeepMissingHost(t *testing.T) {
	prev := smallCabling().build(nil, smp.PortActive).Freeze()
	for missed := uint8(1); missed <= MaxMissed; missed++ {
		b := without(0x30)
		if lost := b.KeepMissing(prev, Clear); len(lost) != 0 {
			t.Fatalf("sweep %d: nodes %v are given up", missed, lost)
		}
		now := b.Freeze()
		checkTopo(t, now)
		n := now.FindNode(0x30)
		if n == None || now.Nodes[n].Missed != missed || peerOf(now, 0x10, 3) != 0x30 || now.FindPort(0x31) == None {
			t.Fatalf("sweep %d: host is not kept", missed)
		}
		prev = now
	}
	b := without(0x30)
	lost := b.KeepMissing(prev, Clear)
	if len(lost) != 1 || prev.Nodes[lost[0]].GUID != 0x30 {
		t.Errorf("after %d sweeps %v are given up", MaxMissed, lost)
	}
	if now := b.Freeze(); now.FindNode(0x30) != None || peerOf(now, 0x10, 3) != 0 {
		t.Error("host is kept for ever")
	}
}

func TestKeepMissingComesBack(t *testing.T) {
	prev := smallCabling().build(nil, smp.PortActive).Freeze()
	b := without(0x30)
	b.KeepMissing(prev, Clear)
	prev = b.Freeze()
	b = without()
	b.KeepMissing(prev, Clear)
	if now := b.Freeze(); now.Nodes[now.FindNode(0x30)].Missed != 0 {
		t.Error("a host that answers again still counts as missing")
	}
}

func TestKeepMissingSwitch(t *testing.T) {
	prev := smallCabling().build(nil, smp.PortActive).Freeze()
	for missed := uint8(1); missed <= MaxMissed; missed++ {
		b := without(0x10, 0x30) // 0x30 hangs on the unresponsive switch alone
		n, _ := b.Find(0x50)     // and so does port 2 of 0x50, which answers at port 1
		b.nodes[n].ports[2], b.nodes[n].peers[2] = Port{}, NoEnd
		delete(b.portOwner, 0x52)
		b.KeepMissing(prev, Clear)
		now := b.Freeze()
		checkTopo(t, now)
		for _, guid := range []mad.GUID{0x10, 0x30} {
			if n := now.FindNode(guid); n == None || now.Nodes[n].Missed != missed {
				t.Fatalf("sweep %d: node %v is not kept", missed, guid)
			}
		}
		if peerOf(now, 0x20, 2) != 0x10 || peerOf(now, 0x20, 3) != 0x10 || peerOf(now, 0x10, 3) != 0x30 ||
			peerOf(now, 0x10, 4) != 0x50 {
			t.Errorf("sweep %d: cables of the unresponsive switch are lost", missed)
		}
		if p := now.FindPort(0x52); p == None || now.Answers(p) {
			t.Errorf("sweep %d: second port of an adapter behind the unresponsive switch: %d", missed, p)
		}
		prev = now
	}
	b := without(0x10, 0x30)
	lost := b.KeepMissing(prev, Clear)
	if len(lost) != 1 || prev.Nodes[lost[0]].GUID != 0x10 {
		t.Errorf("given up: %v, want the switch once, though two cables lead to it", lost)
	}
	if now := b.Freeze(); now.FindNode(0x10) != None || now.FindNode(0x30) != None {
		t.Error("switch or what lies behind it is kept for ever")
	}
}

func TestKeepMissingNot(t *testing.T) {
	prev := smallCabling().build(nil, smp.PortActive).Freeze()
	for _, c := range []struct {
		name  string
		spoil func(b *Builder)
	}{
		{"the link has bounced", func(b *Builder) {
			n, _ := b.Find(0x10)
			b.Port(End{n, 3}).SetPortState(smp.PortInit)
		}},
		{"the link is down", func(b *Builder) {
			n, _ := b.Find(0x10)
			b.Port(End{n, 3}).SetPortState(smp.PortDown)
		}},
		{"the port was not read", func(b *Builder) {
			n, _ := b.Find(0x10)
			b.port(End{n, 3}).Seen = false
		}},
		{"something else is there", func(b *Builder) {
			n, _ := b.Find(0x10)
			info := answerOf(mad.CA, 0x40, 1, 1)
			b.Link(End{n, 3}, End{b.AddNode(&info, mad.Route{}), 1})
		}},
		{"its port GUID is another's now", func(b *Builder) {
			info := answerOf(mad.CA, 0x40, 1, 1)
			info.SetPortGUID(0x31)
			b.AddNode(&info, mad.Route{})
		}},
	} {
		b := without(0x30)
		c.spoil(b)
		b.KeepMissing(prev, Clear)
		now := b.Freeze()
		checkTopo(t, now)
		if now.FindNode(0x30) != None {
			t.Errorf("%s: the node is kept", c.name)
		}
	}
	b := without()
	if lost := b.KeepMissing(nil, Clear); lost != nil || b.Len() != 5 {
		t.Error("without a previous walk something is kept")
	}
}

// TestKeepMissingBothAnswer: a cable between two nodes that both answer, and that
// neither found, is gone.
func TestKeepMissingBothAnswer(t *testing.T) {
	prev := smallCabling().build(nil, smp.PortActive).Freeze()
	b := without()
	n, _ := b.Find(0x20)
	b.Unlink(End{n, 3})
	b.KeepMissing(prev, Clear)
	if now := b.Freeze(); peerOf(now, 0x20, 3) != 0 || peerOf(now, 0x20, 2) != 0x10 {
		t.Error("the cable is put back, or its neighbour is lost")
	}
}

// TestKeepMissingUnderLoss: where packets are lost, a cable over which no answer came at either end
// stays; one at whose end something else answered has been moved.
func TestKeepMissingUnderLoss(t *testing.T) {
	for _, c := range []struct {
		heard    Hearing
		answered bool
		kept     bool
	}{{Clear, false, false}, {Noisy, false, true}, {Noisy, true, false}, {Inconclusive, false, true},
		{Inconclusive, true, false}} {
		prev := smallCabling().build(nil, smp.PortActive).Freeze()
		b := without()
		n, _ := b.Find(0x20)
		b.Unlink(End{n, 3})
		if c.answered {
			b.SetAnswered(End{n, 3})
		}
		b.KeepMissing(prev, c.heard)
		if now := b.Freeze(); (peerOf(now, 0x20, 3) != 0) != c.kept {
			t.Errorf("%v, something else answered %t: kept %t", c.heard, c.answered, !c.kept)
		}
	}
}

// TestKeepMissingInconclusive: a walk that heard hardly anything gives up nobody, however often.
func TestKeepMissingInconclusive(t *testing.T) {
	prev := smallCabling().build(nil, smp.PortActive).Freeze()
	for range 3 * MaxMissed {
		b := without(0x30)
		if lost := b.KeepMissing(prev, Inconclusive); len(lost) != 0 {
			t.Fatal("given up")
		}
		if prev = b.Freeze(); prev.Nodes[prev.FindNode(0x30)].Missed != 1 {
			t.Fatalf("missed in %d sweeps", prev.Nodes[prev.FindNode(0x30)].Missed)
		}
	}
}

// TestKeepMissingDropped: a node that answered too little this time counts as one that
// did not answer.
func TestKeepMissingDropped(t *testing.T) {
	prev := smallCabling().build(nil, smp.PortActive).Freeze()
	b := without()
	n, _ := b.Find(0x30)
	b.Drop(n)
	b.KeepMissing(prev, Clear)
	now := b.Freeze()
	checkTopo(t, now)
	if n := now.FindNode(0x30); n == None || now.Nodes[n].Missed != 1 || peerOf(now, 0x10, 3) != 0x30 {
		t.Error("a node that answered in part is not kept")
	}
}
