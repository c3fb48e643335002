package fabric

import (
	"crypto/sha256"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// storm asks a fabric with all faults for everything while links and nodes come and
// go, and returns a digest of all that the station saw, with when.
func storm(t *testing.T, seed uint64) ([32]byte, Stats) {
	n := nettest.Generate(t, "fattree:k=4")
	f := New(n, Config{
		Seed: seed, Latency: 5 * time.Microsecond, TrainTime: time.Millisecond,
		Faults: Faults{Loss: 0.1, Duplicate: 0.1, Reorder: 0.1, Jitter: 3 * time.Microsecond},
	})
	ca := firstCA(n)
	s := attach(t, f, ca, 1)
	sum := sha256.New()
	buf := make([]mad.Datagram, 16)
	for i, d := range requests(n, ca) {
		d.Packet.SetTID(mad.TID(i))
		s.Send([]mad.Datagram{d})
		switch {
		case i%17 == 3:
			f.Reboot(int32(i) % int32(len(n.Nodes)))
		case i%11 == 5:
			f.LinkDown(end(int32(i)%int32(len(n.Nodes)), 1))
		case i%11 == 7:
			f.LinkUp(end(int32(i-2)%int32(len(n.Nodes)), 1))
		}
		if i%4 == 0 {
			continue
		}
		at, ok := f.Next()
		if !ok {
			continue
		}
		f.Advance(at + time.Microsecond)
		for _, g := range buf[:s.Recv(buf)] {
			sum.Write(g.Packet[:])
			sum.Write([]byte(f.Now().String()))
		}
	}
	return [32]byte(sum.Sum(nil)), f.Stats()
}

func TestSameSeedSameBytes(t *testing.T) {
	a, stats := storm(t, 1)
	b, _ := storm(t, 1)
	other, _ := storm(t, 2)
	if a != b {
		t.Error("the same seed gave different bytes")
	}
	if a == other {
		t.Error("different seeds gave the same bytes")
	}
	if stats.Drops[DropLoss] == 0 || stats.Drops[DropLinkDown] == 0 {
		t.Errorf("no storm: %v", stats.Drops)
	}
}

func TestFaultRates(t *testing.T) {
	tests := []struct {
		name     string
		faults   Faults
		min, max int // answers to 1000 requests
		order    bool
	}{
		{"none", Faults{}, 1000, 1000, true},
		{"all lost", Faults{Loss: 1}, 0, 0, true},
		{"loss on both ways", Faults{Loss: 0.1}, 780, 840, true},
		{"both ways doubled", Faults{Duplicate: 1}, 4000, 4000, true},
		{"jitter", Faults{Jitter: time.Millisecond}, 1000, 1000, false},
		{"reorder", Faults{Reorder: 0.1}, 1000, 1000, false},
	}
	for _, tt := range tests {
		f := New(twoSwitches(), Config{Seed: 4, Latency: time.Microsecond, Faults: tt.faults})
		s := attach(t, f, h1, 1)
		d := make([]mad.Datagram, 1)
		r := mad.MakeRoute(1)
		for i := range 1000 {
			d[0].Packet.SetDirected(&r, mad.MethodGet, smp.AttrNodeInfo, 0)
			d[0].Packet.SetTID(mad.TID(i))
			s.Send(d)
			f.Advance(f.Now() + 100*time.Nanosecond)
		}
		f.Advance(time.Second)
		answers := make([]mad.Datagram, 5000)
		answers = answers[:s.Recv(answers)]
		if len(answers) < tt.min || len(answers) > tt.max {
			t.Errorf("%s: %d answers", tt.name, len(answers))
		}
		inOrder := true
		for i := 1; i < len(answers); i++ {
			inOrder = inOrder && answers[i].Packet.TID() >= answers[i-1].Packet.TID()
		}
		if inOrder != tt.order {
			t.Errorf("%s: in order: %v", tt.name, inOrder)
		}
	}
}

func TestLatency(t *testing.T) {
	f := New(twoSwitches(), Config{Latency: time.Microsecond})
	c := newClient(t, f, h1)
	d := make([]mad.Datagram, 1)
	r := mad.MakeRoute(1)
	d[0].Packet.SetDirected(&r, mad.MethodGet, smp.AttrNodeInfo, 0)
	c.s.Send(d)
	for _, want := range []time.Duration{time.Microsecond, 2 * time.Microsecond} {
		at, ok := f.Next()
		if !ok || at != want || c.s.Pending() != 0 {
			t.Fatalf("next %v %v, %d pending, want %v", at, ok, c.s.Pending(), want)
		}
		f.Advance(at)
	}
	if _, ok := f.Next(); ok || c.s.Pending() != 1 {
		t.Error("no answer after twice the latency")
	}
}

// A station that does not read loses packets, and the fabric does not grow.
func TestInboxIsBounded(t *testing.T) {
	f := New(twoSwitches(), Config{})
	s := attach(t, f, h1, 1)
	d := make([]mad.Datagram, 1)
	r := mad.MakeRoute(1)
	d[0].Packet.SetDirected(&r, mad.MethodGet, smp.AttrNodeInfo, 0)
	for range maxInbox + 10 {
		s.Send(d)
	}
	if s.Pending() != maxInbox || f.Stats().Drops[DropInboxFull] != 10 {
		t.Errorf("%d wait, drops %v", s.Pending(), f.Stats().Drops)
	}
	for i := 0; s.Recv(d) == 1; i++ {
		s.Send(d) // garbage now; what matters is that the inbox runs empty
	}
	if s.Pending() != 0 {
		t.Errorf("%d wait", s.Pending())
	}
}

// Whatever a station sends, nothing panics, loops or grows without bound.
func FuzzStation(f *testing.F) {
	r := mad.MakeRoute(1, 7, 2)
	var p mad.Packet
	for _, attr := range []mad.AttrID{smp.AttrNotice, smp.AttrNodeInfo, smp.AttrSwitchInfo, smp.AttrPortInfo,
		smp.AttrPKeyTable,
		smp.AttrSLtoVLMappingTable, smp.AttrVLArbitrationTable, smp.AttrLinearForwardingTable,
		smp.AttrMulticastForwardingTable,
		smp.AttrGUIDInfo, smp.AttrPortInfoExtended, smp.AttrGeneralInfo, smp.AttrARInfo, smp.AttrExtendedPortInfo,
		smp.AttrSMInfo} {
		for _, m := range []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodTrap, mad.MethodTrapRepress} {
			p.SetDirected(&r, m, attr, 0)
			f.Add(p[:], uint16(mad.PermissiveLID), uint8(0))
			p.SetHeader(mad.ClassLIDRouted, m, attr, 1)
			f.Add(p[:], uint16(6), uint8(255))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, lid uint16, pathBits uint8) {
		fab := New(twoSwitches(), Config{Latency: time.Microsecond, Caps: func(_ int32, _ *net.Node, c *Caps) {
			c.NVIDIA, c.AR, c.OptimizedSLtoVL = true, AROff, 1
			c.CapabilityMask2 |= smp.IsSetNodeDescriptionSupported
		}})
		c := attach(t, fab, h1, 1)
		other := attach(t, fab, h4, 1)
		for i := range fab.ports { // LIDs and Active links, so that everything passes
			fab.ports[i].info.SetLID(mad.LID(i + 1))
			fab.ports[i].info.SetMasterSMLID(6)
			if fab.across(int32(i)) >= 0 {
				fab.ports[i].info.SetPortState(smp.PortActive)
			}
		}
		d := []mad.Datagram{{Addr: mad.Addr{LID: mad.LID(lid), PathBits: pathBits, SL: pathBits, PKeyIndex: lid}}}
		for len(b) > 0 {
			n := copy(d[0].Packet[:], b)
			b = b[n:]
			c.Send(d)
			other.Send(d)
			fab.Advance(fab.Now() + time.Millisecond)
		}
		fab.Advance(fab.Now() + time.Minute)
		if len(fab.queue.heap) > 100 {
			t.Errorf("%d events wait", len(fab.queue.heap))
		}
		for i := range fab.ports {
			pi := &fab.ports[i].info
			if s := pi.PortState(); s < smp.PortDown || s > smp.PortActive {
				t.Errorf("port %d is %v", i, s)
			}
			if i == int(fab.mgmt(int32(i))) && !pi.LID().IsUnicast() {
				t.Errorf("port %d has LID %v", i, pi.LID())
			}
		}
	})
}

// TestSMPLoss: SMPs alone are lost, and none that stays in the sender's node.
func TestSMPLoss(t *testing.T) {
	f := New(twoSwitches(), Config{Seed: 1, Faults: Faults{SMPLoss: 1}})
	c := newClient(t, f, h1)
	if p := c.request(mad.MethodGet, smp.AttrNodeInfo, 0, [64]byte{}, 1); p != nil {
		t.Errorf("an answer of the switch: %s", describe(p))
	}
	c.get(smp.AttrNodeInfo, 0)
	var d mad.Datagram
	d.Packet.SetHeader(mad.ClassSA, mad.MethodGet, 0, 0)
	before := f.Stats().Drops[DropLoss]
	d.QPN = 1
	c.s.Send([]mad.Datagram{d})
	if lost := f.Stats().Drops[DropLoss] - before; before != 1 || lost > 0 {
		t.Errorf("%d SMPs are lost, and %d packets of other classes", before, lost)
	}
}
