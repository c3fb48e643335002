package capture

import (
	"encoding/binary"
	"fmt"
	"time"

	"ibsm/mad"
)

// Block types of pcapng.
const (
	blockSection    = 0x0a0d0d0a
	blockInterface  = 1
	blockStatistics = 5
	blockPacket     = 6
	byteOrderMagic  = 0x1a2b3c4d
)

// Options of blocks. What an option other than a comment means depends on the block.
const (
	optEnd         = 0
	optComment     = 1
	sectionProgram = 4
	ifName         = 2
	ifTSResol      = 9
	ifTSOffset     = 14
	packetFlags    = 2
)

// Directions in packetFlags.
const (
	flagInbound  = 1
	flagOutbound = 2
)

// linkERF is the link type of ERF records.
const linkERF = 197

// Format is the first comment of a file, before a line feed: a newer form would have another number.
const Format = "ibsm capture 1"

// blocks are blocks of pcapng, one after the other. All have a multiple of 4 bytes.
type blocks struct {
	buf   []byte
	start int // of the last block
}

// begin begins a block; the length is filled in by end.
func (b *blocks) begin(kind uint32) {
	b.start = len(b.buf)
	b.u32(kind)
	b.u32(0)
}

func (b *blocks) u16(v uint16) { b.buf = binary.LittleEndian.AppendUint16(b.buf, v) }
func (b *blocks) u32(v uint32) { b.buf = binary.LittleEndian.AppendUint32(b.buf, v) }
func (b *blocks) pad() {
	for len(b.buf)%4 != 0 {
		b.buf = append(b.buf, 0)
	}
}

// time appends a time of a packet, in nanoseconds.
func (b *blocks) time(at time.Duration) {
	b.u32(uint32(uint64(at) >> 32))
	b.u32(uint32(uint64(at)))
}

// option appends an option, of which 65535 bytes count.
func (b *blocks) option(code uint16, value string) {
	value = value[:min(len(value), 0xffff)]
	b.u16(code)
	b.u16(uint16(len(value)))
	b.buf = append(b.buf, value...)
	b.pad()
}

// end ends the block.
func (b *blocks) end() {
	length := uint32(len(b.buf) - b.start + 4)
	binary.LittleEndian.PutUint32(b.buf[b.start+4:], length)
	b.u32(length)
}

// section appends what a file begins with.
func (b *blocks) section(program string, start time.Time) {
	b.begin(blockSection)
	b.u32(byteOrderMagic)
	b.u16(1)
	b.u16(0)
	b.u32(0xffffffff) // the length of the section is not given
	b.u32(0xffffffff)
	b.option(optComment, fmt.Sprintf(about, Format, uint64(BlankKey)))
	b.option(sectionProgram, program)
	b.option(optEnd, "")
	b.end()
	b.begin(blockInterface)
	b.u16(linkERF)
	b.u16(0)
	b.u32(0) // a packet may have any length
	b.option(ifName, "subnet manager")
	b.option(ifTSResol, "\x09")
	b.option(ifTSOffset, string(binary.LittleEndian.AppendUint64(nil, uint64(start.Unix()))))
	b.option(optEnd, "")
	b.end()
}

// about says in the file what is in the file.
const about = `%s
Packets between a subnet manager and the devices of its subnet.
M_Keys, SM_Keys and CC_Keys are 0x%x, or 0 where there was none. Subnet administration is not recorded.
Names, GUIDs, LIDs and P_Keys of the subnet are as they were.`

// packet appends a packet without its keys.
func (b *blocks) packet(at time.Duration, sent bool, d *mad.Datagram) {
	b.begin(blockPacket)
	b.u32(0) // interface
	b.time(at)
	length := uint32(erfSize + frameSize)
	if d.GRH.Present {
		length += grhSize
	}
	b.u32(length)
	b.u32(length)
	before := len(b.buf)
	b.buf = appendFrame(b.buf, d, sent)
	Blank((*mad.Packet)(b.buf[before+int(length)-crcSize-mad.PacketSize:]))
	b.pad()
	flags := uint32(flagInbound)
	if sent {
		flags = flagOutbound
	}
	b.u16(packetFlags)
	b.u16(4)
	b.u32(flags)
	b.u32(optEnd)
	b.end()
}

// statistics appends what a file ends with.
func (b *blocks) statistics(at time.Duration, reason string) {
	b.begin(blockStatistics)
	b.u32(0) // interface
	b.time(at)
	b.option(optComment, reason)
	b.option(optEnd, "")
	b.end()
}
