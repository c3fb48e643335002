package mcast

import (
	"iter"
	"math/bits"
)

// PortMask is a set of ports of one switch, 0..255; 0 is the switch's own.
type PortMask [4]uint64

// Has reports whether a port is in the set.
func (m PortMask) Has(port uint8) bool { return m[port/64]&(1<<(port%64)) != 0 }

// Add puts a port into the set.
func (m *PortMask) Add(port uint8) { m[port/64] |= 1 << (port % 64) }

// Remove takes a port out of the set.
func (m *PortMask) Remove(port uint8) { m[port/64] &^= 1 << (port % 64) }

// Or is the ports that are in either set.
func (m PortMask) Or(o PortMask) PortMask {
	return PortMask{m[0] | o[0], m[1] | o[1], m[2] | o[2], m[3] | o[3]}
}

// And is the ports that are in both sets.
func (m PortMask) And(o PortMask) PortMask {
	return PortMask{m[0] & o[0], m[1] & o[1], m[2] & o[2], m[3] & o[3]}
}

// Without is the ports of the set that are not in the other.
func (m PortMask) Without(o PortMask) PortMask {
	return PortMask{m[0] &^ o[0], m[1] &^ o[1], m[2] &^ o[2], m[3] &^ o[3]}
}

// Empty reports whether no port is in the set.
func (m PortMask) Empty() bool { return m == PortMask{} }

// Len is the number of ports in the set.
func (m PortMask) Len() int {
	return bits.OnesCount64(m[0]) + bits.OnesCount64(m[1]) + bits.OnesCount64(m[2]) + bits.OnesCount64(m[3])
}

// Position is the 16 ports from 16 times position on, the lowest in bit 0, as blocks of
// multicast forwarding tables hold them (IBA 14.2.5.12). Positions are 0..15.
func (m PortMask) Position(position uint8) uint16 {
	return uint16(m[position/4] >> (position % 4 * 16))
}

// SetPosition sets the 16 ports of a position.
func (m *PortMask) SetPosition(position uint8, ports uint16) {
	shift := position % 4 * 16
	m[position/4] = m[position/4]&^(0xffff<<shift) | uint64(ports)<<shift
}

// Ports iterates over the set in ascending order.
func (m PortMask) Ports() iter.Seq[uint8] {
	return func(yield func(uint8) bool) {
		for i, word := range m {
			for ; word != 0; word &= word - 1 {
				if !yield(uint8(i*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}
