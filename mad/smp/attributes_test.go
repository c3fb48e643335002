package smp

import (
	"math/bits"
	"reflect"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
)

func TestAttrName(t *testing.T) {
	for _, tt := range []struct {
		id   mad.AttrID
		name string
	}{
		{0x0002, "Notice"}, {0x0010, "NodeDescription"}, {0x0011, "NodeInfo"}, {0x0012, "SwitchInfo"},
		{0x0014, "GUIDInfo"},
		{0x0015, "PortInfo"}, {0x0016, "P_KeyTable"}, {0x0017, "SLtoVLMappingTable"}, {0x0018, "VLArbitrationTable"},
		{0x0019, "LinearForwardingTable"}, {0x001a, "RandomForwardingTable"}, {0x001b, "MulticastForwardingTable"},
		{0x001c, "LinkSpeedWidthPairsTable"}, {0x001d, "VendorSpecificMadsTable"}, {0x001e, "HierarchyInfo"},
		{0x0020, "SMInfo"},
		{0x0030, "VendorDiag"}, {0x0031, "LedInfo"}, {0x0032, "CableInfo"}, {0x0033, "PortInfoExtended"},
		{0x0034, "SwitchPortStateTable"},
		{0xff10, "PrivateLFTInfo"}, {0xff17, "GeneralInfo"}, {0xff20, "ARInfo"}, {0xff90, "ExtendedPortInfo"},
		{0xffb0, "VirtualizationInfo"}, {0xffb1, "VPortInfo"}, {0xffb2, "VNodeInfo"}, {0xffb3, "VPortState"},
		{0xffb4, "VNodeDescription"}, {0xffb5, "VPortGUIDInfo"}, {0xffb6, "VPortP_KeyTable"},
		{0x1234, "0x1234"},
	} {
		if got := AttrName(tt.id); got != tt.name {
			t.Errorf("AttrName(%v) = %q, want %q", tt.id, got, tt.name)
		}
	}
}

// The bits of both masks in the order of the architecture's tables.
func TestCapabilityBits(t *testing.T) {
	for i, m := range []CapMask{
		IsSM, IsNoticeSupported, IsTrapSupported, IsOptionalIPDSupported, IsAutomaticMigrationSupported,
		IsSLMappingSupported,
		IsMKeyNVRAM, IsPKeyNVRAM, IsLEDInfoSupported, IsSMdisabled, IsSystemImageGUIDSupported,
		IsPKeySwitchExternalPortTrapSupported, IsCableInfoSupported, IsExtendedSpeedsSupported,
		IsCapabilityMask2Supported,
		IsCommunicationManagementSupported, IsSNMPTunnelingSupported, IsReinitSupported, IsDeviceManagementSupported,
		IsVendorClassSupported, IsDRNoticeSupported, IsCapabilityMaskNoticeSupported, IsBootManagementSupported,
		IsLinkRoundTripLatencySupported, IsClientReregistrationSupported, IsOtherLocalChangesNoticeSupported,
		IsLinkSpeedWidthPairsTableSupported, IsVendorSpecificMadsTableSupported, IsMcastPkeyTrapSuppressionSupported,
		IsMulticastFDBTopSupported, IsHierarchyInfoSupported,
	} {
		if want := i + 1; bits.OnesCount32(uint32(m)) != 1 || bits.TrailingZeros32(uint32(m)) != want {
			t.Errorf("mask 0x%08x stands where bit %d should", uint32(m), want)
		}
	}
	for i, m := range []CapMask2{
		IsSetNodeDescriptionSupported, IsPortInfoExtendedSupported, IsVirtualizationSupported,
		IsSwitchPortStateTableSupported,
		IsLinkWidth2xSupported, IsLinkSpeedHDRSupported, IsMKeyProtectBitsExtSupported, IsEnhancedTrap128Supported,
		IsPartitionTopSupported, IsEnhancedQoSArbiterSupported, IsLinkSpeedNDRSupported, IsExtendedSpeeds2Supported,
		IsLinkSpeedXDRSupported,
	} {
		if m != 1<<i {
			t.Errorf("mask 0x%04x stands where bit %d should", uint16(m), i)
		}
	}
	for i, f := range []ChangeFlags{
		ChangedNodeDescription, ChangedLinkWidthEnabled, ChangedLinkSpeedEnabled, ChangedSMPriority,
		ChangedHierarchyInfo,
		ChangedCapabilityMask2,
	} {
		if f != 1<<i {
			t.Errorf("flag 0x%04x stands where bit %d should", uint16(f), i)
		}
	}
	for i, m := range []VPortCapMask{
		VPortHasCM, VPortHasSNMP, VPortHasDevMgmt, VPortHasVendorClass, VPortHasBootMgmt, VPortIsSM, VPortIsSMDisabled,
	} {
		if m != 1<<i || !m.Has(m) || m.Has(m|1<<15) {
			t.Errorf("mask 0x%04x stands where bit %d should", uint16(m), i)
		}
	}
	if m := IsSM | IsTrapSupported; !m.Has(IsSM) || !m.Has(IsSM|IsTrapSupported) || m.Has(IsSM|IsNoticeSupported) {
		t.Error("CapMask.Has is wrong")
	}
	if m := IsLinkWidth2xSupported; !m.Has(IsLinkWidth2xSupported) ||
		m.Has(IsLinkWidth2xSupported|IsLinkSpeedHDRSupported) {
		t.Error("CapMask2.Has is wrong")
	}
	if f := ChangedSMPriority; !f.Has(ChangedSMPriority) || f.Has(ChangedNodeDescription) {
		t.Error("ChangeFlags.Has is wrong")
	}
}

