package cc

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
)

// TestGolden: what OpenSM and ibccconfig sent is what we make, but for the transaction ID, and reads
// as their settings.
func TestGolden(t *testing.T) {
	const key Key = 0x1122334455667788
	for _, tt := range []struct {
		name string
		attr mad.AttrID
		mod  uint32
		key  Key
		fill func(d []byte)
	}{
		{"cc-switch-congestion-setting-set", AttrSwitchCongestionSetting, 0, key, func(d []byte) {
			s := (*SwitchCongestionSetting)(d)
			s.SetControlMap(MapVictimMask | MapCreditMask | MapThreshold | MapCreditStarvation | MapMarkingRate)
			s.SetVictimMask(maskOf(0x123456789abcdef))
			s.SetCreditMask(maskOf(0xfedcba))
			s.SetThreshold(0xd)
			s.SetPacketSize(9)
			s.SetCSThreshold(5)
			s.SetCSReturnDelay(EntryOf(2, 1234))
			s.SetMarkingRate(513)
		}},
		{"cc-ca-congestion-setting-set", AttrCACongestionSetting, 0, key, func(d []byte) {
			s := (*CACongestionSetting)(d)
			s.SetPortControl(1)
			s.SetControlMap(0x307)
			s.SL(0).SetCCTITimer(150)
			s.SL(2).SetCCTITimer(770)
			s.SL(1).SetCCTIIncrease(4)
			s.SL(2).SetTriggerThreshold(5)
			s.SL(8).SetCCTIMin(6)
		}},
		{"cc-congestion-control-table-set", AttrCongestionControlTable, 1, key, func(d []byte) {
			s := (*CongestionControlTable)(d)
			s.SetCCTILimit(69)
			for i := range 6 {
				s.SetEntry(i, EntryOf(uint8(i%4), uint16(60+i)))
			}
		}},
		{"cc-switch-port-congestion-setting-set", AttrSwitchPortCongestionSetting, 0, 0, func(d []byte) {
			s := (*SwitchPortCongestionSetting)(d).Port(3)
			s.SetValid(true)
			s.SetControlType(true)
			s.SetThreshold(9)
			s.SetPacketSize(77)
			s.SetMarkingRate(1234)
		}},
		{"cc-congestion-key-info-set", AttrCongestionKeyInfo, 0, 0, func(d []byte) {
			s := (*CongestionKeyInfo)(d)
			s.SetCCKey(key)
			s.SetCCKeyProtectBit(true)
			s.SetCCKeyLeasePeriod(5)
		}},
	} {
		captured := madtest.Packet(t, tt.name)
		var p mad.Packet
		SetRequest(&p, mad.MethodSet, tt.attr, tt.mod, tt.key)
		p.SetTID(captured.TID())
		tt.fill(p.PerfData()[:])
		if p != captured {
			t.Errorf("%s: made\n% x, captured\n% x", tt.name, p[:208], captured[:208])
		}
		if got := KeyOf(&captured); got != tt.key {
			t.Errorf("%s: CC_Key %#x", tt.name, got)
		}
	}
}

// maskOf are the ports of the lowest 64.
func maskOf(ports uint64) (m PortMask) {
	for p := range uint8(64) {
		if ports>>p&1 != 0 {
			m.Add(p)
		}
	}
	return m
}

func TestGoldenPorts(t *testing.T) {
	p := madtest.Packet(t, "cc-switch-congestion-setting-set")
	m := (*SwitchCongestionSetting)(p.PerfData()[:]).CreditMask()
	for port := range uint8(255) {
		if want := port < 24 && 0xfedcba>>port&1 != 0; m.Has(port) != want {
			t.Errorf("port %d is in %x: %t", port, m, !want)
		}
	}
}
