package smp

import (
	"testing"

	"ibsm/mad"
)

// The bytes are made by hand from the layouts of NVIDIA's header for subnet managers: offset and meaning of each are
// beside it.

func TestVirtualizationInfoBytes(t *testing.T) {
	raw := VirtualizationInfo{
		0: 0x00, 1: 0x80, // VPortCap 128
		2: 0x00, 3: 0x7f, // VPortIndexTop 127
		4: 0xa0, // bit 7 VirtualizationEnable, bit 5 VPortStateChange
		6: 0,    // VirtualizationRevision
		7: 0x03, // CapabilityMask
	}
	verify(t, []check{
		{"VPortCap", raw.VPortCap(), uint16(128)},
		{"VPortIndexTop", raw.VPortIndexTop(), uint16(127)},
		{"VirtualizationEnable", raw.VirtualizationEnable(), true},
		{"ClientReregister", raw.ClientReregister(), false},
		{"VPortStateChange", raw.VPortStateChange(), true},
		{"VirtualizationRevision", raw.VirtualizationRevision(), uint8(0)},
		{"CapabilityMask", raw.CapabilityMask(), uint8(3)},
	})
	var made VirtualizationInfo
	made.SetVPortCap(128)
	made.SetVPortIndexTop(127)
	made.SetVirtualizationEnable(true)
	made.SetVPortStateChange(true)
	made.SetCapabilityMask(3)
	if made != raw {
		t.Errorf("made %x, want %x", made, raw)
	}
}

func TestVPortInfoBytes(t *testing.T) {
	raw := VPortInfo{
		0: 0x2c,          // bits 7..4 VPortState 2 Init, bit 3 ClientReregister, bit 2 LIDRequired
		1: 8,             // GUIDCap
		2: 0x00, 3: 0x41, // CapabilityMask: bit 0 CM, bit 6 IsSMDisabled
		4: 0x00, 5: 0x05, // P_KeyViolations
		6: 0x01, 7: 0x00, // Q_KeyViolations
		8: 0x12, 9: 0x34, // VPortLID
		10: 0x00, 11: 0x02, // LIDByVPortIndex
		12: 0x02, 18: 0xab, 19: 0xcd, // PortGUID 02:00:00:00:00:00:ab:cd
		20: 0x11, 27: 0x88, // PortProfile
	}
	verify(t, []check{
		{"VPortState", raw.VPortState(), PortInit},
		{"ClientReregister", raw.ClientReregister(), true},
		{"LIDRequired", raw.LIDRequired(), true},
		{"GUIDCap", raw.GUIDCap(), uint8(8)},
		{"CapabilityMask", raw.CapabilityMask(), VPortHasCM | VPortIsSMDisabled},
		{"PKeyViolations", raw.PKeyViolations(), uint16(5)},
		{"QKeyViolations", raw.QKeyViolations(), uint16(256)},
		{"VPortLID", raw.VPortLID(), mad.LID(0x1234)},
		{"LIDByVPortIndex", raw.LIDByVPortIndex(), uint16(2)},
		{"PortGUID", raw.PortGUID(), mad.GUID(0x020000000000abcd)},
		{"PortProfile", raw.PortProfile(), uint64(0x1100000000000088)},
	})
	activate := raw // what a manager changes, and nothing else
	activate.SetVPortState(PortActive)
	activate.SetClientReregister(false)
	want := raw
	want[0] = 0x44
	if activate != want {
		t.Errorf("got %x, want %x", activate, want)
	}
}

func TestVNodeInfoBytes(t *testing.T) {
	raw := VNodeInfo{
		0: 0x00, 1: 0x80, // PartitionCap 128
		2: 1,              // LocalPortNum
		3: 2,              // NumPorts
		4: 0x02, 11: 0x7e, // VNodeGUID 02:00:00:00:00:00:00:7e
	}
	verify(t, []check{
		{"PartitionCap", raw.PartitionCap(), uint16(128)},
		{"LocalPortNum", raw.LocalPortNum(), uint8(1)},
		{"NumPorts", raw.NumPorts(), uint8(2)},
		{"VNodeGUID", raw.VNodeGUID(), mad.GUID(0x020000000000007e)},
	})
}

// Byte n has vPort 2n in bits 7..4 and vPort 2n+1 in bits 3..0; a block has 128.
func TestVPortStateBytes(t *testing.T) {
	raw := VPortState{0: 0x41, 1: 0x23, 63: 0x14}
	for i, want := range map[uint16]PortState{
		0: PortActive, 1: PortDown, 2: PortInit, 3: PortArmed, 126: PortDown, 127: PortActive, 4: PortNoChange,
		128: PortActive, 131: PortArmed, // of the next block, at the same places
	} {
		if got := raw.State(i); got != want {
			t.Errorf("vPort %d is %v, want %v", i, got, want)
		}
	}
}

