package mad_test

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
)

// Where each field of the headers is, and that setting it changes nothing else.
func TestHeaderFields(t *testing.T) {
	for _, tt := range []struct {
		name        string
		offset, len int
		set         func(p *mad.Packet, v uint64)
		get         func(p *mad.Packet) uint64
	}{
		{"BaseVersion", 0, 1, nil, func(p *mad.Packet) uint64 { return uint64(p.BaseVersion()) }},
		{"MgmtClass", 1, 1, nil, func(p *mad.Packet) uint64 { return uint64(p.MgmtClass()) }},
		{"ClassVersion", 2, 1, nil, func(p *mad.Packet) uint64 { return uint64(p.ClassVersion()) }},
		{"Method", 3, 1, func(p *mad.Packet, v uint64) {
			p.SetMethod(mad.Method(v))
		}, func(p *mad.Packet) uint64 { return uint64(p.Method()) }},
		{"Status", 4, 2, func(p *mad.Packet, v uint64) {
			p.SetStatus(mad.Status(v))
		}, func(p *mad.Packet) uint64 { return uint64(p.Status()) }},
		{"HopPointer", 6, 1, func(p *mad.Packet, v uint64) { p.SetHopPointer(uint8(v)) }, func(p *mad.Packet) uint64 {
			return uint64(p.HopPointer())
		}},
		{"HopCount", 7, 1, nil, func(p *mad.Packet) uint64 { return uint64(p.HopCount()) }},
		{"TID", 8, 8, func(p *mad.Packet, v uint64) { p.SetTID(mad.TID(v)) }, func(p *mad.Packet) uint64 {
			return uint64(p.TID())
		}},
		{"AttrID", 16, 2, nil, func(p *mad.Packet) uint64 { return uint64(p.AttrID()) }},
		{"AttrMod", 20, 4, func(p *mad.Packet, v uint64) { p.SetAttrMod(uint32(v)) }, func(p *mad.Packet) uint64 {
			return uint64(p.AttrMod())
		}},
		{"MKey", 24, 8, func(p *mad.Packet, v uint64) { p.SetMKey(mad.MKey(v)) }, func(p *mad.Packet) uint64 {
			return uint64(p.MKey())
		}},
		{"DrSLID", 32, 2, nil, func(p *mad.Packet) uint64 { return uint64(p.DrSLID()) }},
		{"DrDLID", 34, 2, nil, func(p *mad.Packet) uint64 { return uint64(p.DrDLID()) }},
		{"SMKey", 36, 8, func(p *mad.Packet, v uint64) { p.SetSMKey(v) }, func(p *mad.Packet) uint64 {
			return p.SMKey()
		}},
		{"AttributeOffset", 44, 2, func(p *mad.Packet, v uint64) {
			p.SetAttributeOffset(uint16(v))
		}, func(p *mad.Packet) uint64 {
			return uint64(p.AttributeOffset())
		}},
		{"ComponentMask", 48, 8, func(p *mad.Packet, v uint64) {
			p.SetComponentMask(mad.ComponentMask(v))
		}, func(p *mad.Packet) uint64 { return uint64(p.ComponentMask()) }},
	} {
		for _, around := range []byte{0x00, 0x7e, 0xff} {
			var p mad.Packet
			for i := range p {
				p[i] = around
			}
			p[1] = byte(mad.ClassLIDRouted) // Status has no direction bit
			want := p
			var v uint64
			for i := range tt.len {
				want[tt.offset+i] = byte(0x81 + 0x13*i)
				v = v<<8 | uint64(want[tt.offset+i])
			}
			if tt.set != nil {
				tt.set(&p, v)
			} else {
				p = want
			}
			if p != want {
				t.Errorf("%s: set to %x gives\n%x, want\n%x", tt.name, v, p, want)
			}
			if got := tt.get(&p); got != v {
				t.Errorf("%s: got %x, want %x", tt.name, got, v)
			}
		}
	}
}

