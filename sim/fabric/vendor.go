package fabric

import (
	"ibsm/mad"
	"ibsm/mad/smp"
)

// What follows are NVIDIA's own attributes.

func (n *node) generalInfo(set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	if set || !n.caps.NVIDIA || n.sw == nil && n.caps.VPorts == nil {
		return mad.StatusBadMethodAttr
	}
	if mod != smp.GeneralInfoCapabilities {
		return mad.StatusBadField
	}
	var g smp.GeneralInfo
	g.Set(smp.CapExtendedPortInfo, true)
	g.Set(smp.CapAdaptiveRouting, n.caps.AR != ARUnsupported)
	g.Set(smp.CapPrivateLFT, n.caps.PrivateLFTs)
	g.Set(smp.CapVirtualization, n.caps.VPorts != nil && !n.caps.VPorts.NotInGeneral)
	*d = g
	return mad.StatusOK
}

// extendedPortInfo distinguishes FDR10 from QDR. Its speeds are a mask of which bit 0 is
// FDR10.
func (f *Fabric) extendedPortInfo(n *node, set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	if !n.caps.NVIDIA {
		return mad.StatusBadMethodAttr
	}
	if mod > uint32(n.numPorts) || mod == 0 && n.sw == nil {
		return mad.StatusBadField
	}
	p := &f.ports[n.first+int32(mod)]
	if set {
		if want := (*smp.ExtendedPortInfo)(d); want.StateChangeEnable()&1 != 0 {
			p.written().fdr10 = want.LinkSpeedEnabled()&smp.SpeedFDR10 + 1
		}
	}
	var e smp.ExtendedPortInfo
	e.SetLinkSpeedSupported(1)
	if p.fdr10() {
		e.SetLinkSpeedEnabled(smp.SpeedFDR10)
	}
	if p.runsFDR10 && p.info.LinkSpeedActive() == 4 {
		e.SetLinkSpeedActive(1)
	}
	*d = e
	return mad.StatusOK
}

// fdr10 reports whether the port may train to FDR10. At power-up it is enabled where a link
// is said to have that speed.
func (p *port) fdr10() bool {
	if p.tables == nil || p.tables.fdr10 == 0 {
		return p.speed == mad.FDR10
	}
	return p.tables.fdr10 > 1
}

// fecModes are the modes of PortInfoExtended's FEC fields: Firecode, RS and low-latency RS.
const fecModes = 7

// portInfoExtended answers for the FEC modes of a port.
func (f *Fabric) portInfoExtended(at int32, set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	n := f.nodeOf(at)
	if !n.caps.CapabilityMask2.Has(smp.IsPortInfoExtendedSupported) {
		return mad.StatusBadMethodAttr
	}
	if mod > uint32(n.numPorts) {
		return mad.StatusBadField
	}
	i := n.first + int32(mod)
	if n.sw == nil && mod == 0 {
		i = at
	}
	p, want := &f.ports[i], (*smp.PortInfoExtended)(d)
	if set {
		e := &p.written().ext
		e.SetFDRFECModeEnabled(want.FDRFECModeEnabled() & fecModes)
		e.SetEDRFECModeEnabled(want.EDRFECModeEnabled() & fecModes)
		e.SetHDRFECModeEnabled(want.HDRFECModeEnabled() & fecModes)
		e.SetNDRFECModeEnabled(want.NDRFECModeEnabled() & fecModes)
	}
	var e smp.PortInfoExtended
	if p.tables != nil {
		e = p.tables.ext
	}
	e.SetCapabilityMask(1) // IsFECModeSupported
	if n.speed >= mad.FDR {
		e.SetFDRFECModeSupported(fecModes)
	}
	if n.speed >= mad.EDR {
		e.SetEDRFECModeSupported(fecModes)
	}
	if n.speed >= mad.HDR {
		e.SetHDRFECModeSupported(fecModes)
	}
	if n.speed >= mad.NDR {
		e.SetNDRFECModeSupported(fecModes)
	}
	*d = e
	return mad.StatusOK
}
