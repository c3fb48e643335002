package baddays

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// place is a fabric without a manager, and three hosts at one switch.
func place(t *testing.T) (f *fabric.Fabric, spared []net.End) {
	t.Helper()
	n := nettest.Generate(t, "fattree:k=8")
	f = fabric.New(n, fabric.Config{Seed: 1})
	for at := range f.EndPorts() {
		if at.Port > 0 && len(spared) < 3 {
			spared = append(spared, at)
		}
	}
	return f, spared
}

// TestDays: each day does something to the fabric, nothing to the spared hosts, and leaves it as it was.
func TestDays(t *testing.T) {
	for _, day := range Days {
		f, spared := place(t)
		c, err := day.Begin(f, spared, 1, 2*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		links := func() (up int, whole bool) {
			faults, _ := f.Faults()
			whole = faults == fabric.Faults{}
			for at := range f.Ports() {
				info := f.PortInfo(at)
				isUp := at.Port > 0 && info.PortPhysicalState() == smp.PhysLinkUp
				if isUp {
					up++
				}
				whole = whole && (isUp || at.Port == 0 || f.Peer(at) == net.NoEnd) && f.Powered(at.Node)
			}
			return up, whole
		}
		all, _ := links()
		changed := day.Name == "traps" || day.Name == "morning" // which show at a manager only
		for f.Now() < c.Lasts() {
			c.Step()
			for _, at := range spared {
				if info := f.PortInfo(at); info.PortPhysicalState() != smp.PhysLinkUp || !f.Powered(at.Node) {
					t.Fatalf("%s: a spared host has no link at %v", day.Name, f.Now())
				}
			}
			up, whole := links()
			changed = changed || !whole && up <= all
			f.Advance(f.Now() + 5*time.Millisecond)
		}
		c.Step()
		if _, whole := links(); !changed || !whole {
			t.Errorf("%s: it has changed the fabric: %t; all is as it was in the end: %t", day.Name, changed, whole)
		}
		c.Close()
	}
}

// TestAsker: the longest silence counts until now, and answers that are late, for others or refusals do not end it.
func TestAsker(t *testing.T) {
	f, spared := place(t)
	a, err := NewAsker(f, spared[0], spared[1])
	if err != nil {
		t.Fatal(err)
	}
	answer := func(tid mad.TID, status mad.Status) {
		var d mad.Datagram
		d.Packet.SetHeader(mad.ClassSA, mad.MethodGetResp, sarec.AttrPathRecord, 0)
		d.Packet.SetTID(tid)
		d.Packet.SetStatus(status)
		a.received(d)
	}
	for f.Now() < 100*time.Millisecond {
		a.Step()
		switch f.Now() {
		case 22 * time.Millisecond:
			answer(2, mad.StatusOK)
			answer(2, mad.StatusOK) // once more
			answer(77, mad.StatusOK)
		case 50 * time.Millisecond:
			answer(3, mad.StatusNoResources)
		}
		f.Advance(f.Now() + time.Millisecond)
	}
	if a.Asked() != 10 || a.Answered() != 1 || a.Longest() != 78*time.Millisecond ||
		a.Quantile(0.99) != 12*time.Millisecond || !a.IsAnswered() {
		t.Errorf("%d asked, %d answered, silence %v, p99 %v", a.Asked(), a.Answered(), a.Longest(), a.Quantile(0.99))
	}
}
