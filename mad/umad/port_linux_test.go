package umad

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ibsm/mad"
	"ibsm/mad/madtest"
)

var _ mad.Port = (*Port)(nil)

// The agents that stand-ins of the kernel give out.
const (
	directedAgent = 0
	lidAgent      = 1
	saAgent       = 3
)

// socketPort is a port whose device file is a socket, and the socket's other end, the
// kernel's. A socket of packets keeps reads and writes apart as the device does.
func socketPort(t testing.TB, qp int) (*Port, int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		t.Fatal(err)
	}
	agents := []agent{{mad.ClassDirected, directedAgent}, {mad.ClassLIDRouted, lidAgent}}
	if qp == 1 {
		agents = []agent{{mad.ClassSA, saAgent}}
	}
	p, err := newPort(fds[0], "mlx5_0 port 1", qp, agents,
		Config{Timeout: time.Second, QueryTimeout: time.Second, ReportTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		unix.Close(fds[1])
	})
	return p, fds[1]
}

// TestCaptured sends and receives what was seen between other programs and the
// kernel, byte for byte but for the agent's number and what the kernel ignores.
func TestCaptured(t *testing.T) {
	smp := mad.Addr{LID: mad.PermissiveLID}
	for _, c := range []struct {
		name     string
		qp       int
		agent    uint32
		received bool
		addr     mad.Addr
	}{
		{"umad-node-info-get", 0, directedAgent, false, smp},
		{"umad-node-info-resp", 0, directedAgent, true, smp},
		{"umad-trap-128", 0, lidAgent, true, mad.Addr{LID: 3}},
		{"umad-trap-repress", 0, lidAgent, false, mad.Addr{LID: 3}},
		{"umad-path-record-get-table", 1, saAgent, false, mad.Addr{LID: 1, QPN: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, kernel := socketPort(t, c.qp)
			b := madtest.Bytes(t, c.name)
			binary.NativeEndian.PutUint32(b, c.agent)
			ds := []mad.Datagram{{Addr: c.addr, Packet: mad.Packet(b[64:])}}
			if c.received {
				put(t, kernel, b)
				got := make([]mad.Datagram, 2)
				if n, err := p.Recv(got); n != 1 || err != nil || got[0] != ds[0] {
					t.Fatalf("received %d, %v:\n%x\nwant\n%x", n, err, got[0].Packet, ds[0].Packet)
				}
				return
			}
			if c.name == "umad-trap-repress" { // OpenSM asks for three attempts even here
				binary.NativeEndian.PutUint32(b[12:], 0)
			}
			if n, err := p.Send(ds); n != 1 || err != nil {
				t.Fatalf("sent %d, %v", n, err)
			}
			if got := get(t, kernel); !bytes.Equal(got, b) {
				t.Fatalf("sent\n%x\nwant\n%x", got, b)
			}
		})
	}
}

