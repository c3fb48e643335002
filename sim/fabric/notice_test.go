package fabric

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/smp"
)

// traps lets time pass and returns the traps that came to the station, others fail.
func (c *client) traps(f *Fabric, d time.Duration) (got []mad.Datagram) {
	c.t.Helper()
	f.Advance(f.Now() + d)
	buf := make([]mad.Datagram, 16)
	for n := c.s.Recv(buf); n > 0; n = c.s.Recv(buf) {
		for _, g := range buf[:n] {
			if g.Packet.Method() != mad.MethodTrap {
				c.t.Fatalf("not a trap: % x", g.Packet[:24])
			}
			got = append(got, g)
		}
	}
	return got
}

func (c *client) repress(d mad.Datagram) {
	d.Packet.SetMethod(mad.MethodTrapRepress)
	c.s.Send([]mad.Datagram{d})
}

const subnetTimeOut = 4096 << 18 * time.Nanosecond

// The trap of a lost link is the captured one but for the TID, and is repeated
// until it is repressed.
func TestTrap128(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	f.LinkDown(end(h3, 1))
	got := c.traps(f, 0)
	if len(got) != 1 {
		t.Fatalf("%d traps", len(got))
	}
	want := madtest.Packet(t, "umad-trap-128")
	want.SetTID(got[0].Packet.TID())
	if [128]byte(got[0].Packet[:]) != [128]byte(want[:]) {
		t.Errorf("got\n% x, want\n% x", got[0].Packet[:128], want[:128])
	}
	if got[0].LID != lids[sw2] || got[0].QPN != 0 {
		t.Errorf("from %+v", got[0].Addr)
	}
	if si := f.SwitchInfo(sw2); !si.PortStateChange() {
		t.Error("PortStateChange is not set")
	}
	if si := f.SwitchInfo(sw1); si.PortStateChange() {
		t.Error("PortStateChange is set at a switch that has nothing to do with it")
	}
	if again := c.traps(f, 3*subnetTimeOut); len(again) != 3 || again[2].Packet != got[0].Packet {
		t.Errorf("%d repetitions in three intervals", len(again))
	}
	late := got[0]
	late.Packet.SetTID(late.Packet.TID() + 1000)
	c.repress(late)
	if again := c.traps(f, subnetTimeOut); len(again) != 1 {
		t.Errorf("a TrapRepress of another trap was taken: %d traps", len(again))
	}
	c.repress(got[0])
	if again := c.traps(f, time.Hour); len(again) != 0 {
		t.Errorf("%d traps after TrapRepress", len(again))
	}
	if _, ok := f.Next(); ok {
		t.Error("something has yet to happen")
	}
}

// A change that follows an unrepressed trap cannot be repressed with the old TID.
func TestTrapRenewed(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	f.LinkDown(end(h3, 1))
	first := c.traps(f, 0)
	f.LinkUp(end(h3, 1))
	c.repress(first[0])
	second := c.traps(f, subnetTimeOut)
	if len(second) != 1 || second[0].Packet.TID() == first[0].Packet.TID() {
		t.Fatalf("%d traps for the second change", len(second))
	}
	c.repress(second[0])
	if more := c.traps(f, time.Hour); len(more) != 0 {
		t.Errorf("%d traps after TrapRepress", len(more))
	}
}

// Many changes at once make few traps.
func TestTrapRate(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	for range 100 {
		f.LinkDown(end(h3, 1))
		f.LinkUp(end(h3, 1))
		f.Advance(f.Now() + time.Millisecond)
		for _, g := range c.traps(f, 0) {
			c.repress(g)
		}
	}
	if got := f.Stats().SMPs[Kind{mad.MethodTrap, smp.AttrNotice}]; got != 1 {
		t.Errorf("%d traps in a tenth of a second, want 1", got)
	}
}

func TestTrap144(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	s := attach(t, f, h4, 1)
	check := func(on bool) {
		t.Helper()
		got := c.traps(f, 2*subnetTimeOut)
		if len(got) == 0 {
			t.Fatal("no trap")
		}
		n := (*smp.Notice)(got[0].Packet.Data())
		l := n.LocalChange()
		if n.TrapNumber() != smp.TrapLocalChange || n.Type() != smp.NoticeInformational || l.LID() != lids[h4] ||
			l.CapabilityMask().Has(smp.IsSM) != on || l.OtherLocalChanges() {
			t.Errorf("trap % x", *n)
		}
		if pi := f.PortInfo(end(h4, 1)); pi.CapabilityMask().Has(smp.IsSM) != on {
			t.Error("CapabilityMask")
		}
		c.repress(got[len(got)-1])
	}
	s.SetIsSM(true)
	check(true)
	s.Detach()
	check(false)
	f.SetNodeDescription(sw2, "renamed")
	got := c.traps(f, 0)
	if len(got) != 1 {
		t.Fatalf("%d traps", len(got))
	}
	l := (*smp.Notice)(got[0].Packet.Data()).LocalChange()
	if l.LID() != lids[sw2] || !l.OtherLocalChanges() || l.ChangeFlags() != smp.ChangedNodeDescription {
		t.Errorf("trap % x", *l)
	}
	if d := smp.NodeDescription(c.get(smp.AttrNodeDescription, 0, paths[sw2]...)); d.String() != "renamed" {
		t.Errorf("NodeDescription %q", d)
	}
}

// Traps go by the forwarding tables: without a route none arrives.
func TestTrapNeedsRoute(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	var lft [64]byte
	for i := range lft {
		lft[i] = noPort
	}
	c.set(smp.AttrLinearForwardingTable, 0, lft, paths[sw2]...)
	f.LinkDown(end(h3, 1))
	if got := c.traps(f, subnetTimeOut); len(got) != 0 || f.Stats().Drops[DropNoRoute] != 2 {
		t.Errorf("%d traps, drops %v", len(got), f.Stats().Drops)
	}
}

// A trap that nobody repressed can be read and taken for known.
func TestLoggedNotice(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	read := func() smp.Notice { return c.get(smp.AttrNotice, 0, paths[sw2]...) }
	if n := read(); n.Type() != smp.NoticeEmpty {
		t.Errorf("notice % x", n)
	}
	f.LinkDown(end(h3, 1))
	if n := read(); n.TrapNumber() != smp.TrapLinkState {
		t.Errorf("notice % x", n)
	}
	c.set(smp.AttrNotice, 0, [64]byte{}, paths[sw2]...)
	if got := c.traps(f, time.Hour); len(got) != 0 {
		t.Errorf("%d traps after Set(Notice)", len(got))
	}
}
