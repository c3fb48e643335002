package rmpp

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/madtest"
)

const (
	attrNodeRecord      mad.AttrID = 0x11
	attrMultiPathRecord mad.AttrID = 0x3a
)

var remote = mad.Addr{LID: 5, QPN: 1, SL: 2, PathBits: 3, PKeyIndex: 4,
	GRH: mad.GRH{Present: true, GID: mad.MakeGID(mad.DefaultPrefix, 7), FlowLabel: 0x12345, TrafficClass: 9,
		HopLimit: 255, GIDIndex: 1}}

// message is the header of one to or from remote.
func message(method mad.Method, attr mad.AttrID, tid mad.TID) *mad.Datagram {
	d := &mad.Datagram{Addr: remote}
	d.Packet.SetHeader(mad.ClassSA, method, attr, 0)
	d.Packet.SetTID(tid)
	return d
}

// payload is n bytes, no two segments of which are alike.
func payload(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i/mad.SADataSize*13 + 1)
	}
	return b
}

// packet is one that remote sends in a transfer.
func packet(d *mad.Datagram, typ Type, flags Flags, segment, length uint32) *mad.Datagram {
	p := *d
	setHeader(&p.Packet, typ, flags, StatusNormal, segment, length)
	return &p
}

// ack is remote's ACK of a message of ours.
func ack(d *mad.Datagram, segment, window uint32) *mad.Datagram {
	p := packet(d, TypeACK, 0, segment, window)
	p.Packet.SetMethod(p.Packet.Method() ^ 0x80)
	return p
}

// out is all that a machine has to send.
func out(m *Machine, now time.Duration) (all []mad.Datagram) {
	ds := make([]mad.Datagram, 7)
	for {
		n := m.Output(now, ds)
		if n == 0 {
			return all
		}
		all = append(all, ds[:n]...)
	}
}

// wantSegments checks that data segments from first to last come, and nothing else.
func wantSegments(t *testing.T, got []mad.Datagram, first, last uint32) {
	t.Helper()
	if len(got) != int(last+1-first) {
		t.Fatalf("%d packets, want segments %d to %d", len(got), first, last)
	}
	for i := range got {
		if p := &got[i].Packet; TypeOf(p) != TypeData || SegmentOf(p) != first+uint32(i) || got[i].Addr != remote {
			t.Fatalf("packet %d to %+v: type %d, segment %d, want segment %d", i, got[i].Addr, TypeOf(p), SegmentOf(p),
				first+uint32(i))
		}
	}
}

// wantControl checks that one ACK, STOP or ABORT comes, and nothing else.
func wantControl(t *testing.T, got []mad.Datagram, method mad.Method, typ Type, s Status, segment, window uint32) {
	t.Helper()
	if len(got) != 1 {
		t.Fatalf("%d packets, want type %d", len(got), typ)
	}
	p := &got[0].Packet
	if got[0].Addr != remote || p.Method() != method || TypeOf(p) != typ || statusOf(p) != s ||
		SegmentOf(p) != segment || lengthOf(p) != window {
		t.Fatalf("to %+v: %v type %d %q %d %d, want %v type %d %q %d %d", got[0].Addr,
			p.Method(), TypeOf(p), statusOf(p), SegmentOf(p), lengthOf(p), method, typ, s, segment, window)
	}
	if p[24] != Version || flagsOf(p) != FlagActive {
		t.Errorf("version %d, flags %d", p[24], flagsOf(p))
	}
}

