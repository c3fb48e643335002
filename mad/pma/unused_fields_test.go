package pma

import (
	"math/bits"

	"ibsm/mad"
)

// The accessors of fields that no program needs so far. With them the tables of
// fields_test.go cover each layout whole; one that becomes needed moves to its attribute.

func get(b, mask byte) uint8 { return b & mask >> bits.TrailingZeros8(mask) }

// PortSelect is the port whose counters these are.
func (p *PortExtendedSpeedsCounters) PortSelect() uint8 { return p[1] }

// SetPortSelect replaces PortSelect.
func (p *PortExtendedSpeedsCounters) SetPortSelect(v uint8) { p[1] = v }

// CounterSelect names by bits the counters that a Set resets, in their order.
func (p *PortExtendedSpeedsCounters) CounterSelect() uint64 { return get64(p[8:]) }

// SetCounterSelect replaces CounterSelect.
func (p *PortExtendedSpeedsCounters) SetCounterSelect(v uint64) { put64(p[8:], v) }

// SyncHeaderErrorCounter is the number of 64/66 blocks with a bad sync header.
func (p *PortExtendedSpeedsCounters) SyncHeaderErrorCounter() uint16 { return get16(p[16:]) }

// SetSyncHeaderErrorCounter replaces SyncHeaderErrorCounter.
func (p *PortExtendedSpeedsCounters) SetSyncHeaderErrorCounter(v uint16) { put16(p[16:], v) }

// UnknownBlockCounter is the number of 64/66 blocks of an unknown type.
func (p *PortExtendedSpeedsCounters) UnknownBlockCounter() uint16 { return get16(p[18:]) }

// SetUnknownBlockCounter replaces UnknownBlockCounter.
func (p *PortExtendedSpeedsCounters) SetUnknownBlockCounter(v uint16) { put16(p[18:], v) }

// lane reads the counter of a lane in a row of counters of 32 bits, 0 for a lane that does not
// exist.
func (p *PortExtendedSpeedsCounters) lane(row, i int) uint32 {
	if uint(i) >= NumLanes {
		return 0
	}
	return get32(p[row+4*i:])
}

func (p *PortExtendedSpeedsCounters) setLane(row, i int, v uint32) {
	if uint(i) < NumLanes {
		put32(p[row+4*i:], v)
	}
}

// ErrorDetectionCounterLane is the number of errors that BIP-8 found on lane i.
func (p *PortExtendedSpeedsCounters) ErrorDetectionCounterLane(i int) uint16 {
	if uint(i) >= NumLanes {
		return 0
	}
	return get16(p[20+2*i:])
}

// SetErrorDetectionCounterLane replaces that counter.
func (p *PortExtendedSpeedsCounters) SetErrorDetectionCounterLane(i int, v uint16) {
	if uint(i) < NumLanes {
		put16(p[20+2*i:], v)
	}
}

// FECCorrectableBlockCtrLane is the number of blocks on lane i that FEC corrected; of symbols
// with RS-FEC.
func (p *PortExtendedSpeedsCounters) FECCorrectableBlockCtrLane(i int) uint32 { return p.lane(44, i) }

// SetFECCorrectableBlockCtrLane replaces that counter.
func (p *PortExtendedSpeedsCounters) SetFECCorrectableBlockCtrLane(i int, v uint32) {
	p.setLane(44, i, v)
}

// FECUncorrectableBlockCtrLane is the number of blocks on lane i that FEC could not correct.
func (p *PortExtendedSpeedsCounters) FECUncorrectableBlockCtrLane(i int) uint32 {
	return p.lane(92, i)
}

// SetFECUncorrectableBlockCtrLane replaces that counter.
func (p *PortExtendedSpeedsCounters) SetFECUncorrectableBlockCtrLane(i int, v uint32) {
	p.setLane(92, i, v)
}

// PortFECCorrectableBlockCtr is the number of blocks that RS-FEC corrected.
func (p *PortExtendedSpeedsCounters) PortFECCorrectableBlockCtr() uint32 { return get32(p[140:]) }

// SetPortFECCorrectableBlockCtr replaces that counter.
func (p *PortExtendedSpeedsCounters) SetPortFECCorrectableBlockCtr(v uint32) { put32(p[140:], v) }

