package umad

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ibsm/mad"
)

// Port is one queue pair of a port that is open. Any number of goroutines may send while
// one receives; Close and Stats may be called from anywhere.
//
// It waits in Go's poller: a goroutine that blocks in read or poll holds a thread, and
// waking that costs more CPU (BenchmarkWait: 36 to 46 us a datagram instead of 14 when
// they come one by one, 10 instead of 8 in batches of eight).
type Port struct {
	name   string
	qp     int
	file   *os.File
	raw    syscall.RawConn
	agents agents
	out    sender
	sends  sync.Pool // of *send
	in     receiver
	stats  counters
	end    atomic.Pointer[error] // what ended the port, which every later call returns
}

// counters are those of Stats.
type counters struct {
	sent, refused, received, timedOut, malformed, oversized atomic.Uint64
}

// maxRefused is how many packets in a row the kernel may refuse before the port
// counts as broken. Kernels before 5.11 do not say otherwise that a device is gone.
const maxRefused = 64

// newPort takes over a file that does not block.
func newPort(fd int, name string, qp int, list []agent, cfg Config) (*Port, error) {
	f := os.NewFile(uintptr(fd), name)
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	p := &Port{name: name, qp: qp, file: f, raw: raw, agents: agents{list: list}}
	p.out.timeoutMS, p.out.queryMS, p.out.reports = milliseconds(cfg.Timeout), milliseconds(cfg.QueryTimeout),
		attempts{milliseconds(cfg.ReportTimeout), cfg.ReportRetries}
	p.out.port, p.out.write = p, unix.Write
	p.sends.New = func() any {
		s := &send{sender: &p.out}
		s.step = s.try
		return s
	}
	p.in.port, p.in.step, p.in.read = p, p.in.try, unix.Read
	return p, nil
}

func milliseconds(d time.Duration) uint32 {
	return uint32(min(max(d.Milliseconds(), 1), time.Hour.Milliseconds()))
}

// Send sends the datagrams in order. One that the kernel does not take, for want of
// memory or because it still holds a request with the same transaction ID, is
// counted and as good as lost on the wire.
func (p *Port) Send(ds []mad.Datagram) (int, error) {
	s := p.sends.Get().(*send)
	s.ds, s.n, s.err = ds, 0, nil
	err := p.raw.Write(s.step)
	if err == nil {
		err = s.err
	}
	n := s.n
	s.ds = nil
	p.sends.Put(s)
	return n, p.explain("write", err)
}

// TrySend is Send, which does not wait.
func (p *Port) TrySend(ds []mad.Datagram) (int, error) { return p.Send(ds) }

// Recv waits for datagrams and takes as many as are there, up to len(ds).
func (p *Port) Recv(ds []mad.Datagram) (int, error) {
	if len(ds) == 0 {
		return 0, nil
	}
	r := &p.in
	r.ds, r.n, r.err = ds, 0, nil
	err := p.raw.Read(r.step)
	r.ds = nil
	if err == nil {
		err = r.err
	} else {
		err = unix.EIO // the poller's own: the kernel reports an error and nothing to read
	}
	return r.n, p.explain("read", err)
}

// Close ends a blocked Recv. The kernel drops what it still holds for us.
func (p *Port) Close() error {
	p.ended(errClosed)
	p.file.Close() // fails only when it is closed
	return nil
}

var errClosed = fmt.Errorf("umad: %w", os.ErrClosed)

// ended gives what ended the port, which is err if nothing did before.
func (p *Port) ended(err error) error {
	p.end.CompareAndSwap(nil, &err)
	return *p.end.Load()
}

// Stats is a copy of the counters.
func (p *Port) Stats() Stats {
	c := &p.stats
	return Stats{Sent: c.sent.Load(), Refused: c.refused.Load(), Received: c.received.Load(),
		TimedOut: c.timedOut.Load(), Malformed: c.malformed.Load(), Oversized: c.oversized.Load(),
		Held: p.agents.outstanding()}
}

// explain makes a sentence of what ends the port.
func (p *Port) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	var errno unix.Errno
	switch {
	case !errors.As(err, &errno):
		err = fmt.Errorf("umad: %s: %s: %w", p.name, doing, err)
	case isGone(errno):
		err = fmt.Errorf("umad: %s: %s: %w (%s): the device is gone, or its driver was reset", p.name, doing, err,
			unix.ErrnoName(errno))
	default:
		err = fmt.Errorf("umad: %s: %s: %w (%s)", p.name, doing, err, unix.ErrnoName(errno))
	}
	return p.ended(err)
}

// isGone reports whether an errno says that the device is there no more.
func isGone(errno error) bool {
	switch errno {
	case unix.EIO, unix.ENODEV, unix.ENXIO, unix.EPIPE, unix.EBADF:
		return true
	}
	return false
}

// sender writes datagrams, for one call of Send at a time: RawConn.Write lets no second in.
type sender struct {
	port      *Port
	timeoutMS uint32
	queryMS   uint32   // of requests to other SAs
	reports   attempts // of Reports
	refused   int      // in a row
	write     func(fd int, b []byte) (int, error)
	frame     frame
}

// attempts are those of a request that the kernel sends again by itself.
type attempts struct{ timeoutMS, retries uint32 }

// send is one call of Send.
type send struct {
	*sender
	step func(fd uintptr) bool
	ds   []mad.Datagram
	n    int
	err  error
}

// try writes all datagrams: the kernel never asks to wait.
func (s *send) try(fd uintptr) bool {
	for s.n < len(s.ds) {
		if s.err = s.encode(&s.ds[s.n]); s.err != nil {
			return true
		}
		err := s.writeFrame(int(fd))
		switch {
		case err == nil:
			s.refused = 0
			s.port.stats.sent.Add(1)
		case err == unix.EINTR:
			continue
		case isGone(err):
			s.err = err
			return true
		default:
			s.port.stats.refused.Add(1)
			if s.refused++; s.refused >= maxRefused {
				s.err = err
				return true
			}
		}
		s.n++
	}
	return true
}

