package discover

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// A device such as NVIDIA's Quantum-2 may hide speeds above QDR from a manager that does not set bit 31 of PortInfo's
// modifier, which says that the manager understands them. An older device may not know the bit, and refuse the request
// or not answer. So ports are asked without the bit, and once more with it if the device says that it has extended
// speeds and shows none. Of a device that has not answered to the bit yet, one port is asked first. device.Features
// describes what is remembered.

// noteHiding notes a port that shows no extended speed, and has a link.
func (m *Machine) noteHiding(e topo.End, info *smp.PortInfo) {
	if info.LinkSpeedExtSupported() == 0 && info.LinkSpeedExtSupported2() == 0 && info.PortState() > smp.PortDown &&
		m.cfg.Features.Of(device.ExtendedGets, &m.b.Node(e.Node).Info) != device.Fails {
		m.hiding[e.Node] = append(m.hiding[e.Node], e.Port)
	}
}

// askHiding asks the ports of a node that hide their extended speeds, or the first of them, and returns how many.
func (m *Machine) askHiding(n int32) (asked int) {
	ports := m.hiding[n]
	node := m.b.Node(n)
	answer := m.cfg.Features.Of(device.ExtendedGets, &node.Info)
	if len(ports) == 0 || answer == device.Fails || !m.hasExtended(n, node) {
		delete(m.hiding, n)
		return 0
	}
	if answer == device.Untried {
		ports = ports[:1]
	}
	for _, num := range ports {
		m.queue.push(item{kind: kindSpeeds, num: uint16(num), node: n})
	}
	m.hiding[n] = m.hiding[n][len(ports):]
	return len(ports)
}

// hasExtended reports whether a device says that it has extended speeds. Port 0 of a switch speaks for all its ports.
func (m *Machine) hasExtended(n int32, node *topo.Node) bool {
	e := topo.End{Node: n}
	if node.Type != mad.Switch {
		e.Port = node.Info.LocalPortNum()
	}
	info := m.b.Port(e)
	return info != nil && info.CapabilityMask().Has(smp.IsExtendedSpeedsSupported)
}

// speeds takes the answer of a port that was asked with bit 31. Without an answer, the port's previous answer stands.
func (m *Machine) speeds(it item, o *txn.Outcome, ok bool) {
	e, answer := it.end(), device.Fails
	if ok {
		m.storePort(e, (*smp.PortInfo)(&o.Data))
		answer = device.Works
	}
	if o.Result != txn.OutOfTime {
		m.cfg.Features.Learn(device.ExtendedGets, &m.b.Node(e.Node).Info, answer)
	}
	m.portDone(e.Node)
}

// setBit31 notes which requests to a node have the bit.
func (m *Machine) setBit31(n int32, node *topo.Node) {
	node.GetsExtended = m.cfg.Features.Of(device.ExtendedGets, &node.Info) == device.Works
	node.SetsExtended = m.hasExtended(n, node) && m.cfg.Features.Of(device.ExtendedSets, &node.Info) != device.Fails
}
