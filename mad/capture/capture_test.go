package capture

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/mad"
	"ibsm/mad/cc"
	"ibsm/mad/smp"
)

// wire is a port that takes some of what is sent, and gives what it is given.
type wire struct {
	mad.Port
	takes int
	given []mad.Datagram
}

func (w *wire) Send(ds []mad.Datagram) (int, error)    { return len(ds), nil }
func (w *wire) TrySend(ds []mad.Datagram) (int, error) { return min(w.takes, len(ds)), nil }
func (w *wire) Recv(ds []mad.Datagram) (int, error)    { return copy(ds, w.given), nil }

// request is a Get on a directed route.
func request(tid mad.TID, attr mad.AttrID, ports ...uint8) (d mad.Datagram) {
	route := mad.MakeRoute(ports...)
	d.Packet.SetDirected(&route, mad.MethodGet, attr, 0)
	d.Packet.SetTID(tid)
	d.LID = mad.PermissiveLID
	return d
}

func response(d mad.Datagram) mad.Datagram {
	d.Packet.SetMethod(mad.MethodGetResp)
	return d
}

// general is a packet of a class of general services to or from a LID.
func general(class mad.Class, m mad.Method, lid mad.LID) (d mad.Datagram) {
	d.Packet.SetHeader(class, m, 0x12, 0)
	d.LID, d.QPN, d.SL = lid, 1, 3
	return d
}

// sample is the file of a recording on a clock that does not wait.
func sample(t *testing.T) (file []byte) {
	synctest.Test(t, func(t *testing.T) { file = recorded(t, time.Sleep) })
	return file
}

