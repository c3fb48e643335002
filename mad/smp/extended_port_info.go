package smp

import "ibsm/mad"

// ExtendedPortInfo is NVIDIA's attribute 0xFF90. The attribute modifier is the
// port.
//
//	 0 AMESupported, SHARPEnabled, RouterLIDEnabled, PortRecovered 1 each
//	 3 StateChangeEnable
//	 4 BandwidthUtilization 16, UnhealthyReason
//	 7 LinkSpeedSupported
//	11 LinkSpeedEnabled
//	15 LinkSpeedActive
//	17 4, AdminState 3, 1
//	18 CapabilityMask 16
//	47 SpecialPortType
//	52 AdaptiveTimeoutSLMask 16  OutOfOrderSLMask 16
//
// A manager reads it and sets LinkSpeedEnabled; else only what a simulated device must
// answer can be set.
type ExtendedPortInfo [mad.DataSize]byte

// SpeedFDR10 is FDR10 in the masks of speeds.
const SpeedFDR10 = 1

// SetStateChangeEnable sets StateChangeEnable.
func (e *ExtendedPortInfo) SetStateChangeEnable(v uint8) { e[3] = v }

// StateChangeSpeed in StateChangeEnable has a Set take LinkSpeedEnabled.
const StateChangeSpeed = 1

// StateChangeEnable says in a Set which of the other fields act.
func (e *ExtendedPortInfo) StateChangeEnable() uint8 { return e[3] }

// LinkSpeedSupported is a mask: 1 FDR10.
func (e *ExtendedPortInfo) LinkSpeedSupported() uint8 { return e[7] }

// SetLinkSpeedSupported sets LinkSpeedSupported.
func (e *ExtendedPortInfo) SetLinkSpeedSupported(v uint8) { e[7] = v }

// LinkSpeedEnabled is a mask: 1 FDR10.
func (e *ExtendedPortInfo) LinkSpeedEnabled() uint8 { return e[11] }

// SetLinkSpeedEnabled sets LinkSpeedEnabled.
func (e *ExtendedPortInfo) SetLinkSpeedEnabled(v uint8) { e[11] = v }

// LinkSpeedActive is 1 when the link runs at FDR10, which PortInfo calls QDR.
func (e *ExtendedPortInfo) LinkSpeedActive() uint8 { return e[15] }

// SetLinkSpeedActive sets LinkSpeedActive.
func (e *ExtendedPortInfo) SetLinkSpeedActive(v uint8) { e[15] = v }
