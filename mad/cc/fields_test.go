package cc

import (
	"reflect"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
)

// fieldTables are the architecture's: field, first bit, width.
var fieldTables = []struct {
	attr  reflect.Type
	table string
}{
	{reflect.TypeFor[CongestionInfo](), `
		CongestionInfo 0 16
		ControlTableCap 16 8`},
	{reflect.TypeFor[CongestionKeyInfo](), `
		CC_Key 0 64
		CC_KeyProtectBit 64 1
		CC_KeyLeasePeriod 80 16
		CC_KeyViolations 96 16`},
	{reflect.TypeFor[SwitchCongestionSetting](), `
		ControlMap 0 32
		VictimMask 32 256
		CreditMask 288 256
		Threshold 544 4
		PacketSize 552 8
		CSThreshold 560 4
		CSReturnDelay 576 16
		MarkingRate 592 16`},
	{reflect.TypeFor[PortCongestionSetting](), `
		Valid 0 1
		ControlType 1 1
		Threshold 4 4
		PacketSize 8 8
		MarkingRate 16 16`},
	{reflect.TypeFor[CACongestionSetting](), `
		PortControl 0 16
		ControlMap 16 16`},
	{reflect.TypeFor[CACongestionEntry](), `
		CCTI_Timer 0 16
		CCTI_Increase 16 8
		TriggerThreshold 24 8
		CCTI_Min 32 8`},
	{reflect.TypeFor[CongestionControlTable](), `
		CCTI_Limit 0 16`},
}

func TestFields(t *testing.T) {
	for _, tt := range fieldTables {
		t.Run(tt.attr.Name(), func(t *testing.T) { madtest.CheckFields(t, tt.attr, madtest.Fields(t, tt.table)) })
	}
}

// TestIndexed: where the elements are that have an index, and that one beyond is none outside.
func TestIndexed(t *testing.T) {
	check := func(name string, bit, width int, d []byte, set func()) {
		t.Helper()
		want := append([]byte(nil), d...)
		madtest.PutBits(want, bit, width, []byte{0xff, 0xff}[:(width+7)/8])
		if set(); string(d) != string(want) {
			t.Errorf("%s: % x, want % x", name, d, want)
		}
	}
	for i := range EntriesPerBlock {
		var c CongestionControlTable
		check("CongestionControlTable", 32+16*i, 16, c[:], func() { c.SetEntry(i, 0xffff) })
		if e := c.Entry(i); e != EntryOf(3, 0x3fff) || e.Shift() != 3 || e.Multiplier() != 0x3fff {
			t.Errorf("entry %d is %x", i, e)
		}
	}
	for i := range PortsPerBlock {
		var s SwitchPortCongestionSetting
		check("SwitchPortCongestionSetting", 32*i+8, 8, s[:], func() { s.Port(i).SetPacketSize(0xff) })
	}
	for i := range uint8(SLs) {
		var c CACongestionSetting
		check("CACongestionSetting", 32+64*int(i), 16, c[:], func() { c.SL(i).SetCCTITimer(0xffff) })
	}
	for i := range 256 {
		var m PortMask
		check("PortMask", 255-i, 1, m[:], func() { m.Add(uint8(i)) })
		if !m.Has(uint8(i)) || m.Has(uint8(i+1)) {
			t.Errorf("port %d in % x", i, m)
		}
	}
	for _, i := range []int{-1, 64, 1 << 40} {
		var c CongestionControlTable
		var s SwitchPortCongestionSetting
		c.SetEntry(i, c.Entry(i))
		s.Port(i).SetValid(s.Port(i).Valid())
	}
	if e := EntryOf(0xff, 0xffff); e != 0xffff {
		t.Errorf("a cut entry is %x", e)
	}
	if AttrName(AttrCACongestionSetting) != "CACongestionSetting" || AttrName(0x77) != "0x0077" ||
		AttrName(mad.AttrID(0x13)) != "CongestionLog" {
		t.Error("names")
	}
}
