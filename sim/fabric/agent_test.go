package fabric

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

func TestStatuses(t *testing.T) {
	const get, set = mad.MethodGet, mad.MethodSet
	toSwitch, toHost := []uint8{1}, []uint8{1, 2}
	tests := []struct {
		name   string
		method mad.Method
		attr   mad.AttrID
		mod    uint32
		path   []uint8
		want   mad.Status
	}{
		{"unknown attribute", get, 0x7777, 0, toSwitch, mad.StatusBadMethodAttr},
		{"random table", get, smp.AttrRandomForwardingTable, 0, toSwitch, mad.StatusBadMethodAttr},
		{"Set of NodeInfo", set, smp.AttrNodeInfo, 0, toSwitch, mad.StatusBadMethodAttr},
		{"Set of NodeDescription", set, smp.AttrNodeDescription, 0, toSwitch, mad.StatusBadMethodAttr},
		{"SwitchInfo of a host", get, smp.AttrSwitchInfo, 0, toHost, mad.StatusBadMethodAttr},
		{"table of a host", get, smp.AttrLinearForwardingTable, 0, toHost, mad.StatusBadMethodAttr},
		{"method", mad.MethodDelete, smp.AttrNodeInfo, 0, toSwitch, mad.StatusBadMethod},
		{"modifier of NodeInfo", get, smp.AttrNodeInfo, 1, toSwitch, mad.StatusBadField},
		{"port 8", get, smp.AttrPortInfo, 8, toSwitch, mad.StatusOK},
		{"port 9", get, smp.AttrPortInfo, 9, toSwitch, mad.StatusBadField},
		{"port of a host", get, smp.AttrPortInfo, 2, toHost, mad.StatusBadField},
		{"reserved modifier bits", get, smp.AttrPortInfo, 1 << 16, toSwitch, mad.StatusBadField},
		{"last linear block", get, smp.AttrLinearForwardingTable, 767, toSwitch, mad.StatusOK},
		{"beyond LinearFDBCap", set, smp.AttrLinearForwardingTable, 768, toSwitch, mad.StatusBadField},
		{"far beyond LinearFDBCap", set, smp.AttrLinearForwardingTable, 0xffffffff, toSwitch, mad.StatusBadField},
		{"last multicast block", set, smp.AttrMulticastForwardingTable, smp.MFTMod(0, 31), toSwitch, mad.StatusOK},
		{"beyond MulticastFDBCap", set, smp.AttrMulticastForwardingTable, smp.MFTMod(0, 32), toSwitch,
			mad.StatusBadField},
		{"position", set, smp.AttrMulticastForwardingTable, smp.MFTMod(1, 0), toSwitch, mad.StatusBadField},
		{"P_Key block", get, smp.AttrPKeyTable, smp.PKeyTableMod(0, 1), toSwitch, mad.StatusOK},
		{"beyond PartitionCap", get, smp.AttrPKeyTable, smp.PKeyTableMod(0, 2), toSwitch, mad.StatusBadField},
		{"P_Keys of port 9", get, smp.AttrPKeyTable, smp.PKeyTableMod(9, 0), toSwitch, mad.StatusBadField},
		{"P_Keys of a host by port", get, smp.AttrPKeyTable, smp.PKeyTableMod(1, 0), toHost, mad.StatusBadField},
		{"lanes", get, smp.AttrSLtoVLMappingTable, smp.SLtoVLMod(8, 8), toSwitch, mad.StatusOK},
		{"lanes of port 9", get, smp.AttrSLtoVLMappingTable, smp.SLtoVLMod(1, 9), toSwitch, mad.StatusBadField},
		{"lanes by wildcard", set, smp.AttrSLtoVLMappingTable, smp.SLtoVLAllIn, toSwitch, mad.StatusBadField},
		{"arbitration block 0", get, smp.AttrVLArbitrationTable, smp.VLArbMod(0, 1), toSwitch, mad.StatusBadField},
		{"arbitration block 1", get, smp.AttrVLArbitrationTable, smp.VLArbMod(1, 1), toSwitch, mad.StatusOK},
		{"arbitration beyond cap", get, smp.AttrVLArbitrationTable, smp.VLArbMod(2, 1), toSwitch, mad.StatusBadField},
		{"arbitration high", get, smp.AttrVLArbitrationTable, smp.VLArbMod(3, 1), toSwitch, mad.StatusOK},
		{"GUIDs", get, smp.AttrGUIDInfo, 3, toHost, mad.StatusOK},
		{"beyond GUIDCap", get, smp.AttrGUIDInfo, 4, toHost, mad.StatusBadField},
		{"vendor attribute elsewhere", get, smp.AttrGeneralInfo, 4, toSwitch, mad.StatusBadMethodAttr},
		{"vendor attribute of a host", get, smp.AttrGeneralInfo, 4, toHost, mad.StatusBadMethodAttr},
		{"FEC", get, smp.AttrPortInfoExtended, 1, toSwitch, mad.StatusOK},
		{"notice", get, smp.AttrNotice, 0, toHost, mad.StatusOK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, New(twoSwitches(), Config{}), h1)
			p := c.request(tt.method, tt.attr, tt.mod, [64]byte{}, tt.path...)
			if p == nil || p.Status() != tt.want {
				t.Errorf("%s, want %v", describe(p), tt.want)
			}
		})
	}
}

