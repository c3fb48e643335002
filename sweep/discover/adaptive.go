package discover

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// isNVIDIA reports whether a device may be asked NVIDIA's own attributes.
func isNVIDIA(info *smp.NodeInfo) bool { return smp.NVIDIAVendor(info.VendorID()) }

// adaptiveFeatures are what is asked of switches of these vendors, by kind of request.
var adaptiveFeatures = map[uint8]device.Feature{kindGeneral: device.GeneralInfo, kindAR: device.AdaptiveRoutingInfo,
	kindPrivateLFT: device.PrivateLFTInfo}

// askAdaptive asks an NVIDIA switch once for its capabilities, and in every walk whether adaptive routing and private
// forwarding tables are on.
func (m *Machine) askAdaptive(n int32) {
	node := m.b.Node(n)
	if !isNVIDIA(&node.Info) {
		node.AR, node.PrivateLFT = topo.ARAbsent, topo.PrivateLFTAbsent
	}
	if node.AR == topo.ARUnknown && m.takes(kindAR, n) || node.PrivateLFT == topo.PrivateLFTUnknown &&
		m.takes(kindPrivateLFT, n) {
		m.askFeature(kindGeneral, n)
		return
	}
	if node.AR != topo.ARAbsent {
		m.askFeature(kindAR, n)
	}
	if node.PrivateLFT != topo.PrivateLFTAbsent {
		m.askFeature(kindPrivateLFT, n)
	}
}

// takes reports whether a switch is known to accept a kind of request, or may accept it.
func (m *Machine) takes(kind uint8, n int32) bool {
	return m.cfg.Features.Of(adaptiveFeatures[kind], &m.b.Node(n).Info) != device.Fails
}

// askFeature makes a kind of request to a switch that is not known to fail it.
func (m *Machine) askFeature(kind uint8, n int32) {
	if m.takes(kind, n) {
		m.queue.push(item{kind: kind, node: n})
	}
}

// adaptive takes the answers. A switch that does not know the attribute has no
// adaptive routing; one that does not answer, or refuses to for the moment, is asked once more, by the next walk.
func (m *Machine) adaptive(it item, o *txn.Outcome) {
	node, feature := m.b.Node(it.node), adaptiveFeatures[it.kind]
	if o.Result == txn.OutOfTime {
		return
	}
	if o.Result != txn.Replied {
		if it.kind == kindGeneral {
			m.res.TimedOut-- // simulators and old firmware do not answer this: no reason to walk again
		}
		m.cfg.Features.LearnNoAnswer(feature, &node.Info)
		return
	}
	absent := m.cfg.Features.LearnStatus(feature, &node.Info, o.Status)
	switch {
	case o.Status != mad.StatusOK && !absent:
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
		m.askFeature(kindAR, n)
	}
	if !info.Has(smp.CapPrivateLFT) {
		node.PrivateLFT = topo.PrivateLFTAbsent
	} else {
		m.askFeature(kindPrivateLFT, n)
	}
}
