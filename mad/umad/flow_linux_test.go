package umad

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ibsm/mad"
	"ibsm/mad/txn"
)

// newKernel is how Linux 7.3 treats requests (drivers/infiniband/core/mad.c): of an
// agent it keeps a number on the wire, and has the others wait for one of those to be answered
// or to time out. The time-out begins when a request leaves. It does that for requests of the
// SM classes and of the SA's class; those of other classes leave at once.
type newKernel struct {
	now    time.Duration
	agents map[uint32]*newAgent
	nodes  map[mad.LID]time.Duration // how soon those answer that do
	wire   []wired                   // all that ever left
	most   int                       // that waited at a time
}

// newAgent is an agent with the requests that it has.
type newAgent struct {
	most    int
	sent    []held
	waiting []held
}

type held struct {
	frame
	sent uint32        // how often
	back time.Duration // when the answer comes, or the time is over
	ok   bool          // it is answered
}

type wired struct {
	to mad.LID
	at time.Duration
}

// newKernelFor gives each agent of a port the limit that the kernel gives it: a quarter of the
// 512 receive buffers, or, for the SA's class, a 32nd.
func newKernelFor(p *Port) *newKernel {
	k := &newKernel{agents: map[uint32]*newAgent{}, nodes: map[mad.LID]time.Duration{}}
	for _, a := range p.agents.list {
		k.agents[a.id] = &newAgent{most: 512 / 4}
		if a.class == mad.ClassSA {
			k.agents[a.id].most = 512 / 32
		}
	}
	p.out.write = k.write
	return k
}

func (k *newKernel) write(_ int, b []byte) (int, error) {
	var h held
	copy(h.frame.bytes(), b)
	if h.header.timeoutMS == 0 {
		return len(b), nil
	}
	a := k.agents[h.header.agent]
	a.waiting = append(a.waiting, h)
	k.send(a)
	k.most = max(k.most, len(a.waiting))
	return len(b), nil
}

// send sends what may leave.
func (k *newKernel) send(a *newAgent) {
	for len(a.waiting) > 0 && len(a.sent) < a.most {
		h := a.waiting[0]
		a.waiting = a.waiting[1:]
		h.sent++
		to := mad.LID(h.header.lid[0])<<8 | mad.LID(h.header.lid[1])
		k.wire = append(k.wire, wired{to, k.now})
		var after time.Duration
		if after, h.ok = k.nodes[to]; !h.ok {
			after = time.Duration(h.header.timeoutMS) * time.Millisecond
		}
		h.back = k.now + after
		a.sent = append(a.sent, h)
	}
}

// next is when the next request is returned; false for never.
func (k *newKernel) next() (at time.Duration, ok bool) {
	for _, a := range k.agents {
		for i := range a.sent {
			if !ok || a.sent[i].back < at {
				at, ok = a.sent[i].back, true
			}
		}
	}
	return at, ok
}

// returned hands to a port what is returned by now.
func (k *newKernel) returned(p *Port) (ds []mad.Datagram) {
	for id := range uint32(maxAgents) {
		a := k.agents[id]
		if a == nil {
			continue
		}
		left := a.sent[:0]
		for i := range a.sent {
			h := &a.sent[i]
			if h.back > k.now {
				left = append(left, *h)
				continue
			}
			if !h.ok && h.sent <= h.header.retries {
				a.waiting = append(a.waiting, *h)
				continue
			}
			n := frameSize
			if h.ok {
				h.packet.SetMethod(h.packet.Method() | 0x80)
			} else {
				h.header.status, n = uint32(unix.ETIMEDOUT), headerSize+shortest
			}
			p.in.frame = h.frame
			p.in.ds, p.in.n = make([]mad.Datagram, 1), 0
			p.in.take(n)
			ds = append(ds, p.in.ds[:p.in.n]...)
		}
		a.sent = left
		k.send(a)
	}
	return ds
}

