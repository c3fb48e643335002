package sa

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
)

// A reply repeats the request's header, shows no key, is no part of RMPP, and goes
// back where the request came from.
func TestReplyHeader(t *testing.T) {
	a := New(newView(t), nil)
	var want sarec.PathRecord
	want.SetSLID(1)
	want.SetDLID(4)
	in := get(sarec.AttrPathRecord, sarec.PathSLID|sarec.PathDLID, want[:])
	in.Packet.SetSMKey(saKey)
	in.Packet.SetAttrMod(0x01020304)
	in.Packet.SetAttributeOffset(99)
	for i := 24; i < 36; i++ { // RMPP
		in.Packet[i] = 0xff
	}
	for i := 64; i < 200; i++ { // behind the record
		in.Packet.SAData()[i] = 0xff
	}
	out := mad.Datagram{TimedOut: true}
	if !a.Answer(in, &out, new(Stats)) {
		t.Fatal("no answer")
	}
	if out.Addr != in.Addr || out.TimedOut {
		t.Errorf("goes to %+v, timed out %v; want %+v", out.Addr, out.TimedOut, in.Addr)
	}
	reply := mad.Packet{
		0: 1, 1: 3, 2: 2, 3: 0x81,
		8: 0x11, 9: 0x22, 10: 0x33, 11: 0x44, 12: 0x55, 13: 0x66, 14: 0x77, 15: 0x88,
		17: 0x35, 20: 1, 21: 2, 22: 3, 23: 4, 45: 8, 55: 0x30,
	}
	if got, want := [56]byte(out.Packet[:56]), [56]byte(reply[:56]); got != want {
		t.Errorf("header\n%x, want\n%x", got, want)
	}
	if rest := [136]byte(out.Packet.SAData()[64:]); rest != [136]byte{} {
		t.Errorf("behind the record: %x", rest)
	}
}

// A refusal returns the request with the status.
func TestRefusalHeader(t *testing.T) {
	a := New(newView(t), nil)
	var rec sarec.NodeRecord
	rec.SetLID(99)
	in := get(sarec.AttrNodeRecord, sarec.NodeLID, rec[:])
	in.Packet.SetAttributeOffset(14)
	want := in.Packet
	want.SetMethod(mad.MethodGetResp)
	want.SetStatus(mad.StatusNoRecords)
	want.SetAttributeOffset(0)
	if got := ask(t, a, in); *got != want {
		t.Errorf("reply\n%x, want\n%x", *got, want)
	}
}

func TestMethodsAndAttributes(t *testing.T) {
	a := New(newView(t), nil)
	for _, c := range []struct {
		method mad.Method
		attr   mad.AttrID
		reply  mad.Method // 0 for none
		status mad.Status
	}{
		{mad.MethodGet, sarec.AttrClassPortInfo, 0x81, mad.StatusOK},
		{mad.MethodGet, sarec.AttrNodeRecord, 0x81, mad.StatusTooManyRecords},
		{mad.MethodGet, sarec.AttrPathRecord, 0x81, mad.StatusOK},
		{mad.MethodGet, sarec.AttrInformInfo, 0x81, mad.StatusBadMethodAttr},
		{mad.MethodGet, sarec.AttrTraceRecord, 0x81, mad.StatusBadMethodAttr},
		{mad.MethodGet, 0x99, 0x81, mad.StatusBadMethodAttr},
		{mad.MethodSet, sarec.AttrPathRecord, 0x81, mad.StatusBadMethodAttr},
		{mad.MethodSet, sarec.AttrClassPortInfo, 0x81, mad.StatusBadMethodAttr},
		{mad.MethodGetTable, sarec.AttrNodeRecord, 0x92, mad.StatusBadMethodAttr},
		{mad.MethodGetTraceTable, sarec.AttrTraceRecord, 0x93, mad.StatusBadMethodAttr},
		{mad.MethodGetMulti, sarec.AttrMultiPathRecord, 0x94, mad.StatusReqInvalid},
		{mad.MethodGet, sarec.AttrMultiPathRecord, 0x81, mad.StatusReqInvalid},
		{mad.MethodDelete, sarec.AttrServiceRecord, 0x95, mad.StatusBadMethodAttr},
		{mad.MethodSend, sarec.AttrNodeRecord, 0, 0},
		{mad.MethodTrap, sarec.AttrNotice, 0, 0},
		{mad.MethodReport, sarec.AttrNotice, 0, 0},
		{mad.MethodReportResp, sarec.AttrNotice, 0, 0},
		{mad.MethodTrapRepress, sarec.AttrNotice, 0, 0},
		{mad.MethodGetResp, sarec.AttrPathRecord, 0, 0},
		{0x55, sarec.AttrPathRecord, 0, 0},
	} {
		in := get(c.attr, 0, nil)
		in.Packet.SetMethod(c.method)
		var out mad.Datagram
		if ok := a.Answer(in, &out, new(Stats)); ok != (c.reply != 0) {
			t.Errorf("%v %s: answered %v", c.method, sarec.AttrName(c.attr), ok)
			continue
		}
		if c.reply != 0 && (out.Packet.Method() != c.reply || out.Packet.Status() != c.status) {
			t.Errorf("%v %s: %v %v, want %v %v", c.method, sarec.AttrName(c.attr), out.Packet.Method(),
				out.Packet.Status(), c.reply, c.status)
		}
	}
}

