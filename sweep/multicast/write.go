package multicast

import (
	"fmt"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// maxFailed is how many requests to a switch may fail in a round before the rest of them are skipped: each costs
// seconds.
const maxFailed = 2

// answers reports whether a switch answered in the last sweep.
func (m *Machine) answers(s topo.SwitchIdx) bool {
	return m.subnet.node(s).Missed == 0
}

// Next is the next request to make; ok is false when there is none now. Each must be
// answered by Done.
func (m *Machine) Next() (req txn.Request, ok bool) {
	for m.phase != computes && m.pending() {
		c := m.blocks[m.at]
		m.at++
		if !m.answers(c.s) || m.failed[c.s] >= maxFailed || m.phase == adds && m.failed[c.s] > 0 {
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
func (m *Machine) request(c tableBlock) (req txn.Request, ok bool) {
	node := m.subnet.node(c.s)
	req = txn.Request{
		Class: mad.ClassDirected, Route: node.Route,
		Method: mad.MethodGet, Attr: smp.AttrMulticastForwardingTable,
		Mod: smp.MFTMod(c.position, c.block), MKey: m.keys.For(m.subnet.Topo, node.First),
		Tag: uint64(m.epoch)<<32 | uint64(uint32(c.s)),
	}
	if m.phase == reads || m.phase == confirms {
		return req, true
	}
	req.Method, req.Data = mad.MethodSet, m.value(c)
	return req, !m.holds(c, req.Data)
}

// holds reports whether a block is known to hold data.
func (m *Machine) holds(c tableBlock, data [mad.DataSize]byte) bool {
	return m.subnet.held[c.s].Holds(c.block, c.position, &data)
}

// value is what a block is set to in this phase. A tree in transition first loses its old
// links; it does not get new ones while some switch has not removed an old one.
func (m *Machine) value(c tableBlock) [mad.DataSize]byte {
	held, want := m.subnet.held[c.s], m.mfts.Block(c.s, c.position, c.block)
	if m.phase == removes {
		return m.result.withoutAdditions(c, held, want)
	}
	return blend(m.notRemoved[c.block], common(held.Value(c.block, c.position), want), want)
}

// Done takes the outcome of a request.
func (m *Machine) Done(o *txn.Outcome) {
	if uint16(o.Tag>>32) != m.epoch {
		return
	}
	m.open--
	c := tableBlock{topo.SwitchIdx(uint32(o.Tag)), uint16(o.Mod & 0x1ff), uint8(o.Mod >> 28)}
	held := m.subnet.held[c.s]
	switch m.phase {
	case reads:
		m.take(c, o)
		return
	case confirms:
		m.showed(c, o)
		return
	}
	sent := m.value(c)
	e := device.Answered(o, sent[:])
	held.Take(c.block, c.position, e, &sent)
	switch e {
	case device.Confirmed:
		if o.Attempts > 1 {
			m.check(c)
		}
	case device.Rejected:
		m.fail(c, device.Refuses, fmt.Sprintf("refused: %v", o.Status))
	case device.Differs:
		m.fail(c, device.Ignores, "the response has other values")
		held.Take(c.block, c.position, e, &o.Data)
	default:
		if m.fail(c, device.Unresponsive, "no answer"); o.Result == txn.OutOfTime {
			m.failed[c.s] = maxFailed
		}
	}
}

// fail notes that a switch may not hold the block sent to it.
func (m *Machine) fail(c tableBlock, v device.Verdict, reason string) {
	if m.phase == removes {
		m.notRemoved[c.block] |= m.result.transition[c.block]
	}
	m.failed[c.s]++
	m.verdicts[c.s] = max(m.verdicts[c.s], v)
	m.failures = append(m.failures, finding.Finding{
		Kind: finding.Refused, Node: m.subnet.node(c.s).GUID,
		Detail: fmt.Sprintf("multicast forwarding table block %d, position %d: %s", c.block, c.position, reason),
	})
}
