package sarec

import (
	"bytes"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/smp"
)

func linkLocal(guid mad.GUID) mad.GID { return mad.MakeGID(mad.DefaultPrefix, guid) }

// What OpenSM and osmtest sent, written with the accessors as the remarks of the files
// have it.
func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		file   string
		attr   mad.AttrID
		offset int // in bytes, 0 where the attribute is not a record
		want   []byte
	}{
		{"mc-member-record-set-resp", AttrMCMemberRecord, 56, mcMember()},
		{"service-record-set-resp", AttrServiceRecord, 176, service()},
		{"inform-info-record-get-table-resp", AttrInformInfoRecord, 64, informInfo()},
		{"guid-info-record-set-resp", AttrGUIDInfoRecord, 72, guidInfo()},
		{"switch-info-record-get-table-resp", AttrSwitchInfoRecord, 24, switchInfo()},
		{"linear-forwarding-table-record-get-table-resp", AttrLinearForwardingTableRecord, 72, lft()},
		{"multicast-forwarding-table-record-get-table-resp", AttrMulticastForwardingTableRecord, 72, mft()},
		{"pkey-table-record-get-table-resp", AttrPKeyTableRecord, 72, pkeyTable()},
		{"sl-to-vl-mapping-table-record-get-table-resp", AttrSLtoVLMappingTableRecord, 16, slToVL()},
		{"vl-arbitration-table-record-get-table-resp", AttrVLArbitrationTableRecord, 72, vlArb()},
		{"multi-path-record-get-multi", AttrMultiPathRecord, 0, multiPath()},
	} {
		t.Run(tt.file, func(t *testing.T) {
			b := madtest.Bytes(t, tt.file)
			p := madtest.Packet(t, tt.file)
			if p.AttrID() != tt.attr || int(p.AttributeOffset())*8 != tt.offset {
				t.Errorf("attribute %s with records of %d bytes", AttrName(p.AttrID()), int(p.AttributeOffset())*8)
			}
			if got := b[56:min(len(b), 56+len(tt.want))]; !bytes.Equal(got, tt.want[:len(got)]) {
				t.Errorf("captured\n%x\nwritten\n%x", got, tt.want)
			}
		})
	}
}

func mcMember() []byte {
	var r MCMemberRecord
	r.SetMGID(mad.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 15: 1})
	r.SetPortGID(linkLocal(0x100011))
	r.SetQKey(0xb1b)
	r.SetMLID(0xc001)
	r.SetMTU(Exactly, mad.MTU2048)
	r.SetPKey(mad.DefaultPKey)
	r.SetRate(Exactly, 17)
	r.SetPacketLifeTime(Exactly, 0)
	r.SetScope(2)
	r.SetJoinState(1)
	return r[:]
}

func service() []byte {
	var r ServiceRecord
	r.SetServiceID(0x327ab137)
	r.SetServiceGID(mad.GID{6: 0x80, 7: 0xfe, 13: 0x10, 15: 0x11}) // osmtest turns the prefix around
	r.SetServicePKey(mad.DefaultPKey)
	r.SetServiceLease(4)
	var name [64]byte
	copy(name[:], "osmt.srvc.846930885.29326")
	r.SetServiceName(name)
	r.SetServiceData([64]byte{56: 0x30, 57: 1}) // left over in osmtest's buffer
	return r[:]
}

func informInfo() []byte {
	var r InformInfoRecord
	r.SetSubscriberGID(linkLocal(0x100021))
	i := r.InformInfo()
	i.SetLIDRangeBegin(0xffff)
	i.SetIsGeneric(1)
	i.SetSubscribe(1)
	i.SetType(uint16(smp.NoticeSubnetManagement))
	i.SetTrapNumber(0xffff)
	i.SetQPN(1)
	i.SetRespTimeValue(19)
	i.SetProducerType(uint32(smp.ProducerClassManager))
	return r[:]
}