func put(t testing.TB, fd int, b []byte) {
	t.Helper()
	if _, err := unix.Write(fd, b); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, fd int) []byte {
	t.Helper()
	b := make([]byte, 2*frameSize)
	n, err := unix.Read(fd, b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// answer is a read as the kernel makes it.
type answer struct {
	agent  uint32
	status uint32
	class  mad.Class
	size   int // of header and packet
}

func (a answer) bytes() []byte {
	f := frame{header: header{agent: a.agent, status: a.status, length: uint32(a.size)}}
	f.packet.SetHeader(a.class, mad.MethodGet, 0x11, 7)
	f.packet.SetTID(0x1234)
	f.packet[255] = 0xff
	return bytes.Clone(f.bytes()[:min(a.size, frameSize)])
}

// TestReads: what the kernel may hand out, and what it may not.
func TestReads(t *testing.T) {
	const timedOut = uint32(unix.ETIMEDOUT)
	for _, c := range []struct {
		name string
		qp   int
		read answer
		want Stats
	}{
		{"packet", 0, answer{directedAgent, 0, mad.ClassDirected, 320}, Stats{Received: 1}},
		{"packet by LID", 0, answer{lidAgent, 0, mad.ClassLIDRouted, 320}, Stats{Received: 1}},
		{"packet to the SA", 1, answer{saAgent, 0, mad.ClassSA, 320}, Stats{Received: 1}},
		{"time-out, common header", 0, answer{directedAgent, timedOut, mad.ClassDirected, 88}, Stats{TimedOut: 1}},
		{"time-out, half a packet", 0, answer{directedAgent, timedOut, mad.ClassDirected, 200}, Stats{TimedOut: 1}},
		{"time-out, whole packet", 0, answer{directedAgent, timedOut, mad.ClassDirected, 320}, Stats{TimedOut: 1}},
		{"time-out, too short", 0, answer{directedAgent, timedOut, mad.ClassDirected, 87}, Stats{Malformed: 1}},
		{"header alone", 0, answer{directedAgent, timedOut, mad.ClassDirected, 64}, Stats{Malformed: 1}},
		{"part of the header", 0, answer{directedAgent, 0, mad.ClassDirected, 8}, Stats{Malformed: 1}},
		{"one byte", 0, answer{directedAgent, 0, mad.ClassDirected, 1}, Stats{Malformed: 1}},
		{"cut packet", 0, answer{directedAgent, 0, mad.ClassDirected, 319}, Stats{Malformed: 1}},
		{"another status", 0, answer{directedAgent, uint32(unix.EIO), mad.ClassDirected, 320}, Stats{Malformed: 1}},
		{"another agent", 0, answer{9, 0, mad.ClassDirected, 320}, Stats{Malformed: 1}},
		{"another class's agent", 0, answer{lidAgent, 0, mad.ClassDirected, 320}, Stats{Malformed: 1}},
		{"class of the other queue pair", 0, answer{directedAgent, 0, mad.ClassSA, 320}, Stats{Malformed: 1}},
		{"SMP on QP1", 1, answer{saAgent, 0, mad.ClassDirected, 320}, Stats{Malformed: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, kernel := socketPort(t, c.qp)
			put(t, kernel, c.read.bytes())
			// Another one behind it: a Recv that drops the first must give it.
			good := answer{directedAgent, 0, mad.ClassDirected, 320}
			if c.qp == 1 {
				good = answer{saAgent, 0, mad.ClassSA, 320}
			}
			put(t, kernel, good.bytes())
			c.want.Received++
			ds := make([]mad.Datagram, 4)
			n, err := p.Recv(ds)
			if err != nil || p.Stats() != c.want || n != int(c.want.Received+c.want.TimedOut) {
				t.Fatalf("%d datagrams, %v, %+v; want %+v", n, err, p.Stats(), c.want)
			}
			if d := &ds[0]; c.want.TimedOut == 1 {
				want := make([]byte, mad.PacketSize)
				copy(want, c.read.bytes()[64:])
				if !d.TimedOut || !bytes.Equal(d.Packet[:], want) {
					t.Errorf("timed out %v, %x", d.TimedOut, d.Packet)
				}
			}
		})
	}
}

// script is a stand-in for read or write that returns the errors in turn, and after
// them what the device would.
type script struct {
	errs []error
	then func(fd int, b []byte) (int, error)
}

func (s *script) call(fd int, b []byte) (int, error) {
	if len(s.errs) == 0 {
		return s.then(fd, b)
	}
	err := s.errs[0]
	s.errs = s.errs[1:]
	return -1, err
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		errs []error
		says string // "" when the packet behind the errors is received
	}{
		{"signals", []error{unix.EINTR, unix.EINTR, unix.EINTR}, ""},
		{"nothing there after all", []error{unix.EAGAIN}, ""},
		{"device removed", []error{unix.EIO},
			"umad: mlx5_0 port 1: read: input/output error (EIO): the device is gone, or its driver was reset"},
		{"device gone", []error{unix.EINTR, unix.ENODEV},
			"umad: mlx5_0 port 1: read: no such device (ENODEV): the device is gone, or its driver was reset"},
		{"packets of another size", []error{unix.EINVAL}, "umad: mlx5_0 port 1: read: invalid argument (EINVAL)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, kernel := socketPort(t, 0)
			s := &script{c.errs, unix.Read}
			packet := answer{directedAgent, 0, mad.ClassDirected, 320}.bytes()
			// A packet that was there before "nothing there" would be waited for in
			// vain: the poller reports each only once.
			late := slices.Contains(c.errs, error(unix.EAGAIN))
			p.in.read = func(fd int, b []byte) (int, error) {
				n, err := s.call(fd, b)
				if err == unix.EAGAIN && late {
					late = false
					put(t, kernel, packet)
				}
				return n, err
			}
			if !late {
				put(t, kernel, packet)
			}
			n, err := p.Recv(make([]mad.Datagram, 1))
			if c.says == "" && (n != 1 || err != nil) || c.says != "" &&
				(n != 0 || err == nil || err.Error() != c.says) {
				t.Fatalf("%d, %v; want %q", n, err, c.says)
			}
			if c.says == "" {
				return
			}
			p.Close()
			if _, again := p.Send(make([]mad.Datagram, 1)); again == nil || again.Error() != c.says {
				t.Errorf("after Close: %v; want what ended the port", again)
			}
		})
	}
}

