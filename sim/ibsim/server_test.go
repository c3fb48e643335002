package ibsim

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/txn"
	"ibsm/mad/txn/txntest"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// serve offers a fabric by our Server until the test ends.
func serve(t testing.TB, topology string, f fabric.Config, cfg ServerConfig) *simulator {
	t.Helper()
	n, err := net.Parse("test.net", []byte(topology))
	if err != nil {
		t.Fatal(err)
	}
	n.Profile = nettest.Profile(t)
	s := &simulator{Config: Config{Node: "H1"}}
	if cfg.Listen == "" {
		cfg.SockName = fmt.Sprintf("ibsm-test-%d-%d", os.Getpid(), simulators.Add(1))
		s.SockName = cfg.SockName
	} else {
		s.Server, s.Port = "127.0.0.1", remotePort
	}
	cfg.Fabric = fabric.New(n, f)
	if s.server, err = Listen(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.server.Run(ctx) }()
	s.kill = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.kill)
	return s
}

// frameTo is a datagram as a client sends it.
func frameTo(r txn.Request, tid mad.TID) *[frameSize]byte {
	d := mad.Datagram{Addr: mad.Addr{LID: mad.PermissiveLID}}
	d.Packet.SetDirected(&r.Route, r.Method, r.Attr, r.Mod)
	d.Packet.SetTID(tid)
	*d.Packet.Data() = r.Data
	var b [frameSize]byte
	encodeFrame(&b, &d)
	return &b
}

// exchange sends a frame and returns what comes back for it.
func exchange(t testing.TB, p *Port, b *[frameSize]byte) (answer [frameSize]byte) {
	t.Helper()
	if _, err := p.conn.Write(b[:]); err != nil {
		t.Fatal(err)
	}
	p.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if n, err := p.conn.Read(answer[:]); err != nil || n != frameSize {
		t.Fatalf("%d bytes, %v", n, err)
	}
	return answer
}