func TestBadClassVersion(t *testing.T) {
	f := New(twoSwitches(), Config{})
	s := attach(t, f, h1, 1)
	d := make([]mad.Datagram, 1)
	r := mad.MakeRoute(1)
	d[0].Packet.SetDirected(&r, mad.MethodGet, smp.AttrNodeInfo, 0)
	d[0].Packet[2] = 2
	s.Send(d)
	if n := s.Recv(d); n != 1 || d[0].Packet.Status() != mad.StatusBadVersion {
		t.Errorf("%d answers, %v", n, d[0].Packet.Status())
	}
}

// What is set is read again, and OnSet is reported in order.
func TestTablesAreStored(t *testing.T) {
	var sets []Set
	f := New(twoSwitches(), Config{
		Caps:  func(_ int32, _ *net.Node, c *Caps) { c.OptimizedSLtoVL = 1 },
		OnSet: func(s Set) { sets = append(sets, s) },
	})
	c := newClient(t, f, h1)
	var pattern [64]byte
	for i := range pattern {
		pattern[i] = byte(i + 1)
	}
	lanes := [64]byte{0x01, 0x23, 0x45, 0x67, 0x76, 0x54, 0x32, 0x10}
	tests := []struct {
		attr mad.AttrID
		mod  uint32
		data [64]byte
		path []uint8
	}{
		{smp.AttrLinearForwardingTable, 5, pattern, []uint8{1}},
		{smp.AttrMulticastForwardingTable, smp.MFTMod(0, 3), pattern, []uint8{1}},
		{smp.AttrPKeyTable, smp.PKeyTableMod(0, 1), pattern, []uint8{1}},
		{smp.AttrPKeyTable, smp.PKeyTableMod(7, 0), pattern, []uint8{1}},
		{smp.AttrPKeyTable, 0, pattern, []uint8{1, 2}},
		{smp.AttrSLtoVLMappingTable, smp.SLtoVLMod(2, 7), lanes, []uint8{1}},
		{smp.AttrSLtoVLMappingTable, 0, lanes, []uint8{1, 2}},
		{smp.AttrVLArbitrationTable, smp.VLArbMod(3, 7), pattern, []uint8{1}},
		{smp.AttrGUIDInfo, 1, pattern, []uint8{1, 2}},
	}
	for _, tt := range tests {
		if st := c.set(tt.attr, tt.mod, tt.data, tt.path...); st != mad.StatusOK {
			t.Errorf("Set %s: %v", smp.AttrName(tt.attr), st)
		}
		if got := c.get(tt.attr, tt.mod, tt.path...); got != tt.data {
			t.Errorf("%s: got % x", smp.AttrName(tt.attr), got)
		}
	}
	if len(sets) != len(tests) {
		t.Fatalf("OnSet was reported %d Sets, want %d", len(sets), len(tests))
	}
	for i, s := range sets {
		if s.Attr != tests[i].attr || s.Mod != tests[i].mod || s.Data != tests[i].data || s.Status != mad.StatusOK ||
			s.Node != []int32{sw1, h2}[len(tests[i].path)-1] || s.TID != 77 || !s.Changed {
			t.Errorf("OnSet %d: %+v", i, s)
		}
	}
	again := tests[0]
	if c.set(again.attr, again.mod, again.data, again.path...); sets[len(sets)-1].Changed {
		t.Error("the same Set once more has changed something")
	}
	// Neighbours of what was written keep their power-up contents.
	if lft := c.get(smp.AttrLinearForwardingTable, 4, 1); lft[0] != noPort || lft[63] != noPort {
		t.Errorf("block 4: % x", lft)
	}
	if got := f.PKeys(end(sw1, 1)); len(got) != 1 || got[0] != mad.DefaultPKey {
		t.Errorf("P_Keys of port 1: %v", got)
	}
	if got := f.VL(end(sw1, 7), 3, 9); got != 1 {
		t.Errorf("SL 9 from port 3 to 7: VL %d, want 9 mod 8 lanes", got)
	}
	// One Set for the whole switch.
	if st := c.set(smp.AttrSLtoVLMappingTable, smp.SLtoVLAllIn|smp.SLtoVLAllOut, lanes, 1, 7); st != mad.StatusOK {
		t.Fatal(st)
	}
	for out := uint8(1); out <= 8; out++ {
		if got := f.VL(end(sw2, out), 0, 8); got != 7 {
			t.Errorf("SL 8 to port %d: VL %d, want 7", out, got)
		}
	}
}

