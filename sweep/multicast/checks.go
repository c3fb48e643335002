package multicast

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// A delayed packet may write an old block over a newer one that the switch has acknowledged:
// the first attempt of a request whose second was answered, or a duplicate that some link
// made. Blocks that this may have happened to are read again: the stale-block check.

// packetLifetime is how long a request of a round may still be in the fabric after it.
const packetLifetime = 5 * time.Second

// check has a block read again.
func (m *Machine) check(c tableBlock) {
	m.subnet.Devices.Check(device.Block{
		Place: device.Place{Attr: smp.AttrMulticastForwardingTable, Node: m.subnet.node(c.s).GUID},
		Index: c.block<<4 | uint16(c.position),
	})
}

// scheduleChecks has the blocks of a finished round read again when all its packets must have
// arrived.
func (m *Machine) scheduleChecks(now time.Duration) {
	if m.checkAt == 0 && len(m.subnet.Devices.Checks(smp.AttrMulticastForwardingTable)) > 0 {
		m.checkAt = now + packetLifetime
	}
}

// UnmatchedReply takes a reply that matches no outstanding request. When it shows that a
// switch may hold a stale block, that block is read again.
func (m *Machine) UnmatchedReply(now time.Duration, p *mad.Packet) {
	if m.subnet == nil || p.MgmtClass() != mad.ClassDirected || p.Method() != mad.MethodGetResp ||
		p.AttrID() != smp.AttrMulticastForwardingTable || p.Status() != mad.StatusOK {
		return
	}
	t := m.subnet.Topo
	at := device.Arrival(t, p)
	if at == topo.None || t.Nodes[t.Ports[at].Node].Switch == topo.None {
		return
	}
	c := tableBlock{t.Nodes[t.Ports[at].Node].Switch, uint16(p.AttrMod() & 0x1ff), uint8(p.AttrMod() >> 28)}
	held := m.subnet.held[c.s]
	if held.Recorded(c.block, c.position) && !held.Unread(c.block) && held.Value(c.block, c.position) != *p.Data() {
		m.check(c)
		m.checkAt = now
	}
}

// read begins to read the tables that another manager may have written and the blocks to
// check, if there are any.
func (m *Machine) read(now time.Duration) bool {
	m.blocks, m.at = nil, 0
	if m.unread {
		m.blocks = m.exposedUnread()
		m.unread = len(m.blocks) > 0 // these lead to others
	}
	if len(m.blocks) == 0 && !m.readChecks(now) {
		return false
	}
	m.phase, m.failed = reads, map[topo.SwitchIdx]int{}
	return true
}

// exposedUnread are the blocks that another manager may have written, and that packets get into.
func (m *Machine) exposedUnread() (blocks []tableBlock) {
	held, n := m.subnet.held, m.numBlocks()
	for s, set := range exposed(m.subnet.Topo, held, n) {
		if t := held[s]; m.answers(topo.SwitchIdx(s)) {
			for block := range uint16(min(n, t.Blocks)) {
				for position := range t.Positions {
					if set.Has(block) && t.Unread(block) {
						blocks = append(blocks, tableBlock{topo.SwitchIdx(s), block, position})
					}
				}
			}
		}
	}
	return sortBlocks(blocks)
}

// readEnds takes that no block is left to read. Those that were skipped, because others of their switches were not
// answered, count as read without an answer.
func (m *Machine) readEnds() {
	m.phase, m.wasRead = rests, true
	if m.next != nil {
		return
	}
	for _, c := range m.blocks {
		if held := m.subnet.held[c.s]; m.failed[c.s] > 0 && held.Unread(c.block) {
			held.Take(c.block, c.position, device.Unread, &[mad.DataSize]byte{})
		}
	}
}

// readChecks begins to read the blocks to check when it is time.
func (m *Machine) readChecks(now time.Duration) bool {
	if m.checkAt == 0 || m.checkAt > now {
		return false
	}
	m.checkAt = 0
	t := m.subnet.Topo
	for _, b := range m.subnet.Devices.Checks(smp.AttrMulticastForwardingTable) {
		if n := t.FindNode(b.Node); n != topo.None && t.Nodes[n].Switch != topo.None {
			m.blocks = append(m.blocks, tableBlock{t.Nodes[n].Switch, b.Index >> 4, uint8(b.Index & 15)})
		}
	}
	m.subnet.Devices.Checked(smp.AttrMulticastForwardingTable)
	m.blocks = sortBlocks(m.blocks)
	return len(m.blocks) > 0
}

// take takes a block that was read. The next round compares it with its target.
func (m *Machine) take(c tableBlock, o *txn.Outcome) {
	held := m.subnet.held[c.s]
	if o.Result == txn.Replied && o.Status == mad.StatusOK {
		held.Take(c.block, c.position, device.Got, &o.Data)
	} else {
		if m.failed[c.s]++; o.Result == txn.OutOfTime {
			m.failed[c.s] = maxFailed
		}
		held.Take(c.block, c.position, device.Unread, &[mad.DataSize]byte{})
	}
	m.left = append(m.left, c)
}

// confirm begins to read the blocks by which switches must show that they keep acknowledged values, if there are any. A
// new subnet ends the round first.
func (m *Machine) confirm() bool {
	if m.next != nil {
		return false
	}
	m.blocks, m.at = nil, 0
	for i, held := range m.subnet.held {
		s := topo.SwitchIdx(i)
		if block, position, ok := held.MustShow(); ok && m.answers(s) && m.failed[s] == 0 {
			m.blocks = append(m.blocks, tableBlock{s, block, position})
		}
	}
	if len(m.blocks) > 0 {
		m.phase = confirms
	}
	return m.phase == confirms
}

// showed takes the block that a switch had to show. Where it has not kept that, all its blocks are sent again.
func (m *Machine) showed(c tableBlock, o *txn.Outcome) {
	held := m.subnet.held[c.s]
	if o.Result != txn.Replied || o.Status != mad.StatusOK {
		held.Unreadable()
		return
	}
	if held.Shows(&o.Data) {
		return
	}
	m.fail(c, device.Ignores, "acknowledged, but not kept")
	for block := range uint16(held.Rows()) {
		for position := range held.Positions {
			m.left = append(m.left, tableBlock{c.s, block, position})
		}
	}
}
