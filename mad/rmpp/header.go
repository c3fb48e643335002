package rmpp

import (
	"encoding/binary"

	"ibsm/mad"
)

// The RMPP header of a packet (IBA 13.6.2):
//
//	24 RMPPVersion  RMPPType  RRespTime:5 RMPPFlags:3  RMPPStatus
//	28 SegmentNumber
//	32 PayloadLength or NewWindowLast

// Version is the one version of the protocol.
const Version = 1

// Type says what a packet is for.
type Type uint8

// Types of packet.
const (
	TypeData  Type = 1
	TypeACK   Type = 2
	TypeStop  Type = 3
	TypeAbort Type = 4
)

// Flags of a packet.
type Flags uint8

// Flags.
const (
	FlagActive Flags = 1 // there is an RMPP header
	FlagFirst  Flags = 2 // segment 1
	FlagLast   Flags = 4
)

// Has reports whether all flags of o are set.
func (f Flags) Has(o Flags) bool { return f&o == o }

// Status is why a transfer ended (IBA 13.6.2.4).
type Status uint8

// Statuses. Ours are those up to Unspecified; a class or vendor may have more.
const (
	StatusNormal            Status = 0
	StatusResourcesExceeded Status = 1 // with TypeStop, the others with TypeAbort
	StatusTotalTime         Status = 118
	StatusBadLast           Status = 119 // last segment and PayloadLength do not go together
	StatusBadFirst          Status = 120 // FlagFirst and SegmentNumber do not go together
	StatusBadType           Status = 121
	StatusWindowTooSmall    Status = 122 // NewWindowLast is below the segment acknowledged
	StatusSegmentTooBig     Status = 123 // SegmentNumber is beyond what may be or was sent
	StatusBadStatus         Status = 124
	StatusBadVersion        Status = 125
	StatusTooManyRetries    Status = 126
	StatusUnspecified       Status = 127
)

var statusNames = map[Status]string{
	StatusNormal:            "normal",
	StatusResourcesExceeded: "resources exhausted",
	StatusTotalTime:         "total time too long",
	StatusBadLast:           "inconsistent last segment and PayloadLength",
	StatusBadFirst:          "inconsistent first segment and SegmentNumber",
	StatusBadType:           "bad RMPPType",
	StatusWindowTooSmall:    "NewWindowLast too small",
	StatusSegmentTooBig:     "SegmentNumber too big",
	StatusBadStatus:         "illegal status",
	StatusBadVersion:        "unsupported version",
	StatusTooManyRetries:    "too many retries",
	StatusUnspecified:       "unspecified",
}

func (s Status) String() string { return mad.NameOf(statusNames, s, "status %d") }

// TypeOf is what an active packet is for.
func TypeOf(p *mad.Packet) Type { return Type(p[25]) }

// SegmentOf is the number of the segment that an active packet is, or is about.
func SegmentOf(p *mad.Packet) uint32 { return binary.BigEndian.Uint32(p[28:]) }

func flagsOf(p *mad.Packet) Flags   { return Flags(p[26] & 7) }
func statusOf(p *mad.Packet) Status { return Status(p[27]) }
func lengthOf(p *mad.Packet) uint32 { return binary.BigEndian.Uint32(p[32:]) } // or NewWindowLast

// setHeader writes the RMPP header. RRespTime becomes 0, as Linux's clients have it.
func setHeader(p *mad.Packet, t Type, f Flags, s Status, segment, length uint32) {
	p[24], p[25], p[26], p[27] = Version, byte(t), byte(f|FlagActive), byte(s)
	binary.BigEndian.PutUint32(p[28:], segment)
	binary.BigEndian.PutUint32(p[32:], length)
}

// headerSize is how much of a packet every segment repeats, and extra the part of it
// that PayloadLength counts in each segment: all behind the RMPP header.
const (
	headerSize = mad.PacketSize - mad.SADataSize
	extra      = headerSize - 36
)

// Size is how many bytes of a packet of subnet administration are in use: those behind
// the payload of a last segment are not.
func Size(p *mad.Packet) int {
	if !p.IsRMPP() || TypeOf(p) != TypeData || !flagsOf(p).Has(FlagLast) || lengthOf(p) < extra ||
		lengthOf(p) > mad.PacketSize-36 {
		return mad.PacketSize
	}
	return 36 + int(lengthOf(p))
}

// SetSize completes the header of a table that fits into one packet, of which so many bytes are in
// use: clients of Linux leave it empty, and the kernel fills it in.
func SetSize(p *mad.Packet, size int) {
	setHeader(p, TypeData, FlagFirst|FlagLast, StatusNormal, 1, uint32(size-36))
}

// segments is how many a message of so many bytes takes; an empty one takes one.
func segments(size int) uint32 { return uint32(max(1, (size+mad.SADataSize-1)/mad.SADataSize)) }

// payloadLength is what the first segment says of a whole message.
func payloadLength(size int) uint32 { return uint32(size) + extra*segments(size) }
