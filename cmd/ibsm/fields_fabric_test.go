package main_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// device is a node of a fabric that is being made, with what its ports hold after power-up.
type device struct {
	caps    *fabric.Caps
	typ     mad.NodeType
	powerUp []func(num uint8, info *smp.PortInfo)
	sw      []func(info *smp.SwitchInfo) // likewise for the switch
}

// atPowerUp has ports but a switch's port 0 hold something.
func (d *device) atPowerUp(change func(info *smp.PortInfo)) {
	d.powerUp = append(d.powerUp, func(num uint8, info *smp.PortInfo) {
		if num != 0 {
			change(info)
		}
	})
}

// atEndPort has the port with the LID hold something.
func (d *device) atEndPort(change func(info *smp.PortInfo)) {
	d.powerUp = append(d.powerUp, func(_ uint8, info *smp.PortInfo) {
		if info.GidPrefix() != 0 {
			change(info)
		}
	})
}

// portKind is what may be odd about a port.
type portKind struct {
	name string
	on   mad.NodeType // 0: any
	make func(d *device)
}

func mtu(m mad.MTU) func(*device) { return func(d *device) { d.caps.MTUCap = m } }

func vls(code uint8) func(*device) { return func(d *device) { d.caps.VLCap = code } }

func without(mask smp.CapMask, mask2 smp.CapMask2) func(*device) {
	return func(d *device) {
		d.caps.CapabilityMask &^= mask
		d.caps.CapabilityMask2 &^= mask2
	}
}

func holds(change func(info *smp.PortInfo)) func(*device) {
	return func(d *device) { d.atPowerUp(change) }
}

func endPortHolds(change func(info *smp.PortInfo)) func(*device) {
	return func(d *device) { d.atEndPort(change) }
}

func switchHolds(change func(info *smp.SwitchInfo)) func(*device) {
	return func(d *device) { d.sw = append(d.sw, change) }
}

// partitionsOf has end ports, or external ports of switches, hold P_Keys.
func partitionsOf(keys ...mad.PKey) func(*device) {
	return func(d *device) {
		d.caps.PKeys = func(num uint8) []mad.PKey {
			room := d.caps.PartitionCap
			if d.typ == mad.Switch {
				room = d.caps.PartitionEnforcementCap
			}
			if num == 0 || len(keys) > int(room) {
				return nil
			}
			return keys
		}
	}
}

