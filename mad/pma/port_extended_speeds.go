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