// run has a table's requests sent through a port until a time.
func (k *newKernel) run(t *testing.T, p *Port, table *txn.Table, until time.Duration) {
	var ended []txn.Outcome
	for {
		for ds := k.returned(p); len(ds) > 0; ds = k.returned(p) {
			for i := range ds {
				table.Match(k.now, &ds[i])
			}
		}
		ended = table.Expire(k.now, ended[:0])
		out := table.Output(k.now, nil)
		if n, err := p.Send(out); n != len(out) || err != nil {
			t.Fatalf("%v: sent %d of %d: %v", k.now, n, len(out), err)
		}
		at, ok := table.Deadline()
		if back, is := k.next(); is && (!ok || back < at) {
			at, ok = back, true
		}
		if !ok || at > until {
			k.now = until
			return
		}
		k.now = max(k.now, at)
	}
}

// senderPort is socketPort with the senders that openPort registers.
func senderPort(t *testing.T, qp int) *Port {
	p, _ := socketPort(t, qp)
	for i := range senders {
		p.agents.list = append(p.agents.list, agent{0, uint32(8 + i)})
	}
	return p
}

// TestUnresponsiveSubscribers: a subscriber that answers gets each Report once and soon, whatever the
// kernel keeps for 35 that do not.
func TestUnresponsiveSubscribers(t *testing.T) {
	const living, unresponsive, every = mad.LID(100), 35, 5 * time.Second
	p := senderPort(t, 1)
	k := newKernelFor(p)
	p.out.reports = attempts{200, 3}
	k.nodes[living] = time.Millisecond
	table := txn.New(txn.Config{PortRetries: true})
	for event := range time.Duration(12) {
		k.wire = k.wire[:0]
		for i := range mad.LID(unresponsive + 1) {
			to := 1 + i
			if i == unresponsive {
				to = living
			}
			r := txn.Request{Class: mad.ClassSA, Method: mad.MethodReport, Attr: 2, Addr: mad.Addr{LID: to, QPN: 1}}
			table.Submit(&r)
		}
		k.run(t, p, table, (event+1)*every)
		copies := map[mad.LID]int{}
		for _, w := range k.wire {
			copies[w.to]++
			if late := w.at - event*every; w.to == living && late > time.Second {
				t.Errorf("event %d: sent after %v", event, late)
			}
		}
		if copies[living] != 1 || copies[1] != 4 {
			t.Errorf(
				"event %d: sent %d times to the one that answers, want 1, and %d times to one that does not, want 4",
				event, copies[living], copies[1])
		}
	}
	if most := p.Stats().Sent; most != 12*(unresponsive+1) {
		t.Errorf("the kernel was given %d requests, want one for each Report", most)
	}
	if held := p.Stats().Held; held != 0 || table.Outstanding() != 0 {
		t.Errorf("%d requests held, %d outstanding, at rest", held, table.Outstanding())
	}
}

// TestNoneWaits: with the default window none of the SMPs waits in the kernel, however many nodes
// do not answer. All that are on their way are counted.
func TestNoneWaits(t *testing.T) {
	p := senderPort(t, 0)
	k := newKernelFor(p)
	p.out.timeoutMS = 850
	table := txn.New(txn.Config{})
	most, waiting := 0, 3000
	for i := 0; i < waiting || table.Outstanding() > 0; {
		for ; i < waiting && table.Room() > 0; i++ {
			if i%3 == 0 {
				k.nodes[mad.LID(1+i)] = 100 * time.Microsecond
			}
			table.Submit(&txn.Request{Class: mad.ClassLIDRouted, Method: mad.MethodGet, Attr: 0x11,
				Addr: mad.Addr{LID: mad.LID(1 + i)}})
		}
		k.run(t, p, table, k.now+10*time.Millisecond)
		held := p.Stats().Held
		inKernel := 0
		for _, a := range k.agents {
			inKernel += len(a.sent) + len(a.waiting)
		}
		if held != inKernel {
			t.Fatalf("%v: %d held, the kernel has %d", k.now, held, inKernel)
		}
		most = max(most, held)
	}
	if k.most > 0 {
		t.Errorf("%d requests waited in the kernel at a time", k.most)
	}
	if most > 640 { // as docs/tuning.md and senders say
		t.Errorf("%d requests in the kernel", most)
	}
	if most <= 128 {
		t.Errorf("at most %d requests in the kernel: this shows nothing", most)
	}
}

