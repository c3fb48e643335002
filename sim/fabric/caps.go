package fabric

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// Caps is what a node can do. Config.Caps may change what New assumes from the
// node's type, the fastest of its links and the Net's profile.
type Caps struct {
	CapabilityMask  smp.CapMask  // of end ports and switch port 0
	CapabilityMask2 smp.CapMask2 // likewise
	MTUCap          mad.MTU
	VLCap           uint8 // code 1..5, see smp.DataVLs
	VLArbHighCap    uint8 // entries, at most 64
	VLArbLowCap     uint8
	GUIDCap         uint8   // GUIDInfo entries of an end port, at most 255
	PartitionCap    uint16  // P_Keys of an end port and of switch port 0
	LID             mad.LID // of an end port at power-up
	BaseSpeeds      uint8   // LinkSpeedSupported, 0: all up to that of the fastest link
	BaseSpeedActive uint8   // LinkSpeedActive beside an extended speed
	SubnetTimeOut   uint8   // at power-up: 4.096 us * 2^v between two traps
	RespTimeValue   uint8
	Perf            Perf
	Congestion      Congestion
	Extended        Extended
	Defect          Defect        // nil for a sound agent
	Agent           Agent         // answers in place of the node's agents; nil for these
	SMATime         time.Duration // that its agent takes for one SMP; Config.SMA.Time
	SMABuffer       int           // SMPs that may wait for it; Config.SMA.Buffer
	NVIDIA          bool          // answers ExtendedPortInfo, and a switch, or an adapter with VPorts, GeneralInfo
	VPorts          *VPorts       // of the end ports of an adapter; nil for none
	// PowerUp may change what a port holds after power-up, before its link trains.
	PowerUp func(num uint8, info *smp.PortInfo)
	// PKeys is what a port's partition table holds after power-up; nil, or a nil table: the
	// default partition alone.
	PKeys func(num uint8) []mad.PKey
	GUIDs []mad.GUID // GUIDInfo of an end port after power-up; entry 0 is the port's own
	OneVL bool       // after power-up every SL but 0 maps to VL 15, which drops it

	// Switches only.
	LinearFDBCap            uint16
	MulticastFDBCap         uint16
	PartitionEnforcementCap uint16 // P_Keys of an external port; 0: enforces nothing
	FilterRaw               bool   // in- and outbound
	DefaultPort             uint8
	EmptyPort0              bool  // all fields of a base port 0's link are zero
	OptimizedSLtoVL         uint8 // takes SLtoVL Sets for all ports at once if bit 0 is set
	AR                      AdaptiveRouting
	NoFallback              bool // refuses Sets of LinearForwardingTable while adaptive routing is on
	PrivateLFTs             bool // answers PrivateLFTInfo
	// SwitchPowerUp may change what the switch holds after power-up.
	SwitchPowerUp func(info *smp.SwitchInfo)
}

// Defect makes an agent a faulty one. It is given each Get and Set in place of the
// agent, and obey, which does with the request what a sound agent does: it stores what
// is asked for, puts the attribute into the packet's data and returns the status. The
// Defect may call it or not, also more than once, and change the packet before or after. When answers is false
// there is no reply.
type Defect func(p *mad.Packet, obey func() mad.Status) (status mad.Status, answers bool)

// Extended is what a node makes of bit 31 of PortInfo's modifier, by which the
// sender says that it understands extended link speeds.
type Extended uint8

// Ways to treat bit 31.
const (
	ExtendedWhenAsked Extended = 0 // extended speed fields are filled and taken only with it
	ExtendedAlways    Extended = 1 // filled and taken with it or without
	ExtendedRefused   Extended = 2 // always, and a modifier with bit 31 is an invalid one
)

// AdaptiveRouting is whether a switch routes adaptively. It needs Caps.NVIDIA.
type AdaptiveRouting uint8

// States of adaptive routing at power-up.
const (
	ARUnsupported AdaptiveRouting = 0
	AROff         AdaptiveRouting = 1
	AROn          AdaptiveRouting = 2
)

// supported is the fastest speed and all the widths that the ports of a node can
// do: those of its links, and what goes with them.
func supported(n *net.Node) (mad.LinkSpeed, mad.LinkWidth) {
	speed, width := mad.SDR, mad.Width1x|mad.Width4x
	for i := range n.Ports {
		s := n.Ports[i].Speed
		if s == 0 {
			s = mad.QDR
		}
		speed = max(speed, s)
		width |= n.Ports[i].Width
	}
	if speed >= mad.HDR {
		width |= mad.Width2x
	}
	return speed, width
}

func defaultCaps(n *net.Node, profile net.Profile, functions uint16) Caps {
	c := idealCaps(n)
	if profile == net.RealDevices {
		makeReal(&c, n)
	}
	if functions > 0 && n.Type == mad.CA && n.DeviceID != net.SHARPDevice {
		c.VPorts = &VPorts{Functions: functions}
	}
	return c
}

func idealCaps(n *net.Node) Caps {
	c := Caps{
		CapabilityMask: smp.IsTrapSupported | smp.IsSLMappingSupported | smp.IsSystemImageGUIDSupported |
			smp.IsCapabilityMask2Supported | smp.IsCapabilityMaskNoticeSupported |
			smp.IsOtherLocalChangesNoticeSupported | smp.IsClientReregistrationSupported,
		MTUCap:        mad.MTU4096,
		VLCap:         4,
		VLArbHighCap:  8,
		VLArbLowCap:   8,
		GUIDCap:       32,
		PartitionCap:  64,
		SubnetTimeOut: 18,
		RespTimeValue: 16,
		Perf:          idealPerf(n.Type),
		Congestion:    idealCongestion(n.Type),
	}
	speed, width := supported(n)
	if speed >= mad.FDR {
		c.CapabilityMask |= smp.IsExtendedSpeedsSupported
		c.CapabilityMask2 |= smp.IsPortInfoExtendedSupported
	}
	if speed >= mad.HDR {
		c.CapabilityMask2 |= smp.IsLinkSpeedHDRSupported
	}
	if speed >= mad.NDR {
		c.CapabilityMask2 |= smp.IsLinkSpeedNDRSupported
	}
	if speed >= mad.XDR {
		c.CapabilityMask2 |= smp.IsExtendedSpeeds2Supported | smp.IsLinkSpeedXDRSupported
	}
	if width&mad.Width2x != 0 {
		c.CapabilityMask2 |= smp.IsLinkWidth2xSupported
	}
	if n.Type == mad.Switch {
		c.CapabilityMask |= smp.IsMulticastFDBTopSupported | smp.IsPKeySwitchExternalPortTrapSupported
		c.GUIDCap = 1
		c.LinearFDBCap = uint16(mad.MinMulticastLID)
		c.MulticastFDBCap = 1024
		c.PartitionEnforcementCap = 64
		c.DefaultPort = noPort
	} else {
		c.CapabilityMask |= smp.IsCommunicationManagementSupported
	}
	return c
}
