package smp

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
)

type check struct {
	name      string
	got, want any
}

func verify(t *testing.T, checks []check) {
	t.Helper()
	for _, c := range checks {
		if c.got != c.want {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
}

// The values are what smpquery, sminfo and OpenSM print for these packets.

func TestGoldenNodeInfo(t *testing.T) {
	p := madtest.Packet(t, "umad-node-info-resp")
	n := NodeInfo(*p.Data())
	verify(t, []check{
		{"attribute", p.AttrID(), AttrNodeInfo},
		{"BaseVersion", n.BaseVersion(), uint8(1)},
		{"ClassVersion", n.ClassVersion(), uint8(1)},
		{"NodeType", n.NodeType(), mad.Switch},
		{"NumPorts", n.NumPorts(), uint8(8)},
		{"SystemImageGUID", n.SystemImageGUID(), mad.GUID(0x200000)},
		{"NodeGUID", n.NodeGUID(), mad.GUID(0x200000)},
		{"PortGUID", n.PortGUID(), mad.GUID(0x200000)},
		{"PartitionCap", n.PartitionCap(), uint16(8)},
		{"DeviceID", n.DeviceID(), uint16(0xd2f0)},
		{"Revision", n.Revision(), uint32(0xa1)},
		{"LocalPortNum", n.LocalPortNum(), uint8(2)},
		{"VendorID", n.VendorID(), uint32(0x0002c9)},
	})
}

func TestGoldenPortInfo(t *testing.T) {
	p := madtest.Packet(t, "port-info-resp")
	i := PortInfo(*p.Data())
	verify(t, []check{
		{"attribute", p.AttrID(), AttrPortInfo},
		{"modifier", p.AttrMod(), PortInfoMod(7, false)},
		{"MKey", i.MKey(), mad.MKey(0)},
		{"LID", i.LID(), mad.LID(0)},
		{"CapabilityMask", i.CapabilityMask(), CapMask(0)},
		{"MKeyLeasePeriod", i.MKeyLeasePeriod(), uint16(0)},
		{"LocalPortNum", i.LocalPortNum(), uint8(1)},
		{"LinkWidthEnabled", i.LinkWidthEnabled(), mad.LinkWidth(3)},
		{"LinkWidthSupported", i.LinkWidthSupported(), mad.LinkWidth(31)},
		{"LinkWidthActive", i.LinkWidthActive(), mad.Width4x},
		{"LinkSpeedSupported", i.LinkSpeedSupported(), uint8(7)},
		{"PortState", i.PortState(), PortActive},
		{"PortPhysicalState", i.PortPhysicalState(), PhysLinkUp},
		{"LinkDownDefaultState", i.LinkDownDefaultState(), PhysPolling},
		{"MKeyProtectBits", i.MKeyProtectBits(), uint8(0)},
		{"LMC", i.LMC(), uint8(0)},
		{"LinkSpeedActive", i.LinkSpeedActive(), uint8(4)},
		{"LinkSpeedEnabled", i.LinkSpeedEnabled(), uint8(7)},
		{"NeighborMTU", i.NeighborMTU(), mad.MTU2048},
		{"MasterSMSL", i.MasterSMSL(), uint8(0)},
		{"VLCap", i.VLCap(), uint8(4)},
		{"VLHighLimit", i.VLHighLimit(), uint8(0)},
		{"VLArbitrationHighCap", i.VLArbitrationHighCap(), uint8(8)},
		{"VLArbitrationLowCap", i.VLArbitrationLowCap(), uint8(8)},
		{"MTUCap", i.MTUCap(), mad.MTU2048},
		{"VLStallCount", i.VLStallCount(), uint8(7)},
		{"HOQLife", i.HOQLife(), uint8(18)},
		{"OperationalVLs", i.OperationalVLs(), uint8(4)},
		{"SubnetTimeOut", i.SubnetTimeOut(), uint8(0)},
		{"RespTimeValue", i.RespTimeValue(), uint8(0)},
		{"CapabilityMask2", i.CapabilityMask2(), CapMask2(0)},
		{"LinkSpeedExtActive", i.LinkSpeedExtActive(), uint8(4)},
		{"LinkSpeedExtSupported", i.LinkSpeedExtSupported(), uint8(7)},
		{"LinkSpeedExtEnabled", i.LinkSpeedExtEnabled(), uint8(7)},
		{"speed by port 0's mask", i.LinkSpeed(IsExtendedSpeedsSupported, 0), mad.HDR},
		{"rate by port 0's mask", i.Rate(IsExtendedSpeedsSupported, 0), mad.Rate(17)},
	})
}

func TestGoldenLinearForwardingTable(t *testing.T) {
	p := madtest.Packet(t, "lft-set")
	table := LinearForwardingTable(*p.Data())
	if p.AttrID() != AttrLinearForwardingTable || p.AttrMod() != 0 {
		t.Errorf("attribute %v, block %d", p.AttrID(), p.AttrMod())
	}
	want := [LFTBlockSize]uint8{LFTDrop, 1, 0, 7, 2, 7, 7}
	for i := 7; i < len(want); i++ {
		want[i] = LFTDrop
	}
	var ours LinearForwardingTable
	for l := range mad.LID(LFTBlockSize) {
		if table.Port(l) != want[l] {
			t.Errorf("LID %v goes to port %d, want %d", l, table.Port(l), want[l])
		}
		ours.SetPort(l, want[l])
	}
	if ours != table {
		t.Errorf("made %x, captured %x", ours, table)
	}
}

func TestGoldenSMInfo(t *testing.T) {
	req, resp := madtest.Packet(t, "sm-info-get"), madtest.Packet(t, "sm-info-resp")
	asks, s := SMInfo(*req.Data()), SMInfo(*resp.Data())
	verify(t, []check{
		{"attribute", resp.AttrID(), AttrSMInfo},
		{"GUID", s.GUID(), mad.GUID(0x100001)},
		{"SMKey", s.SMKey(), uint64(1)},
		{"ActCount", s.ActCount(), uint32(120)},
		{"Priority", s.Priority(), uint8(0)},
		{"SMState", s.SMState(), Master},
		{"SMState of the manager that asks", asks.SMState(), Standby},
	})
}

func TestGoldenTrap(t *testing.T) {
	trap, repress := madtest.Packet(t, "umad-trap-128"), madtest.Packet(t, "umad-trap-repress")
	n := Notice(*trap.Data())
	verify(t, []check{
		{"attribute", trap.AttrID(), AttrNotice},
		{"method", trap.Method(), mad.MethodTrap},
		{"IsGeneric", n.IsGeneric(), true},
		{"Type", n.Type(), NoticeUrgent},
		{"ProducerType", n.ProducerType(), ProducerSwitch},
		{"TrapNumber", n.TrapNumber(), TrapLinkState},
		{"IssuerLID", n.IssuerLID(), mad.LID(3)},
		{"NoticeToggle", n.NoticeToggle(), false},
		{"NoticeCount", n.NoticeCount(), uint16(0)},
		{"LID", n.LinkState().LID(), mad.LID(3)},
	})

	var ours Notice
	ours.SetIsGeneric(true)
	ours.SetType(NoticeUrgent)
	ours.SetProducerType(ProducerSwitch)
	ours.SetTrapNumber(TrapLinkState)
	ours.SetIssuerLID(3)
	ours.LinkState().SetLID(3)
	if ours != n {
		t.Errorf("made %x, captured %x", ours, n)
	}

	reply := trap
	reply.SetMethod(mad.MethodTrapRepress)
	if reply != repress {
		t.Error("a TrapRepress is the trap with another method")
	}
}
