package rmpp

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
)

// wire is two machines and what is under way between them: it loses, repeats and
// overtakes.
type wire struct {
	random   *rand.Rand
	loss     float64
	now      time.Duration
	ends     [2]*Machine
	flying   []flight
	received map[mad.TID][]byte
	sent     map[mad.TID]Status
}

type flight struct {
	at time.Duration
	to int
	d  mad.Datagram
}

func newWire(seed uint64) *wire {
	w := &wire{random: rand.New(rand.NewPCG(seed, 1)), received: map[mad.TID][]byte{}, sent: map[mad.TID]Status{}}
	w.loss = 0.3 * w.random.Float64()
	// Many attempts, so that a transfer that fails is one that went wrong.
	cfg := Config{ACKTimeout: 100 * time.Millisecond, Retries: 1000, TotalTime: time.Hour, Linger: 5 * time.Hour,
		MaxMessage: 1 << 20}
	w.ends = [2]*Machine{New(cfg), New(cfg)}
	return w
}

// flush puts on the wire what the machines have to send.
func (w *wire) flush() {
	for from, m := range w.ends {
		for _, d := range out(m, w.now) {
			d.LID = mad.LID(1 + from) // where it comes from
			copies := 1
			if w.random.Float64() < 0.1 {
				copies = 2
			}
			for range copies {
				if w.random.Float64() >= w.loss {
					delay := time.Duration(1 + w.random.IntN(int(30*time.Millisecond)))
					w.flying = append(w.flying, flight{w.now + delay, 1 - from, d})
				}
			}
		}
	}
}

// run lets time pass until nothing happens any more.
func (w *wire) run(t *testing.T) {
	for steps := 0; ; steps++ {
		if steps > 1_000_000 {
			t.Fatal("there is no end")
		}
		w.flush()
		next, who := time.Duration(-1), -1
		for i := range w.flying {
			if next < 0 || w.flying[i].at < next {
				next, who = w.flying[i].at, i
			}
		}
		for _, m := range w.ends {
			if at, ok := m.Deadline(); ok && (next < 0 || at < next) {
				next, who = at, -1
			}
		}
		if next < 0 {
			return
		}
		w.now = next
		if who >= 0 {
			f := w.flying[who]
			w.flying = slices.Delete(w.flying, who, who+1)
			if e, ended := w.ends[f.to].Receive(w.now, &f.d); ended {
				w.note(t, e)
			}
			continue
		}
		for _, m := range w.ends {
			for _, e := range m.Expire(w.now, nil) {
				w.note(t, e)
			}
		}
	}
}

// note takes down the end of a transfer, of which there is one.
func (w *wire) note(t *testing.T, e Ended) {
	tid := e.Head.TID()
	if e.Sent {
		if _, twice := w.sent[tid]; twice {
			t.Errorf("transfer %d ended twice", tid)
		}
		w.sent[tid] = e.Status
		return
	}
	if _, twice := w.received[tid]; twice || e.Status != StatusNormal {
		t.Errorf("message %d: received before %v, %q", tid, twice, e.Status)
	}
	w.received[tid] = e.Data
}