func TestAnnouncesVirtualization(t *testing.T) {
	for _, tt := range []struct {
		name  string
		mask  CapMask
		mask2 CapMask2
		want  bool
	}{
		{"announced", 0x8000, 0x0004, true},
		{"CapabilityMask2 is not valid", 0x7fff_0000, 0x0004, false},
		{"another capability", 0x8000, 0xfffb, false},
	} {
		if got := AnnouncesVirtualization(tt.mask, tt.mask2); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
	for vendor, want := range map[uint32]bool{0x0002c9: true, 0x00119f: true, 0x0008f1: true, 0x001175: false} {
		if got := NVIDIAVendor(vendor); got != want {
			t.Errorf("vendor 0x%06x: %t, want %t", vendor, got, want)
		}
	}
}

// The modifiers of vPort 0x0102, block 0x0304, written out for each layout.
func TestVPortModifiers(t *testing.T) {
	const index, block = 0x0102, 0x0304
	attrs := []mad.AttrID{0xffb0, 0xffb1, 0xffb2, 0xffb3, 0xffb4, 0xffb5, 0xffb6}
	for layout, mods := range map[VPortLayout][]uint32{
		VPortIndexHigh:  {0, 0x01020000, 0x01020000, 0x00000304, 0x01020000, 0x01020304, 0x01020304},
		VPortIndexLow:   {0, 0x00000102, 0x00000102, 0x00000304, 0x00000102, 0x03040102, 0x03040102},
		VPortIndexMixed: {0, 0x00000102, 0x00000102, 0x00000304, 0x00000102, 0x01020304, 0x01020304},
	} {
		for i, attr := range attrs {
			if got := layout.Mod(attr, index, block); got != mods[i] {
				t.Errorf("%v, %s: modifier 0x%08x, want 0x%08x", layout, AttrName(attr), got, mods[i])
			}
		}
		if _, _, ok := layout.Addressed(AttrPKeyTable, 0); ok {
			t.Errorf("%v: P_KeyTable of a port passes for an attribute of vPorts", layout)
		}
		if parsed, err := ParseVPortLayout(layout.String()); err != nil || parsed != layout {
			t.Errorf("layout %q is read as %v, %v", layout.String(), parsed, err)
		}
	}
	if len(VPortModifiers) != len(VPortLayouts)*len(attrs) {
		t.Errorf("%d lines for %d attributes in %d layouts", len(VPortModifiers), len(attrs), len(VPortLayouts))
	}
	for _, m := range VPortModifiers {
		if m.Index != NoHalf && m.Index == m.Block {
			t.Errorf("%v, %s: index and block are the same bits", m.Layout, AttrName(m.Attr))
		}
	}
	if l, err := ParseVPortLayout("middle"); err == nil {
		t.Errorf("a layout \"middle\" is read as %v", l)
	}
}

// A bit that has no meaning makes a modifier invalid, in each layout.
func TestVPortModifierReserved(t *testing.T) {
	for _, tt := range []struct {
		layout VPortLayout
		attr   mad.AttrID
		mod    uint32
		ok     bool
	}{
		{VPortIndexHigh, AttrVirtualizationInfo, 1, false},
		{VPortIndexHigh, AttrVPortInfo, 0x00010000, true},
		{VPortIndexHigh, AttrVPortInfo, 0x00010001, false},
		{VPortIndexHigh, AttrVPortState, 0x00010000, false},
		{VPortIndexLow, AttrVPortInfo, 0x00000001, true},
		{VPortIndexLow, AttrVPortInfo, 0x00010001, false},
		{VPortIndexLow, AttrVPortGUIDInfo, 0xffffffff, true},
		{VPortIndexMixed, AttrVNodeInfo, 0x80000001, false},
		{VPortIndexMixed, AttrVPortPKeyTable, 0x00010001, true},
	} {
		if _, _, ok := tt.layout.Addressed(tt.attr, tt.mod); ok != tt.ok {
			t.Errorf("%v, %s, modifier 0x%08x: ok %t, want %t", tt.layout, AttrName(tt.attr), tt.mod, ok, tt.ok)
		}
	}
}

// FuzzVPortModifiers: Addressed undoes Mod, and Mod undoes Addressed where that says ok.
func FuzzVPortModifiers(f *testing.F) {
	f.Add(uint8(0), uint16(0xffb6), uint32(0x00010002))
	f.Add(uint8(2), uint16(0xffb1), uint32(0xffffffff))
	f.Fuzz(func(t *testing.T, layout uint8, attr uint16, mod uint32) {
		l, a := VPortLayout(layout), mad.AttrID(attr)
		index, block, ok := l.Addressed(a, mod)
		if ok && l.Mod(a, index, block) != mod {
			t.Errorf("%v, %s: 0x%08x requests vPort %d, block %d, by 0x%08x", l, AttrName(a), mod, index, block,
				l.Mod(a, index, block))
		}
		back := l.Mod(a, uint16(mod>>16), uint16(mod))
		m, known := l.modifier(a)
		index, block, ok = l.Addressed(a, back)
		lost := m.Index != NoHalf && index != uint16(mod>>16) || m.Block != NoHalf && block != uint16(mod)
		if known && (!ok || lost) {
			t.Errorf("%v, %s: vPort %d, block %d come back as %d, %d, ok %t", l, AttrName(a), mod>>16, uint16(mod),
				index, block, ok)
		}
	})
}
