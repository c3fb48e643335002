package txn

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
)

// model is what a table must do, in terms of the wire alone: a request ends
// with the first reply that reaches it, or one time-out after its last attempt.
type model struct {
	t        *testing.T
	cfg      Config
	requests map[uint64]*modelRequest // by tag, without outcome
	active   [20]int                  // requests on the wire by device
	dead     [20]bool                 // devices of which a request has timed out
	recent   []modelAttempt           // what was sent no longer than patience ago, and counts
	tids     map[mad.TID]bool
}

type modelRequest struct {
	device   uint64
	attempts int
	first    time.Duration // when it was sent first
	sent     time.Duration
}

type modelAttempt struct {
	at time.Duration
	of *modelRequest
}

// Kinds of device of the model; all others are known, and deviceGone answers nothing.
const (
	deviceUnknown = 0 // requests whose device is not known
	deviceGone    = 5
	deviceByLID   = 18 // requests that are not routed
	deviceExempt  = 19
)

// counts are the attempts that count in the window, and those of unknown devices among them.
func (m *model) counts(now time.Duration) (all, unknown int) {
	for _, a := range m.recent {
		if r := a.of; now < a.at+leastPatience && r.attempts > 0 && r.sent == a.at {
			all++
			if r.device == deviceUnknown && r.attempts == 1 {
				unknown++
			}
		}
	}
	return all, unknown
}

func (m *model) sent(now time.Duration, d *mad.Datagram) {
	tag := binary.BigEndian.Uint64(d.Packet.Data()[:])
	r := m.requests[tag]
	if r == nil {
		m.t.Fatalf("request %d goes out after its end", tag)
	}
	if r.attempts > 0 && now < r.sent+m.cfg.Timeout {
		m.t.Fatalf("request %d again after %v", tag, now-r.sent)
	}
	if r.attempts == 0 {
		m.active[r.device]++
		r.first = now
	}
	r.attempts++
	r.sent = now
	if r.device != deviceExempt {
		m.recent = append(m.recent, modelAttempt{now, r})
	}
	most := 1000
	switch {
	case r.device == deviceUnknown || r.device == deviceByLID || r.device == deviceExempt:
	case m.dead[r.device]:
		most = perUnresponsive
	default:
		most = m.cfg.PerDevice
	}
	if r.attempts > m.cfg.Retries+1 || r.attempts == 1 && m.active[r.device] > most {
		m.t.Fatalf("request %d: attempt %d, %d at the device", tag, r.attempts, m.active[r.device])
	}
	limit := 2 * m.cfg.PerDevice // the device that they are for has a limit of its own while it is slow
	if m.dead[deviceUnknown] {
		limit += perUnresponsive
	}
	if all, unknown := m.counts(now); r.device != deviceExempt && all > m.cfg.MaxWindow || unknown > limit {
		m.t.Fatalf("%d in the window, %d to unknown devices", all, unknown)
	}
	if tid := d.Packet.TID(); m.tids[tid] || tid == 0 || tid>>32 != 0 {
		m.t.Fatalf("request %d: transaction ID %#x", tag, tid)
	} else {
		m.tids[tid] = true
	}
}

func (m *model) ended(o Outcome) *modelRequest {
	r := m.requests[o.Tag]
	if r == nil {
		m.t.Fatalf("request %d ends twice", o.Tag)
	}
	if o.Attempts != r.attempts {
		m.t.Fatalf("outcome %+v of %+v", o, r)
	}
	m.active[r.device]--
	m.dead[r.device] = m.dead[r.device] || o.Result == TimedOut
	r.sent = -1 // it counts no more
	delete(m.requests, o.Tag)
	return r
}

// flight is a reply on its way.
type flight struct {
	at time.Duration
	d  mad.Datagram
}

