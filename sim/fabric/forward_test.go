package fabric

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// lidRouted sends an SMP by LID and returns the answer, nil for none.
func (c *client) lidRouted(to mad.LID, a mad.AttrID, mod uint32) *mad.Datagram {
	c.t.Helper()
	d := make([]mad.Datagram, 1)
	d[0].LID = to
	d[0].Packet.SetHeader(mad.ClassLIDRouted, mad.MethodGet, a, mod)
	c.s.Send(d)
	if c.s.Recv(d) == 0 {
		return nil
	}
	return &d[0]
}

func TestLIDRoutedSMPs(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	for node, lid := range lids {
		d := c.lidRouted(lid, smp.AttrNodeInfo, 0)
		if d == nil {
			t.Errorf("LID %v: no answer: %v", lid, f.Stats().Drops)
			continue
		}
		ni := (*smp.NodeInfo)(d.Packet.Data())
		if ni.NodeGUID() != twoSwitches().Nodes[node].GUID || d.LID != lid || d.Packet.Status() != 0 {
			t.Errorf("LID %v: %v answers as %+v", lid, ni.NodeGUID(), d.Addr)
		}
		if want := [...]uint8{sw1: 1, sw2: 7, h1: 1, h2: 1, h3: 1, h4: 1}[node]; ni.LocalPortNum() != want {
			t.Errorf("LID %v: LocalPortNum %d, want %d", lid, ni.LocalPortNum(), want)
		}
	}
	// SMPs pass links in Initialize, data do not.
	c.mustChange(7, func(p *smp.PortInfo) { p.SetPortState(smp.PortDown) }, 1)
	if c.lidRouted(lids[h4], smp.AttrNodeInfo, 0) == nil {
		t.Error("an SMP does not pass a link in Initialize")
	}
	if _, why := f.Probe(end(h1, 1), lids[h4], mad.DefaultPKey, 0, nil); why != DropNotActive {
		t.Errorf("data over a link in Initialize: %v", why)
	}
	f.LinkDown(end(sw1, 7))
	if c.lidRouted(lids[h4], smp.AttrNodeInfo, 0) != nil {
		t.Error("an SMP passes a dead link")
	}
	for _, lid := range []mad.LID{0, 7, 1000, 0xc000} {
		if c.lidRouted(lid, smp.AttrNodeInfo, 0) != nil {
			t.Errorf("LID %v answers", lid)
		}
	}
}

func TestProbe(t *testing.T) {
	f := New(twoSwitches(), Config{})
	bringUp(t, f)
	hops, why := f.Probe(end(h1, 1), lids[h4], mad.DefaultPKey, 3, nil)
	want := []Hop{{h1, 0, 1, 3}, {sw1, 1, 7, 3}, {sw2, 7, 2, 3}, {h4, 1, 0, 0}}
	if why != Delivered || !slices.Equal(hops, want) {
		t.Errorf("%v %v, want %v", hops, why, want)
	}
	if hops, why = f.Probe(end(h1, 1), lids[sw2], mad.DefaultPKey, 0, hops[:0]); why != Delivered ||
		hops[len(hops)-1] != (Hop{sw2, 7, 0, 0}) {
		t.Errorf("to a switch: %v %v", hops, why)
	}
	if _, why = f.Probe(end(sw1, 0), lids[h3], mad.DefaultPKey, 0, nil); why != Delivered {
		t.Errorf("from a switch: %v", why)
	}
	if _, why = f.Probe(end(h1, 1), lids[h1], mad.DefaultPKey, 0, nil); why != Delivered {
		t.Errorf("to itself: %v", why)
	}
	for node, lid := range lids {
		for from := range lids {
			if _, why := f.Probe(f.end(f.mgmt(f.nodes[from].first)), lid, mad.DefaultPKey, 0, nil); why != Delivered {
				t.Errorf("%d to %d: %v", from, node, why)
			}
		}
	}
}

