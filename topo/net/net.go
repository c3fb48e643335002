// Package net describes a fabric as a plain value: which nodes there are and how
// they are cabled. Topology files and generators make one; the simulated fabric
// and the tests of routing are built from it. It knows nothing of agents, states
// or tables.
package net

import (
	"ibsm/conf/diag"
	"ibsm/mad"
)

// Net is a fabric. The order of Nodes is the order of the file or generator; the
// first channel adapter is where a manager attaches by default.
type Net struct {
	Nodes   []Node
	Profile Profile // of its devices
	// Functions is the number of virtual functions that each port of an adapter has, aggregation nodes apart. A
	// topology file has none.
	Functions uint16

	Warnings diag.List // of a file: which nodes were left out, and why
}

// Node is a switch, channel adapter or router.
type Node struct {
	ID              string // unique in the Net; what a file calls the node
	Desc            string // NodeDescription, at most 64 bytes
	Type            mad.NodeType
	GUID            mad.GUID
	SystemImageGUID mad.GUID
	VendorID        uint32 // 24 bits
	DeviceID        uint16
	EnhancedPort0   bool // switches
	// Ports is indexed by port number: NumPorts+1 entries. Entry 0 is port 0 of a
	// switch and unused otherwise.
	Ports []Port
}

// NumPorts is the number of physical ports, switch port 0 not counted.
func (n *Node) NumPorts() int { return len(n.Ports) - 1 }

// Port is one port and what its cable leads to.
type Port struct {
	GUID  mad.GUID      // of channel adapters, routers and switch port 0
	LID   mad.LID       // that the file says the port holds; 0 none
	LMC   uint8         // 0..7
	Peer  End           // Peer.Node < 0: no cable
	Width mad.LinkWidth // of the link, 0 unknown; the simulated fabric then takes 4x
	Speed mad.LinkSpeed // of the link, 0 unknown; the simulated fabric then takes QDR
}

// End is one end of a cable.
type End struct {
	Node int32 // index into Net.Nodes; negative for none
	Port uint8
}

// NoEnd is the Peer of a port without a cable.
var NoEnd = End{Node: -1}