// The segments and the ACK of the captured table are the golden ones.
func TestGolden(t *testing.T) {
	first, last := madtest.Packet(t, "rmpp-first"), madtest.Packet(t, "rmpp-last")
	data := make([]byte, 672) // the middle of which was not written down
	copy(data, first[headerSize:])
	copy(data[600:], last[headerSize:])

	d := &mad.Datagram{Addr: remote, Packet: first}
	d.Packet.ClearRMPP()
	m := New(Config{})
	if err := m.Send(0, d, data); err != nil {
		t.Fatal(err)
	}
	got := out(m, 0)
	wantSegments(t, got, 1, 1)
	if got[0].Packet != first || got[0].Addr != remote {
		t.Errorf("first segment\n%x, want\n%x", got[0].Packet, first)
	}
	m.Receive(0, ack(d, 1, 65))
	got = out(m, 0)
	wantSegments(t, got, 2, 4)
	if got[2].Packet != last {
		t.Errorf("last segment\n%x, want\n%x", got[2].Packet, last)
	}
	for _, g := range got[:2] {
		if p := &g.Packet; flagsOf(p) != FlagActive || lengthOf(p) != 0 ||
			[20]byte(p[36:56]) != [20]byte(first[36:56]) {
			t.Errorf("between them: % x", p[:headerSize])
		}
	}

	r := New(Config{})
	if _, ended := r.Receive(0, &mad.Datagram{Addr: remote, Packet: first}); ended {
		t.Fatal("ended with the first segment")
	}
	want := first // with its first 56 bytes
	want.SetMethod(0x12)
	want[25], want[26], want[35] = 2, 1, 65
	want[34] = 0
	clear(want.SAData()[:])
	acks := out(r, 0)
	if len(acks) != 1 || acks[0].Packet != want || acks[0].Addr != remote {
		t.Fatalf("%d ACKs\n%x, want\n%x", len(acks), acks[0].Packet, want)
	}
	r.Receive(0, &got[0])
	r.Receive(0, &got[1])
	e, ended := r.Receive(0, &got[2])
	if !ended || e.Status != StatusNormal || !bytes.Equal(e.Data, data) || e.Head != first || e.Addr != remote ||
		e.Sent {
		t.Errorf("ended %v: %+v", ended, e)
	}
	wantControl(t, out(r, 0), 0x12, TypeACK, 0, 4, 65)
}

// Lengths by the rule of the architecture.
func TestSegmentLengths(t *testing.T) {
	for _, c := range []struct {
		size, segments int
		first, last    uint32 // PayloadLength
	}{
		{0, 1, 20, 20}, {8, 1, 28, 28}, {200, 1, 220, 220}, {208, 2, 248, 28}, {336, 2, 376, 156}, {400, 2, 440, 220},
		{672, 4, 752, 92},
	} {
		m, d := New(Config{}), message(mad.MethodGetTableResp, attrNodeRecord, 1)
		if err := m.Send(0, d, payload(c.size)); err != nil {
			t.Fatal(err)
		}
		got := out(m, 0)
		m.Receive(0, ack(d, 1, 65))
		got = append(got, out(m, 0)...)
		wantSegments(t, got, 1, uint32(c.segments))
		first, last := &got[0].Packet, &got[len(got)-1].Packet
		if lengthOf(first) != c.first || lengthOf(last) != c.last || !flagsOf(first).Has(FlagFirst) ||
			!flagsOf(last).Has(FlagLast) {
			t.Errorf("%d bytes: PayloadLength %d and %d, flags %d and %d", c.size, lengthOf(first), lengthOf(last),
				flagsOf(first), flagsOf(last))
		}
		if used := Size(last); used != 36+int(c.last) {
			t.Errorf("%d bytes: %d of the last segment are in use", c.size, used)
		}
		if rest := last.SAData()[c.size-(c.segments-1)*200:]; !bytes.Equal(rest, make([]byte, len(rest))) {
			t.Errorf("%d bytes: behind them % x", c.size, rest)
		}
	}
}

// Only of a last segment of data less than the packet is in use, and only where its
// PayloadLength is one that a segment can have.
func TestSize(t *testing.T) {
	for _, c := range []struct {
		typ    Type
		flags  Flags
		length uint32
		want   int
	}{
		{TypeData, FlagActive | FlagLast, 28, 64}, {TypeData, FlagActive | FlagLast, 20, 56},
		{TypeData, FlagActive | FlagLast, 220, 256},
		{TypeData, FlagActive | FlagLast, 19, 256}, {TypeData, FlagActive | FlagLast, 221, 256},
		{TypeData, FlagActive | FlagLast, 1 << 31, 256},
		{TypeData, FlagActive | FlagFirst, 28, 256}, {TypeData, FlagActive, 0, 256}, {TypeData, FlagLast, 28, 256},
		{TypeACK, FlagActive, 65, 256}, {TypeACK, FlagActive | FlagLast, 65, 256},
		{TypeAbort, FlagActive | FlagLast, 28, 256},
	} {
		var p mad.Packet
		setHeader(&p, c.typ, c.flags, StatusNormal, 1, c.length)
		p[26] = byte(c.flags)
		if got := Size(&p); got != c.want {
			t.Errorf("type %d, flags %d, length %d: %d bytes in use, want %d", c.typ, c.flags, c.length, got, c.want)
		}
	}
}