// PortFECUncorrectableBlockCtr is the number of blocks that RS-FEC could not correct.
func (p *PortExtendedSpeedsCounters) PortFECUncorrectableBlockCtr() uint32 { return get32(p[144:]) }

// SetPortFECUncorrectableBlockCtr replaces that counter.
func (p *PortExtendedSpeedsCounters) SetPortFECUncorrectableBlockCtr(v uint32) { put32(p[144:], v) }

// PortFECCorrectedSymbolCtr is the number of symbols that RS-FEC corrected.
func (p *PortExtendedSpeedsCounters) PortFECCorrectedSymbolCtr() uint32 { return get32(p[148:]) }

// SetPortFECCorrectedSymbolCtr replaces that counter.
func (p *PortExtendedSpeedsCounters) SetPortFECCorrectedSymbolCtr(v uint32) { put32(p[148:], v) }

// OpCode is the operation of PortOpRcvCounters and such that the port counts.
func (c *PortSamplesControl) OpCode() uint8 { return c[0] }

// SetOpCode replaces OpCode.
func (c *PortSamplesControl) SetOpCode(v uint8) { c[0] = v }

// Tick is a code for the unit of SampleStart, of SampleInterval and of PortXmitWait.
func (c *PortSamplesControl) Tick() uint8 { return c[2] }

// SetTick replaces Tick.
func (c *PortSamplesControl) SetTick(v uint8) { c[2] = v }

// CounterWidth is the width of sampled counters, 16 bits and 4 more for each: 0 to 4.
func (c *PortSamplesControl) CounterWidth() uint8 { return get(c[3], 0x07) }

// SetCounterWidth replaces CounterWidth.
func (c *PortSamplesControl) SetCounterWidth(v uint8) { put(&c[3], 0x07, v) }

// CounterMask0 says what counter 0 of PortSamplesResult may be.
func (c *PortSamplesControl) CounterMask0() uint8 { return get(c[4], 0x38) }

// SetCounterMask0 replaces CounterMask0.
func (c *PortSamplesControl) SetCounterMask0(v uint8) { put(&c[4], 0x38, v) }

// CounterMasks1to9 has three bits for each of these counters.
func (c *PortSamplesControl) CounterMasks1to9() uint32 { return get32(c[4:]) & (1<<27 - 1) }

// SetCounterMasks1to9 replaces CounterMasks1to9.
func (c *PortSamplesControl) SetCounterMasks1to9(v uint32) {
	put32(c[4:], get32(c[4:])&^(1<<27-1)|v&(1<<27-1))
}

// CounterMasks10to14 has three bits for each of these counters.
func (c *PortSamplesControl) CounterMasks10to14() uint16 { return get16(c[8:]) & 0x7fff }

// SetCounterMasks10to14 replaces CounterMasks10to14.
func (c *PortSamplesControl) SetCounterMasks10to14(v uint16) {
	put16(c[8:], get16(c[8:])&0x8000|v&0x7fff)
}

// SampleMechanisms is the number of ports that can be sampled at a time, 0 for one.
func (c *PortSamplesControl) SampleMechanisms() uint8 { return c[10] }

// SetSampleMechanisms replaces SampleMechanisms.
func (c *PortSamplesControl) SetSampleMechanisms(v uint8) { c[10] = v }

// SampleStatus is how far sampling is.
func (c *PortSamplesControl) SampleStatus() SampleStatus { return SampleStatus(get(c[11], 0x03)) }

// OptionMask says which optional attributes and counters the port has (IBA table 228).
func (c *PortSamplesControl) OptionMask() uint64 { return get64(c[12:]) }

// SetOptionMask replaces OptionMask.
func (c *PortSamplesControl) SetOptionMask(v uint64) { put64(c[12:], v) }

// VendorMask is the vendor's.
func (c *PortSamplesControl) VendorMask() uint64 { return get64(c[20:]) }

// SetVendorMask replaces VendorMask.
func (c *PortSamplesControl) SetVendorMask(v uint64) { put64(c[20:], v) }

// SampleStart is the time from the Set to the beginning of sampling, in ticks.
func (c *PortSamplesControl) SampleStart() uint32 { return get32(c[28:]) }

// SetSampleStart replaces SampleStart.
func (c *PortSamplesControl) SetSampleStart(v uint32) { put32(c[28:], v) }