// Whatever the wire does, each message arrives once and as it was sent.
func TestLossyWire(t *testing.T) {
	seeds := uint64(30)
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 2000
	}
	for seed := range seeds {
		w := newWire(seed)
		var messages [][]byte
		for i := range 1 + w.random.IntN(12) {
			size := 8 * w.random.IntN(3000)
			switch w.random.IntN(4) {
			case 0:
				size = 200 * w.random.IntN(5)
			case 1:
				size = 8 * w.random.IntN(60)
			}
			messages = append(messages, payload(size))
			d := message(mad.MethodGetTableResp, attrNodeRecord, mad.TID(i))
			d.LID = 2
			if err := w.ends[0].Send(0, d, messages[i]); err != nil {
				t.Fatal(err)
			}
		}
		w.run(t)
		for i, want := range messages {
			if got, ok := w.received[mad.TID(i)]; !ok || !bytes.Equal(got, want) || w.sent[mad.TID(i)] != StatusNormal {
				t.Errorf("seed %d: message %d of %d bytes: received %v, %d bytes, %q", seed, i, len(want), ok, len(got),
					w.sent[mad.TID(i)])
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

// Once it has its room, a sender allocates nothing for segments and ACKs, nor for the
// next message.
func TestSenderAllocations(t *testing.T) {
	m := New(Config{})
	data, ds := payload(200*64), make([]mad.Datagram, 16)
	d := message(mad.MethodGetTableResp, attrNodeRecord, 1)
	transfer := func() {
		if err := m.Send(0, d, data); err != nil {
			t.Fatal(err)
		}
		for n := uint32(1); ; n += Window {
			for m.Output(0, ds) > 0 {
			}
			if _, ended := m.Receive(0, ack(d, min(n, 64), n+Window)); ended {
				return
			}
		}
	}
	transfer()
	if n := testing.AllocsPerRun(20, transfer); n > 2 { // the ACKs of the test
		t.Errorf("%v allocations", n)
	}
}

// A transfer of 13,000 segments, both ends and the copies between them.
func BenchmarkTransfer(b *testing.B) {
	data, ds := payload(2_600_000), make([]mad.Datagram, 64)
	d := message(mad.MethodGetTableResp, attrNodeRecord, 1)
	cfg := Config{MaxMessage: 4 << 20}
	from, to := New(cfg), New(cfg)
	tid := mad.TID(0)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		tid++
		d.Packet.SetTID(tid)
		if err := from.Send(0, d, data); err != nil {
			b.Fatal(err)
		}
		for from.Sending(d) {
			for n := from.Output(0, ds); n > 0; n = from.Output(0, ds) {
				for i := range ds[:n] {
					to.Receive(0, &ds[i])
				}
			}
			for n := to.Output(0, ds); n > 0; n = to.Output(0, ds) {
				for i := range ds[:n] {
					from.Receive(0, &ds[i])
				}
			}
		}
	}
}

// Whatever packets come, in whatever order, nothing panics, the limits hold, and in
// the end all is forgotten.
func FuzzReceive(f *testing.F) {
	table := message(mad.MethodGetTableResp, attrNodeRecord, 1)
	request := message(mad.MethodGetMulti, attrMultiPathRecord, 2)
	join := func(ds ...*mad.Datagram) (b []byte) {
		for _, d := range ds {
			b = append(b, d.Packet[3], d.Packet[15])
			b = append(b, d.Packet[24:36]...)
		}
		return b
	}
	f.Add(join(ack(table, 1, 65), ack(table, 5, 65)))
	f.Add(join(ack(table, 1, 3), ack(table, 2, 1)))
	f.Add(join(packet(request, TypeData, FlagFirst, 1, 660), packet(request, TypeData, FlagLast, 3, 220),
		packet(request, TypeData, 0, 2, 0)))
	f.Add(join(packet(request, TypeData, FlagFirst|FlagLast, 1, 20), packet(request, TypeACK, 0, 0, 1)))
	f.Add(join(packet(request, TypeAbort, 0, 0, 0), packet(request, TypeStop, 0, 0, 0), packet(request, 9, 0, 0, 0)))
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 8
		m := New(Config{MaxTransfers: limit, MaxBytes: 4000, MaxMessage: 2000})
		ours := message(mad.MethodGetMulti, attrMultiPathRecord, 7)
		if m.Send(0, table, payload(900)) != nil || m.Send(0, ours, payload(300)) != nil {
			t.Fatal("not sent")
		}
		now := time.Duration(0)
		for ; len(b) >= 14; b = b[14:] {
			now += time.Duration(b[0]) << 20
			d := message(mad.Method(b[0]), attrMultiPathRecord, mad.TID(b[1]&7))
			copy(d.Packet[24:36], b[2:14])
			e, ended := m.Receive(now, d)
			if ended && e.Status == StatusNormal && !e.Sent && len(e.Data) > 2000 {
				t.Errorf("%d bytes received", len(e.Data))
			}
			if b[0]&1 != 0 {
				out(m, now)
			}
			m.Expire(now, nil)
			if s := m.Stats(); s.UnderWay > limit || len(m.transfers) > 2*limit || s.Bytes > 4000 || s.Bytes < 0 {
				t.Fatalf("%d known, %+v", len(m.transfers), s)
			}
		}
		for at, ok := m.Deadline(); ok; at, ok = m.Deadline() {
			m.Expire(at, nil)
			now = at
		}
		out(m, now)
		if len(m.transfers) != 0 || len(m.peers) != 0 || m.Stats().Bytes != 0 || m.ready.len() != 0 {
			t.Errorf("%d transfers, %d peers, %d bytes left", len(m.transfers), len(m.peers), m.Stats().Bytes)
		}
	})
}