// An acknowledgement of what is over already ends nothing, be it of a response or of a request
// that lingers until the response comes.
func TestACKAgain(t *testing.T) {
	for _, d := range []*mad.Datagram{message(mad.MethodGetTableResp, attrNodeRecord, 1),
		message(mad.MethodGetMulti, attrMultiPathRecord, 1)} {
		m := New(Config{})
		if err := m.Send(0, d, payload(8)); err != nil {
			t.Fatal(err)
		}
		out(m, 0)
		for n := range 3 {
			if e, ended := m.Receive(0, ack(d, 1, 65)); ended != (n == 0) || ended && e.Status != StatusNormal {
				t.Errorf("%v, acknowledgement %d: ended %t, %+v", d.Packet.Method(), n, ended, e)
			}
		}
	}
}

// A sender sends what the window allows, goes back when nothing comes, and gives up
// in the end.
func TestSenderWindowAndRetries(t *testing.T) {
	m := New(Config{ACKTimeout: time.Second, Retries: 2})
	d := message(mad.MethodGetTableResp, attrNodeRecord, 1)
	if err := m.Send(0, d, payload(200*200)); err != nil {
		t.Fatal(err)
	}
	wantSegments(t, out(m, 0), 1, 1)
	m.Receive(0, ack(d, 1, 4))
	wantSegments(t, out(m, 0), 2, 4)
	m.Receive(0, ack(d, 3, 4))
	wantSegments(t, out(m, 0), 5, 4)
	m.Receive(0, ack(d, 2, 6)) // overtaken
	m.Receive(0, ack(d, 3, 2+1))
	wantSegments(t, out(m, 0), 5, 4)
	m.Receive(0, ack(d, 3, 5000)) // more than a window of ours
	wantSegments(t, out(m, 0), 5, 3+Window)

	now := time.Second
	for range 2 {
		if e := m.Expire(now-1, nil); e != nil {
			t.Fatal("ended early")
		}
		wantSegments(t, out(m, now-1), 1, 0)
		m.Expire(now, nil)
		wantSegments(t, out(m, now), 4, 3+Window)
		now += time.Second
	}
	m.Receive(now-1, ack(d, 10, 5000)) // to earlier segments: it need not go back again
	wantSegments(t, out(m, now-1), 4+Window, 10+Window)
	for range 2 {
		now, _ = m.Deadline()
		m.Expire(now, nil)
		wantSegments(t, out(m, now), 11, 10+Window)
	}
	now, _ = m.Deadline()
	ended := m.Expire(now, nil)
	if len(ended) != 1 || ended[0].Status != StatusTooManyRetries || !ended[0].Sent {
		t.Fatalf("%+v", ended)
	}
	wantControl(t, out(m, now), 0x92, TypeAbort, StatusTooManyRetries, 0, 0)
	if _, waiting := m.Deadline(); waiting || m.Sending(d) {
		t.Error("the transfer is not over")
	}
	if s := m.Stats(); s.Failed[StatusTooManyRetries] != 1 || s.Repeated != 4 || s.Bytes != 0 || s.UnderWay != 0 {
		t.Errorf("%+v", s)
	}
}

// What is acknowledged makes the sender wait for as long as after it sent, though the window
// lets it send nothing more.
func TestACKDefersTimeout(t *testing.T) {
	m := New(Config{ACKTimeout: time.Second, Retries: 2})
	d := message(mad.MethodGetTableResp, attrNodeRecord, 1)
	if err := m.Send(0, d, payload(2000)); err != nil {
		t.Fatal(err)
	}
	wantSegments(t, out(m, 0), 1, 1)
	m.Receive(900*time.Millisecond, ack(d, 1, 1))
	if at, ok := m.Deadline(); !ok || at != 1900*time.Millisecond || len(out(m, at-1)) > 0 {
		t.Errorf("waits until %v", at)
	}
	m.Receive(1800*time.Millisecond, ack(d, 1, 1)) // says nothing new
	if at, _ := m.Deadline(); at != 1900*time.Millisecond {
		t.Errorf("a repeated ACK has it wait until %v", at)
	}
}

