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

// Each field of a request, written alone, must set the bits that the architecture
// gives its component and be read back.
func TestPathRecordFields(t *testing.T) {
	gid := mad.GID{0: 0x80, 15: 1}
	for _, c := range []struct {
		name       string
		bit, width int
		set        func(r *PathRecord)
		back       func(r *PathRecord) bool
	}{
		{"ServiceID", 0, 64, func(r *PathRecord) { r.SetServiceID(1<<63 | 1) }, func(r *PathRecord) bool { return r.ServiceID() == 1<<63|1 }},
		{"DGID", 64, 128, func(r *PathRecord) { r.SetDGID(gid) }, func(r *PathRecord) bool { return r.DGID() == gid }},
		{"SGID", 192, 128, func(r *PathRecord) { r.SetSGID(gid) }, func(r *PathRecord) bool { return r.SGID() == gid }},
		{"DLID", 320, 16, func(r *PathRecord) { r.SetDLID(0x8001) }, func(r *PathRecord) bool { return r.DLID() == 0x8001 }},
		{"SLID", 336, 16, func(r *PathRecord) { r.SetSLID(0x8001) }, func(r *PathRecord) bool { return r.SLID() == 0x8001 }},
		{"RawTraffic", 352, 1, func(r *PathRecord) { r.SetRawTraffic(true) }, (*PathRecord).RawTraffic},
		{"FlowLabel", 356, 20, func(r *PathRecord) { r.SetFlowLabel(0x80001) }, func(r *PathRecord) bool { return r.FlowLabel() == 0x80001 }},
		{"HopLimit", 376, 8, func(r *PathRecord) { r.SetHopLimit(0x81) }, func(r *PathRecord) bool { return r.HopLimit() == 0x81 }},
		{"TClass", 384, 8, func(r *PathRecord) { r.SetTClass(0x81) }, func(r *PathRecord) bool { return r.TClass() == 0x81 }},
		{"Reversible", 392, 1, func(r *PathRecord) { r.SetReversible(true) }, (*PathRecord).Reversible},
		{"NumbPath", 393, 7, func(r *PathRecord) { r.SetNumbPath(0x41) }, func(r *PathRecord) bool { return r.NumbPath() == 0x41 }},
		{"P_Key", 400, 16, func(r *PathRecord) { r.SetPKey(0x8001) }, func(r *PathRecord) bool { return r.PKey() == 0x8001 }},
		{"QoSClass", 416, 12, func(r *PathRecord) { r.SetQoSClass(0x801) }, func(r *PathRecord) bool { return r.QoSClass() == 0x801 }},
		{"SL", 428, 4, func(r *PathRecord) { r.SetSL(9) }, func(r *PathRecord) bool { return r.SL() == 9 }},
		{"Preference", 456, 8, func(r *PathRecord) { r.SetPreference(0x81) }, func(r *PathRecord) bool { return r.Preference() == 0x81 }},
		{"MTU", 432, 8, func(r *PathRecord) { r.SetMTU(Exactly, 1) }, func(r *PathRecord) bool { s, v := r.MTU(); return s == Exactly && v == 1 }},
		{"Rate", 440, 8, func(r *PathRecord) { r.SetRate(Exactly, 1) }, func(r *PathRecord) bool { s, v := r.Rate(); return s == Exactly && v == 1 }},
		{"PacketLifeTime", 448, 8, func(r *PathRecord) { r.SetPacketLifeTime(Exactly, 1) }, func(r *PathRecord) bool { s, v := r.PacketLifeTime(); return s == Exactly && v == 1 }},
	} {
		var zero, ones PathRecord
		for i := range ones {
			ones[i] = 0xff
		}
		c.set(&zero)
		c.set(&ones)
		for bit := range len(zero) * 8 {
			inside := bit == c.bit || bit == c.bit+c.width-1 // the values have their first and last bit set
			if inside != (zero[bit/8]<<(bit%8)&0x80 != 0) {
				t.Errorf("%s: bit %d of a zero record is %v", c.name, bit, !inside)
			}
			outside := bit < c.bit || bit >= c.bit+c.width
			if outside && ones[bit/8]<<(bit%8)&0x80 == 0 {
				t.Errorf("%s: clears bit %d, which is not its own", c.name, bit)
			}
		}
		if !c.back(&zero) || !c.back(&ones) {
			t.Errorf("%s: does not read back", c.name)
		}
	}
}

// Every bit of a record but the reserved ones goes through its accessors.
func FuzzPathRecord(f *testing.F) {
	p := madtest.Packet(f, "umad-path-record-get-table-resp")
	f.Add(p[56:120])
	p = madtest.Packet(f, "umad-path-record-get-table")
	f.Add(p[56:120])
	f.Fuzz(func(t *testing.T, b []byte) {
		var in, out PathRecord
		copy(in[:], b)
		out.SetServiceID(in.ServiceID())
		out.SetDGID(in.DGID())
		out.SetSGID(in.SGID())
		out.SetDLID(in.DLID())
		out.SetSLID(in.SLID())
		out.SetRawTraffic(in.RawTraffic())
		out.SetFlowLabel(in.FlowLabel())
		out.SetHopLimit(in.HopLimit())
		out.SetTClass(in.TClass())
		out.SetReversible(in.Reversible())
		out.SetNumbPath(in.NumbPath())
		out.SetPKey(in.PKey())
		out.SetQoSClass(in.QoSClass())
		out.SetSL(in.SL())
		out.SetMTU(in.MTU())
		out.SetRate(in.Rate())
		out.SetPacketLifeTime(in.PacketLifeTime())
		out.SetPreference(in.Preference())
		in[44] &^= 0x70
		clear(in[58:])
		if in != out {
			t.Errorf("read\n%x\nwritten\n%x", in, out)
		}
	})
}