func TestProbeIsLost(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(f *Fabric, c *client)
		want  Drop
	}{
		{"above LinearFDBTop", func(f *Fabric, _ *client) { f.nodes[sw1].sw.info.SetLinearFDBTop(5) }, DropNoRoute},
		{"no entry", func(f *Fabric, _ *client) { f.nodes[sw1].sw.lft[6] = noPort }, DropNoRoute},
		{"no such port", func(f *Fabric, _ *client) { f.nodes[sw1].sw.lft[6] = 9 }, DropNoRoute},
		{"port 0 of another", func(f *Fabric, _ *client) { f.nodes[sw1].sw.lft[6] = 0 }, DropWrongLID},
		{"another host", func(f *Fabric, _ *client) { f.nodes[sw2].sw.lft[6] = 1 }, DropWrongLID},
		{"loop", func(f *Fabric, _ *client) { f.nodes[sw2].sw.lft[6] = 7 }, DropLoop},
		{"back to the sender", func(f *Fabric, _ *client) { f.nodes[sw1].sw.lft[6] = 1 }, DropWrongLID},
		{"port without a cable", func(f *Fabric, _ *client) { f.nodes[sw2].sw.lft[6] = 3 }, DropLinkDown},
		{"link gone", func(f *Fabric, _ *client) { f.LinkDown(end(sw2, 2)) }, DropLinkDown},
		{"node gone", func(f *Fabric, _ *client) { f.NodeDown(h4) }, DropLinkDown},
		{"own node gone", func(f *Fabric, _ *client) { f.NodeDown(h1) }, DropNodeGone},
		{"own port not active", func(f *Fabric, _ *client) { f.Reboot(h1) }, DropNotActive},
		{"lane 15", func(_ *Fabric, c *client) {
			var drop [64]byte
			drop[0] = 0xff
			c.set(smp.AttrSLtoVLMappingTable, smp.SLtoVLMod(1, 7), drop, 1)
		}, DropVL},
		{"lane not operational", func(_ *Fabric, c *client) {
			var high [64]byte
			high[0] = 0x22
			c.set(smp.AttrSLtoVLMappingTable, smp.SLtoVLMod(1, 7), high, 1)
			c.mustChange(7, func(p *smp.PortInfo) { p.SetOperationalVLs(2) }, 1)
		}, DropVL},
		{"partition of the receiver", func(_ *Fabric, c *client) {
			c.set(smp.AttrPKeyTable, 0, [64]byte{0x80, 0x05}, paths[h4]...)
		}, DropPKey},
		{"partition of the sender", func(_ *Fabric, c *client) {
			c.set(smp.AttrPKeyTable, 0, [64]byte{0x80, 0x05}, paths[h1]...)
		}, DropPKey},
		{"both limited", func(_ *Fabric, c *client) {
			c.set(smp.AttrPKeyTable, 0, [64]byte{0x7f, 0xff}, paths[h1]...)
			c.set(smp.AttrPKeyTable, 0, [64]byte{0x7f, 0xff}, paths[h4]...)
		}, DropPKey},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := New(twoSwitches(), Config{})
			c := bringUp(t, f)
			tt.spoil(f, c)
			if hops, why := f.Probe(end(h1, 1), lids[h4], mad.DefaultPKey, 0, nil); why != tt.want {
				t.Errorf("%v after %v, want %v", why, hops, tt.want)
			}
		})
	}
}

// A switch port drops what is not in its partition table when, and only when, the
// enforcement bit of the direction is set.
func TestPartitionEnforcement(t *testing.T) {
	for _, tt := range []struct{ in, out bool }{{false, false}, {true, false}, {false, true}} {
		f := New(twoSwitches(), Config{})
		c := bringUp(t, f)
		c.set(smp.AttrPKeyTable, smp.PKeyTableMod(7, 0), [64]byte{0x80, 0x05}, 1)
		c.mustChange(7, func(p *smp.PortInfo) {
			p.SetPartitionEnforcementInbound(tt.in)
			p.SetPartitionEnforcementOutbound(tt.out)
		}, 1)
		_, going := f.Probe(end(h1, 1), lids[h4], mad.DefaultPKey, 0, nil)
		_, coming := f.Probe(end(h4, 1), lids[h1], mad.DefaultPKey, 0, nil)
		if (going == DropPKey) != tt.out || (coming == DropPKey) != tt.in {
			t.Errorf("in %v out %v: going %v, coming %v", tt.in, tt.out, going, coming)
		}
		if !tt.in && !tt.out {
			continue
		}
		got := c.traps(f, 0)
		if len(got) != 1 {
			t.Fatalf("%d traps", len(got))
		}
		n := (*smp.Notice)(got[0].Packet.Data())
		b := n.SwitchBadPKey()
		if n.TrapNumber() != smp.TrapSwitchBadPKey || b.PKey() != mad.DefaultPKey || b.SwitchLID() != lids[sw1] ||
			b.PortNum() != 7 {
			t.Errorf("trap % x", *n)
		}
		if pi := f.PortInfo(end(sw1, 7)); pi.PKeyViolations() != 1 {
			t.Errorf("%d violations", pi.PKeyViolations())
		}
	}
}

