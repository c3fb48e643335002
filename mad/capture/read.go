package capture

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strings"
	"time"

	"ibsm/mad"
)

// File is what was recorded.
type File struct {
	Program string // and its version; "" if the file does not say
	// End is why the recording ended, "" where the file is cut off or does not say.
	End     string
	Ended   time.Duration // when that was, on the clock of Records; at the earliest the time of the last one
	Records []Record      // in the order of the file
	// Skipped counts packets that are of no interest: not MADs, or not of the classes that are recorded.
	Skipped int
}

// Record is one packet.
type Record struct {
	At   time.Duration // since the first packet; never less than that of the record before
	Sent bool          // by the manager
	// Datagram has the LID of the other end, where that counts. Fields of a GRH are not read.
	mad.Datagram
}

const (
	// maxText bounds a file that is read, in bytes after decompression.
	maxText = MaxPackets * 512
	// maxBlock bounds a block, in bytes. A packet takes less than 400.
	maxBlock      = 1 << 16
	maxInterfaces = 64
)

// Read reads a file: pcapng or pcap, compressed by gzip or not. It needs at most about 400 MB. A file that is
// cut off is read as far as it goes.
func Read(src io.Reader) (*File, error) {
	in := bufio.NewReaderSize(src, 1<<16)
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		zip, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(zip, 1<<16)
	}
	r := &reader{in: in}
	magic, err := in.Peek(4)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	switch {
	case len(magic) < 4:
		err = errNotCapture
	case binary.LittleEndian.Uint32(magic) == blockSection: // in either order of bytes
		err = r.pcapng()
	default:
		err = r.pcap(magic)
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if n := len(r.file.Records); n > 0 {
		r.file.Ended = max(r.file.Ended, r.file.Records[n-1].At)
	}
	return &r.file, nil
}

var (
	errNotCapture = errors.New("not a capture: expected pcapng or pcap")
	errTooLong    = fmt.Errorf("longer than %d bytes", maxText)
)

// reader reads a file.
type reader struct {
	in     *bufio.Reader
	offset int64 // of what is read next
	file   File
	first  int64 // the time of the first packet, in nanoseconds
	last   int64
	order  binary.ByteOrder
	links  []link // the interfaces of the section
	buf    []byte
}

// link is an interface.
type link struct {
	kind uint16
	unit uint8 // if_tsresol
}

// read reads the next bytes, which are valid until it is called again. The error is io.EOF only where nothing is left.
func (r *reader) read(n int) ([]byte, error) {
	if r.offset += int64(n); r.offset > maxText {
		return nil, errTooLong
	}
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	r.buf = r.buf[:n]
	_, err := io.ReadFull(r.in, r.buf)
	return r.buf, err
}

// pcapng reads blocks.
func (r *reader) pcapng() error {
	for {
		at := r.offset
		head, err := r.read(8)
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		kind := binary.LittleEndian.Uint32(head)
		if kind == blockSection {
			if err := r.setOrder(); err != nil {
				return fmt.Errorf("byte %d: %w", at, err)
			}
		} else {
			kind = r.order.Uint32(head)
		}
		length := r.order.Uint32(head[4:])
		if length < 12 || length%4 != 0 || length > maxBlock {
			return fmt.Errorf("byte %d: a block of %d bytes", at, length)
		}
		body, err := r.read(int(length) - 8)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err == nil {
			err = r.block(kind, body[:len(body)-4])
		}
		if err != nil {
			return fmt.Errorf("byte %d: %w", at, err)
		}
	}
}

// setOrder looks at the order of bytes of the section that begins.
func (r *reader) setOrder() error {
	magic, err := r.in.Peek(4)
	switch {
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	case binary.LittleEndian.Uint32(magic) == byteOrderMagic:
		r.order = binary.LittleEndian
	case binary.BigEndian.Uint32(magic) == byteOrderMagic:
		r.order = binary.BigEndian
	default:
		return errNotCapture
	}
	r.links = nil
	return nil
}

// block takes a block, without its type and lengths.
func (r *reader) block(kind uint32, b []byte) error {
	switch kind {
	case blockSection:
		if len(b) < 16 {
			return errors.New("the section header is too short")
		}
		return r.options(b[16:], r.sectionOption)
	case blockInterface:
		if len(b) < 8 || len(r.links) >= maxInterfaces {
			return errors.New("an interface block is too short, or there are too many")
		}
		l := link{kind: r.order.Uint16(b), unit: 6}
		err := r.options(b[8:], func(code uint16, value []byte) error {
			if code == ifTSResol && len(value) > 0 {
				l.unit = value[0]
			}
			return nil
		})
		r.links = append(r.links, l)
		return err
	case blockPacket:
		return r.enhancedPacket(b)
	case blockStatistics:
		if len(b) < 12 || r.order.Uint32(b) >= uint32(len(r.links)) {
			return errors.New("a statistics block is too short, or belongs to no interface")
		}
		if at := r.links[r.order.Uint32(b)].nanoseconds(r.time(b[4:])); len(r.file.Records) > 0 {
			r.file.Ended = time.Duration(max(at-r.first, 0))
		}
		return r.options(b[12:], func(code uint16, value []byte) error {
			if code == optComment {
				r.file.End = string(value)
			}
			return nil
		})
	}
	return nil
}

