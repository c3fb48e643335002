package smp

import "ibsm/mad"

// PKeysPerBlock is the number of P_Keys in one PKeyTable.
const PKeysPerBlock = 32

// PKeyTable is attribute 0x0016, a block of a port's partition table
// (IBA 14.2.5.7). The table has NodeInfo.PartitionCap entries, that of a switch
// external port SwitchInfo.PartitionEnforcementCap.
type PKeyTable [mad.DataSize]byte

// PKey is entry i of the block, or of the whole table: i counts modulo
// PKeysPerBlock.
func (t *PKeyTable) PKey(i int) mad.PKey { return mad.PKey(get16(t[uint(i)%PKeysPerBlock*2:])) }

// SetPKey sets entry i, counted as in PKey.
func (t *PKeyTable) SetPKey(i int, k mad.PKey) { put16(t[uint(i)%PKeysPerBlock*2:], uint16(k)) }

// PKeyTableMod is the attribute modifier of PKeyTable. port is that of a switch, 0
// on other nodes.
func PKeyTableMod(port uint8, block uint16) uint32 { return uint32(port)<<16 | uint32(block) }
