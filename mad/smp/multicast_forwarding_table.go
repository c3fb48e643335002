package smp

import "ibsm/mad"

// MFTBlockSize is the number of multicast LIDs in one block of a multicast
// forwarding table; MFTPositionSize is the number of ports in one position.
const (
	MFTBlockSize    = 32
	MFTPositionSize = 16
)

// MulticastForwardingTable is attribute 0x001B: for 32 multicast LIDs a mask of 16
// ports (IBA 14.2.5.12). Port 0 is among the ports, so a switch of N external
// ports has the positions 0..N/MFTPositionSize.
type MulticastForwardingTable [mad.DataSize]byte

// PortMask is the ports of a multicast LID of this block; bit n is port
// MFTPositionSize x position + n.
func (t *MulticastForwardingTable) PortMask(l mad.LID) uint16 { return get16(t[l%MFTBlockSize*2:]) }

// SetPortMask sets the ports of a multicast LID of this block.
func (t *MulticastForwardingTable) SetPortMask(l mad.LID, ports uint16) {
	put16(t[l%MFTBlockSize*2:], ports)
}

// MFTMod is the attribute modifier of MulticastForwardingTable. position is 0..15,
// block is (LID - 0xC000) / MFTBlockSize, 0..511.
func MFTMod(position uint8, block uint16) uint32 {
	return uint32(position)<<28 | uint32(block)&0x1ff
}
