package pma

import (
	"slices"
	"testing"

	"ibsm/mad"
)

// TestSelect: the bits of CounterSelect and CounterSelect2 are those of the architecture's
// tables (IBA 16.1.3.5 and 16.1.4.11).
func TestSelect(t *testing.T) {
	for _, tt := range []struct {
		c            Counter
		short        uint16
		short2       uint8
		ext          uint16
		ext2         uint32
		name         string
		widthOfShort uint64
	}{
		{SymbolErrorCounter, 1 << 0, 0, 0, 1 << 0, "SymbolErrorCounter", 16},
		{LinkErrorRecoveryCounter, 1 << 1, 0, 0, 1 << 1, "LinkErrorRecoveryCounter", 8},
		{LinkDownedCounter, 1 << 2, 0, 0, 1 << 2, "LinkDownedCounter", 8},
		{PortRcvErrors, 1 << 3, 0, 0, 1 << 3, "PortRcvErrors", 16},
		{PortRcvRemotePhysicalErrors, 1 << 4, 0, 0, 1 << 4, "PortRcvRemotePhysicalErrors", 16},
		{PortRcvSwitchRelayErrors, 1 << 5, 0, 0, 1 << 5, "PortRcvSwitchRelayErrors", 16},
		{PortXmitDiscards, 1 << 6, 0, 0, 1 << 6, "PortXmitDiscards", 16},
		{PortXmitConstraintErrors, 1 << 7, 0, 0, 1 << 7, "PortXmitConstraintErrors", 8},
		{PortRcvConstraintErrors, 1 << 8, 0, 0, 1 << 8, "PortRcvConstraintErrors", 8},
		{LocalLinkIntegrityErrors, 1 << 9, 0, 0, 1 << 9, "LocalLinkIntegrityErrors", 4},
		{ExcessiveBufferOverrunErrors, 1 << 10, 0, 0, 1 << 10, "ExcessiveBufferOverrunErrors", 4},
		{VL15Dropped, 1 << 11, 0, 0, 1 << 11, "VL15Dropped", 16},
		{PortXmitData, 1 << 12, 0, 1 << 0, 0, "PortXmitData", 32},
		{PortRcvData, 1 << 13, 0, 1 << 1, 0, "PortRcvData", 32},
		{PortXmitPkts, 1 << 14, 0, 1 << 2, 0, "PortXmitPkts", 32},
		{PortRcvPkts, 1 << 15, 0, 1 << 3, 0, "PortRcvPkts", 32},
		{PortXmitWait, 0, 1 << 0, 0, 1 << 12, "PortXmitWait", 32},
		{QP1Dropped, 0, 1 << 1, 0, 1 << 13, "QP1Dropped", 16},
		{PortUnicastXmitPkts, 0, 0, 1 << 4, 0, "PortUnicastXmitPkts", 0},
		{PortUnicastRcvPkts, 0, 0, 1 << 5, 0, "PortUnicastRcvPkts", 0},
		{PortMulticastXmitPkts, 0, 0, 1 << 6, 0, "PortMulticastXmitPkts", 0},
		{PortMulticastRcvPkts, 0, 0, 1 << 7, 0, "PortMulticastRcvPkts", 0},
	} {
		s := Of(tt.c)
		var p PortCounters
		p.Select(s)
		if want := (PortCounters{2: byte(tt.short >> 8), 3: byte(tt.short), 18: tt.short2}); p != want {
			t.Errorf("%v selected in PortCounters: % x", tt.c, p)
		}
		if got := p.CounterSelect(); got != s&PortCountersOnly {
			t.Errorf("%v reads as %#x from PortCounters", tt.c, got)
		}
		var x PortCountersExtended
		x.Select(s)
		if want := (PortCountersExtended{2: byte(tt.ext >> 8), 3: byte(tt.ext), 4: byte(tt.ext2 >> 24),
			5: byte(tt.ext2 >> 16), 6: byte(tt.ext2 >> 8), 7: byte(tt.ext2)}); x != want {
			t.Errorf("%v selected in PortCountersExtended: % x", tt.c, x[:8])
		}
		if got := x.CounterSelect(); got != s {
			t.Errorf("%v reads as %#x from PortCountersExtended", tt.c, got)
		}
		if tt.c.String() != tt.name || MaxShort(tt.c) != 1<<tt.widthOfShort-1 {
			t.Errorf("%v: want %s with %d bits", tt.c, tt.name, tt.widthOfShort)
		}
	}
	x := PortCountersExtended{2: 0xff, 4: 0xff, 5: 0xff} // reserved bits
	if x.CounterSelect() != 0 {
		t.Errorf("reserved bits select %#x", x.CounterSelect())
	}
	p := PortCounters{18: 0xfc}
	if p.CounterSelect() != 0 {
		t.Errorf("reserved bits select %#x", p.CounterSelect())
	}
}

