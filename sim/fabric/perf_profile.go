package fabric

import (
	"ibsm/mad"
	"ibsm/mad/pma"
)

// idealAttrs are the optional attributes of an ideal device, those that ibsim has and those by
// service level. What the fabric has no model for stays zero.
var idealAttrs = []mad.AttrID{
	pma.AttrPortRcvErrorDetails, pma.AttrPortXmitDiscardDetails, pma.AttrPortOpRcvCounters, pma.AttrPortFlowCtlCounters,
	pma.AttrPortVLOpPackets, pma.AttrPortVLOpData, pma.AttrPortVLXmitFlowCtlUpdateErrors,
	pma.AttrPortVLXmitWaitCounters,
	pma.AttrPortXmitDataSL, pma.AttrPortRcvDataSL, pma.AttrPortExtendedSpeedsCounters,
}

// realAttrs are those of NVIDIA's devices.
var realAttrs = []mad.AttrID{
	pma.AttrPortRcvErrorDetails, pma.AttrPortXmitDiscardDetails, pma.AttrPortVLXmitWaitCounters,
	pma.AttrPortXmitDataSL, pma.AttrPortRcvDataSL, pma.AttrPortExtendedSpeedsCounters,
}

// idealPerf has every counter with 64 bits. A switch can read all its ports at once.
func idealPerf(t mad.NodeType) Perf {
	p := Perf{
		CapabilityMask:  pma.IsExtendedWidthSupported | pma.PortCountersXmitWaitSupported | pma.IsQP1DroppedSupported,
		CapabilityMask2: pma.IsAdditionalPortCountersExtendedSupported,
		Optional:        idealAttrs,
	}
	if t == mad.Switch {
		p.CapabilityMask |= pma.AllPortSelect
	}
	return p
}

// Masks that perfquery has shown: of switches of EDR and faster with CapabilityMask2 2, of
// ConnectX-4 and later with 0, and of older devices.
const (
	// 0x5300
	switchPerf = pma.IsRSFECModeCountersSupported | pma.PortCountersXmitWaitSupported | pma.IsExtendedWidthSupported |
		pma.AllPortSelect
	// 0x5A00
	adapterPerf = pma.IsRSFECModeCountersSupported | pma.PortCountersXmitWaitSupported | pma.IsExtendedWidthSupported |
		pma.SamplesOnlySupported
	// 0x1400
	olderPerf = pma.PortCountersXmitWaitSupported | pma.IsExtendedWidthSupportedNoIETF
)

// realPerf is the agent of a device whose fastest link has that speed.
func realPerf(t mad.NodeType, speed mad.LinkSpeed) Perf {
	p := Perf{CapabilityMask: olderPerf, Optional: realAttrs}
	switch {
	case t == mad.Switch && speed >= mad.EDR:
		p.CapabilityMask, p.CapabilityMask2 = switchPerf, pma.IsAdditionalPortCountersExtendedSupported
	case t == mad.Switch:
		p.CapabilityMask |= pma.AllPortSelect
	case speed >= mad.EDR:
		p.CapabilityMask = adapterPerf
	}
	return p
}