// A peer that may know no RMPP gets the first segment once, as OpenSM's clients at ibsim
// do; one that has acknowledged it is sent the rest as any other.
func TestPlainPeers(t *testing.T) {
	m := New(Config{ACKTimeout: time.Second, PlainPeers: true})
	unresponsive, speaks := message(mad.MethodGetTableResp, attrNodeRecord, 1),
		message(mad.MethodGetTableResp, attrNodeRecord, 2)
	for _, d := range []*mad.Datagram{unresponsive, speaks} {
		if err := m.Send(0, d, payload(2000)); err != nil {
			t.Fatal(err)
		}
		wantSegments(t, out(m, 0), 1, 1)
	}
	m.Receive(0, ack(speaks, 1, 2))
	wantSegments(t, out(m, 0), 2, 2)
	ended := m.Expire(time.Second, nil)
	if len(ended) != 1 || ended[0].Head.TID() != unresponsive.Packet.TID() || ended[0].Status != StatusTooManyRetries {
		t.Errorf("%+v", ended)
	}
	got := out(m, time.Second)
	wantSegments(t, got, 2, 2)
	if got[0].Packet.TID() != speaks.Packet.TID() {
		t.Error("an unresponsive receiver is sent more")
	}
	// A client that asks again with the same TID gets an answer again, unless it has begun to take it.
	for range 2 {
		if err := m.Send(time.Second, unresponsive, payload(100)); err != nil || m.Sending(unresponsive) {
			t.Fatal(err)
		}
		wantSegments(t, out(m, time.Second), 1, 1)
	}
	if err := m.Send(time.Second, speaks, payload(100)); err != ErrUnderWay || !m.Sending(speaks) {
		t.Errorf("once more to a peer that is sending: %v", err)
	}
	// Nor do such messages fill what a peer may have under way.
	for tid := range mad.TID(1000) {
		if err := m.Send(time.Second, message(mad.MethodGetTableResp, attrNodeRecord, 10+tid),
			payload(100)); err != nil {
			t.Fatalf("message %d: %v", tid, err)
		}
		wantSegments(t, out(m, time.Second), 1, 1)
	}
	if !m.Sending(speaks) || m.Stats().UnderWay != m.cfg.MaxPerPeer {
		t.Errorf("%+v", m.Stats())
	}
}

