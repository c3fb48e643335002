package smp

import "ibsm/mad"

// PortsPerStateTable is the number of ports in one block of SwitchPortStateTable.
const PortsPerStateTable = 128

// SwitchPortStateTable is attribute 0x0034, the states of a switch's ports: four bits each, an even port in the high
// half of a byte. It is read-only. A switch has it where CapMask2 of its port 0 has IsSwitchPortStateTableSupported.
// Attribute modifier 0 is the block of ports 0 to 127.
type SwitchPortStateTable [mad.DataSize]byte

// State is that of a port, which counts modulo PortsPerStateTable.
func (t *SwitchPortStateTable) State(port uint8) PortState {
	return PortState(get(t[port%PortsPerStateTable/2], nibble(uint16(port))))
}

// SetState sets the state of a port, counted as in State.
func (t *SwitchPortStateTable) SetState(port uint8, s PortState) {
	put(&t[port%PortsPerStateTable/2], nibble(uint16(port)), uint8(s))
}
