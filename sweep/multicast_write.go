package sweep

import (
	"fmt"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/topo"
)

func (m *Multicast) answers(s topo.SwitchIdx) bool {
	return m.subnet.topo.Nodes[m.subnet.topo.Switches[s]].Missed == 0
}

// Next is the next request to make; ok is false when there is none now. Each must be
// answered by Done.
func (m *Multicast) Next() (req txn.Request, ok bool) {
	for m.phase != multicastComputes && m.pending() {
		c := m.blocks[m.at]
		m.at++
		if !m.answers(c.s) || m.failed[c.s] >= maxTimeOuts || m.phase == multicastAdds && m.failed[c.s] > 0 {
			continue
		}
		if req, ok = m.request(c); ok {
			m.open++
			return req, true
		}
	}
	return req, false
}

// request reads or writes a block; ok is false when the block already holds its target.
func (m *Multicast) request(c mftBlock) (req txn.Request, ok bool) {
	n := m.subnet.topo.Switches[c.s]
	node := &m.subnet.topo.Nodes[n]
	req = txn.Request{
		Class: mad.ClassDirected, Route: node.Route, Method: mad.MethodGet, Attr: smp.AttrMulticastForwardingTable,
		Mod: smp.MFTMod(c.position, c.block), MKey: m.settings.MKeyFor(m.subnet.topo, node.First),
		Tag: uint64(m.epoch)<<32 | uint64(uint32(c.s)),
	}
	if m.phase == multicastReads {
		return req, true
	}
	req.Method, req.Data = mad.MethodSet, m.value(c)
	return req, !m.holds(c, req.Data)
}

// holds reports whether a block is known to hold data.
func (m *Multicast) holds(c mftBlock, data [mad.DataSize]byte) bool {
	return m.subnet.held[c.s].Holds(c.block, c.position, &data)
}

// value is what a block is set to in this phase. A tree in transition first loses its old
// links; it does not get new ones while some switch has not removed an old one.
func (m *Multicast) value(c mftBlock) [mad.DataSize]byte {
	held, want := m.subnet.held[c.s], m.mfts.Block(c.s, c.position, c.block)
	if m.phase == multicastRemoves {
		return m.round.withoutAdditions(c, held, want)
	}
	return blend(m.notRemoved[c.block], common(held.Value(c.block, c.position), want), want)
}

// Done takes the outcome of a request.
func (m *Multicast) Done(o *txn.Outcome) {
	if uint16(o.Tag>>32) != m.epoch {
		return
	}
	m.open--
	c := mftBlock{topo.SwitchIdx(uint32(o.Tag)), uint16(o.Mod & 0x1ff), uint8(o.Mod >> 28)}
	held := m.subnet.held[c.s]
	if m.phase == multicastReads {
		m.wasRead(c, o)
		return
	}
	sent := m.value(c)
	switch e := device.Answered(o, sent[:]); e {
	case device.Confirmed:
		held.Take(c.block, c.position, e, &o.Data)
		if o.Attempts > 1 {
			m.check(c)
		}
	case device.Rejected:
		m.fail(c, e, fmt.Sprintf("refused: %v", o.Status))
	case device.Differs:
		m.fail(c, e, "the response has other values")
		held.Take(c.block, c.position, e, &o.Data)
	default:
		m.fail(c, e, "no answer")
	}
}

// fail notes that a switch may not hold what it was sent.
func (m *Multicast) fail(c mftBlock, e device.Event, reason string) {
	sent := m.value(c)
	if m.phase == multicastRemoves {
		m.notRemoved[c.block] |= m.round.transition[c.block]
	}
	m.subnet.held[c.s].Take(c.block, c.position, e, &sent)
	m.failed[c.s]++
	m.verdicts[c.s] = max(m.verdicts[c.s], verdictOf(e))
	m.failures = append(m.failures, finding.Finding{Kind: finding.Refused, Node: m.subnet.topo.Nodes[m.subnet.topo.Switches[c.s]].GUID,
		Detail: fmt.Sprintf("multicast forwarding table block %d, position %d: %s", c.block, c.position, reason)})
}

// verdictOf is what the outcome of a Set that failed says of its switch.
func verdictOf(e device.Event) device.Verdict {
	switch e {
	case device.Rejected:
		return device.Refuses
	case device.Differs:
		return device.Ignores
	}
	return device.Unresponsive
}