// Whatever breaks a rule gets the status for it.
func TestStatuses(t *testing.T) {
	table := message(mad.MethodGetTableResp, attrNodeRecord, 1)
	request := message(mad.MethodGetMulti, attrMultiPathRecord, 2)
	data := func(flags Flags, segment, length uint32) *mad.Datagram {
		return packet(request, TypeData, flags, segment, length)
	}
	alter := func(d *mad.Datagram, i int, v byte) *mad.Datagram { d.Packet[i] = v; return d }
	stop := func(d *mad.Datagram, typ Type, s Status) *mad.Datagram {
		p := packet(d, typ, 0, 0, 0)
		p.Packet[27] = byte(s)
		return p
	}
	fromReceiver := message(mad.MethodGetTable, attrNodeRecord, 1)
	first := func() *mad.Datagram { return data(FlagFirst, 1, 3*220) }

	const ours, theirs = 0x94, 0x12 // methods of answers to their message, to their ACKs ^ 0x80
	for _, c := range []struct {
		name   string
		in     []*mad.Datagram // the last is wrong
		method mad.Method      // of the answer; 0 for none
		status Status
		ends   bool
	}{
		{"ACK: window below segment", []*mad.Datagram{ack(table, 1, 0)}, 0x92, StatusWindowTooSmall, true},
		{"ACK: segment not sent", []*mad.Datagram{ack(table, 2, 9)}, 0x92, StatusSegmentTooBig, true},
		{"ACK: segment beyond the last", []*mad.Datagram{ack(table, 1, 65), ack(table, 6, 65)}, 0x92,
			StatusSegmentTooBig, true},
		{"ACK: illegal status", []*mad.Datagram{alter(ack(table, 1, 65), 27, 1)}, 0x92, StatusBadStatus, true},
		{"ACK: version", []*mad.Datagram{alter(ack(table, 1, 65), 24, 2)}, 0x92, StatusBadVersion, true},
		{"bad type", []*mad.Datagram{alter(ack(table, 1, 65), 25, 5)}, 0x92, StatusBadType, true},
		{"type 0", []*mad.Datagram{alter(ack(table, 1, 65), 25, 0)}, 0x92, StatusBadType, true},
		{"STOP", []*mad.Datagram{stop(fromReceiver, TypeStop, StatusResourcesExceeded)}, 0, StatusResourcesExceeded,
			true},
		{"STOP with another status", []*mad.Datagram{stop(fromReceiver, TypeStop, 118)}, 0, StatusBadStatus, true},
		{"ABORT", []*mad.Datagram{stop(fromReceiver, TypeAbort, StatusTotalTime)}, 0, StatusTotalTime, true},
		{"ABORT by vendor", []*mad.Datagram{stop(fromReceiver, TypeAbort, 200)}, 0, 200, true},
		{"ABORT with another status", []*mad.Datagram{stop(fromReceiver, TypeAbort, 5)}, 0, StatusBadStatus, true},
		{"ABORT by the sender", []*mad.Datagram{first(), stop(request, TypeAbort, StatusTooManyRetries)}, 0,
			StatusTooManyRetries, true},
		{"STOP of nothing", []*mad.Datagram{stop(message(mad.MethodGetTable, attrNodeRecord, 9), TypeStop, 1)}, 0, 0,
			false},

		{"FIRST missing", []*mad.Datagram{data(0, 1, 3*220)}, ours, StatusBadFirst, false},
		{"FIRST in segment 2", []*mad.Datagram{first(), data(FlagFirst, 2, 0)}, ours, StatusBadFirst, true},
		{"segment 0", []*mad.Datagram{data(0, 0, 0)}, ours, StatusBadFirst, false},
		{"segment beyond the window", []*mad.Datagram{data(FlagFirst, 1, 300*220), data(0, 66, 0)}, ours,
			StatusSegmentTooBig, true},
		{"DATA: illegal status", []*mad.Datagram{first(), alter(data(0, 2, 0), 27, 118)}, ours, StatusBadStatus, true},
		{"DATA: version", []*mad.Datagram{first(), alter(data(0, 2, 0), 24, 0)}, ours, StatusBadVersion, true},
		{"one segment too short", []*mad.Datagram{data(FlagFirst|FlagLast, 1, 19)}, ours, StatusBadLast, true},
		{"one segment too long", []*mad.Datagram{data(FlagFirst|FlagLast, 1, 221)}, ours, StatusBadLast, true},
		{"last too short", []*mad.Datagram{data(FlagFirst, 1, 0), data(FlagLast, 2, 19)}, ours, StatusBadLast, true},
		{"last too long", []*mad.Datagram{data(FlagFirst, 1, 0), data(FlagLast, 2, 221)}, ours, StatusBadLast, true},
		{"last too early", []*mad.Datagram{first(), data(FlagLast, 2, 220)}, ours, StatusBadLast, true},
		{"last missing", []*mad.Datagram{first(), data(0, 3, 0)}, ours, StatusBadLast, true},
		{"beyond PayloadLength", []*mad.Datagram{first(), data(0, 4, 0)}, ours, StatusBadLast, true},
		{"last of another length", []*mad.Datagram{first(), data(FlagLast, 3, 100)}, ours, StatusBadLast, true},
		{"two lasts", []*mad.Datagram{data(FlagFirst, 1, 0), data(FlagLast, 4, 220), data(FlagLast, 3, 220)}, ours,
			StatusBadLast, true},
		{"behind the last", []*mad.Datagram{data(FlagFirst, 1, 0), data(FlagLast, 4, 220), data(0, 5, 0)}, ours,
			StatusBadLast, true},
		{"last before others", []*mad.Datagram{data(FlagFirst, 1, 0), data(0, 5, 0), data(FlagLast, 4, 220)}, ours,
			StatusBadLast, true},
		{"segment 2 of nothing", []*mad.Datagram{data(0, 2, 0)}, 0, 0, false},
	} {
		m := New(Config{MaxMessage: 1 << 20})
		if err := m.Send(0, table, payload(1000)); err != nil {
			t.Fatal(err)
		}
		out(m, 0)
		var e Ended
		var ended bool
		for i, d := range c.in {
			out(m, 0)
			if e, ended = m.Receive(0, d); ended && i < len(c.in)-1 {
				t.Fatalf("%s: ended early with %q", c.name, e.Status)
			}
		}
		if ended != c.ends || ended && e.Status != c.status {
			t.Errorf("%s: ended %v with %q, want %v, %q", c.name, ended, e.Status, c.ends, c.status)
		}
		if got := out(m, 0); c.method == 0 && len(got) > 0 {
			t.Errorf("%s: answered", c.name)
		} else if c.method != 0 {
			wantControl(t, got, c.method, TypeAbort, c.status, 0, 0)
		}
	}
}

