package fabric

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// Every transition of PortState that a Set can ask for, by own and peer's state.
func TestPortStates(t *testing.T) {
	const down, ini, armed, active = smp.PortDown, smp.PortInit, smp.PortArmed, smp.PortActive
	tests := []struct {
		own, peer, set smp.PortState
		ok             bool
		want, wantPeer smp.PortState
	}{
		{ini, ini, ini, false, ini, ini},
		{ini, ini, armed, true, armed, ini},
		{ini, armed, armed, true, armed, armed},
		{ini, ini, active, false, ini, ini},
		{ini, active, active, false, ini, active},
		{armed, ini, active, false, armed, ini},
		{armed, armed, active, true, active, armed},
		{armed, active, active, true, active, active},
		{armed, armed, armed, false, armed, armed},
		{active, active, active, false, active, active},
		{active, active, armed, false, active, active},
		{active, active, down, true, ini, ini},
		{armed, ini, down, true, ini, ini},
		{ini, active, down, true, ini, ini},
		{ini, ini, smp.PortActiveDefer, false, ini, ini},
		{ini, ini, 15, false, ini, ini},
	}
	for _, tt := range tests {
		f := New(twoSwitches(), Config{})
		c := newClient(t, f, h3)
		own, peer := end(sw1, 7), end(sw2, 7)
		f.ports[f.must(own)].info.SetPortState(tt.own)
		f.ports[f.must(peer)].info.SetPortState(tt.peer)
		st := c.change(7, func(pi *smp.PortInfo) {
			pi.SetPortState(tt.set)
			pi.SetHOQLife(3)
		}, 1, 7)
		a, b := f.PortInfo(own), f.PortInfo(peer)
		if (st == mad.StatusOK) != tt.ok || st != mad.StatusOK && st != mad.StatusBadField {
			t.Errorf("%v/%v set %v: %v", tt.own, tt.peer, tt.set, st)
		}
		if a.PortState() != tt.want || b.PortState() != tt.wantPeer {
			t.Errorf("%v/%v set %v: now %v/%v", tt.own, tt.peer, tt.set, a.PortState(), b.PortState())
		}
		if (a.HOQLife() == 3) != tt.ok {
			t.Errorf("%v/%v set %v: HOQLife %d", tt.own, tt.peer, tt.set, a.HOQLife())
		}
	}
}

func TestPortInfoRefuses(t *testing.T) {
	tests := []struct {
		name string
		port uint8
		path []uint8
		edit func(*smp.PortInfo)
	}{
		{"MTU above MTUCap", 7, []uint8{1}, func(p *smp.PortInfo) { p.SetNeighborMTU(5) }},
		{"MTU 0", 7, []uint8{1}, func(p *smp.PortInfo) { p.SetNeighborMTU(0) }},
		{"lanes above VLCap", 7, []uint8{1}, func(p *smp.PortInfo) { p.SetOperationalVLs(5) }},
		{"width", 7, []uint8{1}, func(p *smp.PortInfo) { p.SetLinkWidthEnabled(mad.Width12x) }},
		{"speed", 7, []uint8{1}, func(p *smp.PortInfo) { p.SetLinkSpeedEnabled(8) }},
		{"extended speed", 7, []uint8{1}, func(p *smp.PortInfo) { p.SetLinkSpeedExtEnabled(8) }},
		{"XDR", 7, []uint8{1}, func(p *smp.PortInfo) { p.SetLinkSpeedExtEnabled2(1) }},
		{"down default", 7, []uint8{1}, func(p *smp.PortInfo) { p.SetLinkDownDefaultState(3) }},
		{"physical state", 7, []uint8{1}, func(p *smp.PortInfo) { p.SetPortPhysicalState(4) }},
		{"polling and Armed", 7, []uint8{1}, func(p *smp.PortInfo) { p.SetPortPhysicalState(2); p.SetPortState(3) }},
		{"LID 0", 0, []uint8{1, 2}, func(p *smp.PortInfo) { p.SetLID(0) }},
		{"multicast LID", 0, []uint8{1, 2}, func(p *smp.PortInfo) { p.SetLID(0xc000) }},
		{"LID off its LMC", 0, []uint8{1, 2}, func(p *smp.PortInfo) { p.SetLID(6); p.SetLMC(2) }},
		{"LMC beyond unicast", 0, []uint8{1, 2}, func(p *smp.PortInfo) { p.SetLID(0xbfff); p.SetLMC(1) }},
		{"no master", 0, []uint8{1, 2}, func(p *smp.PortInfo) { p.SetMasterSMLID(0) }},
		{"LMC of base port 0", 0, []uint8{1}, func(p *smp.PortInfo) { p.SetLMC(1) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := New(twoSwitches(), Config{Caps: func(_ int32, _ *net.Node, c *Caps) { c.MTUCap = mad.MTU2048 }})
			c := newClient(t, f, h1)
			valid := func(p *smp.PortInfo) {
				p.SetLID(8)
				p.SetMasterSMLID(1)
			}
			c.mustChange(tt.port, valid, tt.path...)
			before := c.get(smp.AttrPortInfo, smp.PortInfoMod(tt.port, true), tt.path...)
			st := c.change(tt.port, func(p *smp.PortInfo) {
				valid(p)
				p.SetMasterSMSL(5)
				p.SetVLHighLimit(5)
				tt.edit(p)
			}, tt.path...)
			if st != mad.StatusBadField {
				t.Errorf("status %v", st)
			}
			if now := c.get(smp.AttrPortInfo, smp.PortInfoMod(tt.port, true), tt.path...); now != before {
				t.Errorf("changed to % x", now)
			}
		})
	}
}

