package gsi

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"ibsm/mad"
)

var _ mad.Port = (*Port)(nil)

func packet(c mad.Class, m mad.Method, tid mad.TID) mad.Datagram {
	d := mad.Datagram{Addr: mad.Addr{LID: 5, QPN: 1}}
	d.Packet.SetHeader(c, m, 0x10, 0)
	d.Packet.SetTID(tid)
	return d
}

func TestClassify(t *testing.T) {
	const (
		trace      = mad.MethodGetTraceTable
		vendor     = mad.Class(0x30)
		cm         = mad.Class(0x07)
		vendorVerb = mad.Method(0x40)
	)
	for _, c := range []struct {
		class    mad.Class
		method   mad.Method
		timedOut bool
		want     Kind
	}{
		{mad.ClassDirected, mad.MethodGet, false, Subnet},
		{mad.ClassDirected, mad.MethodGetResp, false, Subnet},
		{mad.ClassLIDRouted, mad.MethodTrap, false, Subnet},
		{mad.ClassLIDRouted, mad.MethodGet, true, Subnet},
		{mad.ClassSA, mad.MethodGet, false, SARequest},
		{mad.ClassSA, mad.MethodSet, false, SARequest},
		{mad.ClassSA, mad.MethodGetTable, false, SARequest},
		{mad.ClassSA, mad.MethodGetMulti, false, SARequest},
		{mad.ClassSA, mad.MethodDelete, false, SARequest},
		{mad.ClassSA, trace, false, SARequest},
		{mad.ClassSA, vendorVerb, false, SARequest},
		{mad.ClassSA, mad.MethodReportResp, false, SAReport},
		{mad.ClassSA, mad.MethodReport, true, SAReport},
		{mad.ClassSA, mad.MethodReport, false, SAClient},
		{mad.ClassSA, mad.MethodGetResp, false, SAClient},
		{mad.ClassSA, mad.MethodGetTableResp, false, SAClient},
		{mad.ClassSA, mad.MethodGet, true, SAClient},
		{mad.ClassMirror, mad.MethodGetTable, false, Mirror},
		{mad.ClassMirror, mad.MethodGetTableResp, false, Mirror},
		{mad.ClassMirror, mad.MethodGetTable, true, Mirror},
		// IBA 13.4.5: Get and Set have a response; a Send, a Trap, a Report of a class
		// that is not known, and responses have none.
		{mad.ClassPerf, mad.MethodGet, false, Unserved},
		{mad.ClassCongestion, mad.MethodSet, false, Unserved},
		{vendor, mad.MethodGet, false, Unserved},
		{cm, mad.MethodSend, false, Unwanted},
		{vendor, mad.MethodTrap, false, Unwanted},
		{vendor, mad.MethodReport, false, Unwanted},
		{vendor, mad.MethodTrapRepress, false, Unwanted},
		{vendor, vendorVerb, false, Unwanted},
		{mad.ClassPerf, mad.MethodGetResp, false, Perf},
		{mad.ClassPerf, mad.MethodGet, true, Perf},
		{mad.ClassPerf, mad.MethodTrap, false, Unwanted},
		{mad.ClassCongestion, mad.MethodGetResp, false, Congestion},
		{mad.ClassCongestion, mad.MethodSet, true, Congestion},
		{mad.ClassCongestion, mad.MethodTrap, false, Unwanted},
	} {
		d := packet(c.class, c.method, 1)
		d.TimedOut = c.timedOut
		if got := Classify(&d); got != c.want {
			t.Errorf("%v %v, timed out %t: %v, want %v", c.class, c.method, c.timedOut, got, c.want)
		}
	}
}

func TestRefuse(t *testing.T) {
	in := packet(mad.ClassPerf, mad.MethodSet, 0x1234567890)
	in.Packet[200] = 7
	in.SL, in.PathBits, in.PKeyIndex = 3, 2, 4
	var out mad.Datagram
	Refuse(&in, &out)
	want := in
	want.Packet[3] = 0x81                    // GetResp
	want.Packet[4], want.Packet[5] = 0, 0x04 // status 1 in bits 2 to 4: bad version
	if out != want || !out.Packet.IsResponse() {
		t.Errorf("%+v\nwant %+v", out, want)
	}
}

