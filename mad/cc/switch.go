package cc

// PortMask has a bit for each port of a switch: port p is bit p mod 8 of byte 31 - p/8, so that
// the mask is one big-endian number with port 0 as its lowest bit.
type PortMask [32]byte

// Has reports whether a port is in the mask.
func (m *PortMask) Has(port uint8) bool { return m[31-port/8]>>(port%8)&1 != 0 }

// Add puts a port in.
func (m *PortMask) Add(port uint8) { m[31-port/8] |= 1 << (port % 8) }

// Bits of SwitchCongestionSetting.ControlMap: the fields that a Set changes.
const (
	MapVictimMask       uint32 = 1 << 0
	MapCreditMask       uint32 = 1 << 1
	MapThreshold        uint32 = 1 << 2 // Threshold and PacketSize
	MapCreditStarvation uint32 = 1 << 3 // CSThreshold and CSReturnDelay
	MapMarkingRate      uint32 = 1 << 4
)

// SwitchCongestionSetting is attribute 0x0014: how a switch detects congestion.
type SwitchCongestionSetting [76]byte

// ControlMap says which of the fields a Set changes, a sum of the Map constants.
func (s *SwitchCongestionSetting) ControlMap() uint32 { return get32(s[0:]) }

// SetControlMap replaces ControlMap.
func (s *SwitchCongestionSetting) SetControlMap(v uint32) { put32(s[0:], v) }

// VictimMask are the ports that also mark packets that are victims of congestion elsewhere.
func (s *SwitchCongestionSetting) VictimMask() PortMask { return PortMask(s[4:36]) }

// SetVictimMask replaces Victim_Mask.
func (s *SwitchCongestionSetting) SetVictimMask(m PortMask) { copy(s[4:36], m[:]) }

// CreditMask are the ports on which credit starvation is detected.
func (s *SwitchCongestionSetting) CreditMask() PortMask { return PortMask(s[36:68]) }

// SetCreditMask replaces Credit_Mask.
func (s *SwitchCongestionSetting) SetCreditMask(m PortMask) { copy(s[36:68], m[:]) }

// Threshold is when a port is congested, 0 to 15: never to earliest.
func (s *SwitchCongestionSetting) Threshold() uint8 { return high4(s[68]) }

// SetThreshold replaces Threshold.
func (s *SwitchCongestionSetting) SetThreshold(v uint8) { putHigh4(&s[68], v) }

// PacketSize is the size of the smallest packets that are marked, in 64 bytes.
func (s *SwitchCongestionSetting) PacketSize() uint8 { return s[69] }

// SetPacketSize replaces Packet_Size.
func (s *SwitchCongestionSetting) SetPacketSize(v uint8) { s[69] = v }

// CSThreshold is when a port starves of credits, 0 to 15: never to earliest.
func (s *SwitchCongestionSetting) CSThreshold() uint8 { return high4(s[70]) }

// SetCSThreshold replaces CS_Threshold.
func (s *SwitchCongestionSetting) SetCSThreshold(v uint8) { putHigh4(&s[70], v) }

// CSReturnDelay is how long a port that starves delays the credits that it returns.
func (s *SwitchCongestionSetting) CSReturnDelay() Entry { return Entry(get16(s[72:])) }

// SetCSReturnDelay replaces CS_ReturnDelay.
func (s *SwitchCongestionSetting) SetCSReturnDelay(e Entry) { put16(s[72:], uint16(e)) }

// MarkingRate is how many packets are sent on average between two marked ones; 0 marks all.
func (s *SwitchCongestionSetting) MarkingRate() uint16 { return get16(s[74:]) }

// SetMarkingRate replaces Marking_Rate.
func (s *SwitchCongestionSetting) SetMarkingRate(v uint16) { put16(s[74:], v) }

// PortsPerBlock is how many ports a SwitchPortCongestionSetting has.
const PortsPerBlock = 32

// SwitchPortCongestionSetting is attribute 0x0015: what single ports of a switch do instead of
// what SwitchCongestionSetting says. AttributeModifier is the block of 32 ports.
type SwitchPortCongestionSetting [4 * PortsPerBlock]byte

// Port is the element of port i of the block, 0 to 31; others are that of i mod 32.
func (s *SwitchPortCongestionSetting) Port(i int) *PortCongestionSetting {
	at := i & (PortsPerBlock - 1) * 4
	return (*PortCongestionSetting)(s[at : at+4])
}

// PortCongestionSetting is an element of SwitchPortCongestionSetting.
type PortCongestionSetting [4]byte

// Valid says that the port has a setting of its own.
func (s *PortCongestionSetting) Valid() bool { return s[0]&0x80 != 0 }

// SetValid replaces Valid.
func (s *PortCongestionSetting) SetValid(v bool) { s.setBit(0x80, v) }

// ControlType is false for the detection of congestion, and true for that of credit starvation.
func (s *PortCongestionSetting) ControlType() bool { return s[0]&0x40 != 0 }

// SetControlType replaces Control_Type.
func (s *PortCongestionSetting) SetControlType(v bool) { s.setBit(0x40, v) }

func (s *PortCongestionSetting) setBit(mask byte, v bool) {
	s[0] &^= mask
	if v {
		s[0] |= mask
	}
}

// Threshold is as in SwitchCongestionSetting.
func (s *PortCongestionSetting) Threshold() uint8 { return s[0] & 0x0f }

// SetThreshold replaces Threshold.
func (s *PortCongestionSetting) SetThreshold(v uint8) { s[0] = s[0]&0xf0 | v&0x0f }

// PacketSize is as in SwitchCongestionSetting.
func (s *PortCongestionSetting) PacketSize() uint8 { return s[1] }

// SetPacketSize replaces Packet_Size.
func (s *PortCongestionSetting) SetPacketSize(v uint8) { s[1] = v }

// MarkingRate is Marking_Rate, or Credit_ReturnDelay where ControlType is true.
func (s *PortCongestionSetting) MarkingRate() uint16 { return get16(s[2:]) }

// SetMarkingRate replaces MarkingRate.
func (s *PortCongestionSetting) SetMarkingRate(v uint16) { put16(s[2:], v) }