// sectionOption takes an option of a section header.
func (r *reader) sectionOption(code uint16, value []byte) error {
	switch code {
	case sectionProgram:
		r.file.Program = string(value)
	case optComment:
		head, _, _ := strings.Cut(string(value), "\n")
		if name, _, _ := strings.Cut(Format, "1"); strings.HasPrefix(head, name) && head != Format {
			return fmt.Errorf("the format of the file is %q, but this version of ibsm reads %q", head, Format)
		}
	}
	return nil
}

// options passes on options up to their end.
func (r *reader) options(b []byte, each func(code uint16, value []byte) error) error {
	for len(b) >= 4 {
		code, length := r.order.Uint16(b), int(r.order.Uint16(b[2:]))
		if code == optEnd {
			return nil
		}
		if length > len(b)-4 {
			return errors.New("an option is longer than its block")
		}
		if err := each(code, b[4:4+length]); err != nil {
			return err
		}
		b = b[min(len(b), 4+(length+3)/4*4):]
	}
	return nil
}

// time is that of a packet or of statistics, in units of the interface.
func (r *reader) time(b []byte) uint64 {
	return uint64(r.order.Uint32(b))<<32 | uint64(r.order.Uint32(b[4:]))
}

// nanoseconds turns a time in units of the interface into nanoseconds; one that is too large becomes the largest.
func (l link) nanoseconds(t uint64) int64 {
	scale, per := uint64(1e9), uint64(1) // ns = t * scale / per
	if exponent := l.unit & 0x7f; l.unit&0x80 != 0 {
		per <<= min(exponent, 63)
	} else {
		for range min(exponent, 19) {
			per *= 10
		}
	}
	high, low := bits.Mul64(t, scale)
	if high >= per {
		return math.MaxInt64
	}
	ns, _ := bits.Div64(high, low, per)
	return int64(min(ns, math.MaxInt64))
}

// enhancedPacket takes an enhanced packet block.
func (r *reader) enhancedPacket(b []byte) error {
	if len(b) < 20 {
		return errors.New("a packet block is too short")
	}
	of, length := r.order.Uint32(b), r.order.Uint32(b[12:])
	if of >= uint32(len(r.links)) || int64(length) > int64(len(b)-20) {
		return errors.New("a packet belongs to no interface, or is longer than its block")
	}
	flags := uint32(0)
	rest := b[20+min(int(length+3)/4*4, len(b)-20):]
	err := r.options(rest, func(code uint16, value []byte) error {
		if code == packetFlags && len(value) == 4 {
			flags = r.order.Uint32(value)
		}
		return nil
	})
	if err != nil {
		return err
	}
	l := r.links[of]
	return r.packet(l.kind, l.nanoseconds(r.time(b[4:])), b[20:20+length], flags&3)
}

// pcap reads a file of the older form.
func (r *reader) pcap(magic []byte) error {
	unit := int64(1000)
	switch [4]byte(magic) {
	case [4]byte{0xd4, 0xc3, 0xb2, 0xa1}:
		r.order = binary.LittleEndian
	case [4]byte{0xa1, 0xb2, 0xc3, 0xd4}:
		r.order = binary.BigEndian
	case [4]byte{0x4d, 0x3c, 0xb2, 0xa1}:
		r.order, unit = binary.LittleEndian, 1
	case [4]byte{0xa1, 0xb2, 0x3c, 0x4d}:
		r.order, unit = binary.BigEndian, 1
	default:
		return errNotCapture
	}
	head, err := r.read(24)
	if err != nil {
		return err
	}
	kind := uint16(r.order.Uint32(head[20:]))
	for {
		at := r.offset
		head, err := r.read(16)
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		when := int64(r.order.Uint32(head))*1e9 + int64(r.order.Uint32(head[4:]))*unit
		length := r.order.Uint32(head[8:])
		if length > maxBlock {
			return fmt.Errorf("byte %d: a packet of %d bytes", at, length)
		}
		b, err := r.read(int(length))
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err == nil {
			err = r.packet(kind, when, b, 0)
		}
		if err != nil {
			return fmt.Errorf("byte %d: %w", at, err)
		}
	}
}

// packet takes a packet of a link type. Direction is as in packetFlags, 0 for not known.
func (r *reader) packet(kind uint16, at int64, b []byte, direction uint32) error {
	var rec Record
	var dlid, slid mad.LID
	ok := kind == linkERF
	if ok {
		dlid, slid, ok = parseFrame(infiniBandOf(b), &rec.Datagram)
	}
	p := &rec.Packet
	rec.Sent = direction == flagOutbound || direction == 0 && goesOut(p)
	if !ok || !wanted(p, rec.Sent) {
		r.file.Skipped++
		return nil
	}
	if rec.LID = slid; rec.Sent {
		rec.LID = dlid
	}
	if len(r.file.Records) >= MaxPackets {
		return fmt.Errorf("more than %d packets", MaxPackets)
	}
	if len(r.file.Records) == 0 {
		r.first, r.last = at, at
	}
	r.last = max(r.last, at)
	rec.At = time.Duration(r.last - r.first)
	r.file.Records = append(r.file.Records, rec)
	return nil
}

// goesOut reports whether a packet whose direction is not known is one that a manager sent to a device: a request
// on a directed route that has just begun, or a Get or Set by LID.
func goesOut(p *mad.Packet) bool {
	switch {
	case p.IsResponse() || p.Method() == mad.MethodTrap:
		return false
	case p.MgmtClass() == mad.ClassDirected:
		return !p.Returning() && p.HopPointer() <= 1
	}
	return true
}
