package capture

import (
	"encoding/binary"

	"ibsm/mad"
)

// Lengths of the headers of a record, in bytes (IBA 7.7, 8.3, 9.2, 9.3.3).
const (
	erfSize   = 16
	lrhSize   = 8
	grhSize   = 40
	bthSize   = 12
	dethSize  = 8
	crcSize   = 4 + 2 // ICRC and VCRC
	frameSize = lrhSize + bthSize + dethSize + mad.PacketSize + crcSize
)

// Values of header fields.
const (
	typeInfiniBand = 21   // ERF
	moreHeaders    = 0x80 // ERF: another header follows
	varyingLength  = 0x04 // ERF
	lnhLocal       = 2    // a BTH follows the LRH (IBA 7.7.5)
	lnhGlobal      = 3    // a GRH follows it
	nextBTH        = 0x1b // GRH: a BTH follows (IBA 8.3.5)
	udSend         = 0x64 // BTH: unreliable datagram, SEND only (IBA 9.2.1)
	gsiQKey        = 0x80010000
)

// appendFrame appends the ERF record of a datagram that a port sent, or received. The port's own LID and GID are
// not known, and 0.
func appendFrame(b []byte, d *mad.Datagram, sent bool) []byte {
	qp, vl, lnh, words := uint32(1), uint8(0), uint8(lnhLocal), (frameSize-2)/4
	if d.QP() == 0 {
		qp, vl = 0, 15
	}
	if d.GRH.Present {
		lnh, words = lnhGlobal, words+grhSize/4
	}
	var dlid, slid mad.LID
	switch {
	case d.Packet.MgmtClass() == mad.ClassDirected:
		dlid, slid = mad.PermissiveLID, mad.PermissiveLID
	case sent:
		dlid = d.LID
	default:
		slid = d.LID
	}
	length := uint16(words*4 + 2)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, typeInfiniBand, varyingLength)
	b = binary.BigEndian.AppendUint16(b, erfSize+length)
	b = binary.BigEndian.AppendUint16(b, 0) // records that were lost
	b = binary.BigEndian.AppendUint16(b, length)
	b = append(b, vl<<4, d.SL<<4|lnh)
	b = binary.BigEndian.AppendUint16(b, uint16(dlid))
	b = binary.BigEndian.AppendUint16(b, uint16(words))
	b = binary.BigEndian.AppendUint16(b, uint16(slid))
	if d.GRH.Present {
		b = appendGRH(b, &d.GRH, sent)
	}
	b = append(b, udSend, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(mad.DefaultPKey))
	b = binary.BigEndian.AppendUint32(b, qp)
	b = binary.BigEndian.AppendUint32(b, 0) // PSN
	b = binary.BigEndian.AppendUint32(b, qp*gsiQKey)
	b = binary.BigEndian.AppendUint32(b, qp)
	b = append(b, d.Packet[:]...)
	return append(b, make([]byte, crcSize)...)
}

// appendGRH appends a Global Route Header.
func appendGRH(b []byte, g *mad.GRH, sent bool) []byte {
	b = binary.BigEndian.AppendUint32(b, 6<<28|uint32(g.TrafficClass)<<20|g.FlowLabel&0xfffff)
	b = binary.BigEndian.AppendUint16(b, bthSize+dethSize+mad.PacketSize+4)
	b = append(b, nextBTH, g.HopLimit)
	from, to := g.GID, mad.GID{}
	if sent {
		from, to = to, from
	}
	b = append(b, from[:]...)
	return append(b, to[:]...)
}

// parseFrame reads a packet that begins with its LRH, and returns its LIDs; that of the datagram is not set. ok
// is false for one that is not a whole MAD of unreliable datagrams at queue pair 0 or 1.
func parseFrame(b []byte, d *mad.Datagram) (dlid, slid mad.LID, ok bool) {
	if len(b) < lrhSize {
		return 0, 0, false
	}
	lnh, sl := b[1]&3, b[1]>>4
	dlid, slid = mad.LID(binary.BigEndian.Uint16(b[2:])), mad.LID(binary.BigEndian.Uint16(b[6:]))
	b = b[lrhSize:]
	*d = mad.Datagram{}
	switch {
	case lnh == lnhLocal:
	case lnh == lnhGlobal && len(b) >= grhSize && b[6] == nextBTH:
		d.GRH.Present = true
		b = b[grhSize:]
	default:
		return 0, 0, false
	}
	if len(b) < bthSize+dethSize+mad.PacketSize || b[0] != udSend {
		return 0, 0, false
	}
	to, from := binary.BigEndian.Uint32(b[4:])&0xffffff, binary.BigEndian.Uint32(b[bthSize+4:])&0xffffff
	d.Packet = mad.Packet(b[bthSize+dethSize:])
	d.QPN, d.SL = from, sl
	qp := uint32(d.QP())
	return dlid, slid, to == qp && from == qp && d.Packet.BaseVersion() == 1
}

// infiniBandOf is the packet in an ERF record of type InfiniBand, nil for another record. The uppermost bit of the
// type, and of each extension header of 8 bytes, says that another one follows.
func infiniBandOf(b []byte) []byte {
	if len(b) < erfSize || b[8]&^moreHeaders != typeInfiniBand {
		return nil
	}
	more := b[8]&moreHeaders != 0
	for b = b[erfSize:]; more; b = b[8:] {
		if len(b) < 8 {
			return nil
		}
		more = b[0]&moreHeaders != 0
	}
	return b
}
