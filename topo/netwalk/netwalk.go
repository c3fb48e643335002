// Package netwalk makes the subnet that a discovery would find in a topology file.
package netwalk

import (
	"fmt"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
	"ibsm/topo/net"
)

// Topo returns the subnet that a discovery from port self finds when the fabric has just been powered on: only what
// cables connect to that port. With net.NoEnd it starts at the first cabled port of the first channel adapter, or at
// port 0 of the first switch if no adapter has a cable, or at port 1 of the first adapter if there is no switch. Every
// cable of the Net must lead to a port that exists, and back. An error names a GUID that two nodes share or a start
// that is missing.
func Topo(fabric *net.Net, self net.End) (*topo.Topo, error) {
	if self == net.NoEnd {
		self = defaultSelf(fabric)
	}
	if self.Node < 0 || int(self.Node) >= len(fabric.Nodes) || int(self.Port) >= len(fabric.Nodes[self.Node].Ports) {
		return nil, fmt.Errorf("topology: no port %d of node %d, where discovery starts", self.Port, self.Node)
	}
	w := netWalk{net: fabric, b: topo.NewBuilder(nil), at: map[int32]int32{}}
	if err := w.visit(self, mad.Route{}); err != nil {
		return nil, err
	}
	for i := 0; i < len(w.queue); i++ {
		if err := w.follow(w.queue[i]); err != nil {
			return nil, err
		}
	}
	w.b.SetSelf(w.end(self))
	return w.b.Freeze(), nil
}

func defaultSelf(fabric *net.Net) net.End {
	anySwitch, other := net.NoEnd, net.NoEnd
	for i := range fabric.Nodes {
		node := &fabric.Nodes[i]
		if node.Type == mad.Switch {
			if anySwitch == net.NoEnd {
				anySwitch = net.End{Node: int32(i)}
			}
			continue
		}
		if other == net.NoEnd {
			other = net.End{Node: int32(i), Port: 1}
		}
		for num := 1; num < len(node.Ports); num++ {
			if node.Ports[num].Peer.Node >= 0 {
				return net.End{Node: int32(i), Port: uint8(num)}
			}
		}
	}
	if anySwitch != net.NoEnd {
		return anySwitch
	}
	return other
}

// netWalk is a discovery of a Net, breadth first.
type netWalk struct {
	net   *net.Net
	b     *topo.Builder
	at    map[int32]int32 // index in the Net to index in the Builder
	queue []net.End       // ports whose cables were not followed yet
}

func (w *netWalk) end(e net.End) topo.End { return topo.End{Node: w.at[e.Node], Port: e.Port} }

// visit adds a node reached at port e, and for a node known already what only
// that port reports.
func (w *netWalk) visit(e net.End, route mad.Route) error {
	node := &w.net.Nodes[e.Node]
	n, known := w.at[e.Node]
	if !known {
		if _, twice := w.b.Find(node.GUID); twice || node.GUID == 0 {
			return fmt.Errorf("topology: node %q: GUID %v is 0 or that of another node", node.ID, node.GUID)
		}
		info := nodeInfo(node, e.Port)
		n = w.b.AddNode(&info, route)
		w.at[e.Node] = n
		w.b.Node(n).Desc.Set(node.Desc)
		w.b.Node(n).Aggregation = node.Type == mad.CA && strings.Contains(node.Desc, "Aggregation Node")
	}
	if node.Type != mad.Switch { // the agent of one port answers for that port alone
		w.b.SetPortGUID(topo.End{Node: n, Port: e.Port}, node.Ports[e.Port].GUID)
		w.setPort(node, n, int(e.Port))
		if !known && route.Hops() == 0 {
			w.queue = append(w.queue, e)
		}
		return nil
	}
	if known {
		return nil
	}
	w.b.Node(n).SwitchInfo = switchInfo(node)
	for num := range node.Ports {
		w.setPort(node, n, num)
		if num > 0 {
			w.queue = append(w.queue, net.End{Node: e.Node, Port: uint8(num)})
		}
	}
	return nil
}

// follow goes along the cable of a port, if there is one and the far end is
// within reach of a directed route.
func (w *netWalk) follow(from net.End) error {
	to := w.net.Nodes[from.Node].Ports[from.Port].Peer
	near := w.end(from)
	if to.Node < 0 || w.b.Peer(near) != topo.NoEnd {
		return nil
	}
	route, ok := w.b.Node(near.Node).Route.Then(from.Port)
	if !ok {
		return nil
	}
	if err := w.visit(to, route); err != nil {
		return err
	}
	w.b.Link(near, w.end(to))
	return nil
}

