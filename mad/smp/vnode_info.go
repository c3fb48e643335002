package smp

import "ibsm/mad"

// VNodeInfo is NVIDIA's attribute 0xFFB2, the virtual node that a vPort belongs to. The attribute modifier names the
// index of the vPort, as VPortLayout says. It is read-only; the setters are for agents.
//
//	0 PartitionCap   LocalPortNum  NumPorts
//	4 VNodeGUID
type VNodeInfo [mad.DataSize]byte

// PartitionCap is the number of P_Keys that the vPort holds, the size of VPortP_KeyTable.
func (n *VNodeInfo) PartitionCap() uint16 { return get16(n[0:]) }

// SetPartitionCap sets PartitionCap.
func (n *VNodeInfo) SetPartitionCap(v uint16) { put16(n[0:], v) }

// LocalPortNum is the port of the virtual node that the vPort is.
func (n *VNodeInfo) LocalPortNum() uint8 { return n[2] }

// SetLocalPortNum sets LocalPortNum.
func (n *VNodeInfo) SetLocalPortNum(v uint8) { n[2] = v }

// NumPorts is the number of ports of the virtual node.
func (n *VNodeInfo) NumPorts() uint8 { return n[3] }

// SetNumPorts sets NumPorts.
func (n *VNodeInfo) SetNumPorts(v uint8) { n[3] = v }

// VNodeGUID names the virtual node, 0 as long as it has no GUID.
func (n *VNodeInfo) VNodeGUID() mad.GUID { return mad.GUID(get64(n[4:])) }

// SetVNodeGUID sets VNodeGUID.
func (n *VNodeInfo) SetVNodeGUID(g mad.GUID) { put64(n[4:], uint64(g)) }
