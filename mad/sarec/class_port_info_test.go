package sarec

import (
	"testing"

	"ibsm/mad"
)

// The attributes of subnet administration (IBA 15.2.5, table 188).
func TestAttrName(t *testing.T) {
	for attr, want := range map[mad.AttrID]string{
		0x01: "ClassPortInfo", 0x02: "Notice", 0x03: "InformInfo", 0x11: "NodeRecord", 0x12: "PortInfoRecord",
		0x13: "SLtoVLMappingTableRecord", 0x14: "SwitchInfoRecord", 0x15: "LinearForwardingTableRecord",
		0x16: "RandomForwardingTableRecord", 0x17: "MulticastForwardingTableRecord", 0x18: "SMInfoRecord",
		0x20: "LinkRecord",
		0x30: "GUIDInfoRecord", 0x31: "ServiceRecord", 0x33: "P_KeyTableRecord", 0x35: "PathRecord",
		0x36: "VLArbitrationTableRecord",
		0x38: "MCMemberRecord", 0x39: "TraceRecord", 0x3a: "MultiPathRecord", 0x3b: "ServiceAssociationRecord",
		0xf3: "InformInfoRecord", 0x99: "0x0099",
	} {
		if got := AttrName(attr); got != want {
			t.Errorf("attribute %#x is %s, want %s", uint16(attr), got, want)
		}
	}
}

func TestClassPortInfo(t *testing.T) {
	var c ClassPortInfo
	c.SetBaseVersion(1)
	c.SetClassVersion(2)
	c.SetCapabilityMask(0x2602)
	c.SetCapabilityMask2(0xb5e8)
	c.SetRespTimeValue(16)
	c.SetRedirectQP(1)
	c.SetRedirectQKey(0x80010000)
	c.SetTrapQKey(0x80010000)
	// As OpenSM 3.3.23 answers: masks 0x2602 and 0xB5E8, 200 ms.
	want := ClassPortInfo{0: 1, 1: 2, 2: 0x26, 3: 0x02, 5: 0x16, 6: 0xbd, 7: 0x10, 35: 1, 36: 0x80, 37: 1, 68: 0x80,
		69: 1}
	if c != want {
		t.Errorf("written\n%x, want\n%x", c, want)
	}
	if c.CapabilityMask() != 0x2602 || c.CapabilityMask2() != 0xb5e8 || c.RespTimeValue() != 16 ||
		c.RedirectQP() != 1 ||
		c.RedirectQKey() != 0x80010000 || c.TrapQKey() != 0x80010000 || c.BaseVersion() != 1 || c.ClassVersion() != 2 {
		t.Errorf("does not read back: %x", c)
	}
	if c.RedirectLID() != 0 || c.RedirectPKey() != 0 || c.TrapLID() != 0 || c.TrapQP() != 0 {
		t.Errorf("reads what was not written: %x", c)
	}
}
