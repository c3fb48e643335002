package client

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/mad/sarec"
)

// harness is a client and the SA that it asks, which answers by the test's hand.
type harness struct {
	*testing.T
	*Client
	now    time.Duration
	tables *rmpp.Machine
}

var theSA = mad.Addr{LID: 7, QPN: 1}

func newHarness(t *testing.T) *harness {
	return &harness{t, New(Config{SA: theSA, MaxTable: 1 << 20}), 0, rmpp.New(rmpp.Config{})}
}

// asked are the packets that the client sends now.
func (b *harness) asked(want int) []mad.Datagram {
	b.Helper()
	out := b.Output(b.now, nil)
	if len(out) != want {
		b.Fatalf("%d packets, want %d", len(out), want)
	}
	return out
}

func (b *harness) ask(method mad.Method, attr mad.AttrID) mad.Datagram {
	b.Helper()
	if !b.Ask(5, &Query{Method: method, Attr: attr, Comps: 3, SMKey: 9, Record: []byte{1, 2}}) {
		b.Fatal("not asked")
	}
	d := b.asked(1)[0]
	if p := &d.Packet; d.Addr != theSA || p.Method() != method || p.AttrID() != attr || p.ComponentMask() != 3 ||
		p.SMKey() != 9 || p.SAData()[1] != 2 {
		b.Fatalf("%+v", d)
	}
	return d
}

// answer begins to answer a question with a table.
func (b *harness) answer(q mad.Datagram, records []byte) {
	b.Helper()
	q.Packet.SetMethod(q.Packet.Method() | 0x80)
	q.Packet.SetTID(q.Packet.TID() | 0x77<<32) // as Linux has it
	q.Packet.SetAttributeOffset(7)
	if err := b.tables.Send(b.now, &q, records); err != nil {
		b.Fatal(err)
	}
}

// exchange passes packets both ways until there are none; keep says which of the SA's get
// through, nil for all.
func (b *harness) exchange(keep func(n int) bool) (answers []Answer) {
	b.Helper()
	for n := 0; ; {
		down := b.tables.Drain(b.now, nil)
		for i := range down {
			if n++; keep != nil && !keep(n) {
				continue
			}
			if a, ok := b.Receive(b.now, &down[i]); ok {
				answers = append(answers, a)
			}
		}
		up := b.Output(b.now, nil)
		for i := range up {
			b.tables.Receive(b.now, &up[i])
		}
		if len(down)+len(up) == 0 {
			return answers
		}
	}
}

// A table of many packets comes whole, also when packets come twice.
func TestTable(t *testing.T) {
	b := newHarness(t)
	q := b.ask(mad.MethodGetTable, sarec.AttrMCMemberRecord)
	records := bytes.Repeat([]byte("0123456789abcdef"), 7*1000)
	b.answer(q, records)
	answers := b.exchange(nil)
	if len(answers) != 1 || answers[0].Tag != 5 || answers[0].Err != nil || answers[0].Size != 56 ||
		!bytes.Equal(answers[0].Records, records) {
		t.Fatalf("%d answers", len(answers))
	}
	again := rmpp.New(rmpp.Config{}) // that has had no acknowledgement
	q.Packet.SetMethod(mad.MethodGetTableResp)
	if err := again.Send(0, &q, []byte("once more")); err != nil {
		t.Fatal(err)
	}
	late := again.Drain(0, nil)
	late[0].Packet.SetTID(q.Packet.TID())
	if a, ok := b.Receive(b.now, &late[0]); ok {
		t.Errorf("an answer that came is taken again: %+v", a)
	}
	unasked := late[0]
	unasked.Packet.SetTID(q.Packet.TID() + 1)
	if a, ok := b.Receive(b.now, &unasked); ok || len(b.coming) > 0 {
		t.Errorf("a table that nobody asked for is taken: %+v, %d are coming", a, len(b.coming))
	}
	const linger = 10 * time.Second // for which the transfer is known
	if at, waits := b.Client.Deadline(); !waits || at != linger {
		t.Errorf("something is due at %v, %t", at, waits)
	}
	b.Expire(linger, nil)
	if at, waits := b.Client.Deadline(); waits {
		t.Errorf("something is still due at %v", at)
	}
}

// A table of which no more comes is given up when the transfer's time has run out.
func TestTableThatStops(t *testing.T) {
	b := newHarness(t)
	began := b.now
	b.answer(b.ask(mad.MethodGetTable, sarec.AttrMCMemberRecord), make([]byte, 5000))
	if answers := b.exchange(func(n int) bool { return n == 1 }); len(answers) != 0 {
		t.Fatalf("%d answers", len(answers))
	}
	for range 100 {
		at, waits := b.Client.Deadline()
		if !waits {
			t.Fatal("nothing is due, and the table has not come")
		}
		b.now = max(b.now, at)
		if answers := b.Expire(b.now, nil); len(answers) > 0 {
			if a := answers[0]; len(answers) != 1 || a.Tag != 5 || a.Err == nil || b.now-began != time.Minute {
				t.Errorf("%d answers after %v: %+v", len(answers), b.now-began, a)
			}
			return
		}
		b.Output(b.now, nil)
	}
	t.Errorf("not given up at %v", b.now)
}