// simulate asks 2000 requests over a wire that loses, duplicates, delays and
// reorders, and whose nodes may be gone, and holds the table to the model.
func simulate(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	cfg := Config{Timeout: 50 * ms, Retries: 1 + rng.IntN(4), MaxWindow: 1 + rng.IntN(64), PerDevice: 1 + rng.IntN(4)}
	m := &model{t: t, cfg: cfg, requests: map[uint64]*modelRequest{}, tids: map[mad.TID]bool{}}
	tab := New(cfg)
	var (
		now     time.Duration
		wire    []flight
		out     []mad.Datagram
		tag     uint64
		loss    = rng.Float64() / 3
		dup     = rng.Float64() / 3
		latency = int64(1+rng.IntN(80)) * int64(ms)
	)
	for tag < 2000 || tab.Outstanding() > 0 {
		for tag < 2000 && tab.Room() > 0 {
			tag++
			device := tag % 20
			r := request(uint8(device))
			r.Tag, r.Unknown, r.Exempt = tag, device == deviceUnknown, device == deviceExempt
			if device == deviceByLID {
				r.Class, r.Addr = mad.ClassLIDRouted, mad.Addr{LID: 7}
			}
			binary.BigEndian.PutUint64(r.Data[:], tag)
			m.requests[tag] = &modelRequest{device: device}
			tab.Submit(r)
		}
		out = tab.Output(now, out[:0])
		for i := range out {
			m.sent(now, &out[i])
			if m.requests[binary.BigEndian.Uint64(out[i].Packet.Data()[:])].device == deviceGone ||
				rng.Float64() < loss {
				continue
			}
			wire = append(wire, flight{now + time.Duration(1+rng.Int64N(latency)), reply(out[i])})
			if rng.Float64() < dup {
				wire = append(wire, flight{now + time.Duration(1+rng.Int64N(4*latency)), reply(out[i])})
			}
		}
		if now > 0 && len(m.recent) > 1000 {
			m.recent = slices.DeleteFunc(m.recent, func(a modelAttempt) bool { return a.at+leastPatience <= now })
		}
		if s := tab.Stats(); s.OnWire+s.Overdue > maxOnWire+cfg.MaxWindow || s.Window > cfg.MaxWindow {
			t.Fatalf("stats %+v with a limit of %d", s, cfg.MaxWindow)
		}
		deadline, waiting := tab.Deadline()
		if !waiting {
			continue
		}
		next := -1
		for i := range wire {
			if next < 0 || wire[i].at < wire[next].at {
				next = i
			}
		}
		if next < 0 || wire[next].at >= deadline {
			now = deadline
			ended := tab.Expire(now, nil)
			for _, o := range ended {
				r := m.ended(o)
				all := r.attempts == cfg.Retries+1 || now >= r.first+tab.slowest()
				if o.Result != TimedOut || !all || now < r.sent+cfg.Timeout {
					t.Fatalf("at %v: outcome %+v of %+v", now, o, r)
				}
			}
			continue
		}
		f := wire[next]
		wire[next] = wire[len(wire)-1]
		wire = wire[:len(wire)-1]
		now = f.at
		want := binary.BigEndian.Uint64(f.d.Packet.Data()[:])
		_, open := m.requests[want]
		o, ok := tab.Match(now, &f.d)
		if ok != open || ok && (o.Tag != want || o.Result != Replied || o.Data != *f.d.Packet.Data()) {
			t.Fatalf("reply to %d, open %v: outcome %+v %v", want, open, o, ok)
		}
		if ok {
			m.ended(o)
		}
	}
	s := tab.Stats()
	if len(m.requests) != 0 || s.Replied+s.TimedOut != 2000 || s.Sent != uint64(len(m.tids)) {
		t.Fatalf("%d without outcome, stats %+v", len(m.requests), s)
	}
}

func TestAgainstModel(t *testing.T) {
	for seed := range uint64(200) {
		simulate(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// FuzzMatch feeds a table with requests of each kind outstanding whatever may
// come, and holds it to the rule of what a reply must agree on.
func FuzzMatch(f *testing.F) {
	requests := []Request{
		{Route: mad.MakeRoute(1, 2, 3), Method: mad.MethodGet, Attr: 0x11},
		{Class: mad.ClassLIDRouted, Addr: mad.Addr{LID: 4}, Method: mad.MethodSet, Attr: 0x15, Mod: 1},
		{Class: mad.ClassSA, Addr: mad.Addr{LID: 1, QPN: 1}, Method: mad.MethodGetTable, Attr: 0x35},
	}
	fill := func() (*Table, []mad.Datagram) {
		tab := New(Config{})
		for i := range requests {
			tab.Submit(&requests[i])
		}
		return tab, tab.Output(0, nil)
	}
	_, out := fill()
	for _, d := range out {
		r := reply(d)
		f.Add(r.Packet[:], false)
		f.Add(d.Packet[:24], true)
	}
	f.Fuzz(func(t *testing.T, b []byte, bounced bool) {
		tab, out := fill()
		d := mad.Datagram{TimedOut: bounced}
		copy(d.Packet[:], b)
		o, ok := tab.Match(ms, &d)
		if left := tab.Outstanding(); ok != (left == len(out)-1) || !ok && left != len(out) {
			t.Fatalf("matched %v, %d left", ok, left)
		}
		if !ok {
			return
		}
		for i := range out {
			q := &out[i].Packet
			if uint32(q.TID()) != uint32(d.Packet.TID()) {
				continue
			}
			r := reply(out[i])
			if bounced || d.Packet.MgmtClass() != q.MgmtClass() || d.Packet.Method() != r.Packet.Method() ||
				o.Attr != q.AttrID() || d.Packet.AttrID() != q.AttrID() || d.Packet.AttrMod() != q.AttrMod() {
				t.Fatalf("%x matched %x", d.Packet, q)
			}
			return
		}
		t.Fatalf("%x matched nothing that was sent", d.Packet)
	})
}

// round is the life of one window of requests.
func round(tab *Table, now *time.Duration, out []mad.Datagram) []mad.Datagram {
	r := Request{Method: mad.MethodGet, Attr: 0x11}
	for i := 0; tab.Room() > 0; i++ {
		r.Route = mad.MakeRoute(uint8(i & 63))
		tab.Submit(&r)
	}
	out = tab.Output(*now, out[:0])
	*now += ms
	for i := range out {
		d := &out[i]
		d.Packet.SetMethod(mad.MethodGetResp)
		tab.Match(*now, d)
	}
	return out
}

func TestNoAllocations(t *testing.T) {
	var now time.Duration
	tab := New(Config{})
	var out []mad.Datagram
	for range 100 {
		out = round(tab, &now, out)
	}
	expired := make([]Outcome, 0, 1)
	if n := testing.AllocsPerRun(100, func() {
		out = round(tab, &now, out)
		expired = tab.Expire(now, expired[:0])
	}); n != 0 {
		t.Errorf("%v allocations for a window of requests", n)
	}
}

func BenchmarkTable(b *testing.B) {
	var now time.Duration
	tab := New(Config{})
	var out []mad.Datagram
	b.ReportAllocs()
	for b.Loop() {
		out = round(tab, &now, out)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(tab.Stats().Replied), "ns/request")
}
