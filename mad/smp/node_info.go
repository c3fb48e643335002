package smp

import "ibsm/mad"

// NodeInfo is attribute 0x0011: what a node is and on which port the SMP reached
// it (IBA 14.2.5.3). All of it is read-only; the setters are for agents.
//
//	 0 BaseVersion  ClassVersion  NodeType  NumPorts
//	 4 SystemImageGUID
//	12 NodeGUID
//	20 PortGUID
//	28 PartitionCap               DeviceID
//	32 Revision
//	36 LocalPortNum VendorID
type NodeInfo [mad.DataSize]byte

// SetBaseVersion sets BaseVersion.
func (n *NodeInfo) SetBaseVersion(v uint8) { n[0] = v }

// SetClassVersion sets ClassVersion.
func (n *NodeInfo) SetClassVersion(v uint8) { n[1] = v }

// NodeType is channel adapter, switch, router, or a value that means none of them.
func (n *NodeInfo) NodeType() mad.NodeType { return mad.NodeType(n[2]) }

// SetNodeType sets NodeType.
func (n *NodeInfo) SetNodeType(t mad.NodeType) { n[2] = uint8(t) }

// NumPorts is the number of physical ports; port 0 of a switch is not counted.
func (n *NodeInfo) NumPorts() uint8 { return n[3] }

// SetNumPorts sets NumPorts.
func (n *NodeInfo) SetNumPorts(v uint8) { n[3] = v }

// SystemImageGUID is common to the nodes of one box; 0 for a node on its own.
func (n *NodeInfo) SystemImageGUID() mad.GUID { return mad.GUID(get64(n[4:])) }

// SetSystemImageGUID sets SystemImageGUID.
func (n *NodeInfo) SetSystemImageGUID(g mad.GUID) { put64(n[4:], uint64(g)) }

// NodeGUID names the node.
func (n *NodeInfo) NodeGUID() mad.GUID { return mad.GUID(get64(n[12:])) }

// SetNodeGUID sets NodeGUID.
func (n *NodeInfo) SetNodeGUID(g mad.GUID) { put64(n[12:], uint64(g)) }

// PortGUID is the GUID of the port that received the SMP; of port 0 on a switch.
func (n *NodeInfo) PortGUID() mad.GUID { return mad.GUID(get64(n[20:])) }

// SetPortGUID sets PortGUID.
func (n *NodeInfo) SetPortGUID(g mad.GUID) { put64(n[20:], uint64(g)) }

// PartitionCap is the number of P_Keys that a port holds: of channel adapters,
// routers and switch port 0. Switch external ports have
// SwitchInfo.PartitionEnforcementCap.
func (n *NodeInfo) PartitionCap() uint16 { return get16(n[28:]) }

// SetPartitionCap sets PartitionCap.
func (n *NodeInfo) SetPartitionCap(v uint16) { put16(n[28:], v) }

// DeviceID is the vendor's number of the device.
func (n *NodeInfo) DeviceID() uint16 { return get16(n[30:]) }

// SetDeviceID sets DeviceID.
func (n *NodeInfo) SetDeviceID(v uint16) { put16(n[30:], v) }

// Revision is the vendor's revision of the device.
func (n *NodeInfo) Revision() uint32 { return get32(n[32:]) }

// SetRevision sets Revision.
func (n *NodeInfo) SetRevision(v uint32) { put32(n[32:], v) }

// LocalPortNum is the port on which the SMP arrived.
func (n *NodeInfo) LocalPortNum() uint8 { return n[36] }

// SetLocalPortNum sets LocalPortNum.
func (n *NodeInfo) SetLocalPortNum(v uint8) { n[36] = v }

// VendorID is the vendor's OUI, 24 bits.
func (n *NodeInfo) VendorID() uint32 { return get24((*[3]byte)(n[37:])) }

// SetVendorID sets VendorID.
func (n *NodeInfo) SetVendorID(v uint32) { put24((*[3]byte)(n[37:]), v) }