// TestEndOfFile: a read of nothing, which the kernel does not do, ends the port.
func TestEndOfFile(t *testing.T) {
	p, kernel := socketPort(t, 0)
	p.in.read = func(int, []byte) (int, error) { return 0, nil }
	put(t, kernel, answer{directedAgent, 0, mad.ClassDirected, 320}.bytes())
	if n, err := p.Recv(make([]mad.Datagram, 1)); n != 0 || !errors.Is(err, unix.EIO) {
		t.Errorf("%d, %v, want EIO", n, err)
	}
}

// TestOversized: a message that does not fit is read with as much room as it wants, up
// to a bound, and dropped.
func TestOversized(t *testing.T) {
	for _, c := range []struct {
		length  uint32
		dropped bool
	}{{64 + 500, true}, {1_048_576, true}, {1_048_577, false}, {1<<32 - 1, false}, {frameSize, false}, {0, false}} {
		p, kernel := socketPort(t, 1)
		offered := true
		p.in.read = func(fd int, b []byte) (int, error) {
			if !offered {
				return unix.Read(fd, b)
			}
			if len(b) < int(c.length) || !c.dropped {
				h := header{agent: saAgent, length: c.length}
				copy(b, (&frame{header: h}).bytes())
				return -1, unix.ENOSPC
			}
			offered = false
			return int(c.length), nil
		}
		put(t, kernel, answer{saAgent, 0, mad.ClassSA, 320}.bytes())
		n, err := p.Recv(make([]mad.Datagram, 1))
		if c.dropped && (n != 1 || err != nil || p.Stats() != Stats{Received: 1, Oversized: 1}) {
			t.Errorf("%d bytes: %d, %v, %+v", c.length, n, err, p.Stats())
		}
		if !c.dropped && !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%d bytes: error %v, want ENOSPC", c.length, err)
		}
	}
}

