package sarec

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
)

// The captured answer of OpenSM, field by field as its remarks have them.
func TestPathRecordGolden(t *testing.T) {
	p := madtest.Packet(t, "umad-path-record-get-table-resp")
	if got, want := p.AttributeOffset(), uint16(len(PathRecord{})/8); got != want {
		t.Errorf("AttributeOffset %d, want %d", got, want)
	}
	if got, want := p.ComponentMask(), PathDLID|PathSLID; got != want {
		t.Errorf("ComponentMask %#x, want %#x", got, want)
	}
	if p.SMKey() != 0 || p.AttrID() != AttrPathRecord {
		t.Errorf("SM_Key %#x, attribute %v", p.SMKey(), p.AttrID())
	}

	var rec PathRecord
	rec.SetDGID(mad.MakeGID(mad.DefaultPrefix, 0x100011))
	rec.SetSGID(mad.MakeGID(mad.DefaultPrefix, 0x100001))
	rec.SetDLID(4)
	rec.SetSLID(1)
	rec.SetReversible(true)
	rec.SetPKey(mad.DefaultPKey)
	rec.SetMTU(Exactly, mad.MTU2048)
	rec.SetRate(Exactly, 17)
	rec.SetPacketLifeTime(Exactly, 18)
	if got := PathRecord(p.SAData()[:64]); got != rec {
		t.Errorf("captured\n%x\nwritten\n%x", got, rec)
	}
}