// A receiver acknowledges the first segment, each window's last and the message's last,
// and again what comes again.
func TestReceiverACKs(t *testing.T) {
	m := New(Config{Linger: time.Minute})
	d := message(mad.MethodGetMulti, attrMultiPathRecord, 2)
	const count = 70
	send := func(n uint32) (Ended, bool) {
		var flags Flags
		var length uint32
		switch n {
		case 1:
			flags, length = FlagFirst, count*220
		case count:
			flags, length = FlagLast, 220
		}
		return m.Receive(0, packet(d, TypeData, flags, n, length))
	}
	send(1)
	wantControl(t, out(m, 0), 0x94, TypeACK, 0, 1, 65)
	for n := uint32(2); n <= 64; n++ {
		send(n)
	}
	wantSegments(t, out(m, 0), 1, 0)
	send(30)
	wantControl(t, out(m, 0), 0x94, TypeACK, 0, 64, 65)
	send(65)
	wantControl(t, out(m, 0), 0x94, TypeACK, 0, 65, 129)
	for _, n := range []uint32{67, 70, 67, 69, 68} { // 66 is missing
		if _, ended := send(n); ended {
			t.Fatalf("ended with segment %d", n)
		}
	}
	wantSegments(t, out(m, 0), 1, 0)
	if e, ended := send(66); !ended || len(e.Data) != count*200 {
		t.Fatalf("ended %v with %d bytes", ended, len(e.Data))
	}
	wantControl(t, out(m, 0), 0x94, TypeACK, 0, 70, 129)
	for _, n := range []uint32{70, 1} {
		send(n)
		wantControl(t, out(m, 0), 0x94, TypeACK, 0, 70, 129)
	}
	at, _ := m.Deadline()
	m.Expire(at, nil)
	send(70)
	wantSegments(t, out(m, 0), 1, 0)
	if s := m.Stats(); at != time.Minute || s.Received != 1 || s.Duplicates != 4 || s.Unmatched != 1 ||
		s.Segments != count || s.Bytes != 0 {
		t.Errorf("deadline %v, %+v", at, s)
	}
}

func TestReceiverTotalTime(t *testing.T) {
	m := New(Config{})
	m.Receive(0, packet(message(mad.MethodGetMulti, attrMultiPathRecord, 2), TypeData, FlagFirst, 1, 0))
	out(m, 0)
	at, _ := m.Deadline()
	if ended := m.Expire(at, nil); at != 40*time.Second || len(ended) != 1 || ended[0].Status != StatusTotalTime ||
		ended[0].Data != nil {
		t.Errorf("at %v: %+v", at, ended)
	}
	wantControl(t, out(m, at), 0x94, TypeAbort, StatusTotalTime, 0, 0)
}

// A request gives its receiver the turn, as often as it is asked to, until the
// response comes.
func TestDoubleSided(t *testing.T) {
	m := New(Config{})
	request := message(mad.MethodGetMulti, attrMultiPathRecord, 3)
	response := message(mad.MethodGetMultiResp, 0x35, 3)
	if err := m.Send(0, request, payload(232)); err != nil {
		t.Fatal(err)
	}
	wantSegments(t, out(m, 0), 1, 1)
	m.Receive(0, ack(request, 1, 65))
	wantSegments(t, out(m, 0), 2, 2)
	if e, ended := m.Receive(0, ack(request, 2, 65)); !ended || !e.Sent || e.Status != StatusNormal {
		t.Fatalf("ended %v: %+v", ended, e)
	}
	wantControl(t, out(m, 0), mad.MethodGetMulti, TypeACK, 0, 0, 1)
	m.Receive(0, ack(request, 2, 65))
	wantControl(t, out(m, 0), mad.MethodGetMulti, TypeACK, 0, 0, 1)
	if e, ended := m.Receive(0, packet(response, TypeData, FlagFirst|FlagLast, 1, 84)); !ended || len(e.Data) != 64 {
		t.Fatalf("ended %v: %+v", ended, e)
	}
	wantControl(t, out(m, 0), mad.MethodGetMulti, TypeACK, 0, 1, 1)
	m.Receive(0, ack(request, 2, 65))
	wantSegments(t, out(m, 0), 1, 0)
}

// A response that begins before the last ACK of its request has come stands for it.
func TestResponseEndsRequest(t *testing.T) {
	m := New(Config{})
	request := message(mad.MethodGetMulti, attrMultiPathRecord, 3)
	if err := m.Send(0, request, payload(100)); err != nil {
		t.Fatal(err)
	}
	wantSegments(t, out(m, 0), 1, 1)
	m.Receive(0, packet(message(mad.MethodGetMultiResp, 0x35, 3), TypeData, FlagFirst, 1, 0))
	wantControl(t, out(m, 0), mad.MethodGetMulti, TypeACK, 0, 1, 65)
	if m.Sending(request) {
		t.Error("the request is still being sent")
	}
	at, _ := m.Deadline()
	for _, e := range m.Expire(at, nil) {
		t.Errorf("%+v", e)
	}
}

