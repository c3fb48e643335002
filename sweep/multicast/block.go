package multicast

import (
	"encoding/binary"
	"slices"

	"ibsm/mad"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

// tableBlock names a block of a switch's multicast forwarding table, at one position.
type tableBlock struct {
	s        topo.SwitchIdx
	block    uint16
	position uint8
}

// entries has a bit for each multicast LID of a block.
type entries uint32

// blockEntries names multicast LIDs by their blocks.
type blockEntries map[uint16]entries

func (b blockEntries) add(mlid mad.LID) { b[mcast.BlockOf(mlid)] |= 1 << (mlid % mcast.BlockSize) }

// blend is a for the entries chosen and b for the others.
func blend(chosen entries, a, b [mad.DataSize]byte) [mad.DataSize]byte {
	for i := range mcast.BlockSize {
		if chosen&(1<<i) != 0 {
			b[2*i], b[2*i+1] = a[2*i], a[2*i+1]
		}
	}
	return b
}

// common are the bits that are set in both.
func common(a, b [mad.DataSize]byte) [mad.DataSize]byte {
	for i := range a {
		a[i] &= b[i]
	}
	return a
}

// compare returns the entries in which is has ports that want lacks, and those in which it
// lacks ports of want.
func compare(is, want *[mad.DataSize]byte) (extra, missing entries) {
	if *is == *want {
		return 0, 0
	}
	for i := range mcast.BlockSize {
		a, b := binary.BigEndian.Uint16(is[2*i:]), binary.BigEndian.Uint16(want[2*i:])
		if a&^b != 0 {
			extra |= 1 << i
		}
		if b&^a != 0 {
			missing |= 1 << i
		}
	}
	return extra, missing
}

// sortBlocks brings blocks into the order in which they are written: each block of every
// switch before the next, so that no switch is sent many at once.
func sortBlocks(all []tableBlock) []tableBlock {
	slices.SortFunc(all, func(a, b tableBlock) int {
		if a.block != b.block {
			return int(a.block) - int(b.block)
		}
		if a.position != b.position {
			return int(a.position) - int(b.position)
		}
		return int(a.s - b.s)
	})
	return slices.Compact(all)
}
