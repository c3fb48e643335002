package sweep

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// A packet that was long on its way may put an old block back over a newer one, when the
// switch has long acknowledged that: the first attempt of a request whose second was
// answered, or a copy that some link made. Blocks of which this may be so are read again.

// suspect is a cell that is to be read again.
type suspect struct {
	node mad.GUID
	mftBlock
}

const (
	// lingering is how long after a round no attempt of its requests is on its way.
	lingering = 5 * time.Second
	// maxSuspects bounds the cells that are remembered. Where more packets are lost, the
	// fabric is in worse trouble than old blocks.
	maxSuspects = 1 << 16
)

// suspect has a cell read again.
func (m *Multicast) suspect(c mftBlock) {
	if len(m.suspects) < maxSuspects {
		m.suspects[suspect{m.subnet.topo.Nodes[m.subnet.topo.Switches[c.s]].GUID, mftBlock{0, c.block, c.position}}] = true
	}
}

// checkSuspects has the suspects of a round that is over read again when all its packets
// must have arrived.
func (m *Multicast) checkSuspects(now time.Duration) {
	if len(m.suspects) > 0 && m.checkAt == 0 {
		m.checkAt = now + lingering
	}
}

// Stray takes a reply that answers nothing that is outstanding. When it tells that a
// switch may hold an older block of its table, that block is read again.
func (m *Multicast) Stray(now time.Duration, p *mad.Packet) {
	if m.subnet == nil || p.MgmtClass() != mad.ClassDirected || p.Method() != mad.MethodGetResp ||
		p.AttrID() != smp.AttrMulticastForwardingTable || p.Status() != mad.StatusOK {
		return
	}
	n := follow(m.subnet.topo, p)
	if n == topo.None || m.subnet.topo.Nodes[n].Switch == topo.None {
		return
	}
	c := mftBlock{m.subnet.topo.Nodes[n].Switch, uint16(p.AttrMod() & 0x1ff), uint8(p.AttrMod() >> 28)}
	held := m.subnet.held[c.s]
	if held.Recorded(c.block, c.position) && held.Value(c.block, c.position) != *p.Data() {
		m.suspect(c)
		m.checkAt = now
	}
}

// read begins to read the tables that somebody else may have written, and the blocks that
// are suspect, if there are any.
func (m *Multicast) read(now time.Duration) bool {
	m.cells, m.at = nil, 0
	var foreign []topo.SwitchIdx
	positions := uint8(0)
	if m.unread {
		m.unread = false
		for s, t := range m.subnet.held {
			if t.Foreign && m.answers(topo.SwitchIdx(s)) {
				t.Foreign = false
				foreign, positions = append(foreign, topo.SwitchIdx(s)), max(positions, t.Positions)
			}
		}
	}
	for block := range uint16(m.blocks()) { // in the order of sortBlocks
		for position := range positions {
			for _, s := range foreign {
				if t := m.subnet.held[s]; int(block) < t.Blocks && position < t.Positions {
					m.cells = append(m.cells, mftBlock{s, block, position})
				}
			}
		}
	}
	if len(m.cells) == 0 && !m.check(now) {
		return false
	}
	m.phase, m.trouble = multicastReads, map[topo.SwitchIdx]int{}
	return true
}

// check begins to read the suspects when it is time.
func (m *Multicast) check(now time.Duration) bool {
	if m.checkAt == 0 || m.checkAt > now {
		return false
	}
	m.checkAt = 0
	for c := range m.suspects {
		if n := m.subnet.topo.FindNode(c.node); n != topo.None && m.subnet.topo.Nodes[n].Switch != topo.None {
			c.s = m.subnet.topo.Nodes[n].Switch
			m.cells = append(m.cells, c.mftBlock)
		}
	}
	clear(m.suspects)
	m.cells = sortBlocks(m.cells)
	return len(m.cells) > 0
}

// wasRead takes what a switch says that it holds. What does not, it is told again.
func (m *Multicast) wasRead(c mftBlock, o *txn.Outcome) {
	held := m.subnet.held[c.s]
	if o.Result == txn.Replied && o.Status == mad.StatusOK {
		held.Take(c.block, c.position, device.Got, &o.Data)
	} else {
		m.trouble[c.s]++
		held.Take(c.block, c.position, device.Unread, &[mad.DataSize]byte{})
	}
	m.left = append(m.left, c)
}
