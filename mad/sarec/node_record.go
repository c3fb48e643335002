package sarec

import (
	"encoding/binary"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// NodeRecord is attribute 0x0011, one for each end port: NodeInfo and
// NodeDescription with the port's LID.
//
//	 0 LID  reserved
//	 4 NodeInfo, the 40 bytes it uses
//	44 NodeDescription
//	108 padding to the stride of a table
type NodeRecord [112]byte

// Components of a NodeRecord.
const (
	NodeLID             mad.ComponentMask = 1 << 0
	NodeNodeType        mad.ComponentMask = 1 << 4
	NodeNodeGUID        mad.ComponentMask = 1 << 7
	NodePortGUID        mad.ComponentMask = 1 << 8
	NodeLocalPortNum    mad.ComponentMask = 1 << 12
	NodeNodeDescription mad.ComponentMask = 1 << 14
)

var nodeFields = [...]field{
	0: {0, 16}, 1: {}, 2: {32, 8}, 3: {40, 8}, 4: {48, 8}, 5: {56, 8}, 6: {64, 64}, 7: {128, 64}, 8: {192, 64},
	9: {256, 16}, 10: {272, 16}, 11: {288, 32}, 12: {320, 8}, 13: {328, 24}, 14: {352, 512},
}

// NodeMask has ones in the fields whose components are given, for Match.
func NodeMask(comps mad.ComponentMask) (mask NodeRecord) {
	fillMask(mask[:], nodeFields[:], comps)
	return mask
}

// LID is the base LID of the port.
func (r *NodeRecord) LID() mad.LID { return mad.LID(binary.BigEndian.Uint16(r[0:])) }

// SetLID replaces the LID.
func (r *NodeRecord) SetLID(l mad.LID) { binary.BigEndian.PutUint16(r[0:], uint16(l)) }

// NodeInfo is the node as seen from the port of the record.
func (r *NodeRecord) NodeInfo() (ni smp.NodeInfo) {
	copy(ni[:40], r[4:44])
	return ni
}

// SetNodeInfo replaces NodeInfo.
func (r *NodeRecord) SetNodeInfo(ni *smp.NodeInfo) { copy(r[4:44], ni[:40]) }

// NodeDescription is the name of the node, as a view.
func (r *NodeRecord) NodeDescription() *smp.NodeDescription {
	return (*smp.NodeDescription)(r[44:108])
}

// NodeGUID is NodeInfo's.
func (r *NodeRecord) NodeGUID() mad.GUID { return mad.GUID(binary.BigEndian.Uint64(r[16:])) }

// PortGUID is that of the port of the record.
func (r *NodeRecord) PortGUID() mad.GUID { return mad.GUID(binary.BigEndian.Uint64(r[24:])) }

// SetPortGUID replaces NodeInfo's PortGUID.
func (r *NodeRecord) SetPortGUID(g mad.GUID) { binary.BigEndian.PutUint64(r[24:], uint64(g)) }

// SetLocalPortNum replaces NodeInfo's LocalPortNum.
func (r *NodeRecord) SetLocalPortNum(n uint8) { r[40] = n }
