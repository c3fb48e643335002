package ibsim

import (
	"encoding/binary"
	"fmt"

	"ibsm/mad"
	"ibsm/mad/rmpp"
)

// A datagram of the data socket. The LIDs are 32-bit integers of the host whose
// value is the LID in network order, so that on a little-endian host the LID's
// bytes come first; the others are in network order.
//
//	 0 destination LID
//	 4 source LID        0: the simulator fills in the client's
//	 8 destination QP
//	12 source QP
//	16 status            0, or the errno of a request that came back
//	20 padding
//	24 length of the MAD (64 bits)
//	32 MAD
const (
	frameHeader = 32
	frameSize   = frameHeader + mad.PacketSize
)

// statusTimedOut is ETIMEDOUT of Linux: no route, or nobody to answer.
const statusTimedOut = 110

// madHeader is the least a MAD can be: its common header.
const madHeader = 24

// saHeader is what follows it in a packet of subnet administration, before the records.
const saHeader = 32

// encodeFrame writes a datagram as a client sends it.
func encodeFrame(b *[frameSize]byte, d *mad.Datagram) {
	clear(b[:frameHeader])
	source := mad.LID(0)
	if d.LID == mad.PermissiveLID {
		source = mad.PermissiveLID
	}
	putLID(b[0:], d.LID)
	putLID(b[4:], source)
	binary.BigEndian.PutUint32(b[8:], d.QPN)
	binary.BigEndian.PutUint32(b[12:], uint32(d.QP()))
	if d.TimedOut {
		binary.BigEndian.PutUint32(b[16:], statusTimedOut)
	}
	length := mad.PacketSize
	if d.Packet.MgmtClass() == mad.ClassSA {
		length = rmpp.Size(&d.Packet) // how else would a client without RMPP know where a table ends
	}
	binary.BigEndian.PutUint64(b[24:], uint64(length))
	copy(b[frameHeader:], d.Packet[:])
}

// encodeToClient writes a datagram as the simulator delivers it to a client whose
// port has that LID: the address is the source's.
func encodeToClient(b *[frameSize]byte, d *mad.Datagram, lid mad.LID) {
	encodeFrame(b, d)
	if d.LID == mad.PermissiveLID {
		lid = mad.PermissiveLID
	}
	putLID(b[0:], lid)
	putLID(b[4:], d.LID)
	binary.BigEndian.PutUint32(b[8:], uint32(d.QP()))
	binary.BigEndian.PutUint32(b[12:], d.QPN)
}

// decodeFromClient reads a datagram as the simulator receives it from a client: the
// address is the destination's.
func decodeFromClient(d *mad.Datagram, b []byte) error {
	if err := decodeFrame(d, b); err != nil {
		return err
	}
	source := getLID(b[4:])
	d.Addr = mad.Addr{LID: getLID(b[0:]), QPN: binary.BigEndian.Uint32(b[8:]), PathBits: uint8(source)}
	d.TimedOut = false
	length := int(binary.BigEndian.Uint64(b[24:]))
	if d.Packet.MgmtClass() == mad.ClassSA && d.Packet.Method() == mad.MethodGetTableResp && !d.Packet.IsRMPP() &&
		length >= madHeader+saHeader && length < mad.PacketSize {
		rmpp.SetSize(&d.Packet, length) // as the kernel does; otherwise the end of the table is lost
	}
	return nil
}

// putTimedOut makes a client's request one that comes back to it.
func putTimedOut(b *[frameSize]byte) { binary.BigEndian.PutUint32(b[16:], statusTimedOut) }

// decodeFrame reads a datagram as a client receives it: the address is the
// source's. Any status means that the simulator gives a request back.
func decodeFrame(d *mad.Datagram, b []byte) error {
	if len(b) != frameSize {
		return fmt.Errorf("datagram of %d bytes: expected %d", len(b), frameSize)
	}
	length := binary.BigEndian.Uint64(b[24:])
	if length < madHeader || length > mad.PacketSize {
		return fmt.Errorf("MAD of %d bytes: expected %d to %d", length, madHeader, mad.PacketSize)
	}
	d.Addr = mad.Addr{LID: getLID(b[4:]), QPN: binary.BigEndian.Uint32(b[12:])}
	d.TimedOut = binary.BigEndian.Uint32(b[16:]) != 0
	n := copy(d.Packet[:], b[frameHeader:frameHeader+int(length)])
	clear(d.Packet[n:])
	return nil
}

func putLID(b []byte, l mad.LID) {
	var net [2]byte
	binary.BigEndian.PutUint16(net[:], uint16(l))
	binary.NativeEndian.PutUint32(b, uint32(binary.NativeEndian.Uint16(net[:])))
}

func getLID(b []byte) mad.LID {
	var net [2]byte
	binary.NativeEndian.PutUint16(net[:], uint16(binary.NativeEndian.Uint32(b)))
	return mad.LID(binary.BigEndian.Uint16(net[:]))
}