// All bits are asked for; only those that may change do.
func TestPortInfoStores(t *testing.T) {
	tests := []struct {
		name string
		port uint8
		path []uint8
		want func(*smp.PortInfo) // makes of the value before the value after
	}{
		{"host", 0, []uint8{1, 2}, func(p *smp.PortInfo) { endPortFields(p); linkFields(p) }},
		{"base port 0", 0, []uint8{1}, endPortFields},
		{"external port", 7, []uint8{1}, func(p *smp.PortInfo) {
			linkFields(p)
			p.SetPartitionEnforcementInbound(true)
			p.SetPartitionEnforcementOutbound(true)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, New(twoSwitches(), Config{}), h1)
			mod := smp.PortInfoMod(tt.port, true)
			want := smp.PortInfo(c.get(smp.AttrPortInfo, mod, tt.path...))
			var all smp.PortInfo
			for i := range all {
				all[i] = 0xff
			}
			all.KeepStates()
			all.SetLMC(0)
			all.SetOperationalVLs(2)
			endPortFields(&all)
			linkFields(&all)
			if st := c.set(smp.AttrPortInfo, mod, all, tt.path...); st != mad.StatusOK {
				t.Fatal(st)
			}
			tt.want(&want)
			c.mkey = want.MKey()
			if got := smp.PortInfo(c.get(smp.AttrPortInfo, mod, tt.path...)); got != want {
				t.Errorf("got\n% x, want\n% x", got, want)
			}
		})
	}
}

func endPortFields(p *smp.PortInfo) {
	p.SetMKey(0x1234)
	p.SetGidPrefix(0xfec0000000000001)
	p.SetLID(0x17)
	p.SetMasterSMLID(0x18)
	p.SetMasterSMSL(9)
	p.SetMKeyLeasePeriod(60)
	p.SetMKeyProtectBits(1)
	p.SetSubnetTimeOut(17)
	p.SetMcastPKeyTrapSuppressionEnabled(1)
	p.SetInitTypeReply(3)
}

func linkFields(p *smp.PortInfo) {
	p.SetNeighborMTU(mad.MTU1024)
	p.SetOperationalVLs(2)
	p.SetVLHighLimit(7)
	p.SetVLStallCount(5)
	p.SetHOQLife(18)
	p.SetFilterRawInbound(true)
	p.SetFilterRawOutbound(true)
	p.SetLocalPhyErrors(8)
	p.SetOverrunErrors(8)
	p.SetMaxCreditHint(77)
}

func TestEnabledMasks(t *testing.T) {
	c := newClient(t, New(twoSwitches(), Config{}), h1)
	read := func() smp.PortInfo { return c.get(smp.AttrPortInfo, smp.PortInfoMod(7, true), 1) }
	start := read()
	if start.LinkWidthSupported() != mad.Width1x|mad.Width2x|mad.Width4x || start.LinkSpeedExtSupported() != 7 ||
		start.LinkSpeedExtActive() != 4 || start.LinkSpeedActive() != 0 {
		t.Fatalf("HDR port: % x", start)
	}
	c.mustChange(7, func(p *smp.PortInfo) {
		p.SetLinkWidthEnabled(mad.Width1x)
		p.SetLinkSpeedEnabled(1)
		p.SetLinkSpeedExtEnabled(smp.LinkSpeedExtNone)
	}, 1)
	if p := read(); p.LinkWidthEnabled() != mad.Width1x || p.LinkSpeedEnabled() != 1 ||
		p.LinkSpeedExtEnabled() != smp.LinkSpeedExtNone || p.LinkSpeedExtActive() != 4 {
		t.Errorf("narrowed: % x", p)
	}
	c.mustChange(7, func(p *smp.PortInfo) { p.SetPortState(smp.PortDown) }, 1)
	if p := read(); p.LinkWidthActive() != mad.Width1x || p.LinkSpeedActive() != 1 || p.LinkSpeedExtActive() != 0 {
		t.Errorf("retrained: % x", p)
	}
	c.mustChange(7, func(p *smp.PortInfo) {
		p.SetLinkWidthEnabled(smp.LinkWidthAll)
		p.SetLinkSpeedEnabled(smp.LinkSpeedAll)
		p.SetLinkSpeedExtEnabled(smp.LinkSpeedExtAll)
		p.SetPortState(smp.PortDown)
	}, 1)
	if p := read(); p != start {
		t.Errorf("all again:\n% x, want\n% x", p, start)
	}
}

