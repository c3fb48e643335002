package manager

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/sa"
)

// write is a request of a client.
func write(lid mad.LID, tid mad.TID) mad.Datagram {
	d := mad.Datagram{Addr: mad.Addr{LID: lid, QPN: 1}}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrMCMemberRecord, 0)
	d.Packet.SetTID(tid)
	return d
}

func drops(s *sa.Stats) map[sa.Drop]uint64 {
	counts := map[sa.Drop]uint64{}
	for d, n := range s.Drops() {
		if n > 0 {
			counts[d] = n
		}
	}
	return counts
}

// A noisy client fills its own share, and the others have their turn all the same.
func TestInboxTurns(t *testing.T) {
	stats := &sa.Stats{}
	b := newInbox(stats, time.Now())
	for tid := range mad.TID(1000) {
		b.takeRequests([]mad.Datagram{write(7, tid)})
	}
	b.takeRequests([]mad.Datagram{write(7, 3)}) // a duplicate, though there is no room either
	b.takeRequests([]mad.Datagram{write(8, 1)})
	b.takeRequests([]mad.Datagram{write(9, 1)})
	b.takeRequests([]mad.Datagram{write(9, 2)})
	if got := drops(stats); got[sa.DropClientFull] != 1000-maxClientWrites || got[sa.DropDuplicate] != 1 ||
		len(got) != 2 {
		t.Errorf("dropped %v", got)
	}
	ev, ok := b.next(nil)
	first, _ := ev.(sa.Received)
	if !ok || len(first.Datagrams) != maxWriteBatch {
		t.Fatalf("%d at a time, want %d", len(first.Datagrams), maxWriteBatch)
	}
	for i, want := range []mad.LID{7, 8, 9, 7, 9, 7, 7} {
		if first.Datagrams[i].LID != want {
			t.Errorf("number %d is of LID %v, want %v", i, first.Datagrams[i].LID, want)
		}
	}
	left := 0
	for ev, ok = b.next(nil); ok; ev, ok = b.next(nil) {
		left += len(ev.(sa.Received).Datagrams)
	}
	if left != maxClientWrites+3-maxWriteBatch || len(b.clients) != 0 || b.waiting != 0 {
		t.Errorf("%d were left, then %d clients and %d waiting", left, len(b.clients), b.waiting)
	}
}

// Whatever is put into the inbox wakes the registrar.
func TestInboxWakes(t *testing.T) {
	b := newInbox(&sa.Stats{}, time.Now())
	for name, put := range map[string]func(){
		"an event":        func() { b.notify(sa.TimePassed{}) },
		"what is on disk": func() { b.isDurable(7) },
		"a response":      func() { b.take(forReports, []mad.Datagram{write(7, 1)}) },
		"a request":       func() { b.takeRequests([]mad.Datagram{write(7, 2)}) },
	} {
		put()
		select {
		case <-b.wake:
		default:
			t.Errorf("%s wakes nobody", name)
		}
		if _, ok := b.next(nil); !ok {
			t.Errorf("%s is not there", name)
		}
	}
}

// All clients together have their limit, too.
func TestInboxLimit(t *testing.T) {
	stats := &sa.Stats{}
	b := newInbox(stats, time.Now())
	for lid := range mad.LID(200) {
		for tid := range mad.TID(maxClientWrites) {
			b.takeRequests([]mad.Datagram{write(1+lid, tid)})
		}
	}
	if got := drops(stats); b.waiting != maxWrites || got[sa.DropNoRoom] != 200*maxClientWrites-maxWrites {
		t.Errorf("%d wait, dropped %v", b.waiting, got)
	}
}

// What the manager says comes before what clients ask for, in its order.
func TestInboxOrder(t *testing.T) {
	b := newInbox(&sa.Stats{}, time.Now())
	b.takeRequests([]mad.Datagram{write(7, 1)})
	for from, lid := range map[source]mad.LID{forMirror: 10, forClient: 9, forReports: 8} {
		d := write(lid, 1)
		d.Packet.SetMethod(mad.MethodReportResp)
		b.take(from, []mad.Datagram{d})
	}
	b.isDurable(5)
	b.isDurable(4)
	b.notify(sa.PortsReset{Ports: []mad.GUID{1}})
	b.notify(sa.Forwarded{Seq: 6})
	from := func(lid mad.LID) func(sa.Event) bool {
		return func(ev sa.Event) bool {
			r, is := ev.(sa.Received)
			return is && len(r.Datagrams) == 1 && r.Datagrams[0].LID == lid
		}
	}
	want := []func(sa.Event) bool{
		func(ev sa.Event) bool { _, is := ev.(sa.PortsReset); return is },
		func(ev sa.Event) bool { return ev == sa.Event(sa.Forwarded{Seq: 6}) },
		func(ev sa.Event) bool { return ev == sa.Event(sa.Durable{Seq: 5}) },
		from(8),
		from(9),
		from(10),
		from(7),
	}
	for i, is := range want {
		if ev, ok := b.next(nil); !ok || !is(ev) {
			t.Errorf("number %d is %+v", i, ev)
		}
	}
	if ev, ok := b.next(nil); ok {
		t.Errorf("then %+v", ev)
	}
}

// A flood from one source fills its own queue and none of the others.
func TestInboxSources(t *testing.T) {
	stats := &sa.Stats{}
	b := newInbox(stats, time.Now())
	flood := make([]mad.Datagram, maxReceived+10)
	if dropped := b.take(forMirror, flood[:maxReceived/2]) + b.take(forMirror, flood[maxReceived/2:]); dropped != 10 {
		t.Errorf("%d dropped of a flood, want 10", dropped)
	}
	if dropped := b.take(forReports, flood[:1]) + b.take(forClient, flood[:1]) +
		b.takeRequests([]mad.Datagram{write(1, 1)}); dropped != 0 {
		t.Errorf("%d others dropped", dropped)
	}
	if got := drops(stats); got[sa.DropNoRoom] != 10 || len(got) != 1 {
		t.Errorf("dropped %v", got)
	}
}

// TestSGIDs: of two hosts behind a router, which share its LID, neither's request is taken for the other's duplicate.
func TestSGIDs(t *testing.T) {
	stats := &sa.Stats{}
	b := newInbox(stats, time.Now())
	one, other := write(7, 3), write(7, 3)
	one.GRH = mad.GRH{Present: true, GID: mad.MakeGID(5, 1)}
	other.GRH = mad.GRH{Present: true, GID: mad.MakeGID(5, 2)}
	b.takeRequests([]mad.Datagram{one, other, one})
	if got := drops(stats); b.waiting != 2 || got[sa.DropDuplicate] != 1 {
		t.Errorf("%d waiting, dropped %v", b.waiting, got)
	}
	again := one
	if keyOfTable(&one) == keyOfTable(&other) || keyOfTable(&one) != keyOfTable(&again) {
		t.Error("requests for tables are not distinguished")
	}
}