// TestRetries: the kernel sends Reports again, and waits for answers to other requests as long as
// all their attempts may take.
func TestRetries(t *testing.T) {
	p := senderPort(t, 1)
	p.out.timeoutMS, p.out.queryMS, p.out.reports = 850, 5000, attempts{200, 3}
	for method, want := range map[mad.Method]attempts{mad.MethodReport: {200, 3}, mad.MethodGetTable: {5000, 0},
		mad.MethodReportResp: {}} {
		var d mad.Datagram
		d.Packet.SetHeader(mad.ClassSA, method, 2, 0)
		if err := p.out.encode(&d); err != nil {
			t.Fatal(err)
		}
		if h := &p.out.frame.header; (attempts{h.timeoutMS, h.retries}) != want {
			t.Errorf("%v: %d ms, %d retries; want %+v", method, h.timeoutMS, h.retries, want)
		}
	}
}

// TestAnswerBeforeWriteReturns: a request that is answered while it is written is not held.
func TestAnswerBeforeWriteReturns(t *testing.T) {
	p := senderPort(t, 0)
	p.out.write = func(_ int, b []byte) (int, error) {
		copy(p.in.frame.bytes(), b)
		p.in.frame.packet.SetMethod(mad.MethodGetResp)
		p.in.ds, p.in.n = make([]mad.Datagram, 1), 0
		p.in.take(frameSize)
		return len(b), nil
	}
	ds := make([]mad.Datagram, 1)
	ds[0].Packet.SetHeader(mad.ClassDirected, mad.MethodGet, 0x11, 0)
	if _, err := p.Send(ds); err != nil || p.Stats().Received != 1 || p.Stats().Held != 0 {
		t.Errorf("%v, %+v", err, p.Stats())
	}
}

// TestSegmentsReturnOnce: of an answer in segments the first says that the kernel holds the request no more.
func TestSegmentsReturnOnce(t *testing.T) {
	p := senderPort(t, 1)
	p.out.timeoutMS, p.out.queryMS = 850, 5000
	var asked []frame
	p.out.write = func(_ int, b []byte) (int, error) {
		var f frame
		copy(f.bytes(), b)
		asked = append(asked, f)
		return len(b), nil
	}
	ds := make([]mad.Datagram, 3*len(p.agents.list)) // so that each agent has several
	for i := range ds {
		ds[i].LID = 1
		ds[i].Packet.SetHeader(mad.ClassSA, mad.MethodGetTable, 0x35, 0)
		ds[i].Packet.SetTID(mad.TID(1 + i))
	}
	held := len(ds)
	if n, err := p.Send(ds); n != held || err != nil || p.Stats().Held != held {
		t.Fatalf("sent %d, %v; %d held", n, err, p.Stats().Held)
	}
	for i, c := range []struct {
		request, segment int
		returns          bool
	}{{0, 1, true}, {0, 2, false}, {0, 3, false}, {1, 0, true}, {2, 1, true}, {2, 2, false}} {
		f := asked[c.request]
		f.packet.SetMethod(mad.MethodGetTableResp)
		if c.segment > 0 {
			copy(f.packet[24:], []byte{1, 1, 1, 0, 0, 0, 0, byte(c.segment)}) // RMPP: version, DATA, Active, segment
		}
		if c.returns {
			held--
		}
		p.in.frame, p.in.ds, p.in.n = f, make([]mad.Datagram, 1), 0
		if p.in.take(frameSize); p.in.n != 1 || p.Stats().Held != held {
			t.Errorf("%d, segment %d of answer %d: %d datagrams, %d held, want %d", i, c.segment, c.request, p.in.n,
				p.Stats().Held, held)
		}
	}
}

// TestMilliseconds: no time-out is 0 for the kernel, which would be "no answer".
func TestMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]uint32{-time.Second: 1, 0: 1, time.Microsecond: 1,
		1500 * time.Microsecond: 1, time.Second: 1000, 100 * time.Hour: 3_600_000} {
		if got := milliseconds(d); got != want {
			t.Errorf("%v: %d", d, got)
		}
	}
}
