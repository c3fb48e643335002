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

// AMESupported says that the port has advanced retransmission and FEC modes.
func (e *ExtendedPortInfo) AMESupported() bool { return e[0]&0x80 != 0 }

// SHARPEnabled says that the aggregation node behind the port is on.
func (e *ExtendedPortInfo) SHARPEnabled() bool { return e[0]&0x40 != 0 }

// RouterLIDEnabled says that the port takes router LIDs.
func (e *ExtendedPortInfo) RouterLIDEnabled() bool { return e[0]&0x20 != 0 }

// PortRecovered says that the port came back from an error by itself.
func (e *ExtendedPortInfo) PortRecovered() bool { return e[0]&0x10 != 0 }

// StateChangeEnable says in a Set which of the other fields act.
func (e *ExtendedPortInfo) StateChangeEnable() uint8 { return e[3] }

// BandwidthUtilization is the port's load.
func (e *ExtendedPortInfo) BandwidthUtilization() uint16 { return get16(e[4:]) }

// UnhealthyReason is why the device holds the port unhealthy, in NVIDIA's numbers.
func (e *ExtendedPortInfo) UnhealthyReason() uint8 { return e[6] }

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

// AdminState is the state that the administrator wants the port in.
func (e *ExtendedPortInfo) AdminState() uint8 { return get(e[17], 0x0e) }

// CapabilityMask is what the port can do of this.
func (e *ExtendedPortInfo) CapabilityMask() uint16 { return get16(e[18:]) }

// SpecialPortType is what else than an ordinary port it is, in NVIDIA's numbers.
func (e *ExtendedPortInfo) SpecialPortType() uint8 { return e[47] }

// AdaptiveTimeoutSLMask is the SLs with adaptive time-outs.
func (e *ExtendedPortInfo) AdaptiveTimeoutSLMask() uint16 { return get16(e[52:]) }

// OutOfOrderSLMask is the SLs on which the port takes packets out of order.
func (e *ExtendedPortInfo) OutOfOrderSLMask() uint16 { return get16(e[54:]) }