// SampleInterval is how long counters are sampled, in ticks.
func (c *PortSamplesControl) SampleInterval() uint32 { return get32(c[32:]) }

// SetSampleInterval replaces SampleInterval.
func (c *PortSamplesControl) SetSampleInterval(v uint32) { put32(c[32:], v) }

// Tag is repeated in PortSamplesResult.
func (c *PortSamplesControl) Tag() uint16 { return get16(c[36:]) }

// SetTag replaces Tag.
func (c *PortSamplesControl) SetTag(v uint16) { put16(c[36:], v) }

// CounterSelect is what counter i samples, 0 for nothing or i beyond NumSamples.
func (c *PortSamplesControl) CounterSelect(i int) uint16 {
	if uint(i) >= NumSamples {
		return SampleNothing
	}
	return get16(c[38+2*i:])
}

// SetCounterSelect replaces what counter i samples.
func (c *PortSamplesControl) SetCounterSelect(i int, v uint16) {
	if uint(i) < NumSamples {
		put16(c[38+2*i:], v)
	}
}

// SamplesOnlyOptionMask says what can be sampled but has no counter that runs on.
func (c *PortSamplesControl) SamplesOnlyOptionMask() uint64 { return get64(c[72:]) }

// SetSamplesOnlyOptionMask replaces SamplesOnlyOptionMask.
func (c *PortSamplesControl) SetSamplesOnlyOptionMask(v uint64) { put64(c[72:], v) }

// Tag is that of the Set that began sampling.
func (r *PortSamplesResult) Tag() uint16 { return get16(r[0:]) }

// SetTag replaces Tag.
func (r *PortSamplesResult) SetTag(v uint16) { put16(r[0:], v) }

// SampleStatus is how far sampling is.
func (r *PortSamplesResult) SampleStatus() SampleStatus { return SampleStatus(get(r[3], 0x03)) }

// SetSampleStatus replaces SampleStatus.
func (r *PortSamplesResult) SetSampleStatus(v SampleStatus) { put(&r[3], 0x03, uint8(v)) }

// Counter is sampled counter i, 0 for one beyond NumSamples.
func (r *PortSamplesResult) Counter(i int) uint32 {
	if uint(i) >= NumSamples {
		return 0
	}
	return get32(r[4+4*i:])
}

// SetCounter replaces sampled counter i.
func (r *PortSamplesResult) SetCounter(i int, v uint32) {
	if uint(i) < NumSamples {
		put32(r[4+4*i:], v)
	}
}

var attrNames = map[mad.AttrID]string{
	AttrClassPortInfo:                 "ClassPortInfo",
	AttrPortSamplesControl:            "PortSamplesControl",
	AttrPortSamplesResult:             "PortSamplesResult",
	AttrPortCounters:                  "PortCounters",
	AttrPortRcvErrorDetails:           "PortRcvErrorDetails",
	AttrPortXmitDiscardDetails:        "PortXmitDiscardDetails",
	AttrPortOpRcvCounters:             "PortOpRcvCounters",
	AttrPortFlowCtlCounters:           "PortFlowCtlCounters",
	AttrPortVLOpPackets:               "PortVLOpPackets",
	AttrPortVLOpData:                  "PortVLOpData",
	AttrPortVLXmitFlowCtlUpdateErrors: "PortVLXmitFlowCtlUpdateErrors",
	AttrPortVLXmitWaitCounters:        "PortVLXmitWaitCounters",
	AttrPortCountersExtended:          "PortCountersExtended",
	AttrPortExtendedSpeedsCounters:    "PortExtendedSpeedsCounters",
	AttrSwPortVLCongestion:            "SwPortVLCongestion",
	AttrPortRcvConCtrl:                "PortRcvConCtrl",
	AttrPortSLRcvFECN:                 "PortSLRcvFECN",
	AttrPortSLRcvBECN:                 "PortSLRcvBECN",
	AttrPortXmitConCtrl:               "PortXmitConCtrl",
	AttrPortVLXmitTimeCong:            "PortVLXmitTimeCong",
	AttrPortXmitDataSL:                "PortXmitDataSL",
	AttrPortRcvDataSL:                 "PortRcvDataSL",
}

// AttrName is the name of an attribute of performance management for messages; one that is
// not known is its number.
func AttrName(a mad.AttrID) string { return mad.NameOf(attrNames, a, "0x%04x") }