// All ones of a field of Enabled speeds stands for what is supported: 15 of four bits, 31 of five, 7 of three (IBA
// 14.2.5.6).
func TestEnable(t *testing.T) {
	for _, all := range []struct{ ones, of uint8 }{{15, smp.LinkSpeedAll}, {31, smp.LinkSpeedExtAll},
		{7, smp.LinkSpeedExt2All}} {
		for want, mask := range map[uint8]uint8{0: 1, 1: 1, 2: 2, 3: 3, all.ones: 3} {
			if got, ok := enable(want, 1, 3, all.of); got != mask || !ok {
				t.Errorf("%d of 1 to %d: %d, %t", want, all.ones, got, ok)
			}
		}
		if _, ok := enable(4, 1, 3, all.of); ok {
			t.Errorf("of 1 to %d one is taken that is not supported", all.ones)
		}
	}
}

// Bit 31 of the modifier: which managers get to see extended speeds.
func TestExtendedBit(t *testing.T) {
	tests := []struct {
		mode    Extended
		bit     bool
		status  mad.Status
		ext     uint8 // LinkSpeedExtActive
		speed   uint8 // LinkSpeedActive
		enabled uint8 // LinkSpeedExtEnabled after a Set of 1
	}{
		{ExtendedWhenAsked, false, mad.StatusOK, 0, 4, 0},
		{ExtendedWhenAsked, true, mad.StatusOK, 4, 0, 1},
		{ExtendedAlways, false, mad.StatusOK, 4, 0, 1},
		{ExtendedAlways, true, mad.StatusOK, 4, 0, 1},
		{ExtendedRefused, false, mad.StatusOK, 4, 0, 1},
		{ExtendedRefused, true, mad.StatusBadField, 0, 0, 0},
	}
	for _, tt := range tests {
		f := New(twoSwitches(), Config{Caps: func(_ int32, _ *net.Node, c *Caps) { c.Extended = tt.mode }})
		c := newClient(t, f, h1)
		mod := smp.PortInfoMod(7, tt.bit)
		p := c.request(mad.MethodGet, smp.AttrPortInfo, mod, [64]byte{}, 1)
		if p.Status() != tt.status {
			t.Errorf("%+v: %v", tt, p.Status())
		}
		if p.Status() != mad.StatusOK {
			continue
		}
		pi := smp.PortInfo(*p.Data())
		if pi.LinkSpeedExtActive() != tt.ext || pi.LinkSpeedActive() != tt.speed {
			t.Errorf("%+v: active %d, extended %d", tt, pi.LinkSpeedActive(), pi.LinkSpeedExtActive())
		}
		pi.KeepStates()
		pi.SetLinkSpeedExtEnabled(1)
		c.set(smp.AttrPortInfo, mod, pi, 1)
		if pi = c.get(smp.AttrPortInfo, mod, 1); pi.LinkSpeedExtEnabled() != tt.enabled {
			t.Errorf("%+v: enabled %d", tt, pi.LinkSpeedExtEnabled())
		}
	}
}

func TestPhysicalStates(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := newClient(t, f, h1)
	phys := func(s smp.PortPhysicalState, state smp.PortState) {
		t.Helper()
		c.mustChange(7, func(p *smp.PortInfo) { p.SetPortPhysicalState(s); p.SetPortState(state) }, 1)
	}
	check := func(state smp.PortState, own, peer smp.PortPhysicalState) {
		t.Helper()
		a, b := f.PortInfo(end(sw1, 7)), f.PortInfo(end(sw2, 7))
		if a.PortState() != state || b.PortState() != state || a.PortPhysicalState() != own ||
			b.PortPhysicalState() != peer {
			t.Errorf("%v %v, peer %v %v", a.PortState(), a.PortPhysicalState(), b.PortState(), b.PortPhysicalState())
		}
	}
	phys(smp.PhysDisabled, smp.PortDown)
	check(smp.PortDown, smp.PhysDisabled, smp.PhysPolling)
	f.LinkDown(end(sw1, 7))
	f.LinkUp(end(sw1, 7))
	check(smp.PortDown, smp.PhysDisabled, smp.PhysPolling)
	c.mustChange(7, func(p *smp.PortInfo) { p.SetPortState(smp.PortDown) }, 1)
	check(smp.PortDown, smp.PhysDisabled, smp.PhysPolling)
	phys(smp.PhysPolling, smp.PortNoChange)
	check(smp.PortInit, smp.PhysLinkUp, smp.PhysLinkUp)
	phys(smp.PhysSleep, smp.PortDown) // the peer's polling wakes it
	check(smp.PortInit, smp.PhysLinkUp, smp.PhysLinkUp)
}

