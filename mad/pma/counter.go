package pma

import "math/bits"

// Counter is something that a port counts, whichever attribute it is read by.
type Counter uint8

// What ports count (IBA 16.1.3.5 and 16.1.4.11). The first 16 have the order of the bits of
// PortCounters.CounterSelect.
const (
	SymbolErrorCounter           Counter = 0  // minor link errors on a lane
	LinkErrorRecoveryCounter     Counter = 1  // link error recoveries that succeeded
	LinkDownedCounter            Counter = 2  // those that failed: the link went down
	PortRcvErrors                Counter = 3  // packets received with an error
	PortRcvRemotePhysicalErrors  Counter = 4  // packets received that another port had marked bad (EBP)
	PortRcvSwitchRelayErrors     Counter = 5  // packets received that the switch could not pass on
	PortXmitDiscards             Counter = 6  // packets discarded instead of sent, e.g. after waiting too long
	PortXmitConstraintErrors     Counter = 7  // packets not sent because of partitions or raw filters
	PortRcvConstraintErrors      Counter = 8  // packets received and discarded because of them
	LocalLinkIntegrityErrors     Counter = 9  // times that local physical errors exceeded the threshold
	ExcessiveBufferOverrunErrors Counter = 10 // times that buffers overran for too long
	VL15Dropped                  Counter = 11 // SMPs dropped for want of buffers
	PortXmitData                 Counter = 12 // data octets sent, divided by 4
	PortRcvData                  Counter = 13 // data octets received, divided by 4
	PortXmitPkts                 Counter = 14 // packets sent
	PortRcvPkts                  Counter = 15 // packets received
	PortXmitWait                 Counter = 16 // ticks in which there were data and no credits
	QP1Dropped                   Counter = 17 // packets of queue pair 1 dropped for want of buffers
	PortUnicastXmitPkts          Counter = 18 // 64 bits only, as the three that follow
	PortUnicastRcvPkts           Counter = 19
	PortMulticastXmitPkts        Counter = 20
	PortMulticastRcvPkts         Counter = 21
	NumCounters                          = 22
)

var counterNames = [NumCounters]string{
	"SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors",
	"PortRcvRemotePhysicalErrors",
	"PortRcvSwitchRelayErrors", "PortXmitDiscards", "PortXmitConstraintErrors", "PortRcvConstraintErrors",
	"LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors", "VL15Dropped", "PortXmitData", "PortRcvData",
	"PortXmitPkts",
	"PortRcvPkts", "PortXmitWait", "QP1Dropped", "PortUnicastXmitPkts", "PortUnicastRcvPkts", "PortMulticastXmitPkts",
	"PortMulticastRcvPkts",
}

// String is the name in the architecture.
func (c Counter) String() string {
	if c < NumCounters {
		return counterNames[c]
	}
	return "?"
}

// Counters is a set of counters: bit n is Counter n.
type Counters uint32

// Sets of counters.
const (
	ErrorCounters Counters = 1<<PortXmitData - 1                    // of errors, without PortXmitWait and QP1Dropped
	DataCounters  Counters = (1<<PortXmitWait - 1) &^ ErrorCounters // data and packets that PortCounters has, too
	IETFCounters  Counters = 1<<NumCounters - 1<<(QP1Dropped+1)     // unicast and multicast packets
	// of PortCountersExtended on every device that has it
	ExtendedCounters Counters = DataCounters | IETFCounters
	ShortCounters    Counters = ErrorCounters | DataCounters // of PortCounters on every device
	AllCounters      Counters = 1<<NumCounters - 1
)

// Of is the set of the counters given.
func Of(list ...Counter) (s Counters) {
	for _, c := range list {
		s |= 1 << c
	}
	return s
}

// Has reports whether a counter is in the set.
func (s Counters) Has(c Counter) bool { return s>>c&1 != 0 }

// Len is the number of counters in the set.
func (s Counters) Len() int { return bits.OnesCount32(uint32(s)) }

// All visits the counters of the set in order.
func (s Counters) All(yield func(Counter) bool) {
	for ; s != 0; s &= s - 1 {
		if !yield(Counter(bits.TrailingZeros32(uint32(s)))) {
			return
		}
	}
}