// recorded is the file of a recording.
func recorded(t testing.TB, sleep func(time.Duration)) []byte {
	var r Recorder
	w := &wire{takes: 1}
	p := r.Wrap(w)
	p.Send([]mad.Datagram{request(1, smp.AttrNodeInfo, 9)}) // before the recording
	rec, err := r.Begin("ibsm 1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	p.Send([]mad.Datagram{request(2, smp.AttrNodeInfo), request(3, smp.AttrPortInfo, 7)})
	sleep(1500 * time.Nanosecond)
	bounced := request(3, smp.AttrPortInfo, 7)
	bounced.TimedOut = true
	w.given = []mad.Datagram{response(request(2, smp.AttrNodeInfo)), bounced, general(mad.ClassSA, mad.MethodGet, 5),
		general(mad.ClassPerf, mad.MethodGet, 6)}
	p.Recv(make([]mad.Datagram, 8))
	sleep(time.Second)
	counters := general(mad.ClassPerf, mad.MethodGet, 7)
	counters.GRH = mad.GRH{Present: true, GID: mad.MakeGID(mad.DefaultPrefix, 0xabc), HopLimit: 64}
	p.TrySend([]mad.Datagram{counters, general(mad.ClassPerf, mad.MethodGet, 8)})
	w.given = []mad.Datagram{general(mad.ClassPerf, mad.MethodGetResp, 7)}
	p.Recv(make([]mad.Datagram, 8))
	sleep(time.Minute)
	file := rec.End("the sweep has ended")
	p.Send([]mad.Datagram{request(4, smp.AttrNodeInfo)}) // after the recording
	return file
}

func plainText(t testing.TB, file []byte) []byte {
	zip, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRecording: a file has the packets between manager and devices, with their times, and why it ends.
// IBSM_CAPTURE=FILE writes it, for a look with tshark -r FILE -V.
func TestRecording(t *testing.T) {
	file := sample(t)
	if name := os.Getenv("IBSM_CAPTURE"); name != "" {
		if err := os.WriteFile(name, file, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if f.Program != "ibsm 1.2.3" || f.End != "the sweep has ended" || f.Ended != time.Minute+time.Second+1500 ||
		f.Skipped != 0 {
		t.Errorf("%q, %q, %v, %d skipped", f.Program, f.End, f.Ended, f.Skipped)
	}
	want := []Record{
		{0, true, request(2, smp.AttrNodeInfo)}, {0, true, request(3, smp.AttrPortInfo, 7)},
		{1500, false, response(request(2, smp.AttrNodeInfo))},
		{time.Second + 1500, true, general(mad.ClassPerf, mad.MethodGet, 7)},
		{time.Second + 1500, false, general(mad.ClassPerf, mad.MethodGetResp, 7)},
	}
	want[3].GRH.Present = true
	if len(f.Records) != len(want) {
		t.Fatalf("%d packets, want %d", len(f.Records), len(want))
	}
	for i, r := range f.Records {
		if r != want[i] {
			t.Errorf("packet %d is %+v, want %+v", i, r, want[i])
		}
	}
	for _, words := range []string{Format + "\n", "M_Keys, SM_Keys and CC_Keys are 0x626c616e6b656421"} {
		if !strings.Contains(string(plainText(t, file)), words) {
			t.Errorf("the file does not say %q", words)
		}
	}
}

// TestOne: two recordings at a time are one too many; one after the other are not.
func TestOne(t *testing.T) {
	var r Recorder
	first, err := r.Begin("ibsm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Begin("ibsm"); !errors.Is(err, ErrBusy) {
		t.Errorf("a second one: %v", err)
	}
	first.End("one")
	if f, err := Read(bytes.NewReader(first.End("two"))); err != nil || f.End != "one" {
		t.Errorf("%+v, %v", f, err)
	}
	second, err := r.Begin("ibsm")
	if err != nil {
		t.Fatal(err)
	}
	second.End("two")
}

// TestBounded: a recording ends by itself, and says so.
func TestBounded(t *testing.T) {
	var r Recorder
	p := r.Wrap(&wire{})
	rec, err := r.Begin("ibsm")
	if err != nil {
		t.Fatal(err)
	}
	rec.packets = MaxPackets - 2
	p.Send([]mad.Datagram{request(1, smp.AttrNodeInfo)})
	select {
	case <-rec.Done():
		t.Error("it ended too early")
	default:
	}
	p.Send([]mad.Datagram{request(2, smp.AttrNodeInfo), request(3, smp.AttrNodeInfo)})
	select {
	case <-rec.Done():
	default:
		t.Error("it has not ended")
	}
	p.Send([]mad.Datagram{request(4, smp.AttrNodeInfo)})
	if f, err := Read(bytes.NewReader(rec.End("never"))); err != nil || !strings.Contains(f.End, "1048576 packets") ||
		len(f.Records) != 2 {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestBoundedBytes: neither does what is compressed grow without limit, nor what waits for it.
func TestBoundedBytes(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	var d mad.Datagram
	batch := make([]mad.Datagram, 1000)
	for name, stuck := range map[string]bool{"64 MiB": false, "compressed": true} {
		var r Recorder
		rec := &Recording{recorder: &r, start: time.Now(), done: make(chan struct{}), wake: make(chan struct{}, 1),
			written: make(chan struct{})}
		rec.out.section("ibsm", rec.start)
		if !stuck {
			rec.file.Write(make([]byte, MaxSize-1<<20))
			go rec.compress()
		}
		ended := func() bool {
			select {
			case <-rec.Done():
				return true
			default:
				return false
			}
		}
		for sent := 0; !ended(); sent++ {
			if sent == 1000 {
				t.Fatalf("%s: it has not ended", name)
			}
			for i := range batch {
				random.Read(d.Packet[:])
				d.Packet[0], d.Packet[1] = 1, byte(mad.ClassLIDRouted)
				batch[i] = d
			}
			rec.add(true, batch)
		}
		if stuck {
			go rec.compress()
		}
		if file := rec.End("never"); len(file) > MaxSize+maxPending || len(rec.out.buf) > 0 {
			t.Errorf("%s: %d bytes", name, len(file))
		}
	}
}

// TestNoCost: a port at which nothing is recorded does not allocate, and one that is recorded does not for each packet.
func TestNoCost(t *testing.T) {
	var r Recorder
	p := r.Wrap(&wire{takes: 64})
	batch := make([]mad.Datagram, 64)
	for i := range batch {
		batch[i] = request(mad.TID(i), smp.AttrNodeInfo, 1, 2, 3)
	}
	pass := func() {
		p.Send(batch)
		p.TrySend(batch)
		p.Recv(batch)
	}
	if n := testing.AllocsPerRun(10, pass); n != 0 {
		t.Errorf("%v allocations without a recording", n)
	}
	rec, err := r.Begin("ibsm")
	if err != nil {
		t.Fatal(err)
	}
	defer rec.End("")
	if n := testing.AllocsPerRun(100, pass); n > 8 {
		t.Errorf("%v allocations for %d packets", n, 3*len(batch))
	}
}

// TestBlank: every field that is a key by the specification, in every class that is recorded, is blanked where it is
// not 0.
func TestBlank(t *testing.T) {
	const key = 0x1112131415161718
	for _, c := range []struct {
		name string
		make func(p *mad.Packet, key uint64)
		want uint64
	}{
		{"M_Key of a header", func(p *mad.Packet, key uint64) { p.SetMKey(mad.MKey(key)) }, BlankKey},
		{"M_Key of PortInfo", func(p *mad.Packet, key uint64) {
			p.SetHeader(mad.ClassLIDRouted, mad.MethodGetResp, smp.AttrPortInfo, 0)
			(*smp.PortInfo)(p.Data()).SetMKey(mad.MKey(key))
		}, BlankKey},
		{"SM_Key", func(p *mad.Packet, key uint64) {
			p.SetHeader(mad.ClassLIDRouted, mad.MethodSet, smp.AttrSMInfo, 0)
			(*smp.SMInfo)(p.Data()).SetSMKey(key)
		}, BlankKey},
		{"trap 256", func(p *mad.Packet, key uint64) {
			p.SetHeader(mad.ClassLIDRouted, mad.MethodTrap, smp.AttrNotice, 0)
			n := (*smp.Notice)(p.Data())
			n.SetTrapNumber(smp.TrapBadMKey)
			n.BadMKey().SetMKey(mad.MKey(key))
		}, BlankKey},
		{"trap 258", func(p *mad.Packet, key uint64) {
			p.SetHeader(mad.ClassLIDRouted, mad.MethodTrapRepress, smp.AttrNotice, 0)
			n := (*smp.Notice)(p.Data())
			n.SetTrapNumber(smp.TrapBadQKey)
			n.BadKey().SetKey(uint32(key))
		}, blankQKey},
		{"CC_Key of a header", func(p *mad.Packet, key uint64) {
			cc.SetRequest(p, mad.MethodSet, cc.AttrCongestionInfo, 0, cc.Key(key))
		}, BlankKey},
		{"CC_Key of CongestionKeyInfo", func(p *mad.Packet, key uint64) {
			cc.SetRequest(p, mad.MethodSet, cc.AttrCongestionKeyInfo, 0, 0)
			(*cc.CongestionKeyInfo)(p.PerfData()[:]).SetCCKey(cc.Key(key))
		}, BlankKey},
	} {
		for _, given := range []uint64{key, 0} {
			var got, want mad.Packet
			route := mad.MakeRoute(1, 2)
			got.SetDirected(&route, mad.MethodGet, smp.AttrNodeInfo, 0)
			want = got
			c.make(&got, given)
			if given != 0 {
				given = c.want
			}
			c.make(&want, given)
			if Blank(&got); got != want {
				t.Errorf("%s is\n% x\nwant\n% x", c.name, got[:128], want[:128])
			}
		}
	}
	var p mad.Packet
	p.SetHeader(mad.ClassLIDRouted, mad.MethodTrap, smp.AttrNotice, 0)
	(*smp.Notice)(p.Data()).SetTrapNumber(smp.TrapVPortBadQKey)
	copy(p.Data()[10:], bytes.Repeat([]byte{7}, smp.DetailsSize))
	if Blank(&p); bytes.Contains(p[:], []byte{7}) {
		t.Errorf("trap 1258 is % x", p.Data()[:])
	}
}

// ibdump is a file such as ibdump writes: pcap of ERF records. With two extension headers that say that there are more.
func ibdump(extended bool, packets ...mad.Datagram) []byte {
	out := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	out = binary.LittleEndian.AppendUint16(out, 2)
	out = binary.LittleEndian.AppendUint16(out, 4)
	out = append(out, make([]byte, 8)...)
	out = binary.LittleEndian.AppendUint32(out, 65535)
	out = binary.LittleEndian.AppendUint32(out, linkERF)
	for i := range packets {
		frame := appendFrame(nil, &packets[i], !packets[i].Packet.IsResponse())
		erf, frame := frame[:16:16], frame[16:]
		if extended {
			erf[8] |= 0x80
			erf = append(erf, append([]byte{0x80, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 8)...)...)
			binary.BigEndian.PutUint16(erf[10:], uint16(len(erf)+len(frame)))
		}
		out = binary.LittleEndian.AppendUint32(out, 1700000000)
		out = binary.LittleEndian.AppendUint32(out, uint32(7*i))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(erf)+len(frame)))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(erf)+len(frame)))
		out = append(append(out, erf...), frame...)
	}
	return out
}

// TestIbdump: captures of ibdump are read; the direction follows from the packet.
func TestIbdump(t *testing.T) {
	out := request(1, smp.AttrNodeInfo, 1, 2)
	out.Packet.SetHopPointer(1)
	in := request(2, smp.AttrNodeInfo, 1, 2) // of another manager
	in.Packet.SetHopPointer(3)
	for _, extended := range []bool{false, true} {
		file := ibdump(extended, out, in, response(out), general(mad.ClassSA, mad.MethodGet, 3),
			general(mad.ClassPerf, mad.MethodGet, 4))
		if name := os.Getenv("IBSM_CAPTURE"); name != "" && !extended {
			if err := os.WriteFile(name+".erf", file, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		f, err := Read(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Records) != 4 || f.Skipped != 1 || f.End != "" {
			t.Fatalf("%d packets, %d skipped, end %q", len(f.Records), f.Skipped, f.End)
		}
		for i, want := range []Record{{0, true, out}, {7000, false, in}, {14000, false, response(out)},
			{28000, true, general(mad.ClassPerf, mad.MethodGet, 4)}} {
			if got := f.Records[i]; got != want {
				t.Errorf("packet %d is %+v, want %+v", i, got, want)
			}
		}
	}
}

// swapped is a pcapng file in the other order of bytes, with another unit of time.
func swapped(packets ...mad.Datagram) []byte {
	big := binary.BigEndian
	block := func(kind uint32, body []byte) []byte {
		b := big.AppendUint32(nil, kind)
		b = big.AppendUint32(b, uint32(len(body)+12))
		b = append(b, body...)
		return big.AppendUint32(b, uint32(len(body)+12))
	}
	out := block(blockSection, []byte{0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff})
	// 2^-10 s
	out = append(out,
		block(blockInterface, []byte{0, linkERF, 0, 0, 0, 0, 0, 0, 0, ifTSResol, 0, 1, 0x8a, 0, 0, 0, 0, 0, 0, 0})...)
	for i := range packets {
		frame := appendFrame(nil, &packets[i], true)
		body := append(make([]byte, 4), 0, 0, 0, 0, 0, 0, byte(4*(i+1)), 0)
		body = big.AppendUint32(body, uint32(len(frame)))
		body = big.AppendUint32(body, uint32(len(frame)))
		body = append(body, frame...)
		out = append(out, block(blockPacket, append(body, make([]byte, -len(frame)&3)...))...)
	}
	return out
}

// TestOtherOrder: a file in the other order of bytes is read, and its unit of time counts.
func TestOtherOrder(t *testing.T) {
	f, err := Read(bytes.NewReader(swapped(request(1, smp.AttrNodeInfo), request(2, smp.AttrNodeInfo))))
	if err != nil || len(f.Records) != 2 || f.Records[1].At != time.Second {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestCutOff: what there is of a file that is cut off anywhere is read.
func TestCutOff(t *testing.T) {
	file := sample(t)
	text := plainText(t, file)
	for _, whole := range [][]byte{file, text[:len(text)-8], ibdump(false, request(1, smp.AttrNodeInfo))} {
		for n := 32; n < len(whole); n++ {
			f, err := Read(bytes.NewReader(whole[:n]))
			if errors.Is(err, errNotCapture) && whole[0] == file[0] {
				continue // nothing can be decompressed yet
			} else if err != nil {
				t.Fatalf("%d bytes of %d: %v", n, len(whole), err)
			}
			if f.End != "" && whole[0] != file[0] {
				t.Fatalf("%d bytes of %d: end %q", n, len(whole), f.End)
			}
		}
	}
}

// TestRefused: what is no capture, or is a damaged one, is refused with a reason.
func TestRefused(t *testing.T) {
	text := plainText(t, sample(t))
	damaged := func(at int, b ...byte) []byte {
		c := bytes.Clone(text)
		copy(c[at:], b)
		return c
	}
	newer := bytes.Replace(text, []byte(Format), []byte("ibsm capture 2"), 1)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":         {nil, "not a capture"},
		"text":          {[]byte("Switch 4 \"S-1\"\n"), "not a capture"},
		"no magic":      {damaged(8, 1, 2, 3, 4), "not a capture"},
		"short block":   {damaged(4, 8, 0, 0, 0), "byte 0: a block of 8 bytes"},
		"long block":    {damaged(4, 0, 0, 0, 1), "a block of 16777216 bytes"},
		"newer version": {newer, `"ibsm capture 2", but this version of ibsm reads "ibsm capture 1"`},
		"gzip":          {[]byte("\x1f\x8b\x08zzzzzzzzzzzzz"), ""},
	} {
		if _, err := Read(bytes.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestTooLong: a file that is longer than any recording is not read to its end.
func TestTooLong(t *testing.T) {
	text := plainText(t, sample(t))
	r := &reader{in: bufio.NewReader(bytes.NewReader(text)), offset: maxText - int64(len(text)) + 1}
	if err := r.pcapng(); !errors.Is(err, errTooLong) {
		t.Error(err)
	}
}

// FuzzRead: no file makes Read panic, and what it returns is in order.
func FuzzRead(f *testing.F) {
	file := recorded(f, func(time.Duration) {})
	f.Add(file)
	f.Add(plainText(f, file))
	f.Add(ibdump(true, request(1, smp.AttrNodeInfo, 1), response(request(1, smp.AttrNodeInfo, 1))))
	f.Add(swapped(request(1, smp.AttrNodeInfo)))
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		last := time.Duration(0)
		for i := range c.Records {
			if r := &c.Records[i]; r.At < last {
				t.Fatalf("packet %d at %v, after one at %v", i, r.At, last)
			} else {
				last = r.At
			}
		}
		if c.Ended < last {
			t.Fatalf("it ended at %v, before its last packet at %v", c.Ended, last)
		}
	})
}