// open attaches a client that no engine drives.
func open(t testing.TB, cfg Config, node string) *Port {
	t.Helper()
	cfg.Node = node
	p, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// guidNet is smallNet with what ibsim makes up where a file leaves it out.
const guidNet = `vendid=0x2c9
devid=0xbd36
sysimgguid=0x1100
switchguid=0x1100
Switch	8 "S1"
[1]	"H1"[1]
[2]	"H2"[1]

vendid=0x2c9
devid=0x673c
sysimgguid=0x2100
caguid=0x2100
Hca	1 "H1"
[1]	"S1"[1]

vendid=0x2c9
devid=0x673c
sysimgguid=0x2200
caguid=0x2200
Hca	1 "H2"
[1]	"S1"[2]
`

// What ibsim itself answers is the witness: the same questions to both.
func TestAnswersAreThoseOfIbsim(t *testing.T) {
	littleEndian(t)
	nettest.SetProfile(t, net.Ideal) // ibsim's agents are
	theirs, ours := startSimulator(t, guidNet), serve(t, guidNet, fabric.Config{}, ServerConfig{})
	for _, node := range []string{"H1", "S1", ""} {
		a, b := open(t, theirs.Config, node), open(t, ours.Config, node)
		if a.Node() != b.Node() || a.slot != b.slot {
			t.Errorf("node %q: attached to %s in slot %d, ibsim to %s in %d", node, b.Node(), b.slot, a.Node(), a.slot)
		}
		for _, tt := range []struct {
			name string
			kind controlType
		}{
			{"port", controlGetPort}, {"vendor", controlGetVendor}, {"GID", controlGetGID}, {"GUID", controlGetGUID},
			{"P_Keys", controlGetPKeys}, {"IsSM", controlSetIsSM},
		} {
			want, got := control{kind: tt.kind}, control{kind: tt.kind}
			if err := errors.Join(a.ask(t.Context(), &want), b.ask(t.Context(), &got)); err != nil {
				t.Errorf("node %q: %s: %v", node, tt.name, err)
			}
			if tt.kind == controlGetVendor {
				clear(want.data[8:12]) // a hardware version that ibsim makes up
			}
			if want.data != got.data {
				t.Errorf("node %q: %s: got\n%swant\n%s", node, tt.name, hex.Dump(got.data[:24]),
					hex.Dump(want.data[:24]))
			}
		}
		for _, r := range []txn.Request{nodeInfo(), nodeInfo(1), nodeInfo(1, 2), nodeInfo(1, 7), nodeInfo(9)} {
			want := exchange(t, a, frameTo(r, 0xffff_0001_0000_0007))
			got := exchange(t, b, frameTo(r, 0xffff_0001_0000_0007))
			// Of the MAD, the header up to the transaction ID, and the attribute but for
			// what is each device's own.
			const tidEnd, info = frameHeader + 16, frameHeader + 64
			if !bytes.Equal(got[:tidEnd], want[:tidEnd]) || !bytes.Equal(got[info:info+28], want[info:info+28]) {
				t.Errorf("node %q, route %v: got\n%swant\n%s", node, r.Route, hex.Dump(got[:]), hex.Dump(want[:]))
			}
		}
	}
}

// Whatever clients send, the others are served.
func TestForeignBytes(t *testing.T) {
	s := serve(t, smallNet, fabric.Config{}, ServerConfig{})
	p := open(t, s.Config, "H2")
	random := rand.New(rand.NewPCG(1, 2))
	sent := 0
	for i := range 3000 {
		b := make([]byte, []int{frameSize, frameSize, random.IntN(600)}[i%3])
		for j := range b {
			b[j] = byte(random.Uint32())
		}
		if i%3 == 1 { // let it pass for a datagram
			binary.BigEndian.PutUint64(b[24:], mad.PacketSize)
			copy(b[frameHeader:], []byte{1, []byte{0x81, 1, 3, 4}[i/3%4], 1})
		}
		if _, err := p.conn.Write(b); err == nil {
			sent++
		}
		if i%10 == 0 {
			p.control.conn.Write(b[:min(len(b), controlSize)])
		}
	}
	_, e := dial(t, s.Config)
	outcomes, err := txntest.Do(t.Context(), e, txn.Config{}, []txn.Request{nodeInfo(1, 3, 2)})
	if err != nil || outcomes[0].Result != txn.Replied {
		t.Errorf("another client, after %d datagrams: %+v %v", sent, outcomes, err)
	}
	if n := s.server.Stats().Malformed; n < 1000 {
		t.Errorf("%d malformed, want at least 1000", n)
	}
}

// What goes to queue pair 1 does not wait for the SMPs that its client sent before it,
// which keep their order.
func TestQueuePairs(t *testing.T) {
	s := serve(t, smallNet, fabric.Config{}, ServerConfig{})
	p := open(t, s.Config, "H2")
	const requests, query = 3 * smpBatch, 1000
	s.server.Do(func(*fabric.Fabric) { // it finds all of them afterwards
		for tid := range mad.TID(requests) {
			p.conn.Write(frameTo(nodeInfo(), tid+1)[:])
		}
		d := mad.Datagram{Addr: mad.Addr{LID: 77, QPN: 1}} // nobody's, so that it comes back
		d.Packet.SetHeader(mad.ClassSA, mad.MethodGet, 1, 0)
		d.Packet.SetTID(query)
		var b [frameSize]byte
		encodeFrame(&b, &d)
		p.conn.Write(b[:])
	})
	p.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	var order []mad.TID
	for range requests + 1 {
		var b [frameSize]byte
		if _, err := p.conn.Read(b[:]); err != nil {
			t.Fatal(err)
		}
		order = append(order, tidOf(&b)&0xffffffff)
	}
	if order[0] != query || !slices.IsSorted(order[1:]) {
		t.Errorf("answers came in the order of %v", order)
	}
}

// A client that sends and does not read is no longer listened to; it loses nothing,
// and nobody waits for it.
func TestSlowReader(t *testing.T) {
	s := serve(t, smallNet, fabric.Config{}, ServerConfig{})
	slow := open(t, s.Config, "H2")
	raw, err := slow.conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	send := func(fd uintptr) bool {
		for sent < 20_000 {
			b := frameTo(nodeInfo(1), mad.TID(sent))
			if _, err := syscall.Write(int(fd), b[:]); err != nil {
				return true
			}
			sent++
		}
		return true
	}
	// Its own socket is full when the server does not take more.
	for full := false; !full; {
		before := sent
		raw.Write(send)
		s.server.Do(func(*fabric.Fabric) {})
		full = sent == before && len(s.server.Clients()) == 1 && s.server.Clients()[0].Queued >= pauseAt
	}
	_, e := dial(t, s.Config)
	if o, err := txntest.Do(t.Context(), e, txn.Config{}, []txn.Request{nodeInfo(1, 3, 2)}); err != nil ||
		o[0].Result != txn.Replied {
		t.Fatalf("another client: %+v %v", o, err)
	}
	slow.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	for i := range sent {
		var b [frameSize]byte
		if _, err := slow.conn.Read(b[:]); err != nil {
			t.Fatalf("answer %d of %d: %v", i, sent, err)
		}
		if tid := tidOf(&b); tid != mad.TID(slow.slot)<<48|mad.TID(i) {
			t.Fatalf("answer %d has TID %#x", i, tid)
		}
	}
	if d := s.server.Stats().Dropped; d != 0 {
		t.Errorf("%d dropped of %d", d, sent)
	}
}

// A manager that hangs loses what others send it, and they get their requests back:
// every one, even all at once and more than maxQueue of them.
func TestHungManager(t *testing.T) {
	s := serve(t, smallNet, fabric.Config{}, ServerConfig{Timeout: time.Hour})
	hung := open(t, s.Config, "H3")
	if err := hung.SetIsSM(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	asker := open(t, s.Config, "H1")
	ask := nodeInfo(1, 3, 2)
	ask.Attr = 0x20 // SMInfo
	const asks = maxQueue + 2000
	for i := range asks {
		if _, err := asker.conn.Write(frameTo(ask, mad.TID(i))[:]); err != nil {
			t.Fatal(err)
		}
	}
	exchange(t, asker, frameTo(nodeInfo(1), asks)) // the server has read what was before it
	s.server.between(func() {
		s.server.cfg.Timeout = 0
		s.server.now = time.Now()
		s.server.visit()
	})
	asker.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	for i := range asks {
		var b [frameSize]byte
		if _, err := asker.conn.Read(b[:]); err != nil || b[19] != statusTimedOut ||
			b[frameHeader+3] != byte(mad.MethodGet) {
			t.Fatalf("request %d: status %d, method %#x, %v", i, b[19], b[frameHeader+3], err)
		}
	}
	stats := s.server.Stats()
	if stats.Dropped == 0 || stats.GivenBack != asks {
		t.Errorf("%+v: want some dropped, and all given back", stats)
	}
	// Then it wakes up, and answers what nobody waits for any more.
	var b [frameSize]byte
	hung.conn.Read(b[:])
	b[frameHeader+3] = byte(mad.MethodGetResp)
	b[frameHeader+4] |= 0x80
	hung.conn.Write(b[:])
	_, e := dial(t, s.Config)
	o, err := txntest.Do(t.Context(), e, txn.Config{}, []txn.Request{nodeInfo(1)})
	if err != nil || o[0].Result != txn.Replied {
		t.Errorf("%+v %v", o, err)
	}
}

// Clients at one port each get the answers to their own questions, even with the
// same TIDs; only the one that has set IsSM gets questions.
func TestSeveralAtOnePort(t *testing.T) {
	s := serve(t, smallNet, fabric.Config{}, ServerConfig{})
	var ps []*Port
	for range 3 {
		ps = append(ps, open(t, s.Config, "H1"))
	}
	if err := ps[1].SetIsSM(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	for i, p := range ps { // all ask before one reads
		if _, err := p.conn.Write(frameTo(nodeInfo([]uint8{1, 3, 2}[:i+1]...), 7)[:]); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range ps {
		var b [frameSize]byte
		if _, err := p.conn.Read(b[:]); err != nil {
			t.Fatal(err)
		}
		if hops := b[frameHeader+7]; int(hops) != i+1 || tidOf(&b) != mad.TID(p.slot)<<48|7 {
			t.Errorf("client %d got the answer of %d hops, TID %#x", i, hops, tidOf(&b))
		}
	}
	ask := nodeInfo()
	ask.Attr = 0x20
	if _, err := ps[0].conn.Write(frameTo(ask, 8)[:]); err != nil {
		t.Fatal(err)
	}
	var b [frameSize]byte
	if _, err := ps[1].conn.Read(b[:]); err != nil || b[frameHeader+17] != 0x20 {
		t.Fatalf("the manager got attribute %#x, %v", b[frameHeader+17], err)
	}
	b[frameHeader+3], b[frameHeader+4] = byte(mad.MethodGetResp), 0x80
	if _, err := ps[1].conn.Write(b[:]); err != nil {
		t.Fatal(err)
	}
	if _, err := ps[0].conn.Read(b[:]); err != nil || b[frameHeader+3] != byte(mad.MethodGetResp) ||
		tidOf(&b) != mad.TID(ps[0].slot)<<48|8 {
		t.Errorf("method %#x, TID %#x, %v", b[frameHeader+3], tidOf(&b), err)
	}
	// The port is a manager's until the last one leaves.
	isSM := func() (is bool) {
		s.server.Do(func(f *fabric.Fabric) {
			at, _ := f.FindNode("H1")
			info := f.PortInfo(at)
			is = info.CapabilityMask()&2 != 0
		})
		return is
	}
	ps[2].SetIsSM(t.Context(), true)
	ps[1].Close()
	if !isSM() {
		t.Error("IsSM fell with the first of two managers")
	}
	ps[2].SetIsSM(t.Context(), false)
	if isSM() {
		t.Error("IsSM stays")
	}
}

// A client that dies without a word leaves no slot and no IsSM behind.
func TestDeadClient(t *testing.T) {
	s := serve(t, smallNet, fabric.Config{}, ServerConfig{MaxClients: 20})
	for range 20 {
		p := open(t, s.Config, "H2")
		p.SetIsSM(t.Context(), true)
		p.closeSockets()
	}
	if _, err := Dial(t.Context(), s.Config); err != nil {
		t.Fatal(err) // a client that comes when all slots are taken finds the dead ones gone
	}
	if n := len(s.server.Clients()); n != 1 {
		t.Errorf("%d clients, want 1", n)
	}
	open(t, s.Config, "H3").closeSockets()
	s.server.between(func() {
		s.server.visit()
		s.server.reap()
	})
	if n := len(s.server.Clients()); n != 1 {
		t.Errorf("%d clients after a visit, want 1", n)
	}
	s.server.Do(func(f *fabric.Fabric) {
		at, _ := f.FindNode("H2")
		if info := f.PortInfo(at); info.CapabilityMask()&2 != 0 {
			t.Error("IsSM stays")
		}
	})
}

func TestManyClients(t *testing.T) {
	s := serve(t, smallNet, fabric.Config{Latency: 20 * time.Microsecond}, ServerConfig{MaxClients: 200})
	var all sync.WaitGroup
	for i := range 100 {
		cfg := s.Config
		cfg.Node = fmt.Sprintf("H%d", i%3+1)
		_, e := dial(t, cfg)
		all.Go(func() {
			requests := slices.Repeat([]txn.Request{nodeInfo(1)}, 100)
			outcomes, err := txntest.Do(t.Context(), e, txn.Config{Timeout: time.Minute}, requests)
			if err != nil {
				t.Error(err)
				return
			}
			for _, o := range outcomes {
				if o.Result != txn.Replied {
					t.Errorf("%+v", o)
					return
				}
			}
		})
	}
	all.Wait()
	if n := s.server.Stats().Late; n != 0 {
		t.Errorf("%d late answers", n)
	}
}

func TestListenFails(t *testing.T) {
	s := serve(t, smallNet, fabric.Config{}, ServerConfig{})
	f := fabric.New(&net.Net{}, fabric.Config{})
	for _, tt := range []struct {
		cfg  ServerConfig
		want string
	}{
		{ServerConfig{SockName: s.SockName}, "another simulator is at @" + s.SockName + ":ctl"},
		{ServerConfig{SockName: strings.Repeat("x", 100)}, "expected at most"},
		{ServerConfig{Listen: "127.0.0.1:65000"}, "expected 1 to"},
		{ServerConfig{Listen: "nowhere"}, `address "nowhere"`},
		{ServerConfig{MaxClients: 2000}, "2000 clients"},
	} {
		tt.cfg.Fabric = f
		if s, err := Listen(tt.cfg); err == nil {
			s.Close()
			t.Errorf("%+v: no error", tt.cfg)
		} else if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v\nwant %s", err, tt.want)
		}
	}
}

// TestDoAfterClose: calls of a Server that is closed, and has not run, are done, one at a time.
func TestDoAfterClose(t *testing.T) {
	s, err := Listen(ServerConfig{Fabric: fabric.New(&net.Net{}, fabric.Config{}), SockName: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	var all sync.WaitGroup
	var under, most, done atomic.Int32
	for range 8 {
		all.Go(func() {
			s.Do(func(*fabric.Fabric) {
				most.Store(max(most.Load(), under.Add(1)))
				runtime.Gosched()
				under.Add(-1)
				done.Add(1)
			})
		})
	}
	if all.Wait(); done.Load() != 8 || most.Load() != 1 {
		t.Errorf("%d calls are done, up to %d at a time", done.Load(), most.Load())
	}
}

func TestAsked(t *testing.T) {
	var a asked
	start := time.Now()
	frame := func(tid mad.TID) *[frameSize]byte { return frameTo(nodeInfo(), tid) }
	for i := range 10 {
		if !a.add(mad.TID(i), frame(mad.TID(i)), start.Add(time.Duration(i))) {
			t.Fatal("refused")
		}
	}
	a.take(0)
	a.take(2)
	a.add(3, frame(3), start.Add(100)) // again: the old one is forgotten
	var order []mad.TID
	for {
		f, ok := a.expired(start.Add(50))
		if !ok {
			break
		}
		order = append(order, tidOf(f))
	}
	if want := []mad.TID{1, 4, 5, 6, 7, 8, 9}; !slices.Equal(order, want) {
		t.Errorf("expired %v, want %v", order, want)
	}
	if _, ok := a.take(3); !ok {
		t.Error("3 is gone")
	}
	// One that is never answered does not make the rest pile up.
	a.add(1<<40, frame(1<<40), start)
	for i := range 100_000 {
		a.add(mad.TID(i), frame(mad.TID(i)), start)
		a.take(mad.TID(i))
	}
	if len(a.order) > 1000 || len(a.slots) > 100 {
		t.Errorf("%d turns, %d slots for one question", len(a.order), len(a.slots))
	}
	for i := range 2 * maxAsked {
		if ok := a.add(mad.TID(2000+i), frame(1), start); ok != (i < maxAsked-1) {
			t.Fatalf("question %d: %v", i, ok)
		}
	}
}

// FuzzServer gives a server data and control messages.
func FuzzServer(f *testing.F) {
	s := serve(f, smallNet, fabric.Config{}, ServerConfig{})
	p := open(f, s.Config, "H1")
	f.Add(frameTo(nodeInfo(1, 3, 2), 7)[:])
	f.Add(unhex(f, frameSize, capturedFrame))
	f.Add(unhex(f, controlSize, capturedConnect))
	f.Fuzz(func(t *testing.T, b []byte) {
		gone := false
		s.server.between(func() {
			c := s.server.clients[p.slot]
			s.server.take(c, b)
			c.queue, c.head, c.answers = c.queue[:0], 0, 0
			var m control
			if m.decode(b) == nil {
				m.kind %= controlGetPKeys + 2
				if m.kind != controlConnect && m.kind != controlDisconnect {
					s.server.answer(&m, c.from, c.peer)
				}
			}
			gone = s.server.clients[p.slot] != c || c.dead
		})
		if gone {
			t.Fatal("the client is gone")
		}
	})
}
