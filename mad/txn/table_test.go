package txn

import (
	"testing"
	"time"

	"ibsm/mad"
)

const ms = time.Millisecond

// request is a NodeInfo Get one hop out of port.
func request(port uint8) *Request {
	return &Request{Route: mad.MakeRoute(port), Method: mad.MethodGet, Attr: 0x11, Tag: uint64(port)}
}

// reply is what a well-behaved agent makes of a request: in a directed route's
// reply the D bit is set (IBA 14.2.2), and all but Set, Trap and their kind is
// answered by the method with its upper bit set (IBA 13.4.5).
func reply(d mad.Datagram) mad.Datagram {
	switch m := d.Packet.Method(); m {
	case mad.MethodSet:
		d.Packet.SetMethod(mad.MethodGetResp)
	case mad.MethodTrap:
		d.Packet.SetMethod(mad.MethodTrapRepress)
	default:
		d.Packet.SetMethod(m | 0x80)
	}
	if d.Packet.MgmtClass() == mad.ClassDirected {
		d.Packet.SetReturning()
	}
	return d
}

// submit hands requests to a table and returns what it sends at once.
func submit(t *testing.T, tab *Table, now time.Duration, requests ...*Request) []mad.Datagram {
	t.Helper()
	for _, r := range requests {
		if !tab.Submit(r) {
			t.Fatalf("request %d refused", r.Tag)
		}
	}
	return tab.Output(now, nil)
}

func TestReply(t *testing.T) {
	tab := New(Config{})
	out := submit(t, tab, 1*ms, request(7))
	if len(out) != 1 || out[0].Packet.TID() == 0 || out[0].Packet.TID()>>32 != 0 || out[0].LID != mad.PermissiveLID {
		t.Fatalf("output %v", out)
	}
	if d, ok := tab.Deadline(); !ok || d != 11*ms {
		t.Fatalf("deadline %v %v, want 11ms", d, ok)
	}
	tab.Expire(11*ms, nil)
	if d, ok := tab.Deadline(); !ok || d != 201*ms {
		t.Fatalf("deadline %v %v after it left the window, want 201ms", d, ok)
	}
	r := reply(out[0])
	r.Packet.Data()[5] = 42
	r.Packet.SetStatus(mad.StatusBadField)
	r.Packet.SetTID(r.Packet.TID() | 0xdeadbeef<<32) // the upper half is the kernel's
	o, ok := tab.Match(3*ms, &r)
	want := Outcome{Tag: 7, Method: mad.MethodGet, Attr: 0x11, Result: Replied,
		Status: mad.StatusBadField, Data: *r.Packet.Data(), RTT: 2 * ms, Attempts: 1}
	if !ok || o != want {
		t.Fatalf("outcome %+v, want %+v", o, want)
	}
	if _, ok := tab.Match(3*ms, &r); ok || tab.Stats().Duplicates != 1 {
		t.Fatalf("duplicate taken: %+v", tab.Stats())
	}
	if _, waiting := tab.Deadline(); waiting || tab.Outstanding() != 0 {
		t.Fatal("still outstanding")
	}
}

func TestRetriesThenTimeout(t *testing.T) {
	tab := New(Config{})
	tids := map[mad.TID]bool{}
	tab.Submit(request(1))
	for attempt := range 4 {
		now := time.Duration(attempt) * 200 * ms
		if o := tab.Expire(now, nil); len(o) != 0 {
			t.Fatalf("attempt %d: gave up with %v", attempt, o)
		}
		out := tab.Output(now, nil)
		if len(out) != 1 || tids[out[0].Packet.TID()] {
			t.Fatalf("attempt %d: sent %d packets, IDs so far %v", attempt, len(out), tids)
		}
		tids[out[0].Packet.TID()] = true
		if o := tab.Expire(now+200*ms-1, nil); len(o) != 0 || len(tab.Output(now+200*ms-1, nil)) != 0 {
			t.Fatalf("attempt %d: ended a moment too early", attempt)
		}
	}
	o := tab.Expire(800*ms, nil)
	if len(o) != 1 || o[0].Result != TimedOut || o[0].Attempts != 4 || o[0].Tag != 1 {
		t.Fatalf("outcome %+v", o)
	}
	if s := tab.Stats(); s.Sent != 4 || s.Retries != 3 || s.Expired != 4 || s.TimedOut != 1 {
		t.Fatalf("stats %+v", s)
	}
}