func TestStrings(t *testing.T) {
	verify(t, []check{
		{"state 0", PortState(0).String(), "NoChange"},
		{"state 1", PortState(1).String(), "Down"},
		{"state 2", PortState(2).String(), "Initialize"},
		{"state 3", PortState(3).String(), "Armed"},
		{"state 4", PortState(4).String(), "Active"},
		{"state 5", PortState(5).String(), "ActiveDefer"},
		{"state 6", PortState(6).String(), "port state 6"},
		{"physical state 0", PortPhysicalState(0).String(), "NoChange"},
		{"physical state 1", PortPhysicalState(1).String(), "Sleep"},
		{"physical state 2", PortPhysicalState(2).String(), "Polling"},
		{"physical state 3", PortPhysicalState(3).String(), "Disabled"},
		{"physical state 4", PortPhysicalState(4).String(), "PortConfigurationTraining"},
		{"physical state 5", PortPhysicalState(5).String(), "LinkUp"},
		{"physical state 6", PortPhysicalState(6).String(), "LinkErrorRecovery"},
		{"physical state 7", PortPhysicalState(7).String(), "PhyTest"},
		{"physical state 8", PortPhysicalState(8).String(), "physical state 8"},
		{"SM state 0", SMState(0).String(), "NOT-ACTIVE"},
		{"SM state 1", SMState(1).String(), "DISCOVERING"},
		{"SM state 2", SMState(2).String(), "STANDBY"},
		{"SM state 3", SMState(3).String(), "MASTER"},
		{"SM state 4", SMState(4).String(), "state 4"},
		{"notice type 0", NoticeType(0).String(), "fatal"},
		{"notice type 1", NoticeType(1).String(), "urgent"},
		{"notice type 2", NoticeType(2).String(), "security"},
		{"notice type 3", NoticeType(3).String(), "subnet management"},
		{"notice type 4", NoticeType(4).String(), "informational"},
		{"notice type 127", NoticeType(127).String(), "empty"},
		{"notice type 9", NoticeType(9).String(), "notice type 9"},
		{"producer 1", ProducerType(1).String(), "CA"},
		{"producer 2", ProducerType(2).String(), "switch"},
		{"producer 3", ProducerType(3).String(), "router"},
		{"producer 4", ProducerType(4).String(), "class manager"},
		{"producer 5", ProducerType(5).String(), "producer 5"},
	})
}

func TestDataVLs(t *testing.T) {
	for code, want := range []int{0, 1, 2, 4, 8, 15, 0, 0} {
		if got := DataVLs(uint8(code)); got != want {
			t.Errorf("DataVLs(%d) = %d, want %d", code, got, want)
		}
	}
}

// A Set must not touch the link by writing back what was read, and must give back
// every bit that it does not mean.
func TestKeepStates(t *testing.T) {
	var p PortInfo
	for i := range p {
		p[i] = 0xff
	}
	want := p
	want[29] = 0          // LinkWidthEnabled
	want[32] = 0xf0       // PortState
	want[33] = 0          // PortPhysicalState, LinkDownDefaultState
	want[35] = 0xf0       // LinkSpeedEnabled
	want[56] = 0xff &^ 7  // LinkSpeedExtEnabled2
	want[63] = 0xff &^ 31 // LinkSpeedExtEnabled
	if p.KeepStates(); p != want {
		t.Errorf("got %x\nwant %x", p, want)
	}
}

// Whatever 64 bytes arrive, no accessor without arguments panics.
func FuzzAttributes(f *testing.F) {
	for _, name := range []string{"umad-node-info-resp", "port-info-resp", "lft-set", "sm-info-resp", "umad-trap-128"} {
		p := madtest.Packet(f, name)
		f.Add(p.Data()[:])
	}
	f.Add([]byte{})
	types := []reflect.Type{reflect.TypeFor[NodeDescription](), reflect.TypeFor[GeneralInfo]()}
	for _, tt := range fieldTables {
		types = append(types, tt.attr)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, typ := range types {
			x := reflect.New(typ)
			raw := x.Elem().Slice(0, typ.Len()).Bytes()
			copy(raw, data)
			before := string(raw)
			for i := range x.NumMethod() {
				if m := x.Method(i); m.Type().NumIn() == 0 && m.Type().NumOut() > 0 {
					m.Call(nil)
				}
			}
			if string(raw) != before {
				t.Fatalf("a getter of %v changed %x to %x", typ, before, raw)
			}
		}
	})
}

func TestNoAllocations(t *testing.T) {
	var pkt mad.Packet
	var sum uint64
	n := testing.AllocsPerRun(100, func() {
		p := PortInfo(*pkt.Data())
		p.KeepStates()
		p.SetMKey(p.MKey() + 1)
		p.SetLID(p.LID() + 1)
		p.SetLinkRoundTripLatency(p.LinkRoundTripLatency() + 1)
		p.SetClientReregister(!p.ClientReregister())
		sum += uint64(p.Rate(both, IsExtendedSpeeds2Supported))
		*pkt.Data() = p

		n := (*Notice)(pkt.Data())
		n.BadKey().SetGID1(n.BadKey().GID2())
		n.BadMKey().SetDRReturnPath(n.BadMKey().DRReturnPath())
		sum += uint64(n.TrapNumber())

		lft := (*LinearForwardingTable)(pkt.Data())
		lft.SetPort(5, lft.Port(6)+1)
	})
	if n != 0 {
		t.Errorf("%v allocations (%d)", n, sum)
	}
}