// The turn to respond is taken by a response under way, and missed by none.
func TestTurnToRespond(t *testing.T) {
	m := New(Config{})
	request := message(mad.MethodGetMulti, attrMultiPathRecord, 4)
	if _, ended := m.Receive(0, packet(request, TypeData, FlagFirst|FlagLast, 1, 76)); !ended {
		t.Fatal("not received")
	}
	wantControl(t, out(m, 0), 0x94, TypeACK, 0, 1, 1)
	turn := packet(request, TypeACK, 0, 0, 1)
	m.Receive(0, turn)
	response := message(mad.MethodGetMultiResp, 0x35, 4)
	if err := m.Send(0, response, payload(500)); err != nil {
		t.Fatal(err)
	}
	m.Receive(0, turn)
	wantSegments(t, out(m, 0), 1, 1)
	m.Receive(0, ack(response, 1, 65))
	m.Receive(0, turn)
	wantSegments(t, out(m, 0), 2, 3)
	if e, ended := m.Receive(0, ack(response, 3, 65)); !ended || e.Status != StatusNormal {
		t.Errorf("ended %v: %+v", ended, e)
	}
}

// Every limit holds, is counted, and gives way when transfers end.
func TestLimits(t *testing.T) {
	m := New(Config{MaxTransfers: 4, MaxPerPeer: 2, MaxBytes: 3000, MaxMessage: 1000})
	send := func(lid mad.LID, tid mad.TID, size int) error {
		d := message(mad.MethodGetTableResp, attrNodeRecord, tid)
		d.LID, d.QPN = lid, uint32(tid) // a client with many queue pairs may not have more
		return m.Send(0, d, payload(size))
	}
	receive := func(lid mad.LID, tid mad.TID, length uint32) int {
		d := message(mad.MethodGetMulti, attrMultiPathRecord, tid)
		d.LID = lid
		before := m.Stats().UnderWay
		m.Receive(0, packet(d, TypeData, FlagFirst, 1, length))
		return m.Stats().UnderWay - before
	}
	for _, c := range []struct {
		lid  mad.LID
		tid  mad.TID
		size int
		want error
	}{
		{1, 1, 1000, nil}, {1, 1, 1000, ErrUnderWay}, {1, 2, 1000, nil}, {1, 3, 10, ErrPeerFull},
		{2, 1, 1001, ErrFull}, {2, 1, 799, nil}, {3, 1, 0, nil}, {4, 1, 0, ErrFull},
	} {
		if err := send(c.lid, c.tid, c.size); !errors.Is(err, c.want) {
			t.Errorf("LID %d, TID %d, %d bytes: %v, want %v", c.lid, c.tid, c.size, err, c.want)
		}
	}
	if n := receive(5, 1, 0); n != 0 {
		t.Error("a transfer too many is received")
	}
	done := message(mad.MethodGetTableResp, attrNodeRecord, 1)
	done.LID = 3
	out(m, 0)
	m.Receive(0, ack(done, 1, 1))
	if n := receive(5, 1, payloadLength(1001)); n != 0 {
		t.Error("a message too long is received")
	}
	out5 := out(m, 0)
	if len(out5) != 1 || TypeOf(&out5[0].Packet) != TypeStop || statusOf(&out5[0].Packet) != StatusResourcesExceeded {
		t.Errorf("it is answered with %d packets", len(out5))
	}
	if n := receive(5, 1, 0); n != 1 {
		t.Error("not received where there is room")
	}
	d := message(mad.MethodGetMulti, attrMultiPathRecord, 1)
	d.LID = 5
	if e, ended := m.Receive(0, packet(d, TypeData, 0, 2, 0)); !ended || e.Status != StatusResourcesExceeded {
		t.Errorf("beyond MaxBytes: ended %v, %q", ended, e.Status)
	}
	s := m.Stats()
	if s.OverCount != 2 || s.OverPeer != 1 || s.OverBytes != 2 || s.TooBig != 1 || s.UnderWay != 3 || s.Bytes != 2799 {
		t.Errorf("%+v", s)
	}
}