// The check of a switch port differs by direction. Inbound it asks whether the sender may use the key: OpenSM has only
// the limited key in front of a limited host, and turns the check on (IBA 1.2 o18-14, named in OpenSM's history).
// Outbound it asks what an end port asks (IBA 10.9.3).
func TestEnforcementOfLimitedKeys(t *testing.T) {
	const full, limited = 0xff, 0x7f // first octets of the keys 0xffff and 0x7fff
	for _, tt := range []struct {
		packet, entry byte
		in, out       Drop
	}{
		{limited, limited, Delivered, DropPKey},
		{limited, full, Delivered, Delivered},
		{full, limited, DropPKey, Delivered},
		{full, full, Delivered, Delivered},
	} {
		for _, inbound := range []bool{true, false} {
			f := New(twoSwitches(), Config{})
			c := bringUp(t, f)
			c.set(smp.AttrPKeyTable, smp.PKeyTableMod(7, 0), [64]byte{tt.entry, 0xff}, 1)
			from, to, want := h1, h4, tt.out // leaves the first switch by port 7
			if inbound {
				from, to, want = h4, h1, tt.in
			}
			c.set(smp.AttrPKeyTable, 0, [64]byte{tt.packet, 0xff}, paths[from]...)
			c.mustChange(7, func(p *smp.PortInfo) {
				p.SetPartitionEnforcementInbound(inbound)
				p.SetPartitionEnforcementOutbound(!inbound)
			}, 1)
			if _, why := f.Probe(end(from, 1), lids[to], mad.DefaultPKey, 0, nil); why != want {
				t.Errorf("key 0x%xff, entry 0x%xff, inbound %t: %v, want %v", tt.packet, tt.entry, inbound, why, want)
			}
		}
	}
}

// A port that is Armed goes Active when data reach it.
func TestDataActivateArmedPort(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	c.mustChange(7, func(p *smp.PortInfo) { p.SetPortState(smp.PortDown) }, 1)
	arm := func(p *smp.PortInfo) { p.SetPortState(smp.PortArmed) }
	c.mustChange(7, arm, 1)
	c.mustChange(7, arm, 1, 7)
	if _, why := f.Probe(end(h1, 1), lids[h4], mad.DefaultPKey, 0, nil); why != DropNotActive {
		t.Errorf("an Armed port sent data: %v", why)
	}
	c.mustChange(7, func(p *smp.PortInfo) { p.SetPortState(smp.PortActive) }, 1)
	if _, why := f.Probe(end(h1, 1), lids[h4], mad.DefaultPKey, 0, nil); why != Delivered {
		t.Error(why)
	}
	if p := f.PortInfo(end(sw2, 7)); p.PortState() != smp.PortActive {
		t.Errorf("the other end is %v", p.PortState())
	}
	if st := c.change(7, func(p *smp.PortInfo) { p.SetPortState(smp.PortActive) }, 1, 7); st != mad.StatusBadField {
		t.Errorf("Active once more: %v", st)
	}
}

// General services go from station to station over Active links.
func TestGeneralServices(t *testing.T) {
	n := twoSwitches()
	f := New(n, Config{})
	c := bringUp(t, f)
	s := attach(t, f, h4, 1)
	c.mustChange(0, func(p *smp.PortInfo) { p.SetLID(8); p.SetLMC(2) }, paths[h1]...)
	c.set(smp.AttrPKeyTable, 0, [64]byte{0x7f, 0xff, 0x80, 0x05}, paths[h4]...)
	c.set(smp.AttrPKeyTable, 0, [64]byte{0x80, 0x05, 0xff, 0xff}, paths[h1]...)
	d := make([]mad.Datagram, 2)
	d[0].Addr = mad.Addr{LID: lids[h4], QPN: 1, SL: 2, PathBits: 3, PKeyIndex: 0}
	d[0].Packet.SetHeader(mad.ClassSA, mad.MethodGet, 0x35, 0)
	d[1] = d[0]
	d[1].PKeyIndex = 9 // nothing there
	c.s.Send(d)
	if n := s.Recv(d); n != 1 {
		t.Fatalf("%d packets, drops %v", n, f.Stats().Drops)
	}
	if want := (mad.Addr{LID: 11, QPN: 1, SL: 2, PKeyIndex: 1}); d[0].Addr != want {
		t.Errorf("from %+v, want %+v", d[0].Addr, want)
	}
	if f.Stats().Drops[DropPKey] != 1 {
		t.Errorf("drops %v", f.Stats().Drops)
	}
}