func TestSetHeader(t *testing.T) {
	for _, tt := range []struct {
		class   mad.Class
		version uint8
	}{
		{mad.ClassLIDRouted, 1}, {mad.ClassDirected, 1}, {mad.ClassSA, 2}, {mad.ClassPerf, 1}, {mad.ClassCongestion, 2},
	} {
		var p, want mad.Packet
		for i := range p {
			p[i] = 0xee
		}
		p.SetHeader(tt.class, mad.MethodSet, 0x0102, 0x03040506)
		copy(want[:], []byte{1, byte(tt.class), tt.version, 2})
		copy(want[16:], []byte{1, 2, 0, 0, 3, 4, 5, 6})
		if p != want {
			t.Errorf("%v: got %x\nwant %x", tt.class, p, want)
		}
	}
}

// The D bit of a directed-route SMP stands in the place of the status's top bit.
func TestStatusAndDirection(t *testing.T) {
	for _, tt := range []struct {
		name  string
		class mad.Class
		raw   byte // of byte 4 before
		set   mad.Status
		want  [2]byte
		get   mad.Status
	}{
		{"outbound", mad.ClassDirected, 0x00, mad.StatusBadField, [2]byte{0x00, 0x1c}, mad.StatusBadField},
		{"returning", mad.ClassDirected, 0x80, mad.StatusBadField, [2]byte{0x80, 0x1c}, mad.StatusBadField},
		{"returning, ok", mad.ClassDirected, 0x80, mad.StatusOK, [2]byte{0x80, 0x00}, mad.StatusOK},
		{"a status cannot turn it round", mad.ClassDirected, 0x00, 0x8001, [2]byte{0x00, 0x01}, mad.StatusBusy},
		{"no D bit elsewhere", mad.ClassLIDRouted, 0x80, mad.StatusBadField, [2]byte{0x00, 0x1c}, mad.StatusBadField},
		{"all bits elsewhere", mad.ClassSA, 0x00, 0x8700, [2]byte{0x87, 0x00}, 0x8700},
	} {
		var p mad.Packet
		p[1], p[4] = byte(tt.class), tt.raw
		p.SetStatus(tt.set)
		if [2]byte(p[4:6]) != tt.want || p.Status() != tt.get {
			t.Errorf("%s: bytes %x, status %v", tt.name, p[4:6], p.Status())
		}
		if p.Returning() != (tt.want[0]&0x80 != 0) {
			t.Errorf("%s: Returning is %v", tt.name, p.Returning())
		}
	}
	p := mad.Packet{1: byte(mad.ClassDirected), 5: 0x1c}
	if p.SetReturning(); !p.Returning() || p.Status() != mad.StatusBadField {
		t.Error("SetReturning loses the status")
	}
}

func TestIsResponse(t *testing.T) {
	for m, want := range map[mad.Method]bool{
		mad.MethodGet: false, mad.MethodSet: false, mad.MethodSend: false, mad.MethodTrap: false,
		mad.MethodReport:      false,
		mad.MethodTrapRepress: true, mad.MethodGetTable: false, mad.MethodDelete: false, mad.MethodGetResp: true,
		mad.MethodReportResp: true, mad.MethodGetTableResp: true, mad.MethodGetMultiResp: true,
		mad.MethodDeleteResp: true,
	} {
		var p mad.Packet
		p.SetMethod(m)
		if p.IsResponse() != want {
			t.Errorf("%v: IsResponse is %v", m, !want)
		}
	}
}

func TestGoldenDirectedRequest(t *testing.T) {
	p := madtest.Packet(t, "umad-node-info-get")
	if p.MgmtClass() != mad.ClassDirected || p.Method() != mad.MethodGet || p.AttrID() != 0x0011 || p.AttrMod() != 0 ||
		p.TID() != 0x4c3c0595 {
		t.Errorf("header reads %v %v %v %d TID %x", p.MgmtClass(), p.Method(), p.AttrID(), p.AttrMod(), p.TID())
	}
	var ours mad.Packet
	r := mad.MakeRoute(1)
	ours.SetDirected(&r, mad.MethodGet, 0x0011, 0)
	ours.SetTID(0x4c3c0595)
	if ours != p {
		t.Errorf("made\n%x, captured\n%x", ours, p)
	}
}

