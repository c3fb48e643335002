package smp

import "ibsm/mad"

// VPortsPerBlock is the number of vPorts in one VPortState. The attribute modifier names the block.
const VPortsPerBlock = 128

// VPortState is NVIDIA's attribute 0xFFB3, a block of the states of a port's vPorts: four bits each, an even index in
// the high half of a byte. The list reaches to VirtualizationInfo.VPortIndexTop. It is read-only.
type VPortState [mad.DataSize]byte

// State is that of vPort i of the block, or of the port's whole list: i counts modulo VPortsPerBlock.
func (t *VPortState) State(i uint16) PortState {
	return PortState(get(t[i%VPortsPerBlock/2], nibble(i)))
}

// SetState sets the state of vPort i, counted as in State.
func (t *VPortState) SetState(i uint16, s PortState) {
	put(&t[i%VPortsPerBlock/2], nibble(i), uint8(s))
}

// nibble is the half of a byte that entry i of a list has.
func nibble(i uint16) byte { return 0xf0 >> (i % 2 * 4) }