// The zero Config means what its comments state.
func TestDefaults(t *testing.T) {
	want := Config{ACKTimeout: 500 * time.Millisecond, Retries: 5, TotalTime: 40 * time.Second,
		Linger:       10 * time.Second,
		MaxTransfers: 4096, MaxPerPeer: 64, MaxBytes: 268_435_456, MaxMessage: 65_536}
	if got := (Config{}).withDefaults(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	want.Retries = 0
	if got := (Config{Retries: -1}).withDefaults(); got != want {
		t.Errorf("without retries: %+v, want %+v", got, want)
	}
}

// A flood of half-open transfers stays within the limits, and when it is over all is
// forgotten.
func TestFlood(t *testing.T) {
	m := New(Config{})
	for i := range 100_000 {
		d := message(mad.MethodGetMulti, attrMultiPathRecord, mad.TID(i))
		d.LID = mad.LID(1 + i%1000)
		flags := FlagFirst
		if i%3 == 0 {
			flags |= FlagLast
		}
		m.Receive(0, packet(d, TypeData, flags, 1, 220*uint32(1+i%3)))
		if i%5 == 0 {
			out(m, 0)
		}
	}
	lost := m.Stats().ControlLost
	for i := range 2 * maxControl { // each is refused with an abort, which nobody takes
		d := message(mad.MethodGetMulti, attrMultiPathRecord, mad.TID(200_000+i))
		d.LID = 7
		m.Receive(0, packet(d, TypeData, FlagFirst, 1, payloadLength(1<<20)))
	}
	if got := m.Stats().ControlLost - lost; got < maxControl || got > 2*maxControl || m.control.len() != maxControl {
		t.Errorf("%d aborts wait, %d are lost", m.control.len(), got)
	}
	if s := m.Stats(); s.UnderWay > 4096 || s.Bytes > 4096*200 || len(m.transfers) > 2*4096 || s.OverCount == 0 ||
		m.control.len() > maxControl {
		t.Errorf("%d transfers known, %+v", len(m.transfers), s)
	}
	for at, ok := m.Deadline(); ok; at, ok = m.Deadline() {
		m.Expire(at, nil)
	}
	out(m, 0)
	if len(m.transfers) != 0 || len(m.peers) != 0 || m.Stats().Bytes != 0 {
		t.Errorf("%d transfers, %d peers, %d bytes left", len(m.transfers), len(m.peers), m.Stats().Bytes)
	}
}

// Hosts behind a router share a LID: their GIDs distinguish transfers with the same transaction ID. A packet without a
// GRH belongs to the transfer that there is.
func TestGIDs(t *testing.T) {
	from := func(d *mad.Datagram, host mad.GUID) *mad.Datagram {
		c := *d
		c.GRH.GID = mad.MakeGID(mad.DefaultPrefix, host)
		return &c
	}
	m := New(Config{})
	table := message(mad.MethodGetTableResp, attrNodeRecord, 1)
	a, b := from(table, 1), from(table, 2)
	for _, d := range []*mad.Datagram{a, b} {
		if err := m.Send(0, d, payload(1000)); err != nil {
			t.Fatal(err)
		}
	}
	if got := out(m, 0); len(got) != 2 || got[0].GRH != a.GRH || got[1].GRH != b.GRH {
		t.Fatalf("%d packets", len(got))
	}
	m.Receive(0, ack(a, 1, 64))
	if got := out(m, 0); len(got) != 4 || got[0].GRH != a.GRH {
		t.Fatalf("%d packets to the host that has acknowledged the first", len(got))
	}
	m.Receive(0, ack(from(table, 3), 1, 64))
	if got := out(m, 0); len(got) != 0 {
		t.Errorf("%d packets after an ACK of a third host", len(got))
	}
	if end, ok := m.Receive(0, ack(a, 5, 64)); !ok || end.GRH != a.GRH || end.Status != StatusNormal {
		t.Errorf("one host has all: %+v", end)
	}
	bare := ack(b, 1, 64)
	bare.GRH = mad.GRH{}
	m.Receive(0, bare)
	if got := out(m, 0); len(got) != 4 || got[0].GRH != b.GRH {
		t.Errorf("%d packets after an ACK without a GRH", len(got))
	}
	bare = ack(b, 5, 64)
	bare.GRH = mad.GRH{}
	if end, ok := m.Receive(0, bare); !ok || end.GRH != b.GRH {
		t.Errorf("the other host has all: %+v", end)
	}
	// Messages that come in.
	request := message(mad.MethodGetMulti, attrMultiPathRecord, 2)
	for host := range mad.GUID(2) {
		m.Receive(0, packet(from(request, host+1), TypeData, FlagFirst, 1, 0))
	}
	out(m, 0)
	for host := range mad.GUID(2) {
		last := packet(from(request, host+1), TypeData, FlagLast, 2, 40+extra)
		last.Packet.SAData()[0] = byte(host)
		if host == 1 {
			last.GRH = mad.GRH{}
		}
		end, ok := m.Receive(0, last)
		if !ok || end.GRH.GID != mad.MakeGID(mad.DefaultPrefix, host+1) || end.Data[mad.SADataSize] != byte(host) {
			t.Errorf("from host %d: %+v", host+1, end.Addr)
		}
	}
	m.Expire(time.Hour, nil)
	if len(m.transfers) != 0 || len(m.withGRH) != 0 {
		t.Errorf("%d transfers stay, %d by GID", len(m.transfers), len(m.withGRH))
	}
}
