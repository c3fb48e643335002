package fabric

import (
	"ibsm/mad"
	"ibsm/mad/smp"
)

// powerUp gives a node the state it has after power-up: no LID, no tables, links
// down. The caller trains the links.
func (f *Fabric) powerUp(i int32) {
	n := &f.nodes[i]
	n.traps, n.nextTrap = nil, 0
	if n.sw != nil {
		n.sw.powerUp(&n.caps)
	}
	for num := int32(0); num <= int32(n.numPorts); num++ {
		f.powerUpVPorts(n.first + num)
		p := &f.ports[n.first+num]
		p.tables, p.leaseEnd, p.training = nil, 0, 0
		f.clearCounts(n.first + num)
		delete(f.congested, n.first+num)
		f.powerUpPort(n, p)
		if p.station != nil {
			p.station.reregister = false
			if p.station.isSM {
				p.info.SetCapabilityMask(p.info.CapabilityMask() | smp.IsSM)
			}
		}
	}
}

func (f *Fabric) powerUpPort(n *node, p *port) {
	c := &n.caps
	p.info = smp.PortInfo{}
	pi := &p.info
	if n.sw == nil || p.num == 0 {
		pi.SetGidPrefix(mad.DefaultPrefix)
		pi.SetCapabilityMask(c.CapabilityMask)
		pi.SetCapabilityMask2(c.CapabilityMask2)
		pi.SetGUIDCap(c.GUIDCap)
		pi.SetSubnetTimeOut(c.SubnetTimeOut)
		pi.SetRespTimeValue(c.RespTimeValue)
		pi.SetLID(c.LID)
		if c.GUIDs != nil {
			p.setGUIDs(0, c.GUIDs)
		}
	}
	if c.PKeys != nil {
		if keys := c.PKeys(p.num); keys != nil {
			p.setPKeys(0, keys)
		}
	}
	if n.basePort0(p) && c.EmptyPort0 {
		return
	}
	pi.SetNeighborMTU(c.MTUCap)
	pi.SetMTUCap(c.MTUCap)
	pi.SetVLCap(c.VLCap)
	pi.SetOperationalVLs(c.VLCap)
	pi.SetVLArbitrationHighCap(c.VLArbHighCap)
	pi.SetVLArbitrationLowCap(c.VLArbLowCap)
	pi.SetPortState(smp.PortDown)
	pi.SetPortPhysicalState(smp.PhysPolling)
	pi.SetLinkDownDefaultState(smp.PhysPolling)
	pi.SetLinkWidthSupported(n.width)
	pi.SetLinkWidthEnabled(n.width)
	setSupported(pi, n.speed)
	if c.BaseSpeeds != 0 {
		pi.SetLinkSpeedSupported(c.BaseSpeeds)
		pi.SetLinkSpeedEnabled(c.BaseSpeeds)
	}
	if f.aggregates(n, p) {
		aggregate(pi)
	}
	if n.sw != nil && p.num == 0 {
		pi.SetPortPhysicalState(smp.PhysLinkUp)
		pi.SetPortState(smp.PortActive)
		if n.sw.enhanced {
			pi.SetPortState(smp.PortInit)
		}
		pi.SetLinkWidthActive(mad.Width4x)
		setActive(pi, min(n.speed, mad.NDR), c.BaseSpeedActive)
	}
	if c.PowerUp != nil {
		c.PowerUp(p.num, pi)
	}
	if c.OneVL {
		p.useOneVL(n)
	}
}

// useOneVL maps SL 0 to VL 0 and drops the others.
func (p *port) useOneVL(n *node) {
	var row [mad.DataSize]byte
	for sl := range uint8(16) {
		(*smp.SLtoVLMappingTable)(&row).SetVL(sl, min(sl, 1)*15)
	}
	rows := 1
	if n.sw != nil {
		rows += int(n.numPorts)
	}
	for in := range rows {
		p.setSLtoVL(uint8(in), rows, &row)
	}
}

// setSupported makes the port support and enable all speeds up to s.
func setSupported(pi *smp.PortInfo, s mad.LinkSpeed) {
	legacy := uint8(1)<<min(s, mad.QDR) - 1
	pi.SetLinkSpeedSupported(legacy)
	pi.SetLinkSpeedEnabled(legacy)
	if s >= mad.FDR {
		ext := uint8(1)<<(min(s, mad.NDR)-mad.FDR+1) - 1
		pi.SetLinkSpeedExtSupported(ext)
		pi.SetLinkSpeedExtEnabled(ext)
	}
	if s >= mad.XDR {
		pi.SetLinkSpeedExtSupported2(1)
		pi.SetLinkSpeedExtEnabled2(1)
	}
}

// enabled reports whether the port may train to s. FDR10 hides behind QDR.
func enabled(pi *smp.PortInfo, s mad.LinkSpeed) bool {
	switch {
	case s == mad.FDR10:
		return pi.LinkSpeedEnabled()&4 != 0
	case s <= mad.QDR:
		return pi.LinkSpeedEnabled()>>(s-mad.SDR)&1 != 0
	case s <= mad.NDR:
		return pi.LinkSpeedExtEnabled() != smp.LinkSpeedExtNone && pi.LinkSpeedExtEnabled()>>(s-mad.FDR)&1 != 0
	}
	return pi.LinkSpeedExtEnabled2()&1 != 0
}

// setActive shows s as the speed in use, and beside an extended one base as LinkSpeedActive.
func setActive(pi *smp.PortInfo, s mad.LinkSpeed, base uint8) {
	pi.SetLinkSpeedActive(base)
	pi.SetLinkSpeedExtActive(0)
	pi.SetLinkSpeedExtActive2(0)
	switch {
	case s == mad.FDR10:
		pi.SetLinkSpeedActive(4)
	case s <= mad.QDR:
		pi.SetLinkSpeedActive(1 << (s - mad.SDR))
	case s <= mad.NDR:
		pi.SetLinkSpeedExtActive(1 << (s - mad.FDR))
	default:
		pi.SetLinkSpeedExtActive2(1)
	}
}