// portKinds are kinds of port that depend on the node; speeds, widths and places of links
// come from the fabric.
var portKinds = []portKind{
	{"MTUCap 256", mad.CA, mtu(mad.MTU256)},
	{"MTUCap 512", mad.CA, mtu(mad.MTU512)},
	{"MTUCap 1024", mad.CA, mtu(mad.MTU1024)},
	{"MTUCap 2048", 0, mtu(mad.MTU2048)},
	{"VLCap 1", 0, vls(1)}, {"VLCap 2", 0, vls(2)}, {"VLCap 3", 0, vls(3)}, {"VLCap 5", 0, vls(5)},
	{"no VL arbitration", 0, func(d *device) { d.caps.VLArbHighCap, d.caps.VLArbLowCap = 0, 0 }},
	{"one VL in use", 0, func(d *device) {
		d.caps.OneVL = true
		d.atPowerUp(func(info *smp.PortInfo) { info.SetOperationalVLs(1) })
	}},
	{"NeighborMTU 256", 0, holds(func(info *smp.PortInfo) { info.SetNeighborMTU(mad.MTU256) })},
	{"extended speeds when asked", 0, func(d *device) { d.caps.Extended = fabric.ExtendedWhenAsked }},
	{"bit 31 refused", mad.CA, func(d *device) { d.caps.Extended = fabric.ExtendedRefused }},
	{"link goes to Sleep", 0, holds(func(info *smp.PortInfo) { info.SetLinkDownDefaultState(smp.PhysSleep) })},
	{"no ClientReregister", 0, without(smp.IsClientReregistrationSupported, 0)},
	{"no CapabilityMask2", 0, without(smp.IsCapabilityMask2Supported, 0xffff)},
	{"no SLMapping", 0, without(smp.IsSLMappingSupported, 0)},
	{"no MulticastFDBTop", mad.Switch, without(smp.IsMulticastFDBTopSupported, 0)},
	{"no extended speeds", 0, without(smp.IsExtendedSpeedsSupported, 0)},
	{"no traps", 0, without(smp.IsTrapSupported|smp.IsOtherLocalChangesNoticeSupported|
		smp.IsCapabilityMaskNoticeSupported, 0)},
	{"M_Key of before", mad.CA, endPortHolds(func(info *smp.PortInfo) { info.SetMKey(0x5eed) })},
	{"M_Key level 1 of before", mad.CA, endPortHolds(func(info *smp.PortInfo) { info.SetMKeyProtectBits(1) })},
	{"M_KeyLeasePeriod of before", 0, endPortHolds(func(info *smp.PortInfo) { info.SetMKeyLeasePeriod(60) })},
	{"SubnetTimeOut of before", 0, endPortHolds(func(info *smp.PortInfo) { info.SetSubnetTimeOut(20) })},
	{"GidPrefix of before", 0, endPortHolds(func(info *smp.PortInfo) { info.SetGidPrefix(0xfe80000000000007) })},
	{"MasterSMLID and SL of before", 0, endPortHolds(func(info *smp.PortInfo) {
		info.SetMasterSMLID(77)
		info.SetMasterSMSL(3)
	})},
	{"LID 65535", mad.CA, endPortHolds(func(info *smp.PortInfo) { info.SetLID(0xffff) })},
	{"LID of before", 0, endPortHolds(func(info *smp.PortInfo) { info.SetLID(0x140) })},
	{"LMC of before", mad.CA, endPortHolds(func(info *smp.PortInfo) { info.SetLMC(2) })},
	{"violations counted", 0, endPortHolds(func(info *smp.PortInfo) {
		info.SetMKeyViolations(3)
		info.SetPKeyViolations(4)
		info.SetQKeyViolations(5)
	})},
	{"P_Key traps suppressed", mad.CA, endPortHolds(func(info *smp.PortInfo) {
		info.SetMcastPKeyTrapSuppressionEnabled(1)
	})},
	{"InitType and its reply", mad.CA, endPortHolds(func(info *smp.PortInfo) {
		info[37] |= 5
		info.SetInitTypeReply(3)
	})},
	{"HOQLife and VLStallCount of before", 0, holds(func(info *smp.PortInfo) {
		info.SetHOQLife(11)
		info.SetVLStallCount(2)
	})},
	{"VLHighLimit of before", 0, holds(func(info *smp.PortInfo) { info.SetVLHighLimit(9) })},
	{"error thresholds of before", 0, holds(func(info *smp.PortInfo) {
		info.SetLocalPhyErrors(3)
		info.SetOverrunErrors(15)
	})},
	{"raw packets filtered", mad.Switch, holds(func(info *smp.PortInfo) {
		info.SetFilterRawInbound(true)
		info.SetFilterRawOutbound(true)
	})},
	{"enforcement on", mad.Switch, holds(func(info *smp.PortInfo) {
		info.SetPartitionEnforcementInbound(true)
		info.SetPartitionEnforcementOutbound(true)
	})},
	{"credit hint and latency", 0, holds(func(info *smp.PortInfo) { info.SetMaxCreditHint(100); info[59] = 9 })},
	{"one width enabled", 0, holds(func(info *smp.PortInfo) { info.SetLinkWidthEnabled(mad.Width1x) })},
	{"one speed enabled", 0, holds(func(info *smp.PortInfo) {
		info.SetLinkSpeedEnabled(1)
		info.SetLinkSpeedExtEnabled(smp.LinkSpeedExtNone)
	})},
	{"no enforcement", mad.Switch, func(d *device) { d.caps.PartitionEnforcementCap = 0 }},
	{"no enforcement though it says 1", mad.Switch, func(d *device) {
		d.caps.PartitionEnforcementCap = 0
		d.atPowerUp(func(info *smp.PortInfo) { info.SetPartitionEnforcementInbound(true) })
	}},
	{"room for one P_Key at a switch's port", mad.Switch, func(d *device) { d.caps.PartitionEnforcementCap = 1 }},
	{"room for 128 P_Keys", mad.CA, func(d *device) { d.caps.PartitionCap = 128 }},
	{"room for 2 P_Keys", mad.CA, func(d *device) { d.caps.PartitionCap = 2 }},
	{"one GUID", mad.CA, func(d *device) { d.caps.GUIDCap = 1 }},
	{"small MulticastFDBCap", mad.Switch, func(d *device) { d.caps.MulticastFDBCap = 32 }},
	{"no multicast", mad.Switch, func(d *device) { d.caps.MulticastFDBCap = 0 }},
	{"LinearFDBCap 16384", mad.Switch, func(d *device) { d.caps.LinearFDBCap = 16384 }},
	{"wildcards of SLtoVL", mad.Switch, func(d *device) { d.caps.OptimizedSLtoVL = 1 }},
	{"DefaultPort of before", mad.Switch, switchHolds(func(info *smp.SwitchInfo) { info.SetDefaultPort(1) })},
	{"default multicast ports of before", mad.Switch, switchHolds(func(info *smp.SwitchInfo) {
		info.SetDefaultMulticastPrimaryPort(1)
		info.SetDefaultMulticastNotPrimaryPort(0)
	})},
	{"LifeTimeValue of before", mad.Switch, switchHolds(func(info *smp.SwitchInfo) { info.SetLifeTimeValue(11) })},
	{"LinearFDBTop of before", mad.Switch, switchHolds(func(info *smp.SwitchInfo) { info.SetLinearFDBTop(0x200) })},
	{"MulticastFDBTop of before", mad.Switch, switchHolds(func(info *smp.SwitchInfo) {
		if info.MulticastFDBCap() > 0 {
			info.SetMulticastFDBTop(0xc00f)
		}
	})},
	{"PortStateChange at power-on", mad.Switch, switchHolds(func(info *smp.SwitchInfo) {
		info.SetPortStateChange(true)
	})},
	{"P_Keys of before", 0, partitionsOf(mad.DefaultPKey, 0x8123, 0, 0x0456)},
	{"P_Keys of before with the default last", 0, partitionsOf(0x8123, mad.DefaultPKey)},
	{"P_Keys of before with the default limited", 0, partitionsOf(0x7fff, 0x9234)},
	{"GUIDs of before", mad.CA, func(d *device) {
		d.caps.GUIDs = []mad.GUID{0, 0x1400000000000001, 0, 0x1400000000000003}
	}},
	{"another maker", 0, func(d *device) { d.caps.NVIDIA = false }},
}

