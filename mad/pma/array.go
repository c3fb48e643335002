package pma

import (
	"strconv"

	"ibsm/mad"
)

// Array is an attribute that has counters of one width behind PortSelect and CounterSelect, of
// which bit n resets counter n (IBA 16.1.4). All are optional: an agent without one refuses the
// request.
type Array struct {
	Attr   mad.AttrID
	Width  uint8    // of each counter, in bits: 2, 16 or 32
	Len    int      // number of counters, at most 16
	names  []string // nil: prefix and the number of a lane or service level
	prefix string
}

var arrays = [...]Array{
	{Attr: AttrPortRcvErrorDetails, Width: 16, Len: 6,
		names: []string{"PortLocalPhysicalErrors", "PortMalformedPacketErrors",
			"PortBufferOverrunErrors", "PortDLIDMappingErrors", "PortVLMappingErrors", "PortLoopingErrors"}},
	{Attr: AttrPortXmitDiscardDetails, Width: 16, Len: 4,
		names: []string{"PortInactiveDiscards", "PortNeighborMTUDiscards",
			"PortSwLifetimeLimitDiscards", "PortSwHOQLifetimeLimitDiscards"}},
	{Attr: AttrPortOpRcvCounters, Width: 32, Len: 2, names: []string{"PortOpRcvPkts", "PortOpRcvData"}},
	{Attr: AttrPortFlowCtlCounters, Width: 32, Len: 2, names: []string{"PortXmitFlowPkts", "PortRcvFlowPkts"}},
	{Attr: AttrPortVLOpPackets, Width: 16, Len: 16, prefix: "PortVLOpPackets"},
	{Attr: AttrPortVLOpData, Width: 32, Len: 16, prefix: "PortVLOpData"},
	{Attr: AttrPortVLXmitFlowCtlUpdateErrors, Width: 2, Len: 16, prefix: "PortVLXmitFlowCtlUpdateErrors"},
	{Attr: AttrPortVLXmitWaitCounters, Width: 16, Len: 16, prefix: "PortVLXmitWait"},
	{Attr: AttrSwPortVLCongestion, Width: 16, Len: 16, prefix: "SWPortVLCongestion"},
	{Attr: AttrPortRcvConCtrl, Width: 32, Len: 2, names: []string{"PortPktRcvFECN", "PortPktRcvBECN"}},
	{Attr: AttrPortSLRcvFECN, Width: 32, Len: 16, prefix: "PortSLRcvFECN"},
	{Attr: AttrPortSLRcvBECN, Width: 32, Len: 16, prefix: "PortSLRcvBECN"},
	{Attr: AttrPortXmitConCtrl, Width: 32, Len: 1, names: []string{"PortXmitTimeCong"}},
	{Attr: AttrPortVLXmitTimeCong, Width: 32, Len: 15, prefix: "PortVLXmitTimeCong"},
	{Attr: AttrPortXmitDataSL, Width: 32, Len: 16, prefix: "XmtDataSL"},
	{Attr: AttrPortRcvDataSL, Width: 32, Len: 16, prefix: "RcvDataSL"},
}

// Counters of PortRcvErrorDetails.
const (
	PortLocalPhysicalErrors   = 0 // CRC and delimiter errors of the link itself
	PortMalformedPacketErrors = 1
	PortBufferOverrunErrors   = 2
	PortDLIDMappingErrors     = 3 // a switch: no port for the DLID
	PortVLMappingErrors       = 4 // a switch: no lane for the service level
	PortLoopingErrors         = 5 // a switch: out by the port it came in by
)

// Counters of PortXmitDiscardDetails.
const (
	PortInactiveDiscards           = 0 // the port was not Active
	PortNeighborMTUDiscards        = 1 // packets longer than NeighborMTU
	PortSwLifetimeLimitDiscards    = 2 // older than SwitchInfo.LifeTimeValue
	PortSwHOQLifetimeLimitDiscards = 3 // first in the queue for longer than PortInfo.HOQLife
)

// Arrays are all attributes of that form.
func Arrays() []Array { return arrays[:] }

// ArrayOf is the form of an attribute; ok is false when it has another.
func ArrayOf(attr mad.AttrID) (a *Array, ok bool) {
	for i := range arrays {
		if arrays[i].Attr == attr {
			return &arrays[i], true
		}
	}
	return nil, false
}

// Name is that of counter i, as perfquery prints it but for PortMalformedPacketErrors.
func (a *Array) Name(i int) string {
	if a.names != nil {
		return a.names[i]
	}
	return a.prefix + strconv.Itoa(i)
}

// Max is the value at which each counter stays.
func (a *Array) Max() uint64 { return 1<<a.Width - 1 }

func (a *Array) field(i int) field { return field{uint16(32 + i*int(a.Width)), a.Width} }

// Counter is the value of counter i, 0 for one beyond Len.
func (a *Array) Counter(d *[mad.PerfDataSize]byte, i int) uint64 {
	if uint(i) >= uint(a.Len) {
		return 0
	}
	return a.field(i).read(d[:])
}

// SetCounter replaces the value of counter i; one beyond Max is cut to that.
func (a *Array) SetCounter(d *[mad.PerfDataSize]byte, i int, v uint64) {
	if uint(i) < uint(a.Len) {
		a.field(i).write(d[:], v)
	}
}