func guidInfo() []byte {
	var r GUIDInfoRecord
	r.SetLID(4)
	r.GUIDInfo().SetGUID(0, 0x100011)
	r.GUIDInfo().SetGUID(1, 0x0002c90300123456)
	return r[:]
}

func switchInfo() []byte {
	var r SwitchInfoRecord
	r.SetLID(2)
	var si smp.SwitchInfo
	si.SetLinearFDBCap(30720)
	si.SetMulticastFDBCap(1024)
	si.SetLinearFDBTop(6)
	si.SetLifeTimeValue(18)
	si.SetPartitionEnforcementCap(64)
	si.SetFilterRawInboundCap(true)
	si.SetFilterRawOutboundCap(true)
	r.SetSwitchInfo(&si)
	return r[:]
}

func lft() []byte {
	var r LinearForwardingTableRecord
	r.SetLID(2)
	for l := range mad.LID(smp.LFTBlockSize) {
		r.LinearForwardingTable().SetPort(l, smp.LFTDrop)
	}
	for l, port := range []uint8{1: 1, 2: 0, 3: 7, 4: 2, 5: 7, 6: 7} {
		if l > 0 {
			r.LinearForwardingTable().SetPort(mad.LID(l), port)
		}
	}
	return r[:]
}

func mft() []byte {
	var sw1, sw2 MulticastForwardingTableRecord
	sw1.SetLID(2)
	sw1.MulticastForwardingTable().SetPortMask(0xc000, 1<<2|1<<7)
	sw2.SetLID(3)
	sw2.MulticastForwardingTable().SetPortMask(0xc000, 1<<1|1<<7)
	return append(sw1[:], sw2[:]...)
}

func pkeyTable() []byte {
	var r PKeyTableRecord
	r.SetLID(4)
	r.SetPortNum(1)
	r.PKeyTable().SetPKey(0, mad.DefaultPKey)
	return r[:]
}

func slToVL() []byte {
	var identity smp.SLtoVLMappingTable
	for sl := range uint8(16) {
		identity.SetVL(sl, sl&7)
	}
	var b []byte
	for out := range uint8(2) { // OpenSM writes none for packets to the switch itself
		for in := range uint8(9) {
			var r SLtoVLMappingTableRecord
			r.SetLID(2)
			r.SetInputPortNum(in)
			r.SetOutputPortNum(out)
			if out != 0 {
				r.SetSLtoVLMappingTable(&identity)
			}
			b = append(b, r[:]...)
		}
	}
	return b
}

func vlArb() []byte {
	var b []byte
	for _, block := range []uint8{smp.VLArbLow0, smp.VLArbLow1} {
		var r VLArbitrationTableRecord
		r.SetLID(2)
		r.SetBlockNum(block)
		b = append(b, r[:]...)
	}
	return b
}

func multiPath() []byte {
	var r MultiPathRecord
	r.SetNumbPath(2)
	r.SetSGIDCount(2)
	r.SetDGIDCount(2)
	for i := range 4 {
		r.SetGID(i, linkLocal(0x100001))
	}
	return r[:]
}

// The Report of OpenSM names the group and the manager's port; what else is in the
// details is not cleared.
func TestNoticeGolden(t *testing.T) {
	p := madtest.Packet(t, "report-66")
	n := (*Notice)(p.SAData()[:])
	trap := n.Notice()
	if !trap.IsGeneric() || trap.Type() != smp.NoticeSubnetManagement ||
		trap.ProducerType() != smp.ProducerClassManager ||
		trap.TrapNumber() != smp.TrapGroupCreated || trap.IssuerLID() != 1 {
		t.Errorf("notice %x", n)
	}
	if got, want := trap.Address().GID(),
		(mad.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff}); got != want {
		t.Errorf("group %s, want %s", got, want)
	}
	if got, want := n.IssuerGID(), linkLocal(0x100001); got != want {
		t.Errorf("issuer %s, want %s", got, want)
	}
}
