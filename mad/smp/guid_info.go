package smp

import "ibsm/mad"

// GUIDsPerBlock is the number of GUIDs in one GUIDInfo. The attribute modifier is
// the block.
const GUIDsPerBlock = 8

// GUIDInfo is attribute 0x0014, a block of a port's GUIDs (IBA 14.2.5.5).
// PortInfo.GUIDCap is their number; the first one of block 0 is the port GUID and
// read-only.
type GUIDInfo [mad.DataSize]byte

// GUID is entry i of the block, or of the port's whole list: i counts modulo
// GUIDsPerBlock.
func (g *GUIDInfo) GUID(i int) mad.GUID { return mad.GUID(get64(g[uint(i)%GUIDsPerBlock*8:])) }

// SetGUID sets entry i, counted as in GUID.
func (g *GUIDInfo) SetGUID(i int, v mad.GUID) { put64(g[uint(i)%GUIDsPerBlock*8:], uint64(v)) }
