package discover

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
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

// askAdaptive asks an NVIDIA switch whether adaptive routing and private forwarding tables
// are on: what it can do once, whether they are on in every walk.
func (m *Machine) askAdaptive(n int32) {
	node := m.b.Node(n)
	if !isNVIDIA(&node.Info) {
		node.AR, node.PrivateLFT = topo.ARAbsent, topo.PrivateLFTAbsent
	}
	if node.AR == topo.ARUnknown || node.PrivateLFT == topo.PrivateLFTUnknown {
		if m.cfg.Features.Of(device.GeneralInfo, &node.Info) != device.Fails {
			m.queue.push(item{kind: kindGeneral, node: n})
		}
		return
	}
	if node.AR != topo.ARAbsent {
		m.queue.push(item{kind: kindAR, node: n})
	}
	if node.PrivateLFT != topo.PrivateLFTAbsent {
		m.queue.push(item{kind: kindPrivateLFT, node: n})
	}
}

// adaptive takes the answers. A switch that does not know the attribute has no
// adaptive routing; one that does not answer, or refuses to for the moment, is asked again
// by the next walk: for GeneralInfo once more.
func (m *Machine) adaptive(it item, o *txn.Outcome) {
	node := m.b.Node(it.node)
	if o.Result != txn.Replied {
		if it.kind == kindGeneral {
			m.res.TimedOut-- // simulators and old firmware do not answer this: no reason to walk again
			m.cfg.Features.LearnNoAnswer(device.GeneralInfo, &node.Info)
		}
		return
	}
	if it.kind == kindGeneral {
		m.cfg.Features.Learn(device.GeneralInfo, &node.Info, device.Works)
	}
	absent := false
	switch o.Status {
	case mad.StatusOK:
	case mad.StatusBadVersion, mad.StatusBadMethod, mad.StatusBadMethodAttr, mad.StatusBadField:
		absent = true
	default:
		return
	}
	switch {
	case it.kind == kindGeneral && absent:
		node.AR, node.PrivateLFT = topo.ARAbsent, topo.PrivateLFTAbsent
	case it.kind == kindGeneral:
		m.generalInfo(it.node, (*smp.GeneralInfo)(&o.Data))
	case it.kind == kindAR && absent:
		node.AR = topo.ARAbsent
	case it.kind == kindAR:
		m.noteValue(smp.AttrARInfo, topo.End{Node: it.node})
		info := smp.ARInfo(o.Data)
		node.ARInfo, node.AR = &info, topo.AROf(&info)
	case absent:
		node.PrivateLFT = topo.PrivateLFTAbsent
	case (*smp.PrivateLFTInfo)(&o.Data).ActiveMode() == 0:
		node.PrivateLFT = topo.PrivateLFTOff
	default:
		node.PrivateLFT = topo.PrivateLFTOn
	}
}

// generalInfo asks for what a switch says it has.
func (m *Machine) generalInfo(n int32, info *smp.GeneralInfo) {
	node := m.b.Node(n)
	if !info.Has(smp.CapAdaptiveRouting) {
		node.AR = topo.ARAbsent
	} else {
		m.queue.push(item{kind: kindAR, node: n})
	}
	if !info.Has(smp.CapPrivateLFT) {
		node.PrivateLFT = topo.PrivateLFTAbsent
	} else {
		m.queue.push(item{kind: kindPrivateLFT, node: n})
	}
}
