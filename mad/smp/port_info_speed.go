package smp

import (
	"math/bits"

	"ibsm/mad"
)

// SpeedMask is a set of lane speeds: bit n is mad.LinkSpeed n.
type SpeedMask uint16

// Has reports whether the speed is in the set.
func (m SpeedMask) Has(s mad.LinkSpeed) bool { return m>>s&1 != 0 }

// Fastest is the highest speed of the set, 0 of an empty one.
func (m SpeedMask) Fastest() mad.LinkSpeed { return mad.LinkSpeed(max(bits.Len16(uint16(m)), 1) - 1) }

// The methods below put PortInfo's three speed fields together. Which of them
// count is in the capability masks: the port's own, but port 0's for the external
// ports of a switch, whose own are 0. FDR10 is not in PortInfo, which calls it
// QDR: see ExtendedPortInfo.

// LinkSpeed is the speed of the lanes in use, 0 if PortInfo does not contain it: the
// link is down, or it runs at a speed that was not asked for with the modifier's
// extended bit.
func (p *PortInfo) LinkSpeed(mask CapMask, mask2 CapMask2) mad.LinkSpeed {
	return speeds(p.LinkSpeedActive(), p.LinkSpeedExtActive(), p.LinkSpeedExtActive2(), mask, mask2).Fastest()
}

// SpeedsSupported is the speeds that the port can use.
func (p *PortInfo) SpeedsSupported(mask CapMask, mask2 CapMask2) SpeedMask {
	return speeds(p.LinkSpeedSupported(), p.LinkSpeedExtSupported(), p.LinkSpeedExtSupported2(), mask, mask2)
}

// SpeedsEnabled is the speeds that the port may use. The values that stand for all
// supported speeds and for no extended ones are resolved.
func (p *PortInfo) SpeedsEnabled(mask CapMask, mask2 CapMask2) SpeedMask {
	base, ext, ext2 := p.LinkSpeedEnabled(), p.LinkSpeedExtEnabled(), p.LinkSpeedExtEnabled2()
	if base == LinkSpeedAll {
		base = p.LinkSpeedSupported()
	}
	switch ext {
	case LinkSpeedExtAll:
		ext = p.LinkSpeedExtSupported()
	case LinkSpeedExtNone:
		ext = 0
	}
	if ext2 == LinkSpeedExt2All {
		ext2 = p.LinkSpeedExtSupported2()
	}
	return speeds(base, ext, ext2, mask, mask2)
}

// Values of the Enabled fields in a Set that are no masks. 0 is "no change".
const (
	LinkWidthAll     mad.LinkWidth = 0xff
	LinkSpeedAll     uint8         = 15
	LinkSpeedExtAll  uint8         = 31
	LinkSpeedExtNone uint8         = 30
	LinkSpeedExt2All uint8         = 7
)

// Rate is the rate code of the link as it runs, 0 when speed or width is unknown.
// FDR10 and QDR have one code.
func (p *PortInfo) Rate(mask CapMask, mask2 CapMask2) mad.Rate {
	return mad.LinkRate(p.LinkWidthActive(), p.LinkSpeed(mask, mask2))
}

// speeds joins the values of LinkSpeed, LinkSpeedExt and LinkSpeedExt2.
func speeds(base, ext, ext2 uint8, mask CapMask, mask2 CapMask2) SpeedMask {
	m := SpeedMask(base&7) << mad.SDR
	if mask.Has(IsExtendedSpeedsSupported) {
		m |= SpeedMask(ext&15) << mad.FDR
	}
	if mask.Has(IsCapabilityMask2Supported) && mask2.Has(IsExtendedSpeeds2Supported) {
		m |= SpeedMask(ext2&1) << mad.XDR
	}
	return m
}