func TestCounters(t *testing.T) {
	s := Of(QP1Dropped, SymbolErrorCounter, PortXmitData)
	if got := slices.Collect(s.All); !slices.Equal(got, []Counter{SymbolErrorCounter, PortXmitData, QP1Dropped}) ||
		s.Len() != 3 {
		t.Errorf("%v, %d", got, s.Len())
	}
	if first := slices.Collect(func(yield func(Counter) bool) {
		s.All(func(c Counter) bool { yield(c); return false })
	}); len(first) != 1 {
		t.Errorf("a visit that ends at the first counter has %v", first)
	}
	if !s.Has(PortXmitData) || s.Has(PortRcvData) {
		t.Error("Has")
	}
	for name, c := range map[string]struct {
		got, want Counters
	}{
		"ErrorCounters": {ErrorCounters, 0x0fff},
		"DataCounters":  {DataCounters, 0xf000},
		"IETFCounters": {
			IETFCounters, Of(PortUnicastXmitPkts, PortUnicastRcvPkts, PortMulticastXmitPkts, PortMulticastRcvPkts),
		},
		"ShortCounters":    {ShortCounters, 0xffff},
		"AllCounters":      {AllCounters, 1<<NumCounters - 1},
		"PortCountersOnly": {PortCountersOnly, 0x3ffff},
	} {
		if c.got != c.want {
			t.Errorf("%s is %#x, want %#x", name, c.got, c.want)
		}
	}
}

// TestCapabilities: what can be read by the masks of ClassPortInfo.
func TestCapabilities(t *testing.T) {
	for _, tt := range []struct {
		mask         uint16
		mask2        uint32
		has64, has32 Counters
	}{
		{0, 0, 0, 0xffff},
		{0x0100, 2, 0, 0xffff}, // the additional counters are nothing without the attribute
		{0x1300, 0, DataCounters | IETFCounters, 0x1ffff},
		{0x0400, 0, DataCounters, 0xffff},
		{0x9600, 2, AllCounters, 0x3ffff},
		{0x0400, 2, AllCounters &^ IETFCounters, 0xffff},
	} {
		if got := Has64(tt.mask, tt.mask2); got != tt.has64 {
			t.Errorf("%#x %#x: %#x of 64 bits, want %#x", tt.mask, tt.mask2, got, tt.has64)
		}
		if got := HasShort(tt.mask); got != tt.has32 {
			t.Errorf("%#x: %#x of PortCounters, want %#x", tt.mask, got, tt.has32)
		}
	}
}

