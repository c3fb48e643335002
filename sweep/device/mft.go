package device

import (
	"encoding/binary"
	"math"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

// MFT is the known multicast forwarding table of a switch: blocks of 32 multicast LIDs at
// positions of 16 ports. The value of a block that is not Known has every bit that may be set,
// because the entries of an unconfirmed Set may be in force beside the old ones. Blocks that
// were never read or written are Unknown, or Known to be empty where Found is Nothing. They have no value, or all bits
// where Found is AnotherSM.
type MFT struct {
	table
	Positions      uint8
	Blocks         int      // that the table has
	Found          Contents // what it held before it was read or written
	taken          BlockSet // read or written at all positions: the last one is read and written last
	Failed         uint8    // rounds in a row in which a Set of it failed by the switch's own fault
	fault          Verdict  // of the last of them
	unresponsiveIn int      // the walk that had begun last when a round ended in which a Set got no answer; 0 for none
	keeps          bool     // the switch has shown a block that it had acknowledged, or cannot be read
	acknowledged   int      // 1 + the index of the block with entries that it acknowledged last; 0 for none
}

// maxFailedMFT is in how many rounds in a row a switch may reject its multicast table before
// trees avoid it.
const maxFailedMFT = 2

// Contents is what the multicast table of a switch may hold that this manager has not written.
type Contents uint8

// Contents.
const (
	Anything  Contents = iota // nobody is known to have written it, and it may have kept what it held
	AnotherSM                 // what another manager has written: it is read
	Nothing                   // the switch has not been written since its power-up, which empties the table
)

// contentsOf is what a multicast table may hold, by LinearFDBTop and the ports that are ARMED or ACTIVE. Every manager
// sets LinearFDBTop, which is 0 after power-up. OpenSM takes all tables that it has not written to be empty.
func contentsOf(top mad.LID, up *PortSet) Contents {
	switch {
	case !up.Empty():
		return AnotherSM
	case top == 0:
		return Nothing
	}
	return Anything
}

// NewMFT is the table of a switch, of which this manager has read and written nothing.
func NewMFT(node *topo.Node, found Contents) *MFT {
	blocks := (int(node.SwitchInfo.MulticastFDBCap()) + mcast.BlockSize - 1) / mcast.BlockSize
	return &MFT{Positions: mcast.Positions(node.NumPorts), Blocks: blocks, Found: found}
}

// BlockSet has a bit for each block that a multicast forwarding table can have.
type BlockSet [8]uint64

// Add puts a block in.
func (s *BlockSet) Add(block uint16) { s[block/64] |= 1 << (block % 64) }

// Has reports whether a block is in the set.
func (s *BlockSet) Has(block uint16) bool { return s[block/64]&(1<<(block%64)) != 0 }

// Unread reports whether a block holds what another manager may have written: not all of it was read or written.
func (m *MFT) Unread(block uint16) bool { return m.Found == AnotherSM && !m.taken.Has(block) }

// Avoided reports whether trees avoid the switch.
func (m *MFT) Avoided() bool { return m.Failed >= maxFailedMFT }

// Verdict says how a round of Sets went at a switch.
type Verdict uint8

// Verdicts.
const (
	Obeyed       Verdict = iota
	Unresponsive         // some Set got no answer, and none another one than it should
	Refuses              // some Set was rejected
	Ignores              // some Set was answered with other values, or acknowledged and not kept
)

var verdictNames = [...]string{"", "no answer", "refused", "not kept"}

// String is what went wrong, in a few words.
func (v Verdict) String() string { return verdictNames[v] }

// Judge notes how a round went at the switch, and reports whether that changes Avoided. A Set that
// got no answer may be lost by our own fault: it counts only where another one got none before, and
// a walk that began between the two has heard everybody well.
func (r *Record) Judge(m *MFT, v Verdict) (changed bool) {
	before := m.Avoided()
	switch {
	// as long as trees avoid it, it is sent empty blocks, which it may hold by chance
	case v == Obeyed && m.Ignored():
	case v == Obeyed:
		m.Failed, m.fault, m.unresponsiveIn = 0, Obeyed, 0
	case before:
		m.fault = max(m.fault, v)
	case v == Refuses || v == Ignores:
		m.Failed, m.fault = m.Failed+1, v
	case m.unresponsiveIn == 0:
		m.unresponsiveIn = r.walks
	case r.heard > m.unresponsiveIn:
		m.Failed, m.fault, m.unresponsiveIn = m.Failed+1, v, r.walks
	}
	return m.Avoided() != before
}

// Fault is why trees avoid the switch.
func (m *MFT) Fault() Verdict { return m.fault }

// Ignored reports whether trees avoid the switch because it does not keep what it is sent: what it is sent meanwhile
// does not show that it has got well.
func (m *MFT) Ignored() bool { return m.fault == Ignores && m.Avoided() }

// Forgive has trees use such a switch again, and reports whether it is one.
func (m *MFT) Forgive() bool {
	ignored := m.Ignored()
	if ignored {
		m.Failed, m.fault = 0, Obeyed
	}
	return ignored
}

// AwaitsWalk reports whether some multicast table got no answer, and no walk has begun since.
func (r *Record) AwaitsWalk() bool {
	return slices.ContainsFunc(r.Switches, func(sw Switch) bool {
		return sw.MFT != nil && sw.MFT.unresponsiveIn == r.walks && r.walks > 0
	})
}

func (m *MFT) index(block uint16, position uint8) int {
	return int(block)*int(m.Positions) + int(position)
}

// Rows is the number of blocks with at least one position that was read or written.
func (m *MFT) Rows() int {
	return (len(m.values) + int(m.Positions) - 1) / int(m.Positions)
}

// Recorded reports whether the block or a later one was read or written.
func (m *MFT) Recorded(block uint16, position uint8) bool {
	return position < m.Positions && m.index(block, position) < len(m.values)
}

// Value is what a block holds or, if it is not Known, may hold.
func (m *MFT) Value(block uint16, position uint8) (data [mad.DataSize]byte) {
	if m.Unread(block) {
		for i := range data {
			data[i] = 0xff
		}
		return data
	}
	if i := m.index(block, position); i < len(m.values) && m.values[i] != nil {
		data = *m.values[i]
	}
	return data
}

// State is the state of a block.
func (m *MFT) State(block uint16, position uint8) State {
	i := m.index(block, position)
	if i >= len(m.values) && m.isEmpty(i) {
		return Known
	}
	return m.state(i, len(m.values))
}

// isEmpty reports whether the block at an index is taken to be empty as long as it has not been read or written. The
// first of all is not: it is written to see that the switch keeps its table, before a group needs it.
func (m *MFT) isEmpty(i int) bool { return m.Found == Nothing && i >= int(m.Positions) }

// Holds reports whether a block is Known to hold data.
func (m *MFT) Holds(block uint16, position uint8, data *[mad.DataSize]byte) bool {
	return m.State(block, position) == Known && m.Value(block, position) == *data
}

// Take applies an event to a block. data is the value of the event: read, sent, or in the device's response.
func (m *MFT) Take(block uint16, position uint8, e Event, data *[mad.DataSize]byte) {
	i := m.index(block, position)
	m.own()
	if position == m.Positions-1 {
		m.taken.Add(block)
	}
	for len(m.values) <= i {
		m.values = append(m.values, nil)
		if last := len(m.values) - 1; !m.isEmpty(last) {
			m.set(last, Unknown)
		}
	}
	value, after := *data, m.state(i, len(m.values)).After(e)
	if after != Known && m.values[i] != nil {
		for k, b := range m.values[i] {
			value[k] |= b
		}
	}
	if m.values[i] = nil; value != [mad.DataSize]byte{} {
		m.values[i] = &value
	}
	m.set(i, after)
	switch {
	case e == Confirmed && m.values[i] != nil:
		m.acknowledged = i + 1
	case m.acknowledged == i+1:
		m.acknowledged = 0
	}
}

// MustShow is the block that the switch has to show, because no other has shown yet that it keeps what it acknowledges;
// ok is false for none. A block without entries would not show that: a table that was never written looks alike.
func (m *MFT) MustShow() (block uint16, position uint8, ok bool) {
	if m.keeps || m.acknowledged == 0 {
		return 0, 0, false
	}
	i := m.acknowledged - 1
	return uint16(i / int(m.Positions)), uint8(i % int(m.Positions)), true
}

// Shows takes what the switch holds of the block that it had to show, and reports whether it has kept that. If it has
// not, it may have kept none: no block is Known any more but this one.
func (m *MFT) Shows(data *[mad.DataSize]byte) (kept bool) {
	block, position, _ := m.MustShow()
	if m.keeps = m.Value(block, position) == *data; m.keeps {
		return true
	}
	m.own()
	m.Found = Anything
	for i := range m.values {
		m.set(i, m.state(i, len(m.values)).After(Contradicted))
	}
	m.Take(block, position, Got, data)
	return false
}

// Unreadable says that the block could not be read. The switch is believed.
func (m *MFT) Unreadable() { m.keeps = true }

// Ports is every port that the switch may forward a multicast LID by.
func (m *MFT) Ports(mlid mad.LID) (ports mcast.PortMask) {
	if m.Unread(mcast.BlockOf(mlid)) {
		return allPorts
	}
	for position := range m.Positions {
		if i := m.index(mcast.BlockOf(mlid), position); i < len(m.values) && m.values[i] != nil {
			ports.SetPosition(position, (*smp.MulticastForwardingTable)(m.values[i]).PortMask(mlid))
		}
	}
	return ports
}

var allPorts = mcast.PortMask{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}

// Leads is every port that the switch may forward some multicast LID of a block by.
func (m *MFT) Leads(block uint16) (ports mcast.PortMask) {
	for position := range m.Positions {
		i := m.index(block, position)
		switch {
		case m.State(block, position) == Unknown:
			ports.SetPosition(position, math.MaxUint16)
		case i < len(m.values) && m.values[i] != nil:
			all := uint64(0)
			for at := 0; at < mad.DataSize; at += 8 {
				all |= binary.BigEndian.Uint64(m.values[i][at:])
			}
			ports.SetPosition(position, uint16(all|all>>16|all>>32|all>>48))
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