// script is a port that gives batches in turn and then ends.
type script struct {
	batches [][]mad.Datagram
	mu      sync.Mutex
	sent    [][]mad.Datagram
	end     error
	closed  chan struct{}
	once    sync.Once
}

var errEnd = errors.New("the end")

func (s *script) Recv(ds []mad.Datagram) (int, error) {
	if len(s.batches) == 0 {
		if s.closed != nil {
			<-s.closed
		}
		return 0, errEnd
	}
	n := copy(ds, s.batches[0])
	s.batches = s.batches[1:]
	return n, nil
}

func (s *script) Send(ds []mad.Datagram) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		return 0, s.end
	}
	s.sent = append(s.sent, append([]mad.Datagram(nil), ds...))
	return len(ds), nil
}

func (s *script) TrySend(ds []mad.Datagram) (int, error) { return s.Send(ds) }

func (s *script) Close() error {
	if s.closed != nil {
		s.once.Do(func() { close(s.closed) })
	}
	return nil
}

// TestRecv: each user has its packets in order, as runs; QP0's are returned in order; what
// has no room is counted by kind.
func TestRecv(t *testing.T) {
	got := map[Kind][]mad.TID{}
	runs := 0
	user := func(k Kind, room int) func([]mad.Datagram) int {
		return func(ds []mad.Datagram) int {
			runs++
			for i := range ds {
				got[k] = append(got[k], ds[i].Packet.TID())
			}
			return max(0, len(ds)-room)
		}
	}
	s := &script{batches: [][]mad.Datagram{
		{packet(mad.ClassSA, mad.MethodGet, 1), packet(mad.ClassSA, mad.MethodGet, 2),
			packet(mad.ClassMirror, mad.MethodGetTable, 3)},
		{packet(mad.ClassSA, mad.MethodGetResp, 4), packet(mad.ClassLIDRouted, mad.MethodTrap, 5),
			packet(mad.ClassPerf, mad.MethodGetResp, 6),
			packet(mad.ClassDirected, mad.MethodGetResp, 7), packet(mad.ClassDirected, mad.MethodGetResp, 8),
			packet(mad.ClassSA, mad.MethodReportResp, 9)},
	}}
	p := New(s, Users{SARequest: user(SARequest, 1), SAReport: user(SAReport, 9), SAClient: user(SAClient, 9),
		Mirror: user(Mirror, 9)})
	ds := make([]mad.Datagram, 16)
	n, err := p.Recv(ds)
	if n != 3 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	for i, want := range []mad.TID{5, 7, 8} {
		if tid := ds[i].Packet.TID(); tid != want {
			t.Errorf("number %d of QP0 is %d, want %d", i, tid, want)
		}
	}
	for kind, want := range map[Kind][]mad.TID{SARequest: {1, 2}, Mirror: {3}, SAClient: {4}, SAReport: {9}} {
		if len(got[kind]) != len(want) || got[kind][0] != want[0] || got[kind][len(want)-1] != want[len(want)-1] {
			t.Errorf("%v: %v, want %v", kind, got[kind], want)
		}
	}
	if runs != 4 {
		t.Errorf("users were called %d times", runs)
	}
	// nobody asks for counters
	want := [NumKinds]Count{Subnet: {3, 0}, SARequest: {2, 1}, Mirror: {1, 0}, SAClient: {1, 0}, SAReport: {1, 0},
		Perf: {1, 1}}
	if counts := p.Counts(); counts != want {
		t.Errorf("counts %v, want %v", counts, want)
	}
	if n, err := p.Recv(ds); n != 0 || err != errEnd {
		t.Errorf("then %d, %v", n, err)
	}
}