func TestLateReplyToEarlierAttempt(t *testing.T) {
	for _, resent := range []bool{false, true} {
		tab := New(Config{})
		first := submit(t, tab, 0, request(1))[0]
		tab.Expire(200*ms, nil)
		if resent {
			tab.Output(200*ms, nil)
		}
		r := reply(first)
		o, ok := tab.Match(230*ms, &r)
		rtt := 230 * ms
		if resent {
			rtt = 0 // when the first was sent is forgotten
		}
		if !ok || o.Result != Replied || o.RTT != rtt || tab.Stats().Slow != uint64(o.Attempts-1) {
			t.Errorf("resent %v: outcome %+v %v, stats %+v", resent, o, ok, tab.Stats())
		}
		if out := tab.Output(230*ms, nil); len(out) != 0 || tab.Outstanding() != 0 {
			t.Errorf("resent %v: the answered request goes on", resent)
		}
	}
}

func TestMatchRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(d *mad.Datagram)
		count func(s Stats) uint64
	}{
		{"another class", func(d *mad.Datagram) { d.Packet[1] = 0x01 }, func(s Stats) uint64 { return s.Mismatched }},
		{"another attribute", func(d *mad.Datagram) { d.Packet[17] ^= 1 }, func(s Stats) uint64 {
			return s.Mismatched
		}},
		{"another modifier", func(d *mad.Datagram) {
			d.Packet.SetAttrMod(1)
		}, func(s Stats) uint64 { return s.Mismatched }},
		{"another method", func(d *mad.Datagram) {
			d.Packet.SetMethod(mad.MethodGetTableResp)
		}, func(s Stats) uint64 { return s.Mismatched }},
		{"another hop count", func(d *mad.Datagram) { d.Packet[7] = 2 }, func(s Stats) uint64 { return s.Mismatched }},
		{"hop count beyond the path", func(d *mad.Datagram) { d.Packet[7] = 255 }, func(s Stats) uint64 {
			return s.Mismatched
		}},
		{"another path", func(d *mad.Datagram) {
			d.Packet.InitialPath()[1] = 9
		}, func(s Stats) uint64 { return s.Mismatched }},
		{"the request itself", func(d *mad.Datagram) {
			d.Packet.SetMethod(mad.MethodGet)
		}, func(s Stats) uint64 { return s.Unmatched }},
		{"no such slot", func(d *mad.Datagram) {
			d.Packet.SetTID(makeTID(1, 0, 77))
		}, func(s Stats) uint64 { return s.Unmatched }},
		{"ID 0", func(d *mad.Datagram) { d.Packet.SetTID(0) }, func(s Stats) uint64 { return s.Unmatched }},
		{"an attempt to come", func(d *mad.Datagram) {
			d.Packet.SetTID(makeTID(2, 0, 1))
		}, func(s Stats) uint64 { return s.Unmatched }},
		{"an old generation", func(d *mad.Datagram) {
			d.Packet.SetTID(makeTID(1, 0xfff0, 1))
		}, func(s Stats) uint64 { return s.Stale }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tab := New(Config{})
			r := reply(submit(t, tab, 0, request(1))[0])
			good := r
			tt.spoil(&r)
			if o, ok := tab.Match(ms, &r); ok || tt.count(tab.Stats()) != 1 {
				t.Fatalf("outcome %+v %v, stats %+v", o, ok, tab.Stats())
			}
			if _, ok := tab.Match(ms, &good); !ok {
				t.Fatal("the good reply is not taken any more")
			}
		})
	}
}

func TestPathBeyondHopCountIsIgnored(t *testing.T) {
	tab := New(Config{})
	r := reply(submit(t, tab, 0, request(1))[0])
	r.Packet.InitialPath()[2] = 0xaa
	if _, ok := tab.Match(ms, &r); !ok {
		t.Fatalf("stats %+v", tab.Stats())
	}
}

