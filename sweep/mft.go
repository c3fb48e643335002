package sweep

import (
	"encoding/binary"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

// mft is what one switch holds of its multicast forwarding table, as far as it is known.
type mft struct {
	positions uint8
	blocks    int    // that its table has
	cells     []cell // block * positions + position
	foreign   bool   // to be read first: somebody else may have written it
	failed    uint8  // rounds in a row in which it did not take what it was sent
}

// cell is a block of a table at one position: 32 masks of 16 ports.
type cell struct {
	data  *[mad.DataSize]byte // every bit that may be set; nil for none
	known bool                // the switch holds exactly data
}

// cellKey names a cell.
type cellKey struct {
	s        topo.SwitchIdx
	block    uint16
	position uint8
}

// maxFailedMFT is how many rounds in a row a switch may not take its multicast table
// before trees are grown around it.
const maxFailedMFT = 2

func newMFT(node *topo.Node) *mft {
	return &mft{positions: mcast.Positions(node.NumPorts), blocks: mftBlocks(node)}
}

// mftBlocks is the number of blocks in the multicast table of a switch.
func mftBlocks(node *topo.Node) int {
	return (int(node.SwitchInfo.MulticastFDBCap()) + mcast.BlockSize - 1) / mcast.BlockSize
}

// forget drops what is known of the table. What may be in it is not guessed: links of a
// switch that has been powered up come to life when its table is unwritten.
func (m *mft) forget(foreign bool) { m.cells, m.foreign, m.failed = nil, foreign, 0 }

// avoided reports whether trees are to be grown around the switch.
func (m *mft) avoided() bool { return m.failed >= maxFailedMFT }

func (m *mft) index(block uint16, position uint8) int {
	return int(block)*int(m.positions) + int(position)
}

// at is a cell; one that is not known of is empty, and not known.
func (m *mft) at(block uint16, position uint8) cell {
	if i := m.index(block, position); i < len(m.cells) {
		return m.cells[i]
	}
	return cell{}
}

// set notes what a cell holds, or what it may hold.
func (m *mft) set(block uint16, position uint8, data [mad.DataSize]byte, known bool) {
	i := m.index(block, position)
	for len(m.cells) <= i {
		m.cells = append(m.cells, cell{})
	}
	c := cell{known: known}
	if data != [mad.DataSize]byte{} {
		c.data = &data
	}
	m.cells[i] = c
}

// doubt notes that a cell may hold other data instead of what it held.
func (m *mft) doubt(block uint16, position uint8, data [mad.DataSize]byte) {
	for i, b := range m.at(block, position).bytes() {
		data[i] |= b
	}
	m.set(block, position, data, false)
}

// ports is every port that the switch may forward a multicast LID by.
func (m *mft) ports(mlid mad.LID) (ports mcast.PortMask) {
	for position := range m.positions {
		if c := m.at(mcast.BlockOf(mlid), position); c.data != nil {
			ports.SetPosition(position, (*smp.MulticastForwardingTable)(c.data).PortMask(mlid))
		}
	}
	return ports
}

func (c cell) bytes() [mad.DataSize]byte {
	if c.data == nil {
		return [mad.DataSize]byte{}
	}
	return *c.data
}

// holds reports whether a cell is known to hold data.
func (c cell) holds(data [mad.DataSize]byte) bool { return c.known && c.bytes() == data }

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

// extra and missing are the entries in which a cell that holds is may have ports that it
// is not to have, and has not all that it is to have.
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

// sortCells brings cells into the order in which they are written: each block of every
// switch before the next, so that no switch is sent many at once.
func sortCells(cells []cellKey) []cellKey {
	slices.SortFunc(cells, func(a, b cellKey) int {
		if a.block != b.block {
			return int(a.block) - int(b.block)
		}
		if a.position != b.position {
			return int(a.position) - int(b.position)
		}
		return int(a.s - b.s)
	})
	return slices.Compact(cells)
}