func TestBadVersion(t *testing.T) {
	a := New(newView(t), nil)
	for i, name := range map[int]string{0: "base", 2: "class"} {
		in := get(sarec.AttrClassPortInfo, 0, nil)
		in.Packet[i]++
		if st := ask(t, a, in).Status(); st != mad.StatusBadVersion {
			t.Errorf("%s version: %v", name, st)
		}
	}
}

// What gets no answer is counted with its reason.
func TestSilence(t *testing.T) {
	serving := New(newView(t), nil)
	for _, c := range []struct {
		name   string
		a      *Responder
		change func(in *mad.Datagram)
		want   Drop // 0 for an answer
	}{
		{"untrusted", serving, func(in *mad.Datagram) {}, 0},
		{"trusted", serving, func(in *mad.Datagram) { in.Packet.SetSMKey(saKey) }, 0},
		{"wrong key", serving, func(in *mad.Datagram) { in.Packet.SetSMKey(1) }, DropBadKey},
		{"unknown LID", serving, func(in *mad.Datagram) { in.LID = 7 }, DropUnknownRequester},
		{"LID 0", serving, func(in *mad.Datagram) { in.LID = 0 }, DropUnknownRequester},
		{"permissive LID", serving, func(in *mad.Datagram) { in.LID = mad.PermissiveLID }, DropUnknownRequester},
		{"not master", nil, func(in *mad.Datagram) {}, DropNotMaster},
		{"SMP", serving, func(in *mad.Datagram) { in.Packet[1] = byte(mad.ClassLIDRouted) }, DropNoRequest},
		{"response", serving, func(in *mad.Datagram) { in.Packet.SetMethod(mad.MethodGetResp) }, DropNoRequest},
		{"time-out report", serving, func(in *mad.Datagram) { in.TimedOut = true }, DropNoRequest},
	} {
		in := get(sarec.AttrClassPortInfo, 0, nil)
		c.change(in)
		var out mad.Datagram
		var stats Stats
		if ok := c.a.Answer(in, &out, &stats); ok != (c.want == 0) {
			t.Errorf("%s: answered %v", c.name, ok)
		}
		for d, n := range stats.Drops() {
			if (n == 1) != (d == c.want) {
				t.Errorf("%s: %d counted as %q", c.name, n, d)
			}
		}
		for k, n := range stats.Replies() {
			if (n == 1) != (c.want == 0 && k == Kind{sarec.AttrClassPortInfo, mad.StatusOK}) {
				t.Errorf("%s: %d counted as %v", c.name, n, k)
			}
		}
	}
}

// Attributes that are not served share their counters.
func TestStatsOfOtherAttributes(t *testing.T) {
	a := New(newView(t), nil)
	var stats Stats
	var out mad.Datagram
	for _, attr := range []mad.AttrID{sarec.AttrTraceRecord, 0x99} {
		a.Answer(get(attr, 0, nil), &out, &stats)
	}
	for k, n := range stats.Replies() {
		if want := (k == Kind{OtherAttr, mad.StatusBadMethodAttr}); want != (n == 2) || !want && n != 0 {
			t.Errorf("%d counted as %v", n, k)
		}
	}
}

func TestClassPortInfo(t *testing.T) {
	p := ask(t, New(newView(t), nil), get(sarec.AttrClassPortInfo, 0, nil))
	// Of OpenSM's 0x2602 and 0xB5E8 without notices; with NDR.
	want := sarec.ClassPortInfo{0: 1, 1: 2, 2: 0x26, 35: 1, 36: 0x80, 37: 1, 68: 0x80, 69: 1}
	want.SetCapabilityMask2(0x2b5e8)
	want.SetRespTimeValue(16)
	if got := sarec.ClassPortInfo(p.SAData()[:72]); got != want || p.AttributeOffset() != 9 ||
		p.Status() != mad.StatusOK {
		t.Errorf("%v, offset %d\n%x, want\n%x", p.Status(), p.AttributeOffset(), got, want)
	}
}

// Whatever 256 bytes come in, there is no panic and no allocation, and an answer
// says something.
func FuzzAnswer(f *testing.F) {
	a := New(newView(f), nil)
	for _, attr := range attrs {
		f.Add(get(attr, 0, nil).Packet[:])
		f.Add(get(attr, ^mad.ComponentMask(0), nil).Packet[:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := mad.Datagram{Addr: mad.Addr{LID: 5, QPN: 1}}
		copy(in.Packet[:], b)
		var out mad.Datagram
		var stats Stats
		answered := a.Answer(&in, &out, &stats)
		if answered && !out.Packet.IsResponse() {
			t.Errorf("answered by %v", out.Packet.Method())
		}
		if answered && (out.Packet.Status() == mad.StatusOK) != (out.Packet.AttributeOffset() != 0) {
			t.Errorf("%v with AttributeOffset %d", out.Packet.Status(), out.Packet.AttributeOffset())
		}
		if n := testing.AllocsPerRun(1, func() { a.Answer(&in, &out, &stats) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