// writeFrame writes the frame. A request counts as held from before that on, because its
// answer may be read before write returns.
func (s *sender) writeFrame(fd int) error {
	h := &s.frame.header
	held := h.timeoutMS != 0 && isLimited(s.frame.packet.MgmtClass())
	if held {
		s.port.agents.took(h.agent)
	}
	_, err := s.write(fd, s.frame.bytes())
	if err != nil && held {
		s.port.agents.returned(h.agent)
	}
	return err
}

// gsiQKey is in frames, and the kernel ignores it: it sends with those of its own queue pairs.
const gsiQKey = 0x80010000

// encode makes the frame of a datagram.
func (s *sender) encode(d *mad.Datagram) error {
	p := &d.Packet
	id, ok := s.port.agents.ofClass(p.MgmtClass())
	if !ok {
		return fmt.Errorf("class %v has no agent at QP%d", p.MgmtClass(), s.port.qp)
	}
	h := &s.frame.header
	*h = header{agent: id, sl: d.SL, pathBits: d.PathBits, pkeyIndex: d.PKeyIndex}
	if !p.IsResponse() && p.Method() != mad.MethodSend {
		h.timeoutMS = s.timeoutMS
		if isLimited(p.MgmtClass()) {
			h.agent = s.port.agents.forRequest(id)
		}
		switch {
		case p.MgmtClass() != mad.ClassSA:
		case p.Method() == mad.MethodReport:
			h.timeoutMS, h.retries = s.reports.timeoutMS, s.reports.retries
		default:
			h.timeoutMS = s.queryMS
		}
	}
	binary.BigEndian.PutUint32(h.qpn[:], d.QPN)
	if s.port.qp != 0 {
		binary.BigEndian.PutUint32(h.qkey[:], gsiQKey)
		h.setGRH(&d.GRH)
	}
	binary.BigEndian.PutUint16(h.lid[:], uint16(d.LID))
	s.frame.packet = *p
	return nil
}

// receiver reads datagrams.
type receiver struct {
	port  *Port
	step  func(fd uintptr) bool
	ds    []mad.Datagram
	n     int
	err   error
	read  func(fd int, b []byte) (int, error)
	frame frame
}

// try takes what is there; false asks to be called when something is.
func (r *receiver) try(fd uintptr) bool {
	for r.n < len(r.ds) {
		n, err := r.read(int(fd), r.frame.bytes())
		switch {
		case err == nil && n == 0:
			r.err = unix.EIO // the kernel never ends a file
		case err == nil:
			r.take(n)
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return r.n > 0
		case err == unix.ENOSPC:
			r.err = r.drop(int(fd))
		default:
			r.err = err
		}
		if r.err != nil {
			return true
		}
	}
	return true
}

// take decodes a read of n bytes and counts it.
func (r *receiver) take(n int) {
	d := &r.ds[r.n]
	stats := &r.port.stats
	switch {
	case !r.decode(d, n):
		stats.malformed.Add(1)
		return
	case d.TimedOut:
		stats.timedOut.Add(1)
	default:
		stats.received.Add(1)
	}
	r.n++
}

// shortest is what a time-out report has at least: the common MAD header.
const shortest = 24

// decode makes a datagram of the first n bytes of the frame: a packet, or a request
// that has had no answer, which may be cut. Anything else is refused.
func (r *receiver) decode(d *mad.Datagram, n int) bool {
	h, size := &r.frame.header, n-headerSize
	timedOut := h.status == uint32(unix.ETIMEDOUT)
	switch {
	case size > mad.PacketSize || size < shortest,
		size < mad.PacketSize && !timedOut,
		h.status != 0 && !timedOut:
		return false
	}
	d.Packet = r.frame.packet
	clear(d.Packet[size:])
	if !r.port.agents.has(h.agent, d.Packet.MgmtClass()) {
		return false
	}
	d.TimedOut = timedOut
	if isLimited(d.Packet.MgmtClass()) && (timedOut || d.Packet.IsResponse() && !isLaterSegment(&d.Packet)) {
		r.port.agents.returned(h.agent)
	}
	d.Addr = mad.Addr{
		LID: mad.LID(binary.BigEndian.Uint16(h.lid[:])),
		QPN: binary.BigEndian.Uint32(h.qpn[:]),
		SL:  h.sl, PathBits: h.pathBits, PKeyIndex: h.pkeyIndex,
	}
	if r.port.qp != 0 { // packets of VL15 have no GRH, whatever the header says
		d.GRH = h.grh()
	}
	return true
}

// isLaterSegment reports whether a response is a segment of an RMPP transfer after its first,
// with which the request came back.
func isLaterSegment(p *mad.Packet) bool {
	return p.MgmtClass() == mad.ClassSA && p.IsRMPP() && binary.BigEndian.Uint32(p[28:]) > 1
}

// maxMessage bounds what is read only to be rid of it.
const maxMessage = 1 << 20

// drop reads a message that is longer than a packet, which the kernel would offer
// again for ever. It reassembles none for us, so there should be none.
func (r *receiver) drop(fd int) error {
	size := int(r.frame.header.length)
	if size <= frameSize || size > maxMessage {
		return fmt.Errorf("%w: the kernel holds a message of %d bytes", unix.ENOSPC, size)
	}
	_, err := r.read(fd, make([]byte, size))
	switch err {
	case nil:
		r.port.stats.oversized.Add(1)
	case unix.EINTR, unix.EAGAIN: // it is offered again
		err = nil
	}
	return err
}