// fieldFabrics are where the ports are; each is small, because there are many.
var fieldFabrics = []string{
	"fattree:k=4,levels=2", "torus:dims=3x3,hosts=1", "mesh:dims=2x3,hosts=2", "hypercube:dim=3,hosts=1",
	"dragonfly:a=2,p=1,h=1",
	"random:switches=6,degree=3,hosts=1", "tree:depth=2,fanout=3,hosts=2",
}

// randomNet makes the nodes and cables.
func randomNet(t *testing.T, r *rand.Rand) *net.Net {
	t.Helper()
	n := nettest.Generate(t, fmt.Sprintf("%s,seed=%d", fieldFabrics[r.IntN(len(fieldFabrics))], r.IntN(1000)))
	first := managersHost(n)
	for i := range n.Nodes {
		node := &n.Nodes[i]
		switch {
		case node.Type == mad.Switch:
			node.EnhancedPort0 = r.IntN(2) == 0
		case i == first:
		case r.IntN(8) == 0:
			node.Type = mad.Router
		case r.IntN(16) == 0:
			node.DeviceID, node.Desc = aggregationDevice, "Mellanox Technologies Aggregation Node"
		}
	}
	addCables(n, r)
	speeds := []mad.LinkSpeed{mad.SDR, mad.DDR, mad.QDR, mad.FDR10, mad.FDR, mad.EDR, mad.HDR, mad.NDR, mad.XDR}
	widths := []mad.LinkWidth{mad.Width1x, mad.Width2x, mad.Width4x, mad.Width4x, mad.Width4x, mad.Width8x,
		mad.Width12x}
	for i := range n.Nodes {
		for num := range n.Nodes[i].Ports {
			p := &n.Nodes[i].Ports[num]
			if p.Peer.Node < 0 {
				continue
			}
			peer := &n.Nodes[p.Peer.Node].Ports[p.Peer.Port]
			p.Speed, p.Width = speeds[r.IntN(len(speeds))], widths[r.IntN(len(widths))]
			peer.Speed, peer.Width = p.Speed, p.Width
		}
	}
	if r.IntN(4) == 0 {
		addGateway(n, r)
	}
	if err := n.Validate(); err != nil {
		t.Fatalf("%v", err)
	}
	return n
}

