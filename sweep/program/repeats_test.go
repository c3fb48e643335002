package program

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/topo/netwalk"
)

// TestWake: a Set that rests is sent again to a node that may have changed, and to no other. A switch whose own change
// bit cannot be cleared has always changed, which says nothing.
func TestWake(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	subnet := func() *topo.Topo {
		tp, err := netwalk.Topo(n, net.NoEnd)
		if err != nil {
			t.Fatal(err)
		}
		return tp
	}
	prev := subnet()
	first, last := prev.Nodes[prev.Switches[0]].GUID, prev.Nodes[prev.Switches[len(prev.Switches)-1]].GUID
	block := func(attr mad.AttrID, port uint8) device.Block {
		return device.Block{Place: device.Place{Attr: attr, Node: first, Port: port}}
	}
	key := setKey{Block: block(smp.AttrPortInfo, 1), op: plan.SetPort}
	change := setKey{Block: block(smp.AttrSwitchInfo, 0), op: plan.ClearChange}
	for _, c := range []struct {
		what      string
		cleared   []mad.GUID
		answers   mad.GUID
		restarted mad.GUID
		change    func(t *topo.Topo)
		stuck     bool // the switch does not clear its PortStateChange
		rests     bool
	}{
		{what: "nothing has changed", rests: true},
		{what: "another node has restarted", restarted: last, rests: true},
		{what: "it has restarted", restarted: first},
		{what: "another node answers again", answers: last, rests: true},
		{what: "it answers again", answers: first},
		{what: "it reports a change", cleared: []mad.GUID{first}},
		{what: "it always reports a change", cleared: []mad.GUID{first}, stuck: true, rests: true},
		{what: "it has other capabilities", change: func(t *topo.Topo) {
			info := &t.Ports[t.Port(t.Switches[0], 0)].Info
			info.SetCapabilityMask(info.CapabilityMask() ^ smp.IsSM)
		}},
	} {
		r := Repeats{key: {sweeps: 3, rests: 16, failure: isRefused}}
		if c.stuck {
			r[change] = repeat{sweeps: 3, rests: 16, failure: isNotKept}
		}
		now := subnet()
		if c.change != nil {
			c.change(now)
		}
		r.Wake(prev, now, c.cleared, func(guid mad.GUID) bool { return guid == c.answers },
			func(guid mad.GUID) bool { return guid == c.restarted })
		if _, rests := r[key]; rests != c.rests {
			t.Errorf("%s: it rests: %t", c.what, rests)
		}
		if c.stuck != r.Uncleared()[first] {
			t.Errorf("%s: its change is not cleared: %t", c.what, r.Uncleared()[first])
		}
	}
}

// TestHeldTooLong: removals of P_Keys wait twice for ports that do not accept their new keys, then no longer.
func TestHeldTooLong(t *testing.T) {
	for _, c := range []struct {
		of         removals
		held, want uint8
	}{
		{notHeld, 2, 0}, {areHeld, 0, 1}, {areHeld, 1, maxHeldRemovals},
		{heldTooLong, maxHeldRemovals, maxHeldRemovals},
	} {
		if got := c.of.after(c.held); got != c.want {
			t.Errorf("%d after %d: %d, want %d", c.of, c.held, got, c.want)
		}
	}
}
