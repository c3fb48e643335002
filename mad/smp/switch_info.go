package smp

import "ibsm/mad"

// SwitchInfo is attribute 0x0012 (IBA 14.2.5.4).
//
//	 0 LinearFDBCap             RandomFDBCap
//	 4 MulticastFDBCap          LinearFDBTop
//	 8 DefaultPort  DefaultMulticastPrimaryPort  DefaultMulticastNotPrimaryPort
//	11 LifeTimeValue 5  PortStateChange 1  OptimizedSLtoVLMappingProgramming 2
//	12 LIDsPerPort              PartitionEnforcementCap
//	16 Inbound, OutboundEnforcementCap, FilterRawInbound, OutboundCap, EnhancedPort0
//	18 MulticastFDBTop
type SwitchInfo [mad.DataSize]byte

// LinearFDBCap is the number of LIDs in the linear forwarding table; 0 for a
// switch without one.
func (s *SwitchInfo) LinearFDBCap() uint16 { return get16(s[0:]) }

// SetLinearFDBCap sets LinearFDBCap.
func (s *SwitchInfo) SetLinearFDBCap(v uint16) { put16(s[0:], v) }

// MulticastFDBCap is the number of multicast LIDs, from 0xC000 on.
func (s *SwitchInfo) MulticastFDBCap() uint16 { return get16(s[4:]) }

// SetMulticastFDBCap sets MulticastFDBCap.
func (s *SwitchInfo) SetMulticastFDBCap(v uint16) { put16(s[4:], v) }

// LinearFDBTop is the highest LID that the switch forwards.
func (s *SwitchInfo) LinearFDBTop() mad.LID { return mad.LID(get16(s[6:])) }

// SetLinearFDBTop sets LinearFDBTop.
func (s *SwitchInfo) SetLinearFDBTop(l mad.LID) { put16(s[6:], uint16(l)) }

// DefaultPort is where a random forwarding table sends LIDs it does not hold.
func (s *SwitchInfo) DefaultPort() uint8 { return s[8] }

// SetDefaultPort sets DefaultPort.
func (s *SwitchInfo) SetDefaultPort(port uint8) { s[8] = port }

// DefaultMulticastPrimaryPort is where multicast LIDs without an entry go.
func (s *SwitchInfo) DefaultMulticastPrimaryPort() uint8 { return s[9] }

// SetDefaultMulticastPrimaryPort sets DefaultMulticastPrimaryPort.
func (s *SwitchInfo) SetDefaultMulticastPrimaryPort(port uint8) { s[9] = port }

// DefaultMulticastNotPrimaryPort is where they go when they came in on the
// primary port.
func (s *SwitchInfo) DefaultMulticastNotPrimaryPort() uint8 { return s[10] }

// SetDefaultMulticastNotPrimaryPort sets DefaultMulticastNotPrimaryPort.
func (s *SwitchInfo) SetDefaultMulticastNotPrimaryPort(port uint8) { s[10] = port }

// LifeTimeValue bounds how long a packet stays in the switch: 4.096 us x 2^n,
// 20..31 for ever.
func (s *SwitchInfo) LifeTimeValue() uint8 { return get(s[11], 0xf8) }

// SetLifeTimeValue sets LifeTimeValue.
func (s *SwitchInfo) SetLifeTimeValue(v uint8) { put(&s[11], 0xf8, v) }

// PortStateChange says that a port changed its state since the bit was cleared.
// A Set that carries it clears it; a Set for any other purpose must carry false,
// or it loses a change that happened since the last Get.
func (s *SwitchInfo) PortStateChange() bool { return s[11]&0x04 != 0 }

// SetPortStateChange sets PortStateChange.
func (s *SwitchInfo) SetPortStateChange(v bool) { putBool(&s[11], 0x04, v) }

// OptimizedSLtoVLMappingProgramming is 1 when the switch takes wildcards in the
// modifier of SLtoVLMappingTable (SLtoVLAllIn, SLtoVLAllOut), 0 when not.
func (s *SwitchInfo) OptimizedSLtoVLMappingProgramming() uint8 { return get(s[11], 0x03) }

// SetOptimizedSLtoVLMappingProgramming sets OptimizedSLtoVLMappingProgramming.
func (s *SwitchInfo) SetOptimizedSLtoVLMappingProgramming(v uint8) { put(&s[11], 0x03, v) }

// PartitionEnforcementCap is the number of P_Keys of each external port; 0 for a
// switch that does not enforce partitions.
func (s *SwitchInfo) PartitionEnforcementCap() uint16 { return get16(s[14:]) }

// SetPartitionEnforcementCap sets PartitionEnforcementCap.
func (s *SwitchInfo) SetPartitionEnforcementCap(v uint16) { put16(s[14:], v) }

// SetInboundEnforcementCap sets InboundEnforcementCap.
func (s *SwitchInfo) SetInboundEnforcementCap(v bool) { putBool(&s[16], 0x80, v) }

// SetOutboundEnforcementCap sets OutboundEnforcementCap.
func (s *SwitchInfo) SetOutboundEnforcementCap(v bool) { putBool(&s[16], 0x40, v) }

// SetFilterRawInboundCap sets FilterRawInboundCap.
func (s *SwitchInfo) SetFilterRawInboundCap(v bool) { putBool(&s[16], 0x20, v) }

// SetFilterRawOutboundCap sets FilterRawOutboundCap.
func (s *SwitchInfo) SetFilterRawOutboundCap(v bool) { putBool(&s[16], 0x10, v) }

// EnhancedPort0 says that port 0 is an end port in full: it has port states, VLs
// and a LMC.
func (s *SwitchInfo) EnhancedPort0() bool { return s[16]&0x08 != 0 }

// SetEnhancedPort0 sets EnhancedPort0.
func (s *SwitchInfo) SetEnhancedPort0(v bool) { putBool(&s[16], 0x08, v) }

// MulticastFDBTop is the highest multicast LID that the switch forwards, 0xBFFF
// for none. It counts where CapMask of port 0 has IsMulticastFDBTopSupported.
func (s *SwitchInfo) MulticastFDBTop() mad.LID { return mad.LID(get16(s[18:])) }

// SetMulticastFDBTop sets MulticastFDBTop.
func (s *SwitchInfo) SetMulticastFDBTop(l mad.LID) { put16(s[18:], uint16(l)) }