// TestPowerUpContents: devices can hold values from before, and have them again after a reboot.
func TestPowerUpContents(t *testing.T) {
	f := New(twoSwitches(), Config{Caps: func(_ int32, _ *net.Node, c *Caps) {
		c.PKeys = func(num uint8) []mad.PKey {
			if num == 0 {
				return nil
			}
			return []mad.PKey{0x8001, 0, 0x0002}
		}
		c.GUIDs = []mad.GUID{0, 0, 7}
		c.SwitchPowerUp = func(info *smp.SwitchInfo) { info.SetLifeTimeValue(11) }
	}})
	c := newClient(t, f, h1)
	for range 2 {
		for _, at := range []struct {
			mod  uint32
			path []uint8
		}{{smp.PKeyTableMod(7, 0), []uint8{1}}, {0, []uint8{1, 2}}} {
			if keys := smp.PKeyTable(c.get(smp.AttrPKeyTable, at.mod, at.path...)); keys.PKey(0) != 0x8001 ||
				keys.PKey(1) != 0 || keys.PKey(2) != 2 || keys.PKey(3) != 0 {
				t.Errorf("P_Keys along %v: % x", at.path, keys[:8])
			}
		}
		if keys := f.PKeys(end(sw1, 0)); !slices.Equal(keys, []mad.PKey{mad.DefaultPKey}) {
			t.Errorf("P_Keys of port 0: %v", keys)
		}
		if guids := smp.GUIDInfo(c.get(smp.AttrGUIDInfo, 0, 1, 2)); guids.GUID(0) != f.PortGUID(end(h2, 1)) ||
			guids.GUID(1) != 0 || guids.GUID(2) != 7 {
			t.Errorf("GUIDs: % x", guids[:24])
		}
		if info := smp.SwitchInfo(c.get(smp.AttrSwitchInfo, 0, 1)); info.LifeTimeValue() != 11 {
			t.Errorf("LifeTimeValue %d", info.LifeTimeValue())
		}
		var none [mad.DataSize]byte
		c.set(smp.AttrPKeyTable, 0, none, 1, 2)
		c.set(smp.AttrGUIDInfo, 0, none, 1, 2)
		f.Reboot(h2)
	}
}

func TestGUIDZeroIsReadOnly(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := newClient(t, f, h1)
	var g smp.GUIDInfo
	g.SetGUID(0, 1)
	g.SetGUID(1, 2)
	c.set(smp.AttrGUIDInfo, 0, g, 1, 2)
	g = c.get(smp.AttrGUIDInfo, 0, 1, 2)
	if g.GUID(0) != 0x100011 || g.GUID(1) != 2 {
		t.Errorf("GUIDs %v %v", g.GUID(0), g.GUID(1))
	}
}

func TestSwitchInfo(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := newClient(t, f, h1)
	read := func() smp.SwitchInfo { return c.get(smp.AttrSwitchInfo, 0, 1) }
	si := read()
	if !si.PortStateChange() {
		t.Error("ports came up and PortStateChange is not set")
	}
	write := si
	write.SetPortStateChange(false)
	write.SetLinearFDBTop(100)
	write.SetLifeTimeValue(18)
	write.SetMulticastFDBTop(0xc01f)
	write.SetLinearFDBCap(1)
	if st := c.set(smp.AttrSwitchInfo, 0, write, 1); st != mad.StatusOK {
		t.Fatal(st)
	}
	got := read()
	want := write
	want.SetLinearFDBCap(si.LinearFDBCap())
	want.SetPortStateChange(true)
	if got != want {
		t.Errorf("got % x, want % x", got[:20], want[:20])
	}
	got.SetPortStateChange(true)
	c.set(smp.AttrSwitchInfo, 0, got, 1)
	if got = read(); got.PortStateChange() {
		t.Error("writing 1 did not clear PortStateChange")
	}
	for _, bad := range []func(*smp.SwitchInfo){
		func(s *smp.SwitchInfo) { s.SetLinearFDBTop(0xc000) },
		func(s *smp.SwitchInfo) { s.SetMulticastFDBTop(0xbffe) },
		func(s *smp.SwitchInfo) { s.SetMulticastFDBTop(0xc400) },
	} {
		b := got
		bad(&b)
		b.SetLifeTimeValue(1)
		if st := c.set(smp.AttrSwitchInfo, 0, b, 1); st != mad.StatusBadField {
			t.Errorf("% x: %v", b[:20], st)
		}
		if now := read(); now != got {
			t.Errorf("a refused Set changed % x", now[:20])
		}
	}
}