// TestRequests: the packets that are sent, down to the header; the golden tests compare them
// with perfquery's.
func TestRequests(t *testing.T) {
	var p mad.Packet
	SetGet(&p, AttrClassPortInfo, 3)
	if p != (mad.Packet{0: 1, 1: 4, 2: 1, 3: 1, 17: 1}) {
		t.Errorf("% x", p[:80])
	}
	SetGet(&p, AttrPortVLXmitWaitCounters, AllPorts)
	if p != (mad.Packet{0: 1, 1: 4, 2: 1, 3: 1, 17: 0x1c, 65: 255}) {
		t.Errorf("% x", p[:80])
	}
	SetReset(&p, 2, AllCounters)
	if p != (mad.Packet{0: 1, 1: 4, 2: 1, 3: 2, 17: 0x12, 65: 2, 66: 0xff, 67: 0xff, 82: 3}) {
		t.Errorf("% x", p[:96])
	}
	SetResetExtended(&p, 2, AllCounters)
	if p != (mad.Packet{0: 1, 1: 4, 2: 1, 3: 2, 17: 0x1d, 65: 2, 67: 0xff, 70: 0x3f, 71: 0xff}) {
		t.Errorf("% x", p[:96])
	}
}

func TestAttrName(t *testing.T) {
	for attr, want := range map[mad.AttrID]string{
		0x01: "ClassPortInfo", 0x10: "PortSamplesControl", 0x11: "PortSamplesResult", 0x12: "PortCounters",
		0x15: "PortRcvErrorDetails",
		0x16: "PortXmitDiscardDetails", 0x17: "PortOpRcvCounters", 0x18: "PortFlowCtlCounters", 0x19: "PortVLOpPackets",
		0x1a: "PortVLOpData",
		0x1b: "PortVLXmitFlowCtlUpdateErrors", 0x1c: "PortVLXmitWaitCounters", 0x1d: "PortCountersExtended",
		0x1f: "PortExtendedSpeedsCounters",
		0x30: "SwPortVLCongestion", 0x31: "PortRcvConCtrl", 0x32: "PortSLRcvFECN", 0x33: "PortSLRcvBECN",
		0x34: "PortXmitConCtrl",
		0x35: "PortVLXmitTimeCong", 0x36: "PortXmitDataSL", 0x37: "PortRcvDataSL", 0x99: "0x0099",
	} {
		if got := AttrName(attr); got != want {
			t.Errorf("attribute %#x is %s, want %s", uint16(attr), got, want)
		}
	}
	if _, ok := ArrayOf(AttrPortCounters); ok || len(Arrays()) != 16 {
		t.Error("PortCounters has counters of one width")
	}
}

// TestRedirect: by its status, or by the LID in a ClassPortInfo.
func TestRedirect(t *testing.T) {
	for _, tt := range []struct {
		name   string
		attr   mad.AttrID
		status mad.Status
		lid    mad.LID
		want   bool
	}{
		{"counters", AttrPortCounters, mad.StatusOK, 7, false},
		{"counters, redirected", AttrPortCounters, mad.StatusRedirect, 7, true},
		{"redirected and busy", AttrPortCounters, mad.StatusRedirect | mad.StatusBusy, 7, true},
		{"redirected to nowhere", AttrPortCounters, mad.StatusRedirect, 0, false},
		{"redirected to many", AttrPortCounters, mad.StatusRedirect, 0xc000, false},
		{"ClassPortInfo with a LID", AttrClassPortInfo, mad.StatusOK, 7, true},
		{"ClassPortInfo without", AttrClassPortInfo, mad.StatusOK, 0, false},
		{"ClassPortInfo refused", AttrClassPortInfo, mad.StatusBadMethodAttr, 7, false},
	} {
		var p mad.Packet
		SetGet(&p, tt.attr, 1)
		p.SetMethod(mad.MethodGetResp)
		p.SetStatus(tt.status)
		info := (*ClassPortInfo)(p.PerfData()[:])
		info.SetRedirectLID(tt.lid)
		info.SetRedirectQP(5)
		c, ok := Redirect(&p)
		if ok != tt.want || ok && (c.RedirectLID() != tt.lid || c.RedirectQP() != 5) {
			t.Errorf("%s: %v", tt.name, ok)
		}
	}
}
