package discover

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/topo"
)

// isNVIDIA reports whether a device may be asked NVIDIA's own attributes. No one
// else ever is. The other two numbers are rebadged parts.
func isNVIDIA(info *smp.NodeInfo) bool {
	switch info.VendorID() {
	case 0x0002c9, 0x00119f, 0x0008f1:
		return true
	}
	return false
}

// askAdaptive asks an NVIDIA switch whether adaptive routing is on: what it can
// do once, whether it is on in every walk.
func (m *Machine) askAdaptive(n int32) {
	node := m.b.Node(n)
	if !isNVIDIA(&node.Info) {
		node.AR = topo.ARAbsent
	}
	switch node.AR {
	case topo.ARUnknown:
		m.queue.push(item{kind: kindGeneral, node: n})
	case topo.AROff, topo.AROn:
		m.queue.push(item{kind: kindAR, node: n})
	}
}

// adaptive takes the answers. A switch that does not know the attribute has no
// adaptive routing; one that does not answer, or refuses to for the moment, is asked again
// by the next walk.
func (m *Machine) adaptive(it item, o *txn.Outcome) {
	node := m.b.Node(it.node)
	if o.Result != txn.Replied {
		if it.kind == kindGeneral {
			m.res.TimedOut-- // simulators and old firmware are silent: no reason to walk again
		}
		return
	}
	switch o.Status {
	case mad.StatusOK:
	case mad.StatusBadVersion, mad.StatusBadMethod, mad.StatusBadMethodAttr, mad.StatusBadField:
		node.AR = topo.ARAbsent
		return
	default:
		return
	}
	if it.kind == kindGeneral {
		info := (*smp.GeneralInfo)(&o.Data)
		node.AR = topo.ARAbsent
		if info.Has(smp.CapAdaptiveRouting) {
			node.AR = topo.ARUnknown
			m.queue.push(item{kind: kindAR, node: it.node})
		}
		return
	}
	node.AR, node.ARInfo = topo.AROff, o.Data
	if node.ARInfo.Enabled() {
		node.AR = topo.AROn
	}
}