func TestGoldenDirectedReply(t *testing.T) {
	p := madtest.Packet(t, "umad-node-info-resp")
	if !p.Returning() || !p.IsResponse() || p.Status() != mad.StatusOK || p.HopPointer() != 0 || p.HopCount() != 1 {
		t.Errorf("reply reads returning %v, status %v, hop %d of %d", p.Returning(), p.Status(), p.HopPointer(),
			p.HopCount())
	}
	if p.DrSLID() != mad.PermissiveLID || p.DrDLID() != mad.PermissiveLID || p.TID() != 0x0001_0001_4c3c_0595 {
		t.Errorf("DrSLID %v, DrDLID %v, TID %x", p.DrSLID(), p.DrDLID(), p.TID())
	}
	if p.InitialPath()[1] != 1 || p.ReturnPath()[0] != 1 || p.ReturnPath()[1] != 2 || p.Data()[2] != byte(mad.Switch) {
		t.Error("paths or data stand elsewhere")
	}
}

func TestGoldenSA(t *testing.T) {
	p := madtest.Packet(t, "mc-member-record-set-resp")
	if p.AttributeOffset() != 7 || p.ComponentMask() != 0x1b0c7 || p.SMKey() != 0 || p.SAData()[0] != 0xff {
		t.Errorf("AttributeOffset %d, ComponentMask %x, SM_Key %x", p.AttributeOffset(), p.ComponentMask(), p.SMKey())
	}
	if m := p.ComponentMask(); !m.Has(1<<16|1) || m.Has(1<<3|1) {
		t.Error("ComponentMask.Has is wrong")
	}
}

func TestClearRMPP(t *testing.T) {
	var p, want mad.Packet
	for i := range p {
		p[i], want[i] = 0xff, 0xff
	}
	clear(want[24:36])
	if p.ClearRMPP(); p != want {
		t.Errorf("got %x", p)
	}
}

func TestDatagramQP(t *testing.T) {
	for class, want := range map[mad.Class]int{
		mad.ClassLIDRouted: 0, mad.ClassDirected: 0, mad.ClassSA: 1, mad.ClassPerf: 1, mad.ClassVendor: 1,
		mad.ClassCongestion: 1, 0: 1,
	} {
		d := mad.Datagram{Packet: mad.Packet{1: byte(class)}}
		if got := d.QP(); got != want {
			t.Errorf("%v: QP %d, want %d", class, got, want)
		}
	}
}

// Whatever arrives, of whatever length, reads without a panic, and writing back
// what was read changes nothing.
func FuzzPacket(f *testing.F) {
	for _, name := range []string{"umad-node-info-resp", "sm-info-resp", "umad-trap-128", "rmpp-first"} {
		p := madtest.Packet(f, name)
		for n := range len(p) + 1 {
			if n%16 == 0 {
				f.Add(p[:n])
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p mad.Packet
		copy(p[:], data)
		q := p
		q.SetMethod(p.Method())
		q.SetStatus(p.Status())
		q.SetTID(p.TID())
		q.SetAttrMod(p.AttrMod())
		q.SetMKey(p.MKey())
		q.SetHopPointer(p.HopPointer())
		q.SetSMKey(p.SMKey())
		q.SetAttributeOffset(p.AttributeOffset())
		q.SetComponentMask(p.ComponentMask())
		*q.Data() = *p.Data()
		*q.InitialPath() = *p.InitialPath()
		*q.ReturnPath() = *p.ReturnPath()
		*q.SAData() = *p.SAData()
		if q != p {
			t.Errorf("read and written back:\n%x, was\n%x", q, p)
		}
		_ = p.MgmtClass().String() + p.Method().String() + p.Status().String() + p.AttrID().String()
		_, _, _ = p.IsResponse(), p.Returning(), (&mad.Datagram{Packet: p}).QP()
	})
}

func TestNoAllocations(t *testing.T) {
	var p mad.Packet
	var sum int
	n := testing.AllocsPerRun(100, func() {
		r := mad.MakeRoute(1, 2, 3)
		r, _ = r.Then(4)
		p.SetDirected(&r, mad.MethodGet, 0x11, 0)
		p.SetTID(p.TID() + 1)
		p.SetStatus(p.Status())
		d := mad.Datagram{Packet: p}
		sum += d.QP() + r.Hops() + int(mad.LinkRate(mad.Width4x, mad.EDR)) + mad.Rate(17).Rank()
	})
	if n != 0 {
		t.Errorf("%v allocations (%d)", n, sum)
	}
}
