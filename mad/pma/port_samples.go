package pma

// NumSamples is the number of counters that can be sampled at a time.
const NumSamples = 15

// What PortSamplesControl.CounterSelect may name (IBA 16.1.3.3).
const (
	SampleNothing      uint16 = 0
	SamplePortXmitData uint16 = 1
	SamplePortRcvData  uint16 = 2
	SamplePortXmitPkts uint16 = 3
	SamplePortRcvPkts  uint16 = 4
	SamplePortXmitWait uint16 = 5
)

// SampleStatus is how far sampling is.
type SampleStatus uint8

// States of sampling.
const (
	SampleDone    SampleStatus = 0 // PortSamplesResult is complete
	SampleStarted SampleStatus = 1 // SampleStart has not passed
	SampleRunning SampleStatus = 2 // SampleInterval has not passed
)

// PortSamplesControl is attribute 0x0010: a Set starts the sampling of counters of a port for a
// time (IBA 16.1.3.2). It is mandatory, and agents without it exist.
//
//	 0 OpCode  PortSelect  Tick  reserved:5 CounterWidth:3
//	 4 reserved:2 CounterMask0:3 CounterMasks1to9:27
//	 8 reserved:1 CounterMasks10to14:15  SampleMechanisms  reserved:6 SampleStatus:2
//	12 OptionMask
//	20 VendorMask
//	28 SampleStart
//	32 SampleInterval
//	36 Tag  CounterSelect0 to 14
//	68 reserved
//	72 SamplesOnlyOptionMask
type PortSamplesControl [80]byte

// OpCode is the operation of PortOpRcvCounters and such that the port counts.
func (c *PortSamplesControl) OpCode() uint8 { return c[0] }

// SetOpCode replaces OpCode.
func (c *PortSamplesControl) SetOpCode(v uint8) { c[0] = v }

// PortSelect is the port.
func (c *PortSamplesControl) PortSelect() uint8 { return c[1] }

// SetPortSelect replaces PortSelect.
func (c *PortSamplesControl) SetPortSelect(v uint8) { c[1] = v }

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

// SetSampleStatus replaces SampleStatus.
func (c *PortSamplesControl) SetSampleStatus(v SampleStatus) { put(&c[11], 0x03, uint8(v)) }

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

// PortSamplesResult is attribute 0x0011: what the port has counted since sampling began (IBA
// 16.1.3.4).
//
//	0 Tag  reserved:14 SampleStatus:2
//	4 Counter0 to 14, 4 bytes each
type PortSamplesResult [64]byte

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
