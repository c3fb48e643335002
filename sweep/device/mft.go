package device

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

// MFT is what a switch holds of its multicast forwarding table: blocks of 32 multicast LIDs
// at positions of 16 ports. Where a block is not Known, its value has every bit that may be
// set, for what an unconfirmed Set adds may be forwarded beside what was there. Blocks that
// were never read or written are Unknown and without value: links of a switch that has been
// powered up come to life when its table is unwritten.
type MFT struct {
	table
	Positions uint8
	Blocks    int   // that the table has
	Foreign   bool  // another manager may have written it: it is read before it is written
	Failed    uint8 // rounds in a row in which it did not take what it was sent
}

// maxFailedMFT is how many rounds in a row a switch may not take its multicast table
// before trees are grown around it.
const maxFailedMFT = 2

// NewMFT is the table of a switch of which nothing is known.
func NewMFT(node *topo.Node, foreign bool) *MFT {
	blocks := (int(node.SwitchInfo.MulticastFDBCap()) + mcast.BlockSize - 1) / mcast.BlockSize
	return &MFT{Positions: mcast.Positions(node.NumPorts), Blocks: blocks, Foreign: foreign}
}

// Avoided reports whether trees are grown around the switch.
func (m *MFT) Avoided() bool { return m.Failed >= maxFailedMFT }

// Judge notes whether a round failed at the switch, and reports whether that changes
// Avoided.
func (m *MFT) Judge(failed bool) (changed bool) {
	before := m.Avoided()
	if m.Failed = min(m.Failed+1, maxFailedMFT); !failed {
		m.Failed = 0
	}
	return m.Avoided() != before
}

func (m *MFT) index(block uint16, position uint8) int {
	return int(block)*int(m.Positions) + int(position)
}

// Rows is the number of blocks of which some position was read or written.
func (m *MFT) Rows() int {
	return (len(m.cells) + int(m.Positions) - 1) / int(m.Positions)
}

// Recorded reports whether a block was read or written, or one behind it.
func (m *MFT) Recorded(block uint16, position uint8) bool {
	return position < m.Positions && m.index(block, position) < len(m.cells)
}

// Value is what a block holds, or may hold where it is not Known.
func (m *MFT) Value(block uint16, position uint8) (data [mad.DataSize]byte) {
	if i := m.index(block, position); i < len(m.cells) && m.cells[i] != nil {
		data = *m.cells[i]
	}
	return data
}

// State is the state of a block.
func (m *MFT) State(block uint16, position uint8) State {
	return m.state(m.index(block, position), len(m.cells))
}

// Holds reports whether a block is Known to hold data.
func (m *MFT) Holds(block uint16, position uint8, data *[mad.DataSize]byte) bool {
	return m.State(block, position) == Known && m.Value(block, position) == *data
}

// Take has an event change a block. data is what the event tells of: what was read or
// sent, or the device's response.
func (m *MFT) Take(block uint16, position uint8, e Event, data *[mad.DataSize]byte) {
	i := m.index(block, position)
	m.own()
	for len(m.cells) <= i {
		m.cells = append(m.cells, nil)
		m.set(len(m.cells)-1, Unknown)
	}
	value, after := *data, m.state(i, len(m.cells)).After(e)
	if after != Known && m.cells[i] != nil {
		for k, b := range m.cells[i] {
			value[k] |= b
		}
	}
	if m.cells[i] = nil; value != [mad.DataSize]byte{} {
		m.cells[i] = &value
	}
	m.set(i, after)
}

// Ports is every port that the switch may forward a multicast LID by.
func (m *MFT) Ports(mlid mad.LID) (ports mcast.PortMask) {
	for position := range m.Positions {
		if i := m.index(mcast.BlockOf(mlid), position); i < len(m.cells) && m.cells[i] != nil {
			ports.SetPosition(position, (*smp.MulticastForwardingTable)(m.cells[i]).PortMask(mlid))
		}
	}
	return ports
}

// Snapshot is the table as it is now, for a reader in another goroutine.
func (m *MFT) Snapshot() *MFT {
	m.shared = true
	c := *m
	return &c
}
