package discover

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// askFDR10 asks an NVIDIA device whether a port that is up has FDR10, and has it enabled.
// A quick walk believes the previous one about ports that have been up all along.
func (m *Machine) askFDR10(e topo.End, info *smp.PortInfo) {
	node := m.b.Node(e.Node)
	switch port0 := node.Type == mad.Switch && e.Port == 0; {
	case !m.cfg.FDR10 || !isNVIDIA(&node.Info) || m.cfg.Features.Of(device.FDR10Info, &node.Info) == device.Fails:
		return
	case port0 && !node.SwitchInfo.EnhancedPort0(), !port0 && info.PortState() <= smp.PortDown:
		return
	}
	if old := m.before(e.Node); old != topo.None && info.PortState() >= smp.PortArmed &&
		m.holds(smp.AttrExtendedPortInfo, e) {
		at := m.cfg.Prev.Port(old, e.Port)
		if was, known := m.cfg.Prev.Extended[at]; known && m.cfg.Prev.Ports[at].Info.PortState() >= smp.PortArmed {
			m.b.SetExtended(e, &was)
			return
		}
	}
	m.queue.push(item{kind: kindExtended, num: uint16(e.Port), node: e.Node})
}

// extended takes the answer. A device that does not know the attribute, or does not answer, has no FDR10.
func (m *Machine) extended(it item, o *txn.Outcome) {
	info := &m.b.Node(it.node).Info
	if o.Result == txn.OutOfTime {
		return
	}
	if o.Result != txn.Replied {
		m.res.TimedOut-- // as adaptive
		m.cfg.Features.LearnNoAnswer(device.FDR10Info, info)
		return
	}
	if m.cfg.Features.LearnStatus(device.FDR10Info, info, o.Status); o.Status == mad.StatusOK {
		m.noteValue(smp.AttrExtendedPortInfo, it.end())
		m.b.SetExtended(it.end(), (*smp.ExtendedPortInfo)(&o.Data))
	}
}
