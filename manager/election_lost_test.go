package manager

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/discover"
	"ibsm/topo"
)

// TestAccountsFor: a walk accounts for the managers that were known if it has heard each, or has seen where it was that
// it has ended: its port has no IsSM, or the port at the other end of its cable has no link. Whoever else has IsSM must
// have been heard.
func TestAccountsFor(t *testing.T) {
	const own, master, standby, sw = 0x10, 0x20, 0x30, 0x1000
	// what a walk has found at a port of the switch
	type state uint8
	const (
		noLink state = iota
		unread
		noAnswer
		noIsSM
		isSM
		moved // likewise, and has no IsSM
	)
	for _, c := range []struct {
		name           string
		master, beside state
		heard          []mad.GUID
		noSwitch       bool
		known          []mad.GUID
		want           bool
	}{
		{name: "it has cleared IsSM", master: noIsSM, known: []mad.GUID{master}, want: true},
		{name: "it has IsSM, and does not answer", master: isSM, known: []mad.GUID{master}},
		{name: "its port is elsewhere, without IsSM", beside: moved, known: []mad.GUID{master}},
		{name: "it answers", master: isSM, heard: []mad.GUID{master}, known: []mad.GUID{master}, want: true},
		{name: "it has no link", master: noLink, known: []mad.GUID{master}, want: true},
		{name: "the other end of its cable was not read", master: unread, known: []mad.GUID{master}},
		{name: "its agent does not answer", master: noAnswer, known: []mad.GUID{master}},
		{name: "its switch was not found", noSwitch: true, known: []mad.GUID{master}},
		{name: "another one is not found", master: noIsSM, beside: noAnswer, known: []mad.GUID{master, standby}},
		{name: "another one has ended", master: noIsSM, known: []mad.GUID{master, standby}, want: true},
		{name: "a new one does not answer", master: noIsSM, beside: isSM, known: []mad.GUID{master}},
		{name: "a new one answers", master: noIsSM, beside: isSM, heard: []mad.GUID{standby}, known: []mad.GUID{master},
			want: true},
		{name: "none was known", master: noIsSM},
	} {
		b := topo.NewBuilder(nil)
		add := func(typ mad.NodeType, guid mad.GUID, ports uint8) int32 {
			var info smp.NodeInfo
			info.SetNodeType(typ)
			info.SetNodeGUID(guid)
			info.SetPortGUID(guid)
			info.SetNumPorts(ports)
			info.SetLocalPortNum(1)
			return b.AddNode(&info, mad.Route{})
		}
		self := topo.End{Node: add(mad.CA, own, 1), Port: 1}
		b.SetSelf(self)
		var up, down smp.PortInfo
		up.SetPortState(smp.PortActive)
		down.SetPortState(smp.PortDown)
		marked := up
		marked.SetCapabilityMask(smp.IsSM)
		b.SetPort(self, &marked)
		if !c.noSwitch {
			at := add(mad.Switch, sw, 3)
			for i, is := range []state{c.master, c.beside} {
				e := topo.End{Node: at, Port: uint8(2 + i)}
				switch is {
				case noLink:
					b.SetPort(e, &down)
				case noAnswer, noIsSM, isSM, moved:
					b.SetPort(e, &up)
				}
				if is < noIsSM {
					continue
				}
				guid := []mad.GUID{master, standby}[i]
				if is == moved {
					guid = master
				}
				end := topo.End{Node: add(mad.CA, guid, 1), Port: 1}
				b.Link(e, end)
				if b.SetPort(end, &up); is == isSM {
					b.SetPort(end, &marked)
				}
			}
		}
		sm := func(port mad.GUID) (o discover.SM) {
			o.Port = port
			o.Info.SetGUID(port)
			o.Asked.Place.Node, o.Asked.Place.Port = sw, 2
			if port == standby {
				o.Asked.Place.Port = 3
			}
			return o
		}
		e := newElection(&Config{})
		for _, port := range c.known {
			e.others = append(e.others, sm(port))
		}
		e.masterLost()
		e.met(nil)
		found := &discover.Result{Builder: b}
		for _, port := range c.heard {
			found.SMs = append(found.SMs, sm(port))
		}
		if got := e.accountsFor(found); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