func (w *netWalk) setPort(node *net.Node, n int32, num int) {
	info := portInfo(node, num)
	w.b.SetPort(topo.End{Node: n, Port: uint8(num)}, &info)
	w.b.SetPKeys(topo.End{Node: n, Port: uint8(num)}, powerUpPKeys)
}

// powerUpPKeys is the partition table of every port at power-up (IBA 10.9.1).
var powerUpPKeys = topo.NewPKeyTable([]mad.PKey{mad.DefaultPKey})

func nodeInfo(node *net.Node, local uint8) (info smp.NodeInfo) {
	info.SetBaseVersion(1)
	info.SetClassVersion(1)
	info.SetNodeType(node.Type)
	info.SetNumPorts(uint8(node.NumPorts()))
	info.SetSystemImageGUID(node.SystemImageGUID)
	info.SetNodeGUID(node.GUID)
	info.SetPortGUID(node.Ports[local].GUID)
	if node.Type == mad.Switch {
		info.SetPortGUID(node.Ports[0].GUID)
	}
	info.SetPartitionCap(128)
	info.SetDeviceID(node.DeviceID)
	info.SetLocalPortNum(local)
	info.SetVendorID(node.VendorID)
	return info
}

func switchInfo(node *net.Node) (info smp.SwitchInfo) {
	info.SetLinearFDBCap(uint16(mad.MaxUnicastLID) + 1)
	info.SetMulticastFDBCap(16384)
	info.SetLifeTimeValue(18)
	info.SetPortStateChange(true)
	info.SetPartitionEnforcementCap(32)
	info.SetEnhancedPort0(node.EnhancedPort0)
	return info
}

// portInfo is a port as it powers up: INIT when it has a cable, with the best
// that all devices of today do. Width and speed are 0 where the Net does not know them.
func portInfo(node *net.Node, num int) (info smp.PortInfo) {
	port := &node.Ports[num]
	info.SetLocalPortNum(uint8(num))
	info.SetLID(port.LID)
	info.SetLMC(port.LMC)
	info.SetCapabilityMask(smp.IsTrapSupported | smp.IsSLMappingSupported | smp.IsSystemImageGUIDSupported |
		smp.IsExtendedSpeedsSupported)
	if slices.ContainsFunc(node.Ports, func(p net.Port) bool { return p.Speed == mad.XDR }) {
		info.SetCapabilityMask(info.CapabilityMask() | smp.IsCapabilityMask2Supported)
		info.SetCapabilityMask2(smp.IsExtendedSpeeds2Supported)
	}
	info.SetLinkWidthSupported(port.Width)
	info.SetLinkWidthEnabled(port.Width)
	setSpeed(&info, port.Speed)
	info.SetMTUCap(mad.MTU4096)
	info.SetVLCap(4)
	info.SetPortState(smp.PortDown)
	info.SetPortPhysicalState(smp.PhysPolling)
	info.SetLinkDownDefaultState(smp.PhysPolling)
	switch {
	case num == 0 && !node.EnhancedPort0: // base port 0 has no link, and is always up
		info.SetPortState(smp.PortActive)
		info.SetPortPhysicalState(smp.PhysLinkUp)
	case num == 0 || port.Peer.Node >= 0:
		info.SetPortState(smp.PortInit)
		info.SetPortPhysicalState(smp.PhysLinkUp)
		info.SetLinkWidthActive(port.Width)
	}
	return info
}

// setSpeed supports and enables every speed up to the given one, which is active.
func setSpeed(info *smp.PortInfo, speed mad.LinkSpeed) {
	legacy := uint8(1)<<min(speed, mad.QDR) - 1 // one bit each for SDR, DDR and QDR
	info.SetLinkSpeedSupported(legacy)
	info.SetLinkSpeedEnabled(legacy)
	info.SetLinkSpeedActive((legacy + 1) / 2)
	if speed >= mad.FDR {
		extended := uint8(1)<<(min(speed, mad.NDR)-mad.FDR10) - 1 // FDR, EDR, HDR, NDR
		info.SetLinkSpeedExtSupported(extended)
		info.SetLinkSpeedExtEnabled(extended)
		info.SetLinkSpeedExtActive(extended/2 + 1)
	}
	if speed == mad.XDR {
		info.SetLinkSpeedExtSupported2(1)
		info.SetLinkSpeedExtEnabled2(1)
		info.SetLinkSpeedExtActive2(1)
	}
}
