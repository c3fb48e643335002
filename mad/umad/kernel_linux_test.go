package umad

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"ibsm/mad"
	"ibsm/mad/smi"
	"ibsm/mad/txn"
	"ibsm/mad/txn/txntest"
)

// kernel answers requests as Linux does, and worse: it also hands out packets with
// transaction IDs that nobody has, reports of attempts that are over, answers twice,
// and reads that make no sense.
type kernel struct {
	fd  int
	rnd *rand.Rand
}

// run answers until the port is closed.
func (k *kernel) run() {
	b := make([]byte, frameSize)
	for {
		n, err := unix.Read(k.fd, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n != frameSize {
			return
		}
		f := new(frame)
		copy(f.bytes(), b)
		if !k.answer(f) {
			return
		}
	}
}

func (k *kernel) answer(f *frame) bool {
	f.packet.SetTID(f.packet.TID() | 0x00abcdef<<32) // the kernel's half
	f.header.length = frameSize
	ok := true
	for range k.rnd.IntN(3) {
		ok = ok && k.noise(*f)
	}
	if k.rnd.IntN(4) == 0 { // the attempt is lost, and the kernel says so
		f.header.status = uint32(unix.ETIMEDOUT)
		return ok && k.write(f.bytes()[:headerSize+shortest])
	}
	f.packet.SetMethod(mad.MethodGetResp)
	f.packet.SetReturning()
	f.packet.Data()[0] = byte(f.packet.AttrMod())
	return ok && k.write(f.bytes())
}

// noise writes something that nobody has asked for.
func (k *kernel) noise(f frame) bool {
	switch k.rnd.IntN(5) {
	case 0: // another process's
		f.packet.SetTID(mad.TID(k.rnd.Uint64()))
		f.packet.SetMethod(mad.MethodGetResp)
	case 1: // of an attempt to come
		f.packet.SetTID(f.packet.TID() + 1<<28)
		f.header.status = uint32(unix.ETIMEDOUT)
	case 2: // of no agent
		f.header.agent = k.rnd.Uint32()
	case 3: // another attribute
		f.packet[17]++
		f.packet.SetMethod(mad.MethodGetResp)
	case 4:
		b := f.bytes()
		return k.write(b[:1+k.rnd.IntN(len(b)-1)])
	}
	return k.write(f.bytes())
}

func (k *kernel) write(b []byte) bool {
	for {
		_, err := unix.Write(k.fd, b)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

// TestHostileKernel: whatever the kernel says beside the answers, each request has
// its own answer.
func TestHostileKernel(t *testing.T) {
	p, fd := socketPort(t, 0)
	k := &kernel{fd: fd, rnd: rand.New(rand.NewPCG(1, 2))}
	go k.run()
	smiPort := smi.New(p)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- smiPort.Run(ctx) }()
	requests := make([]txn.Request, 2000)
	for i := range requests {
		requests[i] = txn.Request{Route: mad.MakeRoute(1, byte(i)), Method: mad.MethodGet, Attr: 0x11, Mod: uint32(i),
			Tag: uint64(i)}
	}
	outcomes, err := txntest.Do(ctx, smiPort, txn.Config{Retries: 14}, requests)
	if err != nil {
		t.Fatal(err)
	}
	for i := range outcomes {
		if o := &outcomes[i]; o.Result != txn.Replied || o.Tag != uint64(i) || o.Data[0] != byte(i) {
			t.Fatalf("request %d: %v, tag %d, data %d", i, o.Result, o.Tag, o.Data[0])
		}
	}
	st := p.Stats()
	if st.Malformed == 0 || st.TimedOut == 0 || st.Refused != 0 {
		t.Errorf("the kernel was not as hostile as it should be: %+v", st)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// FuzzReads hands out reads of any size and content at either queue pair: nothing but packets and
// reports of our agents come through, and all is counted.
func FuzzReads(f *testing.F) {
	const senderAgent = 7
	const timedOut = uint32(unix.ETIMEDOUT)
	classes := [2][]agent{
		{{mad.ClassDirected, directedAgent}, {mad.ClassLIDRouted, lidAgent}, {0, senderAgent}},
		{{mad.ClassSA, saAgent}, {mad.ClassMirror, 4}, {mad.ClassPerf, 5}, {mad.ClassCongestion, 6}, {0, senderAgent}},
	}
	for qp, list := range classes {
		for _, a := range list[:len(list)-1] {
			for _, id := range []uint32{a.id, senderAgent, senderAgent + 1} {
				f.Add(qp == 1, answer{id, 0, a.class, 320}.bytes(), uint16(320))
				f.Add(qp == 1, answer{id, timedOut, a.class, 88}.bytes(), uint16(88))
			}
			withGRH := frame{header: header{agent: a.id, grhPresent: 1, hopLimit: 64, trafficClass: 3, gidIndex: 1,
				flowLabel: [4]byte{1, 2, 3, 4}, gid: mad.GID{15: 9}}}
			withGRH.packet.SetHeader(a.class, mad.MethodGetResp, 0x11, 7)
			f.Add(qp == 1, bytes.Clone(withGRH.bytes()), uint16(320))
		}
	}
	f.Add(false, answer{directedAgent, 0, mad.ClassDirected, 88}.bytes(), uint16(88))
	f.Add(false, []byte{1}, uint16(1))
	f.Fuzz(func(t *testing.T, gsi bool, b []byte, size uint16) {
		qp := 0
		if gsi {
			qp = 1
		}
		p := &Port{qp: qp, agents: agents{list: classes[qp]}}
		p.in.port, p.out.port = p, p
		n := min(int(size), frameSize)
		copy(p.in.frame.bytes(), b)
		read := bytes.Clone(p.in.frame.bytes())
		header := p.in.frame.header
		var d mad.Datagram
		p.in.ds = []mad.Datagram{d}
		p.in.take(n)
		st := p.Stats()
		if st.Received+st.TimedOut+st.Malformed != 1 || st.Malformed != uint64(1-p.in.n) {
			t.Fatalf("%d datagrams, %+v", p.in.n, st)
		}
		if p.in.n == 0 {
			return
		}
		d = p.in.ds[0]
		if d.QP() != qp || d.TimedOut != (st.TimedOut == 1) || !d.TimedOut && n != frameSize ||
			!bytes.Equal(d.Packet[:n-headerSize], read[headerSize:n]) {
			t.Fatalf("QP%d, timed out %v of %d bytes: %x", d.QP(), d.TimedOut, n, d.Packet)
		}
		if d.GRH.Present != (gsi && header.grhPresent != 0) || d.GRH.Present && d.GRH.GID != header.gid {
			t.Fatalf("a GRH %+v of %+v", d.GRH, header)
		}
		// Sent back, it carries the same packet to the same place.
		if err := p.out.encode(&d); err != nil {
			t.Fatal(err)
		}
		copy(p.in.frame.bytes(), p.out.frame.bytes())
		back := d
		if !p.in.decode(&back, frameSize) {
			t.Fatal("our own frame is refused")
		}
		if d.TimedOut = false; back != d {
			t.Fatalf("%+v\nwant %+v", back, d)
		}
	})
}

// FuzzLongReads says that a message is longer than a packet, of any length: it is read and counted,
// or refused by name, and what is read for it is bounded.
func FuzzLongReads(f *testing.F) {
	for _, length := range []uint32{0, frameSize, frameSize + 1, 4096, maxMessage, maxMessage + 1, 1<<32 - 1} {
		f.Add(length, byte(0))
	}
	f.Add(uint32(4096), byte(unix.EINTR))
	f.Add(uint32(4096), byte(unix.EIO))
	f.Fuzz(func(t *testing.T, length uint32, errno byte) {
		p := &Port{}
		asked := 0
		p.in = receiver{port: p, read: func(_ int, b []byte) (int, error) {
			if asked = len(b); errno != 0 {
				return -1, unix.Errno(errno)
			}
			return len(b), nil
		}}
		p.in.frame.header.length = length
		err := p.in.drop(0)
		is := length > frameSize && length <= maxMessage
		switch {
		case !is && (asked != 0 || err == nil), is && asked != int(length):
			t.Fatalf("of %d bytes %d are read: %v", length, asked, err)
		case is && errno == 0 && (err != nil || p.Stats().Oversized != 1):
			t.Fatalf("%v, %+v", err, p.Stats())
		case is && errno != 0 &&
			(p.Stats().Oversized != 0 ||
				(err == nil) != (unix.Errno(errno) == unix.EINTR || unix.Errno(errno) == unix.EAGAIN)):
			t.Fatalf("after %v: %v, %+v", unix.Errno(errno), err, p.Stats())
		}
	})
}