func TestMulticast(t *testing.T) {
	const mlid = mad.LID(0xc005)
	member := func(c *client, path []uint8, ports ...uint8) {
		t := smp.MulticastForwardingTable(c.get(smp.AttrMulticastForwardingTable, 0, path...))
		mask := uint16(0)
		for _, p := range ports {
			mask |= 1 << p
		}
		t.SetPortMask(mlid, mask)
		c.set(smp.AttrMulticastForwardingTable, 0, t, path...)
	}
	tests := []struct {
		name       string
		setup      func(f *Fabric, c *client)
		want       []net.End
		duplicates int
		drop       Drop
	}{
		{name: "tree", setup: func(_ *Fabric, c *client) {
			member(c, paths[sw1], 0, 1, 2, 7)
			member(c, paths[sw2], 1, 2, 7)
		}, want: []net.End{end(sw1, 0), end(h2, 1), end(h3, 1), end(h4, 1)}},
		{name: "no entry", want: nil, drop: DropNoRoute},
		{name: "above MulticastFDBTop", setup: func(f *Fabric, c *client) {
			member(c, paths[sw1], 1, 2)
			f.nodes[sw1].sw.info.SetMulticastFDBTop(0xc004)
		}, drop: DropNoRoute},
		{name: "partition", setup: func(f *Fabric, c *client) {
			member(c, paths[sw1], 1, 2)
			c.set(smp.AttrPKeyTable, 0, [64]byte{0x80, 0x05}, paths[h2]...)
		}, drop: DropPKey},
		{name: "port not active", setup: func(f *Fabric, c *client) {
			member(c, paths[sw1], 1, 2)
			c.mustChange(2, func(p *smp.PortInfo) { p.SetPortState(smp.PortDown) }, 1)
		}, drop: DropNotActive},
		{name: "two ways", setup: func(f *Fabric, c *client) {
			f.Plug(end(sw1, 8), end(sw2, 8), mad.Width4x, mad.HDR)
			for _, state := range []smp.PortState{smp.PortArmed, smp.PortActive} {
				c.mustChange(8, func(p *smp.PortInfo) { p.SetPortState(state) }, paths[sw1]...)
				c.mustChange(8, func(p *smp.PortInfo) { p.SetPortState(state) }, paths[sw2]...)
			}
			c.traps(f, 0)
			member(c, paths[sw1], 7, 8)
			member(c, paths[sw2], 1, 7)
		}, want: []net.End{end(h3, 1)}, duplicates: 1},
		{name: "loop", setup: func(f *Fabric, c *client) {
			f.Plug(end(sw1, 8), end(sw2, 8), mad.Width4x, mad.HDR)
			for _, state := range []smp.PortState{smp.PortArmed, smp.PortActive} {
				c.mustChange(8, func(p *smp.PortInfo) { p.SetPortState(state) }, paths[sw1]...)
				c.mustChange(8, func(p *smp.PortInfo) { p.SetPortState(state) }, paths[sw2]...)
			}
			c.traps(f, 0)
			member(c, paths[sw1], 7, 8)
			member(c, paths[sw2], 7, 8)
		}, drop: DropLoop},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := New(twoSwitches(), Config{})
			c := bringUp(t, f)
			if tt.setup != nil {
				tt.setup(f, c)
			}
			got := f.ProbeMulticast(end(h1, 1), mlid, mad.DefaultPKey, 0)
			if !slices.Equal(got.Delivered, tt.want) || got.Duplicates != tt.duplicates {
				t.Errorf("%+v, want %v and %d duplicates", got, tt.want, tt.duplicates)
			}
			if tt.drop != Delivered && got.Drops[tt.drop] == 0 {
				t.Errorf("drops %v, want %v", got.Drops, tt.drop)
			}
		})
	}
}

// A GRH leads to the port that its DGID names; the receiver sees who sent it, and the rest
// as a reply has it.
func TestGlobalRoute(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	s := attach(t, f, h4, 1)
	own, other := f.PortGUID(end(h4, 1)), f.PortGUID(end(h1, 1))
	for _, x := range []struct {
		name     string
		to       mad.GUID
		present  bool
		required bool
		want     bool
	}{
		{"none", 0, false, false, true},
		{"none where it is demanded", 0, false, true, false},
		{"to the port", own, true, true, true},
		{"to the port, not demanded", own, true, false, true},
		{"to the SA", wellKnownSA, true, true, true},
		{"to another port", other, true, true, false},
	} {
		f.RequireGRH(end(h4, 1), x.required)
		d := mad.Datagram{Addr: mad.Addr{LID: lids[h4], QPN: 1}}
		if x.present {
			d.GRH = mad.GRH{Present: true, GID: mad.MakeGID(mad.DefaultPrefix, x.to), FlowLabel: 3, TrafficClass: 4,
				HopLimit: 1}
		}
		want := d.GRH
		if x.present {
			want.GID, want.HopLimit = mad.MakeGID(mad.DefaultPrefix, other), 255
		}
		d.Packet.SetHeader(mad.ClassSA, mad.MethodGet, 0x35, 0)
		f.ResetStats()
		c.s.Send([]mad.Datagram{d})
		got := make([]mad.Datagram, 2)
		switch n := s.Recv(got); {
		case (n == 1) != x.want || (f.Stats().Drops[DropGRH] == 1) == x.want:
			t.Errorf("%s: %d packets, drops %v", x.name, n, f.Stats().Drops)
		case n == 1 && got[0].GRH != want:
			t.Errorf("%s: %+v, want %+v", x.name, got[0].GRH, want)
		}
	}
}