// What is not answered is asked again, and given up in the end; a late answer to an earlier
// attempt is as good.
func TestSilence(t *testing.T) {
	b := newHarness(t)
	first := b.ask(mad.MethodGet, sarec.AttrNodeRecord)
	for range 3 {
		b.now += time.Second
		if a := b.Expire(b.now, nil); a != nil {
			t.Fatalf("%v: %+v", b.now, a)
		}
		b.asked(1)
	}
	b.now += time.Second
	if a := b.Expire(b.now, nil); len(a) != 1 || a[0].Tag != 5 || !errors.Is(a[0].Err, ErrNoAnswer) {
		t.Errorf("%+v", a)
	}
	first = b.ask(mad.MethodGet, sarec.AttrNodeRecord)
	b.now += time.Second
	b.Expire(b.now, nil)
	b.asked(1)
	first.Packet.SetMethod(mad.MethodGetResp)
	first.Packet.SAData()[9] = 3
	first.LID = 8
	if a, ok := b.Receive(b.now, &first); ok {
		t.Errorf("somebody else answers %+v", a)
	}
	first.LID = 7
	if a, ok := b.Receive(b.now, &first); !ok || a.Err != nil || len(a.Records) != mad.SADataSize ||
		a.Records[9] != 3 || a.Size != 0 {
		t.Errorf("%t, %+v", ok, a)
	}
	if a, ok := b.Receive(b.now, &first); ok {
		t.Errorf("answered twice: %+v", a)
	}
}

// Refusals, answers that are cut off, that are too long, and that are no RMPP.
func TestNoTable(t *testing.T) {
	b := newHarness(t)
	q := b.ask(mad.MethodGetTable, sarec.AttrServiceRecord)
	q.Packet.SetMethod(mad.MethodGetTableResp)
	q.Packet.SetStatus(mad.StatusReqInvalid)
	if a, ok := b.Receive(b.now, &q); !ok || a.Status != mad.StatusReqInvalid || a.Err != nil {
		t.Errorf("%t, %+v", ok, a)
	}
	q = b.ask(mad.MethodGetTable, sarec.AttrServiceRecord)
	q.Packet.SetMethod(mad.MethodGetTableResp)
	q.Packet[24], q.Packet[26] = rmpp.Version, 1 // as OpenSM's come from ibsim
	if a, ok := b.Receive(b.now, &q); !ok || !errors.Is(a.Err, ErrNoTable) || len(b.Output(b.now, nil)) != 0 {
		t.Errorf("%t, %+v", ok, a)
	}
	for name, size := range map[string]int{"cut off": 10_000, "too long": 2 << 20} {
		b := newHarness(t)
		b.answer(b.ask(mad.MethodGetTable, sarec.AttrServiceRecord), make([]byte, size))
		answers := b.exchange(func(n int) bool { return n < 20 })
		for end := b.now + 2*time.Minute; b.now < end && answers == nil; b.now += 100 * time.Millisecond {
			answers = b.Expire(b.now, nil)
		}
		if len(answers) != 1 || !errors.Is(answers[0].Err, ErrCut) {
			t.Errorf("%s: %+v", name, answers)
		}
		if len(b.coming) != 0 {
			t.Errorf("%s: still waited for", name)
		}
	}
}

// FuzzReceive: whatever comes with the right transaction ID, nothing breaks, and an answer
// that is given is given once.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{0x95, 24, 1, 25, 1, 26, 7, 31, 1, 35, 30})
	f.Add([]byte{0x92, 4, 2})
	f.Fuzz(func(t *testing.T, script []byte) {
		b := newHarness(t)
		q := b.ask(mad.MethodGetTable, sarec.AttrServiceRecord)
		answers := 0
		for len(script) > 2 {
			d := q
			d.Packet.SetMethod(mad.MethodGetTableResp)
			n := min(int(script[0]%16), (len(script)-1)/2)
			for i := range n {
				if at := script[1+2*i]; at < 8 || at > 15 {
					d.Packet[at] = script[2+2*i]
				}
			}
			script = script[1+2*n:]
			b.now += 10 * time.Millisecond
			if _, ok := b.Receive(b.now, &d); ok {
				answers++
			}
			b.Output(b.now, nil)
		}
		answers += len(b.Expire(b.now+time.Hour, nil))
		if answers > 1 {
			t.Fatalf("%d answers to one question", answers)
		}
	})
}
