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

// PortSelect is the port.
func (c *PortSamplesControl) PortSelect() uint8 { return c[1] }

// SetPortSelect replaces PortSelect.
func (c *PortSamplesControl) SetPortSelect(v uint8) { c[1] = v }

// SetSampleStatus replaces SampleStatus.
func (c *PortSamplesControl) SetSampleStatus(v SampleStatus) { put(&c[11], 0x03, uint8(v)) }

// PortSamplesResult is attribute 0x0011: what the port has counted since sampling began (IBA
// 16.1.3.4).
//
//	0 Tag  reserved:14 SampleStatus:2
//	4 Counter0 to 14, 4 bytes each
type PortSamplesResult [64]byte