func TestKindsOfRequest(t *testing.T) {
	var sa mad.Packet
	sa.SetHeader(mad.ClassSA, mad.MethodGetTable, 0x35, 3)
	for _, tt := range []struct {
		name string
		r    Request
		want mad.Method
		mkey mad.MKey
	}{
		{"directed Set", Request{Method: mad.MethodSet, Attr: 0x15, Mod: 2, MKey: 5}, mad.MethodGetResp, 5},
		{"Set by LID", Request{Class: mad.ClassLIDRouted, Addr: mad.Addr{LID: 3}, Method: mad.MethodSet, Attr: 0x20,
			MKey: 6}, mad.MethodGetResp, 6},
		{"Trap", Request{Class: mad.ClassLIDRouted, Addr: mad.Addr{LID: 3}, Method: mad.MethodTrap, Attr: 2},
			mad.MethodTrapRepress, 0},
		{"counters", Request{Class: mad.ClassPerf, Addr: mad.Addr{LID: 3, QPN: 1}, Method: mad.MethodGet, Attr: 0x12,
			MKey: 7}, mad.MethodGetResp, 0},
		{"records", Request{Packet: &sa, Addr: mad.Addr{LID: 1, QPN: 1, SL: 4}}, mad.MethodGetTableResp, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.r.Data[0] = 9
			tab := New(Config{})
			d := submit(t, tab, 0, &tt.r)[0]
			p := d.Packet
			if tt.r.Packet != nil {
				p.SetTID(0)
				if p != sa || d.Addr != tt.r.Addr {
					t.Fatalf("sent %v to %v", p, d.Addr)
				}
			} else if p.Data()[0] != 9 || p.MKey() != tt.mkey || p.AttrID() != tt.r.Attr || p.AttrMod() != tt.r.Mod {
				t.Fatalf("sent %v", p)
			}
			r := reply(d)
			o, ok := tab.Match(ms, &r)
			if !ok || r.Packet.Method() != tt.want || o.Attr != d.Packet.AttrID() {
				t.Fatalf("reply %v: outcome %+v %v", r.Packet.Method(), o, ok)
			}
		})
	}
}

func TestBusyIsAskedAgain(t *testing.T) {
	tab := New(Config{Retries: 1})
	busy := reply(submit(t, tab, 0, request(1))[0])
	busy.Packet.SetStatus(mad.StatusBusy)
	if _, ok := tab.Match(ms, &busy); ok || len(tab.Output(ms, nil)) != 0 {
		t.Fatal("a busy node is asked again at once, or not at all")
	}
	if len(tab.Expire(200*ms, nil)) != 0 {
		t.Fatal("gave up")
	}
	out := tab.Output(200*ms, nil)
	if len(out) != 1 {
		t.Fatal("not asked again")
	}
	busy = reply(out[0])
	busy.Packet.SetStatus(mad.StatusBusy)
	o, ok := tab.Match(201*ms, &busy)
	if !ok || o.Status != mad.StatusBusy || o.Attempts != 2 {
		t.Fatalf("outcome %+v %v", o, ok)
	}
	if s := tab.Stats(); s.Busy != 1 || s.Expired != 0 || s.Cuts != 0 {
		t.Fatalf("stats %+v", s)
	}
}

func TestBounce(t *testing.T) {
	tab := New(Config{Retries: 1})
	d := submit(t, tab, 0, request(1))[0]
	clear(d.Packet[24:]) // the kernel returns the common header only
	d.TimedOut = true
	if _, ok := tab.Match(ms, &d); ok {
		t.Fatal("ended after the first attempt")
	}
	if _, ok := tab.Match(ms, &d); ok || tab.Stats().Expired != 1 {
		t.Fatalf("the second bounce of an attempt counts: %+v", tab.Stats())
	}
	d = tab.Output(ms, nil)[0]
	d.TimedOut = true
	o, ok := tab.Match(2*ms, &d)
	if !ok || o.Result != TimedOut || o.Attempts != 2 || tab.Outstanding() != 0 {
		t.Fatalf("outcome %+v %v", o, ok)
	}
}

// TestPortRetries: a port that sends again by itself is given a request once, and a bounce of it
// is the last. A busy reply ends the port's attempts, so the next is given to it.
func TestPortRetries(t *testing.T) {
	tab := New(Config{Retries: 3, PortRetries: true})
	d := submit(t, tab, 0, request(1))[0]
	for _, at := range []time.Duration{200 * ms, 400 * ms} {
		if len(tab.Expire(at, nil)) != 0 || len(tab.Output(at, nil)) != 0 {
			t.Fatalf("%v: ended, or sent again", at)
		}
	}
	late := reply(d)
	if o, ok := tab.Match(450*ms, &late); !ok || o.Result != Replied || o.Attempts != 3 || o.RTT != 0 {
		t.Fatalf("outcome %+v %v", o, ok)
	}

	d = submit(t, tab, 500*ms, request(1))[0]
	if len(tab.Expire(700*ms, nil)) != 0 || len(tab.Output(700*ms, nil)) != 0 {
		t.Fatal("ended, or sent again")
	}
	bounce := d
	bounce.TimedOut = true
	if o, ok := tab.Match(800*ms, &bounce); !ok || o.Result != TimedOut || tab.Outstanding() != 0 {
		t.Fatalf("outcome %+v %v", o, ok)
	}

	busy := reply(submit(t, tab, time.Second, request(1))[0])
	busy.Packet.SetStatus(mad.StatusBusy)
	if _, ok := tab.Match(time.Second+ms, &busy); ok {
		t.Fatal("a busy node ends the request")
	}
	tab.Expire(1200*ms, nil)
	out := tab.Output(1200*ms, nil)
	if len(out) != 1 || out[0].Packet.TID() == busy.Packet.TID() {
		t.Fatalf("%d packets after a busy reply, want a new one", len(out))
	}
	last := reply(out[0])
	if _, ok := tab.Match(1300*ms, &last); !ok {
		t.Fatal("no outcome")
	}
	if ended := tab.Expire(10*time.Second, nil); len(ended) != 0 {
		t.Fatalf("%+v", ended)
	}
}

