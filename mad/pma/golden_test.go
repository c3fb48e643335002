package pma

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
)

// The values are what perfquery prints for these packets; ibsim's console put the counters in
// (testdata/mad/README.md).

// reply is a captured answer without an error.
func reply(t *testing.T, name string, attr mad.AttrID, port uint8) *[mad.PerfDataSize]byte {
	t.Helper()
	p := madtest.Packet(t, name)
	if p.MgmtClass() != mad.ClassPerf || p.Method() != mad.MethodGetResp || p.AttrID() != attr ||
		p.Status() != mad.StatusOK {
		t.Errorf("%s: %v %v %s %v", name, p.MgmtClass(), p.Method(), AttrName(p.AttrID()), p.Status())
	}
	if got := SelectOf(p.PerfData()).PortSelect(); got != port {
		t.Errorf("%s is of port %d, want %d", name, got, port)
	}
	return p.PerfData()
}

func TestGoldenClassPortInfo(t *testing.T) {
	p := madtest.Packet(t, "perf-class-port-info-resp")
	c := (*ClassPortInfo)(p.PerfData()[:])
	if c[0] != 1 || c[1] != 1 || c.CapabilityMask() != AllPortSelect|IsExtendedWidthSupported|
		PortCountersXmitWaitSupported ||
		c.CapabilityMask2() != 0 || c.RespTimeValue() != 18 || c.RedirectLID() != 0 {
		t.Errorf("% x", c[:])
	}
}

func TestGoldenPortCounters(t *testing.T) {
	p := (*PortCounters)(reply(t, "perf-port-counters-resp", AttrPortCounters, 1)[:])
	want := map[Counter]uint64{
		SymbolErrorCounter: 4660, LinkErrorRecoveryCounter: 86, LinkDownedCounter: 120, PortRcvErrors: 39612,
		PortRcvRemotePhysicalErrors: 48350, PortRcvSwitchRelayErrors: 57072, PortXmitDiscards: 4386,
		PortXmitConstraintErrors: 34,
		PortRcvConstraintErrors:  51, LocalLinkIntegrityErrors: 4, ExcessiveBufferOverrunErrors: 5, VL15Dropped: 30600,
		PortXmitData: 2291772091, PortRcvData: 3435973836, PortXmitPkts: 3722304989, PortRcvPkts: 4008636142,
		PortXmitWait: 4294901760,
	}
	var ours PortCounters
	ours.SetPortSelect(1)
	for c := range AllCounters.All {
		ours.SetCounter(c, want[c]) // QP1Dropped is 0: ibsim lacks it
		if got := p.Counter(c); got != want[c] {
			t.Errorf("%v is %d, want %d", c, got, want[c])
		}
	}
	if ours != *p || p.PortSelect() != 1 || p.CounterSelect() != 0 {
		t.Errorf("made % x, captured % x", ours, *p)
	}
}

func TestGoldenPortCountersExtended(t *testing.T) {
	p := (*PortCountersExtended)(reply(t, "perf-port-counters-extended-resp", AttrPortCountersExtended, 1)[:])
	want := map[Counter]uint64{
		PortXmitData: 1311768467294899695, PortRcvData: 2541551405711093505, PortXmitPkts: 3771334344127287315,
		PortRcvPkts:         5001117282543481125,
		PortUnicastXmitPkts: 6230900220959674935, PortUnicastRcvPkts: 7460683159375868745,
		PortMulticastXmitPkts: 8690466097792062555,
	}
	var ours PortCountersExtended
	ours.SetPortSelect(1)
	for c := range AllCounters.All {
		ours.SetCounter(c, want[c])
		if got := p.Counter(c); got != want[c] {
			t.Errorf("%v is %d, want %d", c, got, want[c])
		}
	}
	if ours != *p || p.PortSelect() != 1 {
		t.Errorf("made % x, captured % x", ours, *p)
	}
}

// The additional counters in libibmad's order: its encoder gave them 9, 10, ... in each byte.
func TestGoldenAdditional(t *testing.T) {
	p := (*PortCountersExtended)(reply(t, "perf-port-counters-extended-additional-resp", AttrPortCountersExtended,
		3)[:])
	order := []Counter{PortXmitData, PortRcvData, PortXmitPkts, PortRcvPkts, PortUnicastXmitPkts, PortUnicastRcvPkts,
		PortMulticastXmitPkts, PortMulticastRcvPkts, SymbolErrorCounter, LinkErrorRecoveryCounter, LinkDownedCounter,
		PortRcvErrors,
		PortRcvRemotePhysicalErrors, PortRcvSwitchRelayErrors, PortXmitDiscards, PortXmitConstraintErrors,
		PortRcvConstraintErrors,
		LocalLinkIntegrityErrors, ExcessiveBufferOverrunErrors, VL15Dropped, PortXmitWait, QP1Dropped}
	var ours PortCountersExtended
	ours.SetPortSelect(3)
	ours.Select(IETFCounters | Of(SymbolErrorCounter, LinkDownedCounter, PortXmitWait, QP1Dropped)) // 0x00f0 and 0x3005
	for i, c := range order {
		want := uint64(i+1) * 0x0101010101010101
		ours.SetCounter(c, want)
		if got := p.Counter(c); got != want {
			t.Errorf("%v is %d, want %d", c, got, want)
		}
	}
	if ours != *p {
		t.Errorf("made % x, libibmad % x", ours, *p)
	}
}

