package pma

// PortCountersExtended is attribute 0x001D (IBA 16.1.4.11).
//
//	  0 reserved  PortSelect  CounterSelect
//	  4 CounterSelect2
//	  8 PortXmitData
//	 16 PortRcvData
//	 24 PortXmitPkts
//	 32 PortRcvPkts
//	 40 PortUnicastXmitPkts
//	 48 PortUnicastRcvPkts
//	 56 PortMulticastXmitPkts
//	 64 PortMulticastRcvPkts
//	 72 SymbolErrorCounter, and the others of PortCounters, 8 bytes each
//	184
//
// A device has it if its CapabilityMask has IsExtendedWidthSupported, or
// IsExtendedWidthSupportedNoIETF: then without the four counters of unicast and multicast
// packets. What follows them counts if CapabilityMask2 has
// IsAdditionalPortCountersExtendedSupported; CounterSelect2 is for those.
type PortCountersExtended [184]byte

// extended is the index of a counter among those of PortCountersExtended, and the bit of
// CounterSelect, or 8 more than that of CounterSelect2.
var extended = [NumCounters]uint8{
	PortXmitData: 0, PortRcvData: 1, PortXmitPkts: 2, PortRcvPkts: 3, PortUnicastXmitPkts: 4, PortUnicastRcvPkts: 5,
	PortMulticastXmitPkts: 6, PortMulticastRcvPkts: 7, SymbolErrorCounter: 8, LinkErrorRecoveryCounter: 9,
	LinkDownedCounter: 10, PortRcvErrors: 11, PortRcvRemotePhysicalErrors: 12, PortRcvSwitchRelayErrors: 13,
	PortXmitDiscards: 14, PortXmitConstraintErrors: 15, PortRcvConstraintErrors: 16, LocalLinkIntegrityErrors: 17,
	ExcessiveBufferOverrunErrors: 18, VL15Dropped: 19, PortXmitWait: 20, QP1Dropped: 21,
}

// additional is the first index of the additional counters.
const additional = 8

// PortSelect is the port whose counters these are, or AllPorts.
func (p *PortCountersExtended) PortSelect() uint8 { return p[1] }

// SetPortSelect replaces PortSelect.
func (p *PortCountersExtended) SetPortSelect(port uint8) { p[1] = port }

// CounterSelect is the counters of CounterSelect and of CounterSelect2, which a Set resets.
func (p *PortCountersExtended) CounterSelect() (s Counters) {
	m := uint32(p[3]) | get32(p[4:])<<additional
	for c, i := range extended {
		s |= Counters(m>>i&1) << c
	}
	return s
}

// Select replaces CounterSelect and CounterSelect2.
func (p *PortCountersExtended) Select(s Counters) {
	m := uint32(0)
	for c, i := range extended {
		m |= uint32(s>>c&1) << i
	}
	put16(p[2:], uint16(m&0xff))
	put32(p[4:], m>>additional)
}

// Counter is the value of a counter.
func (p *PortCountersExtended) Counter(c Counter) uint64 {
	if c >= NumCounters {
		return 0
	}
	return get64(p[8+8*int(extended[c]):])
}

// SetCounter replaces the value of a counter.
func (p *PortCountersExtended) SetCounter(c Counter, v uint64) {
	if c < NumCounters {
		put64(p[8+8*int(extended[c]):], v)
	}
}
