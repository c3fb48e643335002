package fabric

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// What follows are values that devices have been seen to report, by type and by the fastest
// of their links. Where nothing is known a real device has the values of an ideal one.

// adapterMasks are the CapabilityMasks of ConnectX-2, -3, -4 and -5, -6, -7 and -8.
var adapterMasks = [mad.XDR + 1]smp.CapMask{
	mad.SDR: 0x02510868, mad.DDR: 0x02510868, mad.QDR: 0x02510868,
	mad.FDR10: 0x02514868, mad.FDR: 0x02514868, mad.EDR: 0x2651e848,
	mad.HDR: 0xa651e848, mad.NDR: 0xa751e848, mad.XDR: 0xa750e848,
}

// Masks of Quantum-2; Quantum's CapabilityMask2 lacks NDR.
const (
	quantumMask  smp.CapMask  = 0xe550d848
	quantumMask2 smp.CapMask2 = 0x043b
)

// lidOfNewAdapters is the LID of ConnectX-4 and later until a manager sets one.
const lidOfNewAdapters = mad.PermissiveLID

// nvidia is the vendor ID of NVIDIA's, once Mellanox's, switches and adapters.
const nvidia = 0x2c9

// makeReal turns the capabilities of an ideal device into those of a real one.
func makeReal(c *Caps, n *net.Node) {
	speed, _ := supported(n)
	c.NVIDIA = n.VendorID == nvidia
	c.Extended = ExtendedAlways
	c.Perf = realPerf(n.Type, speed)
	switch n.Type {
	case mad.Switch:
		realSwitch(c, speed)
	case mad.CA:
		if n.DeviceID != net.SHARPDevice {
			realAdapter(c, speed)
		}
	}
}

func realSwitch(c *Caps, speed mad.LinkSpeed) {
	c.RespTimeValue = 19
	c.MulticastFDBCap = 8192
	c.PartitionEnforcementCap = 32
	c.FilterRaw = true
	c.DefaultPort = 0
	c.OptimizedSLtoVL = 3
	c.BaseSpeedActive = 4
	c.EmptyPort0 = true
	if speed >= mad.HDR {
		c.CapabilityMask = quantumMask
		c.CapabilityMask2 |= quantumMask2 &^ smp.IsLinkSpeedNDRSupported
	}
	if speed >= mad.NDR {
		c.Extended = ExtendedWhenAsked
		c.BaseSpeeds = 5
	}
}

func realAdapter(c *Caps, speed mad.LinkSpeed) {
	c.CapabilityMask = adapterMasks[speed]
	c.VLCap = 3
	c.GUIDCap = 8
	switch {
	case speed >= mad.EDR:
		c.LID = lidOfNewAdapters
	case speed >= mad.FDR10:
		c.CapabilityMask2 = 0
		c.PartitionCap = 128
	}
	if speed >= mad.NDR {
		c.BaseSpeeds = 1
	}
}

// realRadixes are the numbers of ports of switches that have one for an aggregation node.
var realRadixes = []uint8{41, 65, 81, 129}

// aggregates reports whether a port is an aggregation node's or a switch's for one.
func (f *Fabric) aggregates(n *node, p *port) bool {
	switch {
	case !f.real:
		return false
	case n.sw == nil:
		return n.info.DeviceID() == net.SHARPDevice
	case p.num != n.numPorts || n.speed < mad.HDR:
		return false
	case p.peer < 0:
		return slices.Contains(realRadixes, n.numPorts)
	}
	return f.nodeOf(p.peer).info.DeviceID() == net.SHARPDevice
}

// aggregate gives the port what differs from other ports of a switch.
func aggregate(pi *smp.PortInfo) {
	pi.SetVLCap(2)
	pi.SetOperationalVLs(2)
	pi.SetVLArbitrationHighCap(2)
	pi.SetVLArbitrationLowCap(2)
	pi.SetLinkWidthSupported(mad.Width1x | mad.Width4x)
	pi.SetLinkWidthEnabled(mad.Width1x | mad.Width4x)
	pi.SetLinkSpeedSupported(7)
	pi.SetLinkSpeedEnabled(7)
	ext := pi.LinkSpeedExtSupported() &^ 1 // all but FDR
	pi.SetLinkSpeedExtSupported(ext)
	pi.SetLinkSpeedExtEnabled(ext)
}

// basePort0 reports whether a port is one that has neither states nor a link.
func (n *node) basePort0(p *port) bool { return n.sw != nil && p.num == 0 && !n.sw.enhanced }
