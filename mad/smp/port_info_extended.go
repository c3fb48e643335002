package smp

import "ibsm/mad"

// PortInfoExtended is attribute 0x0033, the FEC modes of a port (IBA 14.2.5.19).
// It can be asked of ports with IsPortInfoExtendedSupported. The attribute
// modifier is the port.
//
//	0 CapabilityMask
//	4 FECModeActive
//	6 FDR, EDR, HDR, NDR: FECModeSupported 16, FECModeEnabled 16
type PortInfoExtended [mad.DataSize]byte

// SetCapabilityMask sets CapabilityMask.
func (p *PortInfoExtended) SetCapabilityMask(v uint32) { put32(p[0:], v) }

// SetFDRFECModeSupported sets FDRFECModeSupported.
func (p *PortInfoExtended) SetFDRFECModeSupported(v uint16) { put16(p[6:], v) }

// FDRFECModeEnabled is the mask of FEC modes that it may use at FDR.
func (p *PortInfoExtended) FDRFECModeEnabled() uint16 { return get16(p[8:]) }

// SetFDRFECModeEnabled sets FDRFECModeEnabled.
func (p *PortInfoExtended) SetFDRFECModeEnabled(v uint16) { put16(p[8:], v) }

// SetEDRFECModeSupported sets EDRFECModeSupported.
func (p *PortInfoExtended) SetEDRFECModeSupported(v uint16) { put16(p[10:], v) }

// EDRFECModeEnabled is the mask of FEC modes that it may use at EDR.
func (p *PortInfoExtended) EDRFECModeEnabled() uint16 { return get16(p[12:]) }

// SetEDRFECModeEnabled sets EDRFECModeEnabled.
func (p *PortInfoExtended) SetEDRFECModeEnabled(v uint16) { put16(p[12:], v) }

// HDRFECModeSupported is the mask of FEC modes that the port has at HDR.
func (p *PortInfoExtended) HDRFECModeSupported() uint16 { return get16(p[14:]) }

// SetHDRFECModeSupported sets HDRFECModeSupported.
func (p *PortInfoExtended) SetHDRFECModeSupported(v uint16) { put16(p[14:], v) }

// HDRFECModeEnabled is the mask of FEC modes that it may use at HDR.
func (p *PortInfoExtended) HDRFECModeEnabled() uint16 { return get16(p[16:]) }

// SetHDRFECModeEnabled sets HDRFECModeEnabled.
func (p *PortInfoExtended) SetHDRFECModeEnabled(v uint16) { put16(p[16:], v) }

// NDRFECModeSupported is the mask of FEC modes that the port has at NDR.
func (p *PortInfoExtended) NDRFECModeSupported() uint16 { return get16(p[18:]) }

// SetNDRFECModeSupported sets NDRFECModeSupported.
func (p *PortInfoExtended) SetNDRFECModeSupported(v uint16) { put16(p[18:], v) }

// NDRFECModeEnabled is the mask of FEC modes that it may use at NDR.
func (p *PortInfoExtended) NDRFECModeEnabled() uint16 { return get16(p[20:]) }

// SetNDRFECModeEnabled sets NDRFECModeEnabled.
func (p *PortInfoExtended) SetNDRFECModeEnabled(v uint16) { put16(p[20:], v) }
