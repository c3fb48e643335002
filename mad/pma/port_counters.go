package pma

// PortCounters is attribute 0x0012, which every port answers (IBA 16.1.3.5).
//
//	 0 reserved  PortSelect  CounterSelect
//	 4 SymbolErrorCounter  LinkErrorRecoveryCounter:8  LinkDownedCounter:8
//	 8 PortRcvErrors  PortRcvRemotePhysicalErrors
//	12 PortRcvSwitchRelayErrors  PortXmitDiscards
//	16 PortXmitConstraintErrors:8  PortRcvConstraintErrors:8  CounterSelect2:8
//	   LocalLinkIntegrityErrors:4  ExcessiveBufferOverrunErrors:4
//	20 QP1Dropped  VL15Dropped
//	24 PortXmitData
//	28 PortRcvData
//	32 PortXmitPkts
//	36 PortRcvPkts
//	40 PortXmitWait
//
// PortXmitWait counts if CapabilityMask has PortCountersXmitWaitSupported, and QP1Dropped if it
// has IsQP1DroppedSupported.
type PortCounters [44]byte

// PortCountersOnly are the counters that PortCounters has room for.
const PortCountersOnly = AllCounters &^ IETFCounters

// shortFields are the places in PortCounters.
var shortFields = [QP1Dropped + 1]field{
	SymbolErrorCounter: {32, 16}, LinkErrorRecoveryCounter: {48, 8}, LinkDownedCounter: {56, 8},
	PortRcvErrors:               {64, 16},
	PortRcvRemotePhysicalErrors: {80, 16}, PortRcvSwitchRelayErrors: {96, 16}, PortXmitDiscards: {112, 16},
	PortXmitConstraintErrors: {128, 8}, PortRcvConstraintErrors: {136, 8}, LocalLinkIntegrityErrors: {152, 4},
	ExcessiveBufferOverrunErrors: {156, 4}, VL15Dropped: {176, 16}, PortXmitData: {192, 32}, PortRcvData: {224, 32},
	PortXmitPkts: {256, 32}, PortRcvPkts: {288, 32}, PortXmitWait: {320, 32}, QP1Dropped: {160, 16},
}

// MaxShort is the value at which a counter of PortCounters stays, 0 for one that it lacks.
func MaxShort(c Counter) uint64 {
	if int(c) < len(shortFields) {
		return shortFields[c].top()
	}
	return 0
}

// PortSelect is the port whose counters these are, or AllPorts.
func (p *PortCounters) PortSelect() uint8 { return p[1] }

// SetPortSelect replaces PortSelect.
func (p *PortCounters) SetPortSelect(port uint8) { p[1] = port }

// CounterSelect is the counters of CounterSelect and of CounterSelect2, which a Set resets.
func (p *PortCounters) CounterSelect() Counters {
	return Counters(get16(p[2:])) | Counters(p[18]&3)<<PortXmitWait
}

// Select replaces CounterSelect and CounterSelect2. Counters that the attribute lacks are left
// out.
func (p *PortCounters) Select(s Counters) {
	put16(p[2:], uint16(s))
	put(&p[18], 3, uint8(s>>PortXmitWait))
}

// Counter is the value of a counter, 0 for one that the attribute lacks.
func (p *PortCounters) Counter(c Counter) uint64 {
	if int(c) >= len(shortFields) {
		return 0
	}
	return shortFields[c].read(p[:])
}

// SetCounter replaces the value of a counter; one beyond MaxShort is cut to that. A counter
// that the attribute lacks is left out.
func (p *PortCounters) SetCounter(c Counter, v uint64) {
	if int(c) < len(shortFields) {
		shortFields[c].write(p[:], v)
	}
}
