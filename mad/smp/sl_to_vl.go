package smp

import "ibsm/mad"

// VLDrop is the VL of an SL whose packets are dropped.
const VLDrop uint8 = 15

// SLtoVLMappingTable is attribute 0x0017: the VL of each of the 16 SLs on the way
// from one port to another (IBA 14.2.5.8). It fills 8 bytes, the even SL in the
// upper half of each.
type SLtoVLMappingTable [mad.DataSize]byte

// SetVL sets the virtual lane of a service level, which counts modulo 16.
func (t *SLtoVLMappingTable) SetVL(sl, vl uint8) {
	b, shift := &t[sl&15>>1], shiftOfSL(sl)
	*b = *b&^(0x0f<<shift) | vl&0x0f<<shift
}

// VL is the virtual lane of a service level, which counts modulo 16.
func (t *SLtoVLMappingTable) VL(sl uint8) uint8 { return t[sl&15>>1] >> shiftOfSL(sl) & 0x0f }

func shiftOfSL(sl uint8) uint8 { return 4 &^ (sl << 2) }

// Wildcards to be or-ed into SLtoVLMod, for a switch whose
// OptimizedSLtoVLMappingProgramming is 1: they stand for every output port and for
// every input port, and both for the whole switch.
const (
	SLtoVLAllOut uint32 = 1 << 16
	SLtoVLAllIn  uint32 = 1 << 17
)

// SLtoVLMod is the attribute modifier of SLtoVLMappingTable on a switch; it is 0
// on other nodes.
func SLtoVLMod(in, out uint8) uint32 { return uint32(in)<<8 | uint32(out) }
