package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// randomNet is a fabric of 10 to some 100 nodes of a random kind, with oddities:
// free ports, adapters of two ports, routers, base port 0, makers of all sorts.
func randomNet(t testing.TB, rng *rand.Rand) *net.Net {
	spec := pick(rng,
		"fattree:k=4", "fattree:k=6", "fattree:k=8,levels=2", "fattree:k=8,levels=2,missing-links=4",
		"fattree:k=4,missing-switches=1", "torus:dims=3x3", "torus:dims=4x4,hosts=2", "torus:dims=3x2x2",
		"mesh:dims=4x3",
		"hypercube:dim=3,hosts=2", "dragonfly:a=4,p=2,h=1", "hyperx:dims=3x3,hosts=2",
		"random:switches=12,degree=4,hosts=2", "tree:depth=3,fanout=3", "fattree:k=16,levels=1",
	)
	spec += fmt.Sprintf("%cseed=%d,speed=%s", separator(spec), rng.Uint32(),
		pick(rng, "QDR", "FDR", "EDR", "HDR", "NDR", "XDR"))
	if nettest.Profile(t) == net.RealDevices {
		spec += pick(rng, "", ",sharp=off", ",sharp=on")
	}
	n := nettest.Generate(t, spec)
	hosts := 0
	for i := range n.Nodes {
		node := &n.Nodes[i]
		if rng.IntN(3) == 0 {
			node.VendorID = 0x001175
		}
		if node.Type == mad.Switch {
			node.EnhancedPort0 = rng.IntN(3) > 0
			for range rng.IntN(3) {
				node.Ports = append(node.Ports, net.Port{Peer: net.NoEnd})
			}
			continue
		}
		if hosts++; hosts == 1 || node.DeviceID == net.SHARPDevice {
			continue // the manager's, and what a switch has inside
		}
		if n.Profile == net.RealDevices {
			node.Desc = pick(rng, node.Desc, node.Desc, node.Desc, node.Desc+" ", " "+node.Desc, "")
		}
		switch rng.IntN(10) {
		case 0:
			node.Type = mad.Router
		case 1, 2:
			secondPort(n, int32(i), rng)
		}
	}
	return n
}

func separator(spec string) byte {
	for _, c := range spec {
		if c == ':' {
			return ','
		}
	}
	return ':'
}

// secondPort gives a host a second port, and that a cable to some switch.
func secondPort(n *net.Net, host int32, rng *rand.Rand) {
	h := &n.Nodes[host]
	sw := int32(rng.IntN(len(n.Nodes)))
	if n.Nodes[sw].Type != mad.Switch {
		sw = h.Ports[1].Peer.Node
	}
	s := &n.Nodes[sw]
	if h.Type != mad.CA {
		return
	}
	a, z := net.End{Node: host, Port: uint8(len(h.Ports))}, net.End{Node: sw, Port: uint8(len(s.Ports))}
	h.Ports = append(h.Ports, net.Port{GUID: h.GUID + 2, Peer: z, Width: h.Ports[1].Width, Speed: h.Ports[1].Speed})
	s.Ports = append(s.Ports, net.Port{Peer: a, Width: h.Ports[1].Width, Speed: h.Ports[1].Speed})
}

// randomCaps makes devices differ.
func randomCaps(rng *rand.Rand) func(int32, *net.Node, *fabric.Caps) {
	return func(_ int32, n *net.Node, c *fabric.Caps) {
		c.MTUCap = pick(rng, mad.MTU2048, mad.MTU4096)
		c.VLCap = pick[uint8](rng, 1, 3, 4)
		c.Extended = pick(rng, fabric.ExtendedWhenAsked, fabric.ExtendedWhenAsked, fabric.ExtendedAlways,
			fabric.ExtendedRefused)
		if n.Type == mad.Switch && rng.IntN(2) == 0 {
			c.NVIDIA = true
			c.AR = pick(rng, fabric.ARUnsupported, fabric.AROff)
		}
	}
}
