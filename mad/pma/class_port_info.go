package pma

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
)

// ClassPortInfo is attribute 0x0001: what the agent of a node can do. All classes have it in
// the same form.
type ClassPortInfo = sarec.ClassPortInfo

// Bits of the CapabilityMask of performance management (IBA 16.1.3.1).
const (
	AllPortSelect                                uint16 = 1 << 8  // takes AllPorts as PortSelect
	IsExtendedWidthSupported                     uint16 = 1 << 9  // has PortCountersExtended
	IsExtendedWidthSupportedNoIETF               uint16 = 1 << 10 // has it without unicast and multicast packets
	SamplesOnlySupported                         uint16 = 1 << 11 // PortSamplesControl.SamplesOnlyOptionMask applies
	PortCountersXmitWaitSupported                uint16 = 1 << 12 // PortCounters has PortXmitWait
	IsInhibitLimitedPKeyMulticastConstraintError uint16 = 1 << 13
	IsRSFECModeCountersSupported                 uint16 = 1 << 14
	IsQP1DroppedSupported                        uint16 = 1 << 15 // PortCounters has QP1Dropped
)

// Bits of the CapabilityMask2 of performance management.
const (
	IsPMKeySupported                          uint32 = 1 << 0
	IsAdditionalPortCountersExtendedSupported uint32 = 1 << 1 // PortCountersExtended has the additional counters
)

// Has64 is the set of counters that an agent with these masks has in PortCountersExtended,
// none if it lacks the attribute.
func Has64(mask uint16, mask2 uint32) (s Counters) {
	switch {
	case mask&IsExtendedWidthSupported != 0:
		s = ExtendedCounters
	case mask&IsExtendedWidthSupportedNoIETF != 0:
		s = DataCounters
	default:
		return 0
	}
	if mask2&IsAdditionalPortCountersExtendedSupported != 0 {
		s |= AllCounters &^ ExtendedCounters
	}
	return s
}

// HasShort is the set of counters that an agent with that mask has in PortCounters.
func HasShort(mask uint16) Counters {
	s := ShortCounters
	if mask&PortCountersXmitWaitSupported != 0 {
		s |= Of(PortXmitWait)
	}
	if mask&IsQP1DroppedSupported != 0 {
		s |= Of(QP1Dropped)
	}
	return s
}

// Redirect is where further requests of the class should go in place of the agent that sent
// this response; ok is false for nowhere else. A response with the status redirect has a
// ClassPortInfo whatever was asked for (IBA 13.5.2); one to a Get of ClassPortInfo can redirect
// without that status.
func Redirect(p *mad.Packet) (c *ClassPortInfo, ok bool) {
	if p.Status()&mad.StatusRedirect == 0 && (p.Status() != mad.StatusOK || p.AttrID() != AttrClassPortInfo) {
		return nil, false
	}
	c = (*ClassPortInfo)(p.PerfData()[:])
	return c, c.RedirectLID().IsUnicast()
}