// addGateway makes an adapter a gateway to Ethernet: one is an adapter in the case of a switch, with two links to that,
// as in Oracle's gateway switches.
func addGateway(n *net.Net, r *rand.Rand) {
	at := r.IntN(len(n.Nodes))
	node := &n.Nodes[at]
	if node.Type != mad.CA || at == managersHost(n) || node.DeviceID == aggregationDevice || len(node.Ports) != 2 {
		return
	}
	first := node.Ports[1].Peer
	node.Desc, node.SystemImageGUID = "SUN IB QDR GW switch gw-01 192.0.2.7 Bridge 0",
		n.Nodes[first.Node].SystemImageGUID
	second := net.Port{Peer: net.End{Node: first.Node, Port: uint8(len(n.Nodes[first.Node].Ports))},
		GUID: node.Ports[1].GUID + 1, Speed: node.Ports[1].Speed, Width: node.Ports[1].Width}
	n.Nodes[first.Node].Ports = append(n.Nodes[first.Node].Ports,
		net.Port{Peer: net.End{Node: int32(at), Port: 2}, Speed: second.Speed, Width: second.Width})
	node.Ports = append(node.Ports, second)
}

const aggregationDevice = 0xcf09

// addCables adds ports without a cable, second ports of adapters, parallel and loopback
// cables.
func addCables(n *net.Net, r *rand.Rand) {
	port := func(node int) net.End {
		n.Nodes[node].Ports = append(n.Nodes[node].Ports, net.Port{Peer: net.NoEnd})
		return net.End{Node: int32(node), Port: uint8(len(n.Nodes[node].Ports) - 1)}
	}
	cable := func(a, z net.End) {
		n.Nodes[a.Node].Ports[a.Port].Peer, n.Nodes[z.Node].Ports[z.Port].Peer = z, a
	}
	switches := slices.IndexFunc(n.Nodes, func(node net.Node) bool { return node.Type != mad.Switch })
	for range r.IntN(3) {
		port(r.IntN(switches))
	}
	if r.IntN(6) == 0 { // as a switch of which every port is split
		for split := r.IntN(switches); len(n.Nodes[split].Ports) < 130; {
			port(split)
		}
	}
	if r.IntN(3) == 0 {
		at := r.IntN(switches)
		cable(port(at), port(at))
	}
	if at := r.IntN(switches); r.IntN(2) == 0 {
		for _, p := range n.Nodes[at].Ports[1:] {
			if peer := int(p.Peer.Node); peer >= 0 && n.Nodes[peer].Type == mad.Switch && peer != at {
				cable(port(at), port(peer))
				break
			}
		}
	}
	for range r.IntN(3) {
		host := switches + r.IntN(len(n.Nodes)-switches)
		second := port(host)
		n.Nodes[host].Ports[second.Port].GUID = n.Nodes[host].Ports[1].GUID + mad.GUID(second.Port) - 1
		cable(second, port(r.IntN(switches)))
	}
	if a, z := r.IntN(switches), r.IntN(switches); r.IntN(3) == 0 {
		n.Nodes[a].SystemImageGUID = n.Nodes[z].SystemImageGUID // of one chassis
	}
}

// randomCaps makes nodes odd in several ways; the same seed does the same. It returns what was
// chosen, by node.
func randomCaps(seed uint64, n *net.Net) (caps func(int32, *net.Node, *fabric.Caps), chosen []string) {
	r := rand.New(rand.NewPCG(seed, 0xca9))
	kinds := make([][]*portKind, len(n.Nodes))
	chosen = make([]string, len(n.Nodes))
	first := managersHost(n)
	for i := range n.Nodes {
		var names []string
		node := &n.Nodes[i]
		for range r.IntN(4) {
			k := &portKinds[r.IntN(len(portKinds))]
			if k.on != 0 && (k.on == mad.Switch) != (node.Type == mad.Switch) || i == first &&
				(strings.Contains(k.name, "M_Key") || strings.Contains(k.name, "P_Keys of before")) {
				continue
			}
			kinds[i], names = append(kinds[i], k), append(names, k.name)
		}
		chosen[i] = strings.Join(names, ", ")
	}
	return func(i int32, node *net.Node, c *fabric.Caps) {
		c.Extended, c.NVIDIA = fabric.ExtendedAlways, true
		d := &device{caps: c, typ: node.Type}
		for _, k := range kinds[i] {
			k.make(d)
		}
		c.PowerUp = func(num uint8, info *smp.PortInfo) {
			for _, change := range d.powerUp {
				change(num, info)
			}
		}
		c.SwitchPowerUp = func(info *smp.SwitchInfo) {
			for _, change := range d.sw {
				change(info)
			}
		}
	}, chosen
}
