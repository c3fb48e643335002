package discover

import (
	"ibsm/mad/smp"
	"ibsm/topo"
)

// switchInfo asks for the ports of a switch. Without SwitchInfo it is of no use.
func (m *Machine) switchInfo(n int32, info *smp.SwitchInfo, ok bool) {
	if !ok {
		return // finish leaves it out
	}
	m.b.Node(n).SwitchInfo = *info
	if info.PortStateChange() && m.mayClear(n, info) {
		m.res.Cleared = append(m.res.Cleared, m.b.Node(n).GUID)
		m.queue.push(item{kind: kindClear, node: n})
		return
	}
	m.res.Changed = m.res.Changed || info.PortStateChange()
	if m.cfg.Quick && info.PortStateChange() && !m.cfg.Uncleared[m.b.Node(n).GUID] {
		m.isUnread(n)
	}
	if !m.unchanged(n, info) {
		m.at(n).believed = m.cfg.Answered != nil && !m.isDirty(m.b.Node(n).GUID)
		m.askPorts(n)
	}
}

// mayClear reports whether PortStateChange of a switch may be cleared. One that has just
// come in sight with a forwarding table may have another master, which must learn from
// it that the subnets have grown together.
func (m *Machine) mayClear(n int32, info *smp.SwitchInfo) bool {
	if m.cfg.Uncleared[m.b.Node(n).GUID] {
		return false
	}
	if !m.cfg.Clear || m.cfg.Prev == nil || info.LinearFDBTop() == 0 {
		return m.cfg.Clear
	}
	was := m.cfg.Prev.FindNode(m.b.Node(n).GUID)
	return was != topo.None && m.cfg.Prev.Nodes[was].Missed == 0
}

// cleared goes on to the ports, whether PortStateChange could be cleared or not:
// what stays set is found by the next light sweep.
func (m *Machine) cleared(n int32, info *smp.SwitchInfo, ok bool) {
	if ok {
		m.b.Node(n).SwitchInfo = *info
	}
	m.askPorts(n)
}

// askPorts queues requests for the PortInfos of a switch, except those taken from the previous walk.
func (m *Machine) askPorts(n int32) {
	node := m.b.Node(n)
	sw := &pendingSwitch{}
	m.at(n).sw = sw
	old := topo.NodeIdx(topo.None)
	if m.at(n).believed {
		old = m.previousNode(n)
	}
	var later []item
	for num := range int(node.NumPorts) + 1 {
		e := topo.End{Node: n, Port: uint8(num)}
		// else it has another M_Key than the one it was read with
		if m.hasAnswered(old, e.Port) && m.tries[topo.End{Node: n}] == 0 {
			m.takeOver(e, old)
			continue
		}
		sw.ports++
		if it := (item{kind: kindPort, num: uint16(num), node: n}); m.wasSlow(n) && m.previous(e) != nil {
			later = append(later, it)
		} else {
			m.queue.push(it)
		}
	}
	for _, it := range later {
		m.queue.push(it)
	}
	if sw.ports == 0 {
		m.readSwitch(n)
	}
	if !m.at(n).believed || !m.holds(smp.AttrARInfo, topo.End{Node: n}) {
		m.askAdaptive(n)
	}
}
