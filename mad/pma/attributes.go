package pma

import "ibsm/mad"

// Attribute IDs of performance management (IBA 16.1.3). AttributeModifier is 0 for all.
const (
	AttrClassPortInfo                 mad.AttrID = 0x0001
	AttrPortSamplesControl            mad.AttrID = 0x0010
	AttrPortSamplesResult             mad.AttrID = 0x0011
	AttrPortCounters                  mad.AttrID = 0x0012
	AttrPortRcvErrorDetails           mad.AttrID = 0x0015
	AttrPortXmitDiscardDetails        mad.AttrID = 0x0016
	AttrPortOpRcvCounters             mad.AttrID = 0x0017
	AttrPortFlowCtlCounters           mad.AttrID = 0x0018
	AttrPortVLOpPackets               mad.AttrID = 0x0019
	AttrPortVLOpData                  mad.AttrID = 0x001a
	AttrPortVLXmitFlowCtlUpdateErrors mad.AttrID = 0x001b
	AttrPortVLXmitWaitCounters        mad.AttrID = 0x001c
	AttrPortCountersExtended          mad.AttrID = 0x001d
	AttrPortExtendedSpeedsCounters    mad.AttrID = 0x001f
	AttrSwPortVLCongestion            mad.AttrID = 0x0030
	AttrPortRcvConCtrl                mad.AttrID = 0x0031
	AttrPortSLRcvFECN                 mad.AttrID = 0x0032
	AttrPortSLRcvBECN                 mad.AttrID = 0x0033
	AttrPortXmitConCtrl               mad.AttrID = 0x0034
	AttrPortVLXmitTimeCong            mad.AttrID = 0x0035
	AttrPortXmitDataSL                mad.AttrID = 0x0036
	AttrPortRcvDataSL                 mad.AttrID = 0x0037
)

// AllPorts is the PortSelect that means all ports of a node together (IBA 16.1.3.5): a Get
// reads the sum of their counters, a Set resets them all. The ClassPortInfo of the node has
// AllPortSelect if it can do that.
const AllPorts = 255

// Select is what all attributes of counters begin with.
//
//	0 reserved  PortSelect  CounterSelect
//
// PortSelect is the port that is meant: port 0 exists on a switch only.
type Select [4]byte

// SelectOf is the beginning of an attribute of counters, as a view.
func SelectOf(d *[mad.PerfDataSize]byte) *Select { return (*Select)(d[:]) }

// PortSelect is the port whose counters these are, or AllPorts.
func (s *Select) PortSelect() uint8 { return s[1] }

// SetPortSelect replaces PortSelect.
func (s *Select) SetPortSelect(port uint8) { s[1] = port }

// CounterSelect names by bits the counters that a Set resets; a reply repeats it.
func (s *Select) CounterSelect() uint16 { return get16(s[2:]) }

// SetCounterSelect replaces CounterSelect.
func (s *Select) SetCounterSelect(m uint16) { put16(s[2:], m) }

// SetGet makes a packet the request to read an attribute of a port, or of AllPorts.
func SetGet(p *mad.Packet, attr mad.AttrID, port uint8) {
	p.SetHeader(mad.ClassPerf, mad.MethodGet, attr, 0)
	if attr != AttrClassPortInfo {
		SelectOf(p.PerfData()).SetPortSelect(port)
	}
}

// SetReset makes a packet the request to reset counters of a port, or of AllPorts, with the
// attribute PortCounters, which has no room for those of 64 bits alone.
func SetReset(p *mad.Packet, port uint8, counters Counters) {
	p.SetHeader(mad.ClassPerf, mad.MethodSet, AttrPortCounters, 0)
	pc := (*PortCounters)(p.PerfData()[:])
	pc.SetPortSelect(port)
	pc.Select(counters)
}

// SetResetExtended makes a packet the request to reset counters of a port, or of AllPorts,
// with the attribute PortCountersExtended.
func SetResetExtended(p *mad.Packet, port uint8, counters Counters) {
	p.SetHeader(mad.ClassPerf, mad.MethodSet, AttrPortCountersExtended, 0)
	pc := (*PortCountersExtended)(p.PerfData()[:])
	pc.SetPortSelect(port)
	pc.Select(counters)
}