func TestCancel(t *testing.T) {
	tab := New(Config{PerDevice: 1})
	out := submit(t, tab, 0, request(1), request(1), request(2))
	ended := tab.Cancel(nil)
	if len(ended) != 3 || tab.Outstanding() != 0 || len(tab.Output(ms, nil)) != 0 {
		t.Fatalf("ended %v, outstanding %d", ended, tab.Outstanding())
	}
	for _, o := range ended {
		if o.Result != Cancelled {
			t.Errorf("outcome %+v", o)
		}
	}
	for i := range out {
		r := reply(out[i])
		if _, ok := tab.Match(ms, &r); ok {
			t.Error("reply of the last mastership term taken")
		}
	}
	if s := tab.Stats(); s.Late != 2 || s.Cancelled != 3 {
		t.Errorf("stats %+v", s)
	}
	if out := submit(t, tab, ms, request(1)); len(out) != 1 {
		t.Error("the node is still taken")
	}
}

// Only the requests of one owner end, and those of others that waited for their node
// behind them go on.
func TestCancelOwner(t *testing.T) {
	tab := New(Config{PerDevice: 1})
	mine, others := *request(1), *request(1)
	mine.Owner, others.Owner, others.Tag = 7, 8, 9
	submit(t, tab, 0, &mine, &mine, &others)
	ended := tab.CancelOwner(mine.Owner, nil)
	if len(ended) != 2 || ended[0].Owner != mine.Owner || ended[1].Owner != mine.Owner || tab.Outstanding() != 1 {
		t.Fatalf("ended %v, outstanding %d", ended, tab.Outstanding())
	}
	out := tab.Output(ms, nil)
	if len(out) != 1 {
		t.Fatalf("%d requests left for the node", len(out))
	}
	r := reply(out[0])
	if o, ok := tab.Match(ms, &r); !ok || o.Owner != others.Owner || o.Tag != others.Tag {
		t.Errorf("outcome %+v", o)
	}
}

func TestPerDevice(t *testing.T) {
	tab := New(Config{PerDevice: 2})
	out := submit(t, tab, 0, request(1), request(1), request(1), request(2))
	if len(out) != 3 || tab.Stats().Parked != 1 {
		t.Fatalf("sent %d, parked %d", len(out), tab.Stats().Parked)
	}
	r := reply(out[0])
	tab.Match(ms, &r)
	if out := tab.Output(ms, nil); len(out) != 1 || tab.Stats().Parked != 0 {
		t.Fatalf("sent %d, parked %d", len(out), tab.Stats().Parked)
	}
	unlimited := *request(9)
	unlimited.Class = mad.ClassLIDRouted
	if out := submit(t, tab, ms, &unlimited, &unlimited, &unlimited); len(out) != 3 {
		t.Fatalf("sent %d of 3 without a directed route", len(out))
	}
}

func TestLimits(t *testing.T) {
	tab := New(Config{PerDevice: 1})
	taken := 0
	for tab.Submit(request(1)) {
		taken++
		if taken == 1+maxParked && tab.Room() != 0 {
			t.Errorf("room %d with %d parked", tab.Room(), maxParked)
		}
	}
	if taken != maxSlots-1 || tab.Stats().Refused != 1 {
		t.Fatalf("%d taken, %d refused", taken, tab.Stats().Refused)
	}
	if n := len(tab.Cancel(nil)); n != taken {
		t.Fatalf("%d cancelled", n)
	}
}