// TestUnserved: Get and Set of classes without a server are refused, as many as there is
// room for, and nothing else is answered.
func TestUnserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flood := make([]mad.Datagram, recvBatch)
		for i := range flood {
			flood[i] = packet(mad.ClassPerf, mad.MethodGet, mad.TID(i))
		}
		s := &script{closed: make(chan struct{}), batches: [][]mad.Datagram{
			{packet(mad.ClassPerf, mad.MethodGetResp, 1), packet(0x07, mad.MethodSend, 2)}, flood, flood[:10],
		}}
		p := New(s, Users{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.Serve(ctx) }()
		synctest.Wait() // nobody refuses yet
		go p.RefuseUnserved(ctx)
		synctest.Wait()
		if len(s.sent) != maxUnserved || s.sent[maxUnserved-1][0].Packet.TID() != maxUnserved-1 {
			t.Errorf("%d sent", len(s.sent))
		}
		if got, want := p.Counts()[Unserved], (Count{recvBatch + 10, 10}); got != want {
			t.Errorf("counts %v, want %v", got, want)
		}
		cancel()
		if err := <-ended; err != errEnd {
			t.Errorf("ended with %v", err)
		}
	})
}

// TestSend: packets leave in order, in portions by user, those of QP0 in one.
func TestSend(t *testing.T) {
	many := func(n int, c mad.Class, m mad.Method, rmpp bool) (ds []mad.Datagram) {
		for range n {
			d := packet(c, m, 0)
			if rmpp {
				d.Packet[26] |= 1
			}
			ds = append(ds, d)
		}
		return ds
	}
	for _, c := range []struct {
		name  string
		ds    []mad.Datagram
		sizes []int
	}{
		{"nothing", nil, []int{0}},
		{"QP0", many(100, mad.ClassDirected, mad.MethodGet, false), []int{100}},
		{"SA responses", many(70, mad.ClassSA, mad.MethodGetResp, false), []int{64, 6}},
		{"segments", many(17, mad.ClassSA, mad.MethodGetTableResp, true), []int{8, 8, 1}},
		{"as a client", many(5, mad.ClassSA, mad.MethodGet, false), []int{4, 1}},
		{"counters", many(3, mad.ClassPerf, mad.MethodGet, false), []int{1, 1, 1}},
		{"congestion control", many(3, mad.ClassCongestion, mad.MethodSet, false), []int{1, 1, 1}},
		{"mirror", many(3, mad.ClassMirror, mad.MethodGetTable, false), []int{2, 1}},
		{"mixed", append(many(3, mad.ClassSA, mad.MethodReport, false),
			many(3, mad.ClassMirror, mad.MethodGetTableResp, true)...), []int{3, 2, 1}},
	} {
		s := &script{}
		n, err := New(s, Users{}).Send(c.ds)
		if n != len(c.ds) || err != nil || len(s.sent) != len(c.sizes) {
			t.Fatalf("%s: %d, %v, in %d portions", c.name, n, err, len(s.sent))
		}
		i := 0
		for j, size := range c.sizes {
			if len(s.sent[j]) != size {
				t.Errorf("%s: portion %d has %d packets, want %d", c.name, j, len(s.sent[j]), size)
			}
			for k := range s.sent[j] {
				if s.sent[j][k] != c.ds[i] {
					t.Errorf("%s: packet %d is another", c.name, i)
				}
				i++
			}
		}
	}
	s := &script{end: errEnd}
	if n, err := New(s, Users{}).Send(many(70, mad.ClassSA, mad.MethodGetResp, false)); n != 0 || err != errEnd {
		t.Errorf("a broken port: %d, %v", n, err)
	}
}

// TestNoAllocations: classifying and sending cost no memory.
func TestNoAllocations(t *testing.T) {
	keep := func([]mad.Datagram) int { return 0 }
	p := New(&script{end: errEnd}, Users{SARequest: keep, SAReport: keep, SAClient: keep, Mirror: keep})
	ds := []mad.Datagram{packet(mad.ClassSA, mad.MethodGet, 1), packet(mad.ClassMirror, mad.MethodGetTable, 2),
		packet(mad.ClassDirected, mad.MethodGet, 3)}
	if n := testing.AllocsPerRun(100, func() { p.deliver(ds); p.Send(ds) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
