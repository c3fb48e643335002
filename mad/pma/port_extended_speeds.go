package pma

// NumLanes is the number of lanes of the widest link.
const NumLanes = 12

// PortExtendedSpeedsCounters is attribute 0x001F: errors of links of FDR and faster, by lane
// (IBA 16.1.4.12).
//
//	  0 reserved  PortSelect  reserved
//	  8 CounterSelect
//	 16 SyncHeaderErrorCounter  UnknownBlockCounter
//	 20 ErrorDetectionCounterLane0 to 11, 2 bytes each
//	 44 FECCorrectableBlockCtrLane0 to 11, 4 bytes each; with RS-FEC FECCorrectableSymbolCtrLane
//	 92 FECUncorrectableBlockCtrLane0 to 11, 4 bytes each; without RS-FEC
//	140 PortFECCorrectableBlockCtr     with RS-FEC, as those that follow
//	144 PortFECUncorrectableBlockCtr
//	148 PortFECCorrectedSymbolCtr
//
// Which form a port has follows from PortInfoExtended.FECModeActive.
type PortExtendedSpeedsCounters [152]byte

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
