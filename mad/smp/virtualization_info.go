package smp

import "ibsm/mad"

// VirtualizationInfo is NVIDIA's attribute 0xFFB0, the vPorts of a physical port of an adapter: vPort 0 is the
// physical function's, the others are those of virtual functions. Ask it only of a port that announces it
// (AnnouncesVirtualization) on a node of NVIDIA's (NVIDIAVendor).
//
//	0 VPortCap                                              VPortIndexTop
//	4 Enable 1, ClientReregister 1, VPortStateChange 1, 5   -
//	6 Revision                                              CapabilityMask
//
// A manager may set what byte 4 holds; the rest is read-only. This layout, and those of the other attributes of
// vPorts, are those of NVIDIA's header for subnet managers (licensed as GPL-2 or OpenIB.org BSD), not of the
// architecture.
type VirtualizationInfo [mad.DataSize]byte

// VPortCap is the number of vPorts that the port can have.
func (v *VirtualizationInfo) VPortCap() uint16 { return get16(v[0:]) }

// SetVPortCap sets VPortCap.
func (v *VirtualizationInfo) SetVPortCap(n uint16) { put16(v[0:], n) }

// VPortIndexTop is the highest index of a vPort that is enabled now.
func (v *VirtualizationInfo) VPortIndexTop() uint16 { return get16(v[2:]) }

// SetVPortIndexTop sets VPortIndexTop.
func (v *VirtualizationInfo) SetVPortIndexTop(i uint16) { put16(v[2:], i) }

// VirtualizationEnable says that a manager has enabled virtualization. Otherwise the port behaves as one port without
// vPorts.
func (v *VirtualizationInfo) VirtualizationEnable() bool { return v[4]&0x80 != 0 }

// SetVirtualizationEnable sets VirtualizationEnable.
func (v *VirtualizationInfo) SetVirtualizationEnable(on bool) { putBool(&v[4], 0x80, on) }

// ClientReregister in a Set has the clients of all vPorts of the port register again.
func (v *VirtualizationInfo) ClientReregister() bool { return v[4]&0x40 != 0 }

// SetClientReregister sets ClientReregister.
func (v *VirtualizationInfo) SetClientReregister(on bool) { putBool(&v[4], 0x40, on) }

// VPortStateChange says that a vPort of the port changed its state since the bit was cleared. Which value in a Set
// clears it is not certain: 0 from what is known.
func (v *VirtualizationInfo) VPortStateChange() bool { return v[4]&0x20 != 0 }

// SetVPortStateChange sets VPortStateChange.
func (v *VirtualizationInfo) SetVPortStateChange(on bool) { putBool(&v[4], 0x20, on) }

// VirtualizationRevision is the revision of these attributes. 0 is the one described here.
func (v *VirtualizationInfo) VirtualizationRevision() uint8 { return v[6] }

// SetVirtualizationRevision sets VirtualizationRevision.
func (v *VirtualizationInfo) SetVirtualizationRevision(r uint8) { v[6] = r }

// CapabilityMask has bits that are not known.
func (v *VirtualizationInfo) CapabilityMask() uint8 { return v[7] }

// SetCapabilityMask sets CapabilityMask.
func (v *VirtualizationInfo) SetCapabilityMask(m uint8) { v[7] = m }

// AnnouncesVirtualization reports whether an adapter's port says that it has vPorts. Older firmware announces it by
// CapVirtualization in GeneralInfo alone, which such a port does not show here.
func AnnouncesVirtualization(mask CapMask, mask2 CapMask2) bool {
	return mask.Has(IsCapabilityMask2Supported) && mask2.Has(IsVirtualizationSupported)
}

// NVIDIAVendor reports whether devices of a vendor, by NodeInfo.VendorID, give the attributes from 0xFF00 on the
// meaning that they have here: NVIDIA's own, and those of Bull and Voltaire, which are NVIDIA's. A device of another
// vendor must not be asked for one.
func NVIDIAVendor(vendor uint32) bool {
	return vendor == 0x0002c9 || vendor == 0x00119f || vendor == 0x0008f1
}