func TestWriteErrors(t *testing.T) {
	many := func(n int, err error) (errs []error) {
		for range n {
			errs = append(errs, err)
		}
		return errs
	}
	for _, c := range []struct {
		name    string
		errs    []error
		sent    int // of 100
		refused uint64
		says    string
	}{
		{"signal", many(3, unix.EINTR), 100, 0, ""},
		{"transaction ID held", many(1, unix.EINVAL), 100, 1, ""},
		{"no memory", many(5, unix.ENOMEM), 100, 5, ""},
		{"full", append(many(2, unix.ENOSPC), many(2, unix.EAGAIN)...), 100, 4, ""},
		{"nearly always refused", many(maxRefused-1, unix.EINVAL), 100, maxRefused - 1, ""},
		{"always refused", many(100, unix.EINVAL), maxRefused - 1, maxRefused, "write: invalid argument (EINVAL)"},
		{"device removed", []error{unix.EINVAL, unix.EIO}, 1, 1,
			"write: input/output error (EIO): the device is gone, or its driver was reset"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := socketPort(t, 0)
			s := &script{c.errs, func(_ int, b []byte) (int, error) { return len(b), nil }}
			p.out.write = s.call
			ds := make([]mad.Datagram, 100)
			for i := range ds {
				ds[i].Packet.SetHeader(mad.ClassDirected, mad.MethodGet, 0x11, 0)
			}
			n, err := p.Send(ds)
			if n != c.sent || p.Stats().Refused != c.refused ||
				p.Stats().Sent != uint64(c.sent)-min(c.refused, uint64(c.sent)) {
				t.Errorf("took %d, %+v; want %d, %d refused", n, p.Stats(), c.sent, c.refused)
			}
			if (c.says == "") != (err == nil) || err != nil && !strings.HasSuffix(err.Error(), c.says) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
}

// TestHeader: which packets the kernel awaits an answer to.
func TestHeader(t *testing.T) {
	p, kernel := socketPort(t, 1)
	for _, c := range []struct {
		method  mad.Method
		timeout uint32
	}{{mad.MethodGet, 1000}, {mad.MethodSet, 1000}, {mad.MethodReport, 1000}, {mad.MethodGetTable, 1000},
		{mad.MethodGetResp, 0}, {mad.MethodGetTableResp, 0}, {mad.MethodTrapRepress, 0}, {mad.MethodSend, 0}} {
		d := mad.Datagram{Addr: mad.Addr{LID: 0x1234, QPN: 0x123456, SL: 5, PathBits: 3, PKeyIndex: 2}}
		d.Packet.SetHeader(mad.ClassSA, c.method, 0x35, 0)
		d.Packet.SetTID(0x0102030405060708)
		if _, err := p.Send([]mad.Datagram{d}); err != nil {
			t.Fatal(err)
		}
		b := get(t, kernel)
		want := make([]byte, headerSize)
		binary.NativeEndian.PutUint32(want, saAgent)
		binary.NativeEndian.PutUint32(want[8:], c.timeout)
		copy(want[20:], []byte{0, 0x12, 0x34, 0x56, 0x80, 1, 0, 0, 0x12, 0x34, 5, 3})
		binary.NativeEndian.PutUint16(want[56:], 2)
		if !bytes.Equal(b[:headerSize], want) || !bytes.Equal(b[headerSize:], d.Packet[:]) {
			t.Errorf("%v:\n%x\nwant\n%x", c.method, b, want)
		}
	}
	d := mad.Datagram{}
	d.Packet.SetHeader(mad.ClassPerf, mad.MethodGet, 1, 0)
	if n, err := p.Send([]mad.Datagram{d}); n != 0 || err == nil {
		t.Errorf("a class without agent: %d, %v", n, err)
	}
}

// TestGRH: the fields of a GRH are where ib_user_mad.h has them, in both directions, and an
// answer to what was read has the same; SMPs have none.
func TestGRH(t *testing.T) {
	gid := mad.MakeGID(0xfec0000000000001, 0x0002c9030010abcd)
	// From offset 32: grh_present, gid_index, hop_limit, traffic_class, gid, flow_label.
	field := slices.Concat([]byte{1, 3, 0xff, 0x21}, gid[:], []byte{0, 0x0a, 0xbc, 0xde})
	want := mad.GRH{Present: true, GIDIndex: 3, HopLimit: 0xff, TrafficClass: 0x21, GID: gid, FlowLabel: 0xabcde}
	p, kernel := socketPort(t, 1)
	in := answer{saAgent, 0, mad.ClassSA, frameSize}.bytes()
	copy(in[32:], field)
	put(t, kernel, in)
	ds := make([]mad.Datagram, 1)
	if n, err := p.Recv(ds); n != 1 || err != nil || ds[0].GRH != want {
		t.Fatalf("received %d, %v: %+v, want %+v", n, err, ds[0].GRH, want)
	}
	ds[0].Packet.SetMethod(mad.MethodGetResp)
	if _, err := p.Send(ds); err != nil {
		t.Fatal(err)
	}
	if b := get(t, kernel); !bytes.Equal(b[32:56], field) {
		t.Errorf("sent %x, want %x", b[32:56], field)
	}

	in[32] = 0 // the kernel leaves the rest as it was
	put(t, kernel, in)
	if n, err := p.Recv(ds); n != 1 || err != nil || ds[0].GRH != (mad.GRH{}) {
		t.Errorf("without GRH: %d, %v: %+v", n, err, ds[0].GRH)
	}
	ds[0].Packet.SetMethod(mad.MethodGetResp)
	if _, err := p.Send(ds); err != nil {
		t.Fatal(err)
	}
	if b := get(t, kernel); !bytes.Equal(b[32:56], make([]byte, 24)) {
		t.Errorf("sent %x, want no GRH", b[32:56])
	}

	smi, kernel := socketPort(t, 0)
	ds[0] = mad.Datagram{Addr: mad.Addr{LID: 3, GRH: want}}
	ds[0].Packet.SetHeader(mad.ClassLIDRouted, mad.MethodTrapRepress, 2, 0)
	if _, err := smi.Send(ds); err != nil {
		t.Fatal(err)
	}
	if b := get(t, kernel); !bytes.Equal(b[32:56], make([]byte, 24)) {
		t.Errorf("SMP sent with %x, want no GRH", b[32:56])
	}
}

// TestClose: Close ends a Recv that waits, and whatever comes after it.
func TestClose(t *testing.T) {
	p, _ := socketPort(t, 0)
	ended := make(chan error)
	go func() {
		_, err := p.Recv(make([]mad.Datagram, 1))
		ended <- err
	}()
	p.Close()
	p.Close()
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("Recv: %v", err)
	}
	if _, err := p.Send(make([]mad.Datagram, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Send: %v", err)
	}
	if _, err := p.Recv(make([]mad.Datagram, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Recv again: %v", err)
	}
}

// TestNoAllocations: a datagram costs the system call and two copies.
func TestNoAllocations(t *testing.T) {
	p, kernel := socketPort(t, 0)
	b := answer{directedAgent, 0, mad.ClassDirected, 320}.bytes()
	ds := make([]mad.Datagram, 1)
	ds[0].Packet.SetHeader(mad.ClassDirected, mad.MethodGet, 0x11, 0)
	buf := make([]byte, frameSize)
	if n := testing.AllocsPerRun(100, func() {
		p.Send(ds)
		unix.Read(kernel, buf)
		unix.Write(kernel, b)
		p.Recv(ds)
	}); n != 0 {
		t.Errorf("%v allocations for each packet there and back", n)
	}
}