func TestGoldenArrays(t *testing.T) {
	lanes := func(n int, f func(i uint64) uint64) (list []uint64) {
		for i := range n {
			list = append(list, f(uint64(i)))
		}
		return list
	}
	for _, tt := range []struct {
		name string
		attr mad.AttrID
		want []uint64
	}{
		{"perf-rcv-error-details-resp", AttrPortRcvErrorDetails,
			[]uint64{PortLocalPhysicalErrors: 4369, PortMalformedPacketErrors: 8738,
				PortBufferOverrunErrors: 13107, PortDLIDMappingErrors: 17476, PortVLMappingErrors: 21845,
				PortLoopingErrors: 26214}},
		{"perf-xmit-discard-details-resp", AttrPortXmitDiscardDetails,
			[]uint64{PortInactiveDiscards: 4097, PortNeighborMTUDiscards: 8194,
				PortSwLifetimeLimitDiscards: 12291, PortSwHOQLifetimeLimitDiscards: 16388}},
		{"perf-op-rcv-counters-resp", AttrPortOpRcvCounters, []uint64{19088743, 2309737967}},
		{"perf-flow-ctl-counters-resp", AttrPortFlowCtlCounters, []uint64{19088744, 2309737968}},
		{"perf-vl-op-packets-resp", AttrPortVLOpPackets, lanes(16, func(i uint64) uint64 { return 8192 + 3*i })},
		{"perf-vl-op-data-resp", AttrPortVLOpData, append(lanes(15, func(i uint64) uint64 {
			return 1048576 + 65537*i
		}), 0)},
		{"perf-vl-xmit-flow-ctl-update-errors-resp", AttrPortVLXmitFlowCtlUpdateErrors,
			lanes(16, func(i uint64) uint64 {
				return i % 4
			})},
	} {
		d := reply(t, tt.name, tt.attr, 1)
		a, ok := ArrayOf(tt.attr)
		if !ok || a.Len != len(tt.want) {
			t.Fatalf("%s has no counters of one width, or not %d", AttrName(tt.attr), len(tt.want))
		}
		var ours [mad.PerfDataSize]byte
		SelectOf(&ours).SetPortSelect(1)
		for i, want := range tt.want {
			a.SetCounter(&ours, i, want)
			if got := a.Counter(d, i); got != want {
				t.Errorf("%s is %d, want %d", a.Name(i), got, want)
			}
		}
		if ours != *d {
			t.Errorf("%s: made % x, captured % x", tt.name, ours, *d)
		}
	}
}

// TestGoldenRequests: what perfquery sent is what we make, but for its transaction ID.
func TestGoldenRequests(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(p *mad.Packet)
	}{
		{"perf-port-counters-set", func(p *mad.Packet) { SetReset(p, 1, ErrorCounters) }},
		// libibmad selects all additional counters but QP1Dropped.
		{"perf-port-counters-extended-set", func(p *mad.Packet) {
			SetResetExtended(p, 1, AllCounters&^Of(QP1Dropped))
			p.PerfData()[2] = 0xff // reserved bits of CounterSelect
		}},
		{"perf-rcv-error-details-set", func(p *mad.Packet) {
			SetGet(p, AttrPortRcvErrorDetails, 1)
			p.SetMethod(mad.MethodSet)
			SelectOf(p.PerfData()).SetCounterSelect(1<<PortLocalPhysicalErrors | 1<<PortBufferOverrunErrors |
				1<<PortVLMappingErrors)
		}},
		{"perf-samples-control-get", func(p *mad.Packet) { SetGet(p, AttrPortSamplesControl, 1) }},
	} {
		captured := madtest.Packet(t, tt.name)
		var p mad.Packet
		tt.make(&p)
		p.SetTID(captured.TID())
		if p != captured {
			t.Errorf("%s: made\n% x, captured\n% x", tt.name, p[:100], captured[:100])
		}
	}
}

func TestGoldenSamples(t *testing.T) {
	c := (*PortSamplesControl)(reply(t, "perf-samples-control-resp", AttrPortSamplesControl, 2)[:])
	var ours PortSamplesControl
	ours.SetOpCode(1)
	ours.SetPortSelect(2)
	ours.SetTick(3)
	ours.SetCounterWidth(4)
	ours.SetSampleMechanisms(5)
	ours.SetSampleStatus(SampleRunning)
	ours.SetOptionMask(0x1122334455667788)
	ours.SetVendorMask(0x99aabbccddeeff00)
	ours.SetSampleStart(16909060)
	ours.SetSampleInterval(84281096)
	ours.SetTag(0x090a)
	for i := range NumSamples {
		ours.SetCounterSelect(i, 0x1000+uint16(i))
	}
	ours.SetSamplesOnlyOptionMask(0xfedcba9876543210)
	if ours != *c {
		t.Errorf("made\n% x, libibmad\n% x", ours, *c)
	}
	p := madtest.Packet(t, "perf-samples-result-resp")
	var result PortSamplesResult
	result.SetTag(0x090a)
	result.SetSampleStatus(SampleRunning)
	for i := range NumSamples {
		result.SetCounter(i, 0x10000001*uint32(i)+7)
	}
	if result != *(*PortSamplesResult)(p.PerfData()[:]) {
		t.Errorf("made\n% x, libibmad\n% x", result, p[64:128])
	}
}