func TestEnhancedPort0(t *testing.T) {
	n := twoSwitches()
	n.Nodes[sw1].EnhancedPort0 = true
	f := New(n, Config{})
	c := newClient(t, f, h1)
	if p := f.PortInfo(end(sw2, 0)); p.PortState() != smp.PortActive {
		t.Errorf("base port 0 is %v", p.PortState())
	}
	if si := smp.SwitchInfo(c.get(smp.AttrSwitchInfo, 0, 1)); !si.EnhancedPort0() {
		t.Error("SwitchInfo does not say EnhancedPort0")
	}
	lid := func(p *smp.PortInfo) { p.SetLID(8); p.SetMasterSMLID(1) }
	for _, state := range []smp.PortState{smp.PortArmed, smp.PortActive, smp.PortDown} {
		c.mustChange(0, func(p *smp.PortInfo) { lid(p); p.SetLMC(3); p.SetPortState(state) }, 1)
		want := state
		if state == smp.PortDown {
			want = smp.PortInit
		}
		if p := f.PortInfo(end(sw1, 0)); p.PortState() != want || p.LMC() != 3 {
			t.Errorf("after %v: %v, LMC %d", state, p.PortState(), p.LMC())
		}
	}
}

func TestClientReregister(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := newClient(t, f, h1)
	s := attach(t, f, h2, 1)
	c.mustChange(0, func(p *smp.PortInfo) { p.SetLID(4); p.SetMasterSMLID(1) }, 1, 2)
	if s.TakeReregister() {
		t.Error("asked without being asked")
	}
	c.mustChange(0, func(p *smp.PortInfo) { p.SetClientReregister(true) }, 1, 2)
	if pi := smp.PortInfo(c.get(smp.AttrPortInfo, 0, 1, 2)); pi.ClientReregister() {
		t.Error("ClientReregister reads back as 1")
	}
	if !s.TakeReregister() || s.TakeReregister() {
		t.Error("want to be reported once")
	}
}

// Each port of an adapter is a port of its own: GUID, LID, M_Key.
func TestTwoPortAdapter(t *testing.T) {
	n := twoSwitches()
	n.Nodes = append(n.Nodes, newNode("D", mad.CA, 0x100100, 2), newNode("R", mad.Router, 0x300000, 2))
	d := int32(len(n.Nodes) - 2)
	join(n, d, 1, sw1, 3)
	join(n, d, 2, sw2, 3)
	join(n, d+1, 1, sw1, 4)
	f := New(n, Config{})
	c := newClient(t, f, h1)
	for port, path := range map[uint8][]uint8{1: {1, 3}, 2: {1, 7, 3}} {
		ni := smp.NodeInfo(c.get(smp.AttrNodeInfo, 0, path...))
		if ni.PortGUID() != 0x100100+mad.GUID(port) || ni.LocalPortNum() != port || ni.NumPorts() != 2 {
			t.Errorf("port %d: %v, port %d of %d", port, ni.PortGUID(), ni.LocalPortNum(), ni.NumPorts())
		}
		c.mustChange(0, func(p *smp.PortInfo) { p.SetLID(10 * mad.LID(port)); p.SetMasterSMLID(1) }, path...)
	}
	a, b := f.PortInfo(end(d, 1)), f.PortInfo(end(d, 2))
	if a.LID() != 10 || b.LID() != 20 {
		t.Errorf("LIDs %v %v", a.LID(), b.LID())
	}
	other := smp.PortInfo(c.get(smp.AttrPortInfo, 2, 1, 3))
	if other.LID() != 20 || other.LocalPortNum() != 1 {
		t.Errorf("port 2 asked by port 1: LID %v, LocalPortNum %d", other.LID(), other.LocalPortNum())
	}
	if ni := smp.NodeInfo(c.get(smp.AttrNodeInfo, 0, 1, 4)); ni.NodeType() != mad.Router {
		t.Errorf("router is a %v", ni.NodeType())
	}
	if p := c.request(mad.MethodGet, smp.AttrNodeInfo, 0, [64]byte{}, 1, 3, 2, 1); p != nil {
		t.Error("an adapter passed a directed route on")
	}
}
