package smp

import "ibsm/mad"

// VLArbBlockSize is the number of entries in one VLArbitrationTable.
const VLArbBlockSize = 32

// Blocks of a port's VL arbitration, as VLArbMod takes them.
const (
	VLArbLow0  uint8 = 1 // low priority, entries 0..31
	VLArbLow1  uint8 = 2 // low priority, entries 32..63
	VLArbHigh0 uint8 = 3 // high priority, entries 0..31
	VLArbHigh1 uint8 = 4 // high priority, entries 32..63
)

// VLArbitrationTable is attribute 0x0018, a block of the list by which a port
// gives its lanes their turns (IBA 14.2.5.9). PortInfo.VLArbitrationLowCap and
// VLArbitrationHighCap are the lengths of the two lists.
type VLArbitrationTable [mad.DataSize]byte

// VLArbMod is the attribute modifier of VLArbitrationTable. port is the output
// port of a switch, 0 on other nodes.
func VLArbMod(block, port uint8) uint32 { return uint32(block)<<16 | uint32(port) }

// Entry is entry i of the block, or of the whole list: i counts modulo
// VLArbBlockSize. weight is in 64 bytes; 0 passes over the entry.
func (t *VLArbitrationTable) Entry(i int) (vl, weight uint8) {
	i = i & (VLArbBlockSize - 1) * 2
	return t[i] & 0x0f, t[i+1]
}

// SetEntry sets entry i, counted as in Entry.
func (t *VLArbitrationTable) SetEntry(i int, vl, weight uint8) {
	i = i & (VLArbBlockSize - 1) * 2
	put(&t[i], 0x0f, vl)
	t[i+1] = weight
}