func TestNVIDIASwitch(t *testing.T) {
	f := New(twoSwitches(), Config{Caps: func(node int32, _ *net.Node, c *Caps) {
		if node == sw1 {
			c.NVIDIA, c.AR = true, AROn
		}
	}})
	c := newClient(t, f, h1)
	g := smp.GeneralInfo(c.get(smp.AttrGeneralInfo, smp.GeneralInfoCapabilities, 1))
	if !g.Has(smp.CapAdaptiveRouting) || !g.Has(smp.CapExtendedPortInfo) || g.Has(smp.CapPrivateLFT) {
		t.Errorf("GeneralInfo % x", g[:16])
	}
	ar := smp.ARInfo(c.get(smp.AttrARInfo, 0, 1))
	if !ar.Enabled() {
		t.Error("adaptive routing is off")
	}
	ar.SetEnabled(false)
	c.set(smp.AttrARInfo, 0, ar, 1)
	if ar = c.get(smp.AttrARInfo, 0, 1); ar.Enabled() {
		t.Error("adaptive routing stays on")
	}
	if p := c.request(mad.MethodGet, smp.AttrARInfo, 0, [64]byte{}, 1, 7); p == nil ||
		p.Status() != mad.StatusBadMethodAttr {
		t.Errorf("the other switch: %s", describe(p))
	}
	f.Reboot(sw1)
	if ar = c.get(smp.AttrARInfo, 0, 1); !ar.Enabled() {
		t.Error("adaptive routing is off after a reboot")
	}
}

func TestUnresponsive(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := newClient(t, f, h1)
	f.SetUnresponsive(sw1, true)
	if p := c.request(mad.MethodGet, smp.AttrNodeInfo, 0, [64]byte{}, 1); p != nil ||
		f.Stats().Drops[DropUnresponsive] != 1 {
		t.Error("an unresponsive node answered")
	}
	c.get(smp.AttrNodeInfo, 0, 1, 7)
	f.SetUnresponsive(sw1, false)
	c.get(smp.AttrNodeInfo, 0, 1)
}

func TestFDR10(t *testing.T) {
	n := twoSwitches()
	for i := range n.Nodes {
		for j := range n.Nodes[i].Ports {
			n.Nodes[i].Ports[j].Speed = mad.FDR10
		}
	}
	f := New(n, Config{Caps: func(_ int32, _ *net.Node, c *Caps) { c.NVIDIA = true }})
	c := newClient(t, f, h1)
	if pi := smp.PortInfo(c.get(smp.AttrPortInfo, smp.PortInfoMod(7, true), 1)); pi.LinkSpeedActive() != 4 {
		t.Errorf("PortInfo shows speed %d, want QDR", pi.LinkSpeedActive())
	}
	e := smp.ExtendedPortInfo(c.get(smp.AttrExtendedPortInfo, 7, 1))
	if e.LinkSpeedActive() != 1 || e.LinkSpeedSupported() != 1 || e.LinkSpeedEnabled() != 1 {
		t.Errorf("ExtendedPortInfo % x", e[:16])
	}
	e.SetLinkSpeedEnabled(0)
	c.set(smp.AttrExtendedPortInfo, 7, e, 1)
	if e = c.get(smp.AttrExtendedPortInfo, 7, 1); e.LinkSpeedEnabled() != 1 {
		t.Error("taken without StateChangeEnable")
	}
	for enable := range uint8(2) {
		e.SetStateChangeEnable(smp.StateChangeSpeed)
		e.SetLinkSpeedEnabled(enable)
		c.set(smp.AttrExtendedPortInfo, 7, e, 1)
		if e = c.get(smp.AttrExtendedPortInfo, 7, 1); e.LinkSpeedEnabled() != enable ||
			e.LinkSpeedActive() != 1-enable {
			t.Errorf("enabled %d with StateChangeEnable: % x", enable, e[:16])
		}
		f.LinkDown(net.End{Node: sw1, Port: 7})
		f.LinkUp(net.End{Node: sw1, Port: 7})
		if e = c.get(smp.AttrExtendedPortInfo, 7, 1); e.LinkSpeedActive() != enable {
			t.Errorf("enabled %d and trained: % x", enable, e[:16])
		}
	}
	if p := c.request(mad.MethodGet, smp.AttrExtendedPortInfo, 9, [64]byte{}, 1); p == nil ||
		p.Status() != mad.StatusBadField {
		t.Errorf("port 9: %s", describe(p))
	}
}

