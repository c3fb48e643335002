package smp

import "ibsm/mad"

// GeneralInfoCapabilities is the attribute modifier with which GeneralInfo holds
// a capability mask.
const GeneralInfoCapabilities uint32 = 4

// GeneralInfo is NVIDIA's attribute 0xFF17, read with GeneralInfoCapabilities:
// four words of 32 bits. It says which others of NVIDIA's attributes a device has,
// and must be requested before any of them.
type GeneralInfo [mad.DataSize]byte

// GeneralCap is a bit of GeneralInfo's capability mask, 0..127.
type GeneralCap uint8

// Capabilities that a manager must know of.
const (
	CapPrivateLFT       GeneralCap = 0
	CapAdaptiveRouting  GeneralCap = 1
	CapExtendedPortInfo GeneralCap = 9
	CapVirtualization   GeneralCap = 15 // of an adapter: vPorts
)

// Has reports whether the device has the capability.
func (g *GeneralInfo) Has(c GeneralCap) bool {
	i, mask := c.bit()
	return g[i]&mask != 0
}

// Set sets or clears a capability.
func (g *GeneralInfo) Set(c GeneralCap, v bool) {
	i, mask := c.bit()
	putBool(&g[i], mask, v)
}

// bit is where the mask has bit c: in big-endian word c/32, counted from the
// word's low end.
func (c GeneralCap) bit() (i int, mask byte) {
	c %= 128
	return int(c/32*4 + 3 - c%32/8), 1 << (c % 8)
}
