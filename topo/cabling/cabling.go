// Package cabling reads plans of the cables of a subnet, and compares them with the cables that there are: what is
// missing, added, exchanged, shifted, slower or narrower, and which device is in the place of another one. It is pure.
package cabling

import (
	"slices"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/topo"
	"ibsm/topo/net"
)

// Cabling is devices and the cables between them: those of a plan, or those that there are.
type Cabling struct {
	Devices []Device
	Cables  []Cable // each once; a port has one at most

	// Adapters has the GUIDs of adapters' ports, which a plan may name in the place of the node's.
	Adapters []AdapterPort
	// Inner are ports of switches without a connector: what they lead to is no cable, and not compared.
	Inner []End

	Warnings diag.List // of the plan's file
}

// Device is a switch, channel adapter or router.
type Device struct {
	GUID mad.GUID     // of the node; in a plan it may be that of an adapter's port, and 0 if the plan has only a name
	Name string       // NodeDescription; "" if the plan has only a GUID
	Type mad.NodeType // 0 if the plan does not say
}

// AdapterPort is the GUID of a port of a device.
type AdapterPort struct {
	GUID   mad.GUID
	Device int32
}

// nvidia is the vendor ID of NVIDIA's, once Mellanox's, switches.
const nvidia = 0x2c9

// WithoutConnector reports whether a port of a switch is the one, without a connector, that NVIDIA's switches have for
// their aggregation node (SHARP): the last one of 37 (Switch-IB 2), of 41 and split 81 (Quantum), of 65 and split 129
// (Quantum-2).
func WithoutConnector(vendor uint32, ports, num uint8) bool {
	return vendor == nvidia && num == ports && slices.Contains([]uint8{37, 41, 65, 81, 129}, ports)
}

// End is one end of a cable.
type End struct {
	Device int32 // index into Devices
	Port   uint8 // 1..254
}

// Cable is a cable between two ports.
type Cable struct {
	Ends  [2]End
	Width mad.LinkWidth // of the link; 0 for any, or unknown
	Speed mad.LinkSpeed // likewise
}

// Of are the cables of a fabric.
func Of(n *net.Net) *Cabling {
	c := &Cabling{Devices: make([]Device, len(n.Nodes))}
	for i := range n.Nodes {
		node := &n.Nodes[i]
		c.Devices[i] = Device{GUID: node.GUID, Name: node.Desc, Type: node.Type}
		for num := range node.Ports {
			p, at := &node.Ports[num], End{int32(i), uint8(num)}
			if node.Type != mad.Switch && p.GUID != 0 {
				c.Adapters = append(c.Adapters, AdapterPort{p.GUID, int32(i)})
			}
			if node.Type == mad.Switch && WithoutConnector(node.VendorID, uint8(node.NumPorts()), at.Port) {
				c.Inner = append(c.Inner, at)
			}
			if to := (End{p.Peer.Node, p.Peer.Port}); to.Device >= 0 && !to.before(at) {
				c.Cables = append(c.Cables, Cable{Ends: [2]End{at, to}, Width: p.Width, Speed: p.Speed})
			}
		}
	}
	return c
}

// Found are the cables that a discovery has found. Device i is node nodes[i] of the Builder.
func Found(b *topo.Builder) (c *Cabling, nodes []int32) {
	c = &Cabling{}
	device := make([]int32, b.Len())
	for n := range int32(b.Len()) {
		if b.Dropped(n) {
			continue
		}
		device[n] = int32(len(nodes))
		nodes = append(nodes, n)
		node := b.Node(n)
		c.Devices = append(c.Devices, Device{GUID: node.GUID, Name: node.Desc.String(), Type: node.Type})
	}
	for i, n := range nodes {
		node := b.Node(n)
		for num := range int(node.NumPorts) + 1 {
			e := topo.End{Node: n, Port: uint8(num)}
			if guid := b.PortGUID(e); node.Type != mad.Switch && guid != 0 {
				c.Adapters = append(c.Adapters, AdapterPort{guid, int32(i)})
			}
			if node.Type == mad.Switch && WithoutConnector(node.Info.VendorID(), node.NumPorts, e.Port) {
				c.Inner = append(c.Inner, End{int32(i), e.Port})
			}
			peer := b.Peer(e)
			if peer == topo.NoEnd {
				continue
			}
			at, to := End{int32(i), e.Port}, End{device[peer.Node], peer.Port}
			if !to.before(at) {
				cable := Cable{Ends: [2]End{at, to}}
				cable.Width, cable.Speed = rate(b, e)
				c.Cables = append(c.Cables, cable)
			}
		}
	}
	return c, nodes
}

// rate is the width and speed of the link at a port, 0 where the port does not say.
func rate(b *topo.Builder, e topo.End) (mad.LinkWidth, mad.LinkSpeed) {
	info, caps := b.Port(e), b.Port(e)
	if b.Node(e.Node).Type == mad.Switch {
		caps = b.Port(topo.End{Node: e.Node})
	}
	if info == nil || caps == nil {
		return 0, 0
	}
	return info.LinkWidthActive(), info.LinkSpeed(caps.CapabilityMask(), caps.CapabilityMask2())
}

func (e End) before(o End) bool {
	return e.Device < o.Device || e.Device == o.Device && e.Port < o.Port
}