func TestPortInfoExtended(t *testing.T) {
	c := newClient(t, New(twoSwitches(), Config{}), h1)
	e := smp.PortInfoExtended(c.get(smp.AttrPortInfoExtended, 7, 1))
	if e.HDRFECModeSupported() != 7 || e.NDRFECModeSupported() != 0 || e.HDRFECModeEnabled() != 0 {
		t.Errorf("HDR port: % x", e[:24])
	}
	e.SetHDRFECModeEnabled(2)
	e.SetHDRFECModeSupported(0)
	c.set(smp.AttrPortInfoExtended, 7, e, 1)
	if e = c.get(smp.AttrPortInfoExtended, 7, 1); e.HDRFECModeSupported() != 7 || e.HDRFECModeEnabled() != 2 {
		t.Errorf("after the Set: % x", e[:24])
	}
}

func TestSetNodeDescription(t *testing.T) {
	f := New(twoSwitches(), Config{Caps: func(_ int32, _ *net.Node, c *Caps) {
		c.CapabilityMask2 |= smp.IsSetNodeDescriptionSupported
	}})
	c := newClient(t, f, h1)
	var d smp.NodeDescription
	d.Set("spine 1")
	if st := c.set(smp.AttrNodeDescription, 0, d, 1); st != mad.StatusOK {
		t.Fatal(st)
	}
	if got := smp.NodeDescription(c.get(smp.AttrNodeDescription, 0, 1)); got != d {
		t.Errorf("%q", got)
	}
}

// The counters know arbitrary attributes, but only so many.
func TestStatsAreBounded(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := newClient(t, f, h1)
	for a := range mad.AttrID(2 * maxKinds) {
		c.request(mad.MethodGet, 0x8000+a, 0, [64]byte{}, 1)
	}
	s := f.Stats()
	if len(s.SMPs) != maxKinds+1 || s.SMPs[Kind{}] != maxKinds || s.SMPs[Kind{mad.MethodGet, 0x8000}] != 1 {
		t.Errorf("%d kinds, %d under none", len(s.SMPs), s.SMPs[Kind{}])
	}
	f.ResetStats()
	if len(f.Stats().SMPs) != 0 {
		t.Error("counters survive a reset")
	}
}

// A defective agent refuses, forgets or does not answer as its Defect says.
func TestDefect(t *testing.T) {
	for _, tt := range []struct {
		name     string
		defect   Defect
		status   mad.Status
		answers  bool
		held     uint8 // LifeTimeValue in the switch after a Set to 9
		reported uint8 // and in the answer
	}{
		{"sound", func(_ *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
			return obey(), true
		}, mad.StatusOK, true, 9, 9},
		{"refuses", func(*mad.Packet, func() mad.Status) (mad.Status, bool) {
			return mad.StatusBadField, true
		}, mad.StatusBadField, true, 0, 9},
		{"unresponsive", func(*mad.Packet, func() mad.Status) (mad.Status, bool) { return 0, false }, 0, false, 0, 0},
		{"forgets", func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
			asked := *p.Data()
			(*smp.SwitchInfo)(p.Data()).SetLifeTimeValue(0)
			status := obey()
			*p.Data() = asked
			return status, true
		}, mad.StatusOK, true, 0, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := New(twoSwitches(), Config{Caps: func(_ int32, n *net.Node, c *Caps) {
				if n.Type == mad.Switch {
					c.Defect = tt.defect
				}
			}})
			var info smp.SwitchInfo
			info.SetLifeTimeValue(9)
			p := newClient(t, f, h1).request(mad.MethodSet, smp.AttrSwitchInfo, 0, info, paths[sw1]...)
			if (p != nil) != tt.answers {
				t.Fatal("answer:", describe(p))
			}
			if held := f.SwitchInfo(sw1); held.LifeTimeValue() != tt.held {
				t.Errorf("the switch holds %d, want %d", held.LifeTimeValue(), tt.held)
			}
			if p == nil {
				return
			}
			if info = *p.Data(); p.Status() != tt.status || info.LifeTimeValue() != tt.reported {
				t.Errorf("reported %v, %d", p.Status(), info.LifeTimeValue())
			}
		})
	}
}
